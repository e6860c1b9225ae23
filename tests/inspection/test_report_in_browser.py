"""The report of a training in a browser: pointer, arrow keys, and dark screens."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from keras_transformer.inspection import Comparison, TrainingReport
from keras_transformer.inspection.report_page import report_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    facts = TrainingReport("runs/mine").facts
    facts["epochs"] = [
        {"epoch": n, "updates": 100 * n, "seconds": 1.0 * n, "loss": 4.0 / n, "val_loss": 5.0 / n}
        for n in (1, 2, 4)
    ]
    facts["samples"] = [{"updates": None, "texts": {"model": "<img src=x> הכלב"}}]
    path = tmp_path_factory.mktemp("pages") / "report.html"
    path.write_text(report_page(facts), encoding="utf-8")
    return path


def said(page) -> str:
    box = page.locator(".said").first
    return box.inner_text() if box.is_visible() else ""


def test_the_pointer_shows_the_values_under_it(page_file, visit):
    opened = visit(page_file)
    page = opened.page
    assert said(page) == ""
    chart = page.locator(".chart svg").first
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    assert said(page) == "200 updates\ntraining  2\nvalidation  2.5"
    page.mouse.move(box["x"] + 0.98 * box["width"], box["y"] + 0.5 * box["height"])
    assert said(page) == "400 updates\ntraining  1\nvalidation  1.25"
    inside = page.locator(".said").first.bounding_box()
    assert inside["x"] + inside["width"] <= box["x"] + box["width"]  # it stays in the chart
    page.mouse.move(5, 5)
    assert said(page) == ""
    assert page.locator(".samples dd").inner_text() == "<img src=x> הכלב"
    opened.assert_quiet()


def test_the_arrow_keys_go_along_a_curve(page_file, visit):
    opened = visit(page_file)
    page = opened.page
    page.locator(".chart svg").first.focus()
    assert said(page).startswith("400 updates")
    for key, expected in (("ArrowLeft", 200), ("ArrowLeft", 100), ("ArrowLeft", 100)):
        page.keyboard.press(key)
        assert said(page).startswith(f"{expected} updates")
    page.keyboard.press("ArrowRight")
    assert said(page).startswith("200 updates")
    opened.assert_quiet()


@pytest.mark.parametrize("minutes", [1, 90])
def test_a_page_that_is_not_renewed_any_more_says_so(tmp_path, visit, minutes):
    facts = TrainingReport("runs/mine").facts
    facts["updated"] = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
    (tmp_path / "report.html").write_text(report_page(facts), encoding="utf-8")
    opened = visit(tmp_path / "report.html")
    said = opened.page.locator("#silent").inner_text()
    assert said.startswith("Nothing was written for 90 minutes." if minutes == 90 else "")
    assert bool(said) == (minutes == 90)
    opened.assert_quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_what_is_behind_them(page_file, visit, scheme):
    """The contrast is at least 4.5, as WCAG 2.1 asks (1.4.3)."""
    opened = visit(page_file, color_scheme=scheme)
    contrasts = opened.page.evaluate(
        """() => {
          const light = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
            .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
          const style = name => getComputedStyle(document.querySelector(name));
          const pairs = [["body", "color", "body"], [".soft", "color", "body"],
            [".chart text", "fill", ".card"], [".tiles dt, .samples dt", "color", ".card"]];
          return pairs.map(([text, part, behind]) => {
            const [a, b] = [light(style(text)[part]), light(style(behind).backgroundColor)];
            return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
          });
        }"""
    )
    assert len(contrasts) == 4 and min(contrasts) >= 4.5
    opened.assert_quiet()


@pytest.mark.parametrize("width", [420, 1300])
def test_runs_of_long_names_stand_side_by_side(tmp_path, visit, width):
    for folder, title in (("a", "runs/" + "long_" * 40), ("b", "runs/b")):
        facts = TrainingReport(title).facts
        facts["epochs"] = [{"epoch": 1, "updates": 9, "seconds": 1.0, "loss": 4.0}]
        facts["samples"] = [{"updates": None, "texts": {"source": "one", "model": "word " * 50}}]
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "report.json").write_text(json.dumps(facts), encoding="utf-8")
    page = Comparison([tmp_path / "a", tmp_path / "b"]).page()
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    opened = visit(tmp_path / "page.html", viewport={"width": width, "height": 800})
    assert opened.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert opened.page.locator(".samples dd").nth(1).bounding_box()["width"] > 0.5 * (width - 100)
    opened.assert_quiet()


def test_on_a_narrow_screen_nothing_stands_out_of_it(page_file, visit):
    opened = visit(page_file, viewport={"width": 380, "height": 800})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 380
