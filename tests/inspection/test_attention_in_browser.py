"""The attention page in a browser: switches, pointer, keyboard, long texts, every script."""

import numpy as np
import pytest
from inspection import made_up_attention as made_up

from keras_transformer.inspection import write_attention_page

pytestmark = pytest.mark.browser

TRANSLATION = made_up.translation(
    ["这", "是", "一个", "苹果", "。"], ["␣This", "␣<b>is</b>", "␣an", "␣apple", "."]
)
HEBREW = made_up.translation(["הכלב", "␣רץ", "␣מהר"], ["The", "␣dog", "␣runs"])
READY = "body[data-ready]"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "attention.html"
    write_attention_page(path, [TRANSLATION, HEBREW], "A title")
    return path


@pytest.fixture
def shown(page_file, visit):
    opened = visit(page_file)
    opened.page.wait_for_selector(READY)
    yield opened.page
    opened.assert_quiet()


def choose(page, text: str) -> None:
    page.locator(".switch").get_by_text(text, exact=True).click()
    page.wait_for_function("() => !!document.querySelector('#heads button[aria-selected=true]')")


def expect_texts(elements, texts: list[str]) -> None:
    """That the elements have these texts as soon as the view is drawn."""
    from playwright.sync_api import expect

    expect(elements).to_have_text(texts)


def readout(page) -> str:
    return page.locator("#readout").inner_text()


def drawn(page, canvas: str) -> int:
    """How many different colours a canvas shows."""
    return page.locator(canvas).first.evaluate(
        """canvas => new Set(new Uint32Array(canvas.getContext("2d")
        .getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    )


def test_a_translation_opens_with_its_alignment(shown):
    assert shown.locator("h1").inner_text() == "A title"
    assert "这是一个苹果。 → This <b>is</b> an apple." in shown.locator("#about").inner_text()
    assert shown.locator("#head-title").inner_text() == "Mean of all layers and heads"
    assert drawn(shown, "#alignment canvas") > 10
    shown.locator("#alignment .row").nth(1).locator(".token").nth(1).hover()
    cross = TRANSLATION.maps["cross"]
    weights = cross.weights.mean((0, 1))[1]
    best = int(weights.argmax())
    expected = f"looks most at “{cross.keys[best].text}” ({best}): {weights[best]:.2f}"
    assert readout(shown) == f"“␣<b>is</b>” (1), written after “␣This”, {expected}"


@pytest.mark.parametrize(("kind", "name"), [("encoder", "Encoder"), ("decoder", "Decoder")])
def test_the_pointer_shows_what_a_token_looks_at(shown, kind, name):
    choose(shown, name)
    assert shown.locator("#head-title").inner_text() == "Layer 0, head 0"
    assert not shown.locator(".switch").get_by_text("Alignment").is_visible()
    choose(shown, "Lines")
    assert drawn(shown, "#lines canvas") > 10
    shown.locator(".queries .token").nth(2).hover()
    part = TRANSLATION.maps[kind]
    written = shown.locator(".keys .weight").all_inner_texts()
    for text, weight in zip(written, part.weights[0, 0, 2], strict=True):
        assert text == ("" if weight < 0.005 else f"{weight:.2f}")
    shown.locator(".keys .token").nth(1).hover()
    assert "Who looks at" in readout(shown)
    looking = shown.locator(".queries .weight").all_inner_texts()
    assert [bool(text) for text in looking] == [w >= 0.005 for w in part.weights[0, 0, :, 1]]
    shown.locator("h1").hover()
    assert readout(shown) == "" and not any(shown.locator(".keys .weight").all_inner_texts())


def test_the_keyboard_goes_through_heads_tokens_and_cells(shown):
    choose(shown, "Encoder")
    shown.locator("#heads button[tabindex='0']").focus()
    for key, title in (
        ("ArrowRight", "Layer 0, head 1"),
        ("ArrowDown", "Layer 1, head 1"),
        ("End", "Layer 1, mean of all heads"),
        ("ArrowDown", "Mean of all layers and heads"),
        ("ArrowUp", "Layer 1, mean of all heads"),
        ("Home", "Layer 1, head 0"),
    ):
        shown.keyboard.press(key)
        assert shown.locator("#head-title").inner_text() == title
    shown.locator(".queries .token[tabindex='0']").focus()
    shown.keyboard.press("ArrowDown")
    assert readout(shown).startswith("“是” (1) looks most at")
    shown.keyboard.press("ArrowRight")
    assert readout(shown).startswith("Who looks at “是”")
    shown.keyboard.press("Control+End")  # which is the browser's
    assert readout(shown).startswith("Who looks at “是”")
    shown.keyboard.press("End")
    assert readout(shown).startswith("Who looks at “</s>”")
    shown.keyboard.press("ArrowDown")  # there is no further one
    assert readout(shown).startswith("Who looks at “</s>”")
    shown.keyboard.press("Escape")
    assert readout(shown) == ""
    choose(shown, "Heat map")
    shown.locator("#matrix .scroller").focus()
    weights = TRANSLATION.maps["encoder"].weights[1, 0]
    for keys, query, key in (("Home", 0, 0), ("ArrowDown", 1, 0), ("End", 1, 5), ("ArrowUp", 0, 5)):
        shown.keyboard.press(keys)
        weight = weights[query, key]
        number = f"{weight:.2f}" if weight >= 0.005 else f"{weight:.4f}"
        assert readout(shown).endswith(f"({key}): {number}")
        assert f"({query}) looks at" in readout(shown)
    size = shown.evaluate("() => views.matrix.size")
    shown.keyboard.press("Control+-")
    assert shown.evaluate("() => views.matrix.size") == size
    shown.keyboard.press("-")
    assert shown.evaluate("() => views.matrix.size") < size
    shown.keyboard.press("Escape")
    assert readout(shown) == ""


def test_the_pointer_shows_a_cell_of_the_heat_map(shown):
    choose(shown, "Decoder")
    choose(shown, "Heat map")
    view = "views.matrix"
    left, top, size = (shown.evaluate(f"() => {view}.{name}") for name in ("left", "top", "size"))
    box = shown.locator("#matrix .scroller").bounding_box()
    shown.mouse.move(box["x"] + left + 1.5 * size, box["y"] + top + 3.5 * size)
    weight = TRANSLATION.maps["decoder"].weights[0, 0, 3, 1]
    assert readout(shown).endswith(f"(1): {weight:.2f}")
    assert "“␣an” (3), where “␣apple” is written," in readout(shown)


def test_special_tokens_can_be_left_out_and_small_weights_brightened(shown):
    choose(shown, "Encoder")
    choose(shown, "Lines")
    for option in ("Hide special tokens", "Brighten"):
        before = shown.evaluate("() => views.lines.canvas.toDataURL()")
        shown.get_by_label(option).check()
        if option.startswith("Hide"):
            assert shown.locator(".keys .token.out").all_inner_texts() == ["</s>"]
            assert shown.evaluate("() => views.lines.canvas.toDataURL()") != before
        else:
            assert shown.evaluate("() => picture(map, 0, 0, state).strength(0.25, 0, 1)") == 0.5


def test_rows_of_cross_attention_are_the_tokens_that_are_written(shown):
    choose(shown, "Lines")
    written = [token.text for token in TRANSLATION.maps["cross"].predicted]
    expect_texts(shown.locator(".queries .token"), written)
    choose(shown, "Decoder")
    read = [token.text for token in TRANSLATION.maps["decoder"].queries]
    expect_texts(shown.locator(".queries .token"), read)


def test_right_to_left_text_stays_so_and_nothing_is_html(shown):
    shown.select_option("#text", "1")
    shown.wait_for_selector("body[data-ready='1 cross']")
    assert shown.locator("#alignment .row").first.get_attribute("dir") == "rtl"
    assert shown.locator("#alignment .row").nth(1).get_attribute("dir") == "ltr"
    first, second = (
        shown.locator("#alignment .row").first.locator(".token").nth(i).bounding_box()["x"]
        for i in (0, 1)
    )
    assert first > second
    assert shown.locator("bdi").first.get_attribute("dir") == "auto"
    assert shown.locator("main b, #about b").count() == 0


def test_another_text_is_shown_as_the_one_before(shown):
    choose(shown, "Heat map")
    shown.select_option("#text", "1")
    shown.wait_for_selector("body[data-ready='1 cross']")
    assert shown.locator("#matrix").is_visible() and not shown.locator("#alignment").is_visible()


@pytest.mark.parametrize("width", [420, 1300])
def test_long_tokens_are_cut_and_nothing_stands_out_of_the_page(tmp_path, visit, width):
    long = made_up.translation(["W" * 400, "שלום"], ["␣L" + "o" * 300 + "ng", "</script>"])
    write_attention_page(tmp_path / "long.html", [long, long._replace(text="short")])
    opened = visit(tmp_path / "long.html", viewport={"width": width, "height": 850})
    page = opened.page
    page.wait_for_selector(READY)
    assert page.locator("#alignment .token").first.bounding_box()["width"] < 300
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    choose(page, "Lines")
    widths = "e => [e.scrollWidth, e.clientWidth]"
    whole, seen = page.locator("#lines .scroller").evaluate(widths)
    assert whole <= seen
    choose(page, "Heat map")
    context = "views.matrix.canvas.getContext('2d')"
    cut = page.evaluate(f"() => shortened({context}, 'W'.repeat(400), LONGEST_NAME)")
    assert 3 < len(cut) < 40 and cut.endswith("W…")
    assert page.evaluate(f"() => shortened({context}, '苹果', LONGEST_NAME)") == "苹果"
    opened.assert_quiet()


def test_five_hundred_tokens(tmp_path, visit):
    text = made_up.long_text(500, 2, 3)
    write_attention_page(tmp_path / "long.html", [text])
    opened = visit(tmp_path / "long.html", color_scheme="dark")
    page = opened.page
    page.wait_for_selector("#heads[data-drawn]")
    assert page.locator(".queries .token").count() == 500
    page.locator(".queries .token").nth(499).scroll_into_view_if_needed()
    page.locator(".queries .token").nth(499).hover()
    assert "“[SEP]” (499) looks most at" in readout(page)
    choose(page, "Heat map")
    page.locator("#matrix .scroller").focus()
    for key in ("Home", "+", "+", "+", "+", "+", "+", "+", "+", "+", "End"):
        page.keyboard.press(key)
    weight = np.float32(text.maps["encoder"].weights[0, 0, 0, 499])
    assert readout(page).startswith("“[CLS]” (0) looks at “[SEP]” (499)")
    assert float(readout(page).rsplit(" ", 1)[1]) == pytest.approx(weight, abs=0.005)
    assert page.evaluate("() => views.matrix.scroller.scrollLeft") > 1000
    assert drawn(page, "#matrix canvas") > 10
    opened.assert_quiet()


def test_light_and_dark_have_colours_of_their_own(page_file, visit):
    def colours(scheme):
        page = visit(page_file, color_scheme=scheme).page
        page.wait_for_selector(READY)
        style = "getComputedStyle(document.body)"
        return [page.evaluate(f"() => {style}.{name}") for name in ("color", "backgroundColor")]

    def brightness(colour):
        return sum(int(part) for part in colour[4:-1].split(","))

    (ink, paper), (dark_ink, dark_paper) = colours("light"), colours("dark")
    assert brightness(paper) - brightness(ink) > 450
    assert brightness(dark_ink) - brightness(dark_paper) > 450
