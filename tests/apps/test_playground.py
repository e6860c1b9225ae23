"""The page to try a model: what it asks, and in a browser what it shows."""

import doctest
import importlib
import os
import socket
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import playground
import playground_models
import pytest
import tensorflow as tf
from browser import browser  # noqa: F401  (a fixture)
from playground_models import RunModel, SignatureModel

sys.path.insert(0, str(Path(__file__).parents[1] / "tasks"))
sys.path.insert(0, str(Path(__file__).parents[1] / "serving"))

import small_berts
import small_generators
import small_translators
from serving_stub import Function, RestStub, StubModel

from keras_transformer.tasks import TranslationOptions
from keras_transformer.tasks.requests import plain

TEXT = "Ada lives in London, and drinks TEA!"
QUESTION = "where"
SCRIPT = "<script>document.title='bad'</script>"


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    """Functions are called once or twice each: to trace them would take longer."""
    with small_berts.eagerly():
        yield


def make(kind):
    if kind == "translator":
        options = TranslationOptions(
            beam_size=2, n_best=2, max_source_length=24, max_target_length=6, length_offset=5
        )
        return small_translators.make_translator(
            small_translators.characters(), options=options, encoder_layers=1, decoder_layers=1
        )
    if kind == "characters":
        return small_generators.generator(kind)
    return small_berts.make(kind)


def functions_of(task):
    """A task's signatures as a server has them."""
    found = {}
    for name, function in (task.signatures() | task.optional_signatures()).items():
        inputs = {spec.name: spec for spec in function.input_signature}
        call = function.python_function
        texts = {key: tf.constant(["a [MASK]"]) for key, spec in inputs.items()}
        texts |= {k: tf.ones([1], s.dtype) for k, s in inputs.items() if s.dtype != tf.string}
        outputs = {key: tf.TensorSpec([None, *part.shape[1:]], part.dtype)
                   for key, part in call(**texts).items()}  # fmt: skip
        found[name] = Function(call, inputs, outputs)
    return found


def as_saved_model(task):
    """The model as the page asks one that is exported."""
    functions = functions_of(task)

    def ask(signature, inputs):
        function = functions[signature]
        tensors = {key: tf.constant(v, function.inputs[key].dtype) for key, v in inputs.items()}
        return plain(function.call(**tensors))

    shapes = {
        name: {key: spec.shape for key, spec in function.outputs.items()}
        for name, function in functions.items()
    }
    return SignatureModel("test", shapes, ask)


# What is asked -----------------------------------------------------------------------------------


def assert_like(one, other):
    if isinstance(one, np.ndarray):
        np.testing.assert_allclose(one, other, atol=1e-5)
    elif isinstance(one, tuple | list):
        assert len(one) == len(other)
        for part, same in zip(one, other, strict=True):
            assert_like(part, same)
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-4)
    else:
        assert one == other


ASKED = {
    "translator": lambda model: [model.translate("one cat", 2, 2), model.align("one cat")],
    "fill_mask": lambda model: [model.fill_mask("the [MASK] sees the dog")],
    "tagger": lambda model: [model.tag(TEXT)],
    "answerer": lambda m: [m.answer(QUESTION, TEXT), m.align_answer(QUESTION, TEXT)],
    "regression": lambda model: [model.classify(TEXT, ""), model.classify(TEXT, "a cat")],
    "embedder": lambda model: [model.embed([TEXT, "a dog"])],
    "characters": lambda model: ["".join(model.generate("the ", max_new_tokens=6, temperature=0.5,
                                                        top_k=5, top_p=0.9, seed=3)),
                                 model.is_cut("the "), model.is_cut(99 * "the ")],
}  # fmt: skip
QUICK = ("tagger", "fill_mask", "embedder", "regression")


@pytest.mark.parametrize(
    "kind",
    [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in ASKED],
)
def test_a_run_and_an_export_say_the_same(kind):
    task = make(kind)
    run, exported = RunModel("test", task), as_saved_model(task)
    assert run.kind == exported.kind == type(task).__name__
    assert_like(ASKED[kind](run), ASKED[kind](exported))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "There is no folder nowhere"),
        (["nowhere", "translate"], "--name, --version and --label are of a server"),
        (["http://localhost:1"], "--name is missing: say what the server calls the model"),
        (["ftp://localhost:1", "translate"], "address must be such as http://localhost:8501"),
    ],
)
def test_what_is_no_model_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        playground_models.open_model(*arguments)


def test_a_server_that_is_away_is_said_to_be():
    with pytest.raises(OSError, match="nobody listens there"):
        playground_models.open_model("http://127.0.0.1:9", "translate", timeout=0.5)


def test_a_page_says_which_version_of_a_server_it_asks():
    with RestStub(StubModel("echo", labels={"stable": 1})) as stub:
        labelled = playground_models.open_model(stub.url, "echo", label="stable")
        assert labelled.where == f"echo stable of {stub.url}"
        assert playground_models.open_model(stub.url, "echo").where == f"echo of {stub.url}"


def test_an_export_without_a_map_says_so():
    model = SignatureModel("test", {"serving_default": {"translation": [None]}}, None)
    assert model.align("text") is None and model.most_translations == 1


class Answering(tf.Module):
    """Looks like an export of a question answerer with one signature."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="question")])
    def serve(self, question):
        return {"answer": question}


def test_a_signature_that_an_export_lacks_is_named(tmp_path):
    module = Answering()
    tf.saved_model.save(module, str(tmp_path), {"serving_default": module.serve})
    model = playground_models.open_model(str(tmp_path))
    with pytest.raises(ValueError, match="has no signature n_best, which the page asks: export"):
        model.answer(QUESTION, TEXT)


def test_a_port_that_cannot_be_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["playground.py", "--port", "70000"])
    with pytest.raises(ValueError, match="--port is 70000; it must be from 0 to 65535"):
        playground.main()


def test_a_proxy_of_the_environment_is_not_asked_for_the_page(monkeypatch):
    pytest.importorskip("gradio", reason="needs gradio: the extra [playground]")
    import playground_page

    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "example.org")
    model = SignatureModel("test", {"serving_default": {"tokens": [None]}}, None)
    page = playground_page.serve(model, "127.0.0.1", 0)
    page.close()
    assert os.environ["no_proxy"].split(",") == ["example.org", "127.0.0.1", "localhost"]


def test_without_gradio_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["playground.py"])
    monkeypatch.setitem(sys.modules, "gradio", None)
    monkeypatch.delitem(sys.modules, "playground_page", raising=False)
    with pytest.raises(ValueError, match=r"needs gradio: pip install -e '\.\[playground\]'"):
        playground.main()


# What is shown -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["classification", "markup", "similarity", "tagging"])
def test_examples_in_docstrings(name):
    pytest.importorskip("gradio", reason="needs gradio: the extra [playground]")
    module = importlib.import_module(f"playground_views.{name}")
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_a_heat_map_shows_no_more_than_a_browser_can():
    pytest.importorskip("gradio", reason="needs gradio: the extra [playground]")
    from playground_views.markup import MOST_CELLS, heat_map

    names = [f"<{number}>" for number in range(MOST_CELLS + 1)]
    page = heat_map(names, names[:2], np.full([len(names), 2], 0.5))
    assert page.count("<tr>") == 1 + MOST_CELLS and f"The first {MOST_CELLS}" in page
    assert "&lt;0&gt;" in page and "<0>" not in page
    assert heat_map([], names, np.zeros([0, 0])) == ""


@pytest.fixture(scope="module")
def shown(browser):  # noqa: F811
    """A function that opens the page of a model, of which neither side may ask another host."""
    pytest.importorskip("gradio", reason="needs gradio: the extra [playground]")
    import playground_page

    looked_up, look_up = set(), socket.getaddrinfo

    def note_host(host, *arguments, **options):
        looked_up.add(host)
        return look_up(host, *arguments, **options)

    @contextmanager
    def page(model):
        blocks = playground_page.serve(model, "127.0.0.1", 0)
        opened, asked = browser.new_page(), []
        opened.set_default_timeout(120_000)  # of a machine that has much to do
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(blocks.local_url)
        opened.wait_for_selector("#go")
        yield opened
        own = (blocks.local_url, "data:", "blob:")
        assert asked and not [url for url in asked if not url.startswith(own)]
        opened.close()
        blocks.close(verbose=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", note_host)
        yield page
    assert looked_up <= {"127.0.0.1", "localhost"}


def type_in(page, **texts):
    for name, text in texts.items():
        page.fill(f"#{name} textarea, #{name} input", text)
    page.click("#go")


def answer(page, expected):
    """Waits until the answer is there; else the test fails with what is."""
    box = page.locator("#answer textarea, #answer input")
    try:
        page.wait_for_function(
            "text => document.querySelector('#answer textarea, #answer input').value === text",
            arg=expected,
        )
    except Exception:
        assert box.input_value() == expected
        raise
    return box.input_value()


@pytest.mark.browser
@pytest.mark.slow
def test_a_text_is_translated_with_a_map_of_what_was_looked_at(shown):
    model = RunModel("test", make("translator"))
    (found,), aligned = [model.translate("one cat", 3, 3)], model.align("one cat")
    with shown(model) as page:
        page.fill("#beams input[type=number]", "3")
        type_in(page, text="one cat")
        answer(page, found.texts[0])
        page.wait_for_selector("#attention td")
        assert page.locator("#attention td").count() == aligned.weights.size
        assert page.locator("#others tbody tr").count() == len(found.texts)
        strongest = np.unravel_index(aligned.weights.argmax(), aligned.weights.shape)
        cell = page.locator("#attention tbody tr").nth(strongest[0]).locator("td").nth(strongest[1])
        assert cell.get_attribute("title").endswith(f"{aligned.weights.max():.3f}")
        type_in(page, text=SCRIPT)  # what is written is no code
        page.wait_for_function("() => document.querySelectorAll('#attention thead th').length > 20")
        assert page.title() == "Translation"


@pytest.mark.browser
@pytest.mark.slow
def test_a_served_translator_is_asked_over_the_network(shown):
    task = make("translator")
    functions = functions_of(task)
    del functions["alignment"]
    with RestStub(StubModel("small", {1: functions})) as stub:
        model = playground_models.open_model(stub.url, "small", timeout=600)
        with shown(model) as page:
            type_in(page, text="one cat")
            answer(page, RunModel("test", task).translate("one cat", 1, 2).texts[0])
            assert "signature alignment" in page.inner_text("#attention")
            assert not page.locator("#beams").is_visible()
    with shown(model) as page:  # the server is away now
        type_in(page, text="one cat")
        page.wait_for_selector(".toast-body.error")
        assert "nobody listens there" in page.inner_text(".toast-body.error")


@pytest.mark.browser
@pytest.mark.slow
def test_an_answer_is_marked_in_its_context(shown):
    model = RunModel("test", make("answerer"))
    best = model.answer(QUESTION, TEXT).answers[0]
    with shown(model) as page:
        type_in(page, question=QUESTION, context=TEXT)
        answer(page, best.text)
        assert page.inner_text("#marked mark") == best.text
        assert page.inner_text("#marked .marked") == TEXT
        page.wait_for_selector("#attention td")
        assert page.locator("#attention tbody tr").count() == 1


@pytest.mark.browser
@pytest.mark.slow
def test_words_are_coloured_by_their_tags(shown):
    from playground_views.tagging import parts

    model = RunModel("test", make("tagger"))
    coloured = [(text, kind) for text, kind in parts(TEXT, model.tag(TEXT)) if kind is not None]
    assert coloured
    with shown(model) as page:
        type_in(page, text=TEXT)
        page.wait_for_selector("#coloured mark")
        shown_texts = page.locator("#coloured mark").all_inner_texts()
        assert shown_texts == [text + kind for text, kind in coloured]
        assert page.inner_text("#coloured .marked").startswith(TEXT[:3])


@pytest.mark.browser
@pytest.mark.slow
def test_a_mask_is_filled(shown):
    model = RunModel("test", make("fill_mask"))
    text = "the [MASK] sees the dog"
    best = model.fill_mask(text).tokens[0].removeprefix("##")
    with shown(model) as page:
        type_in(page, text=text)
        answer(page, text.replace("[MASK]", best))
        type_in(page, text="no mask")
        page.wait_for_selector(".toast-body.error")
        assert "There is no [MASK] in the text" in page.inner_text(".toast-body.error")


@pytest.mark.browser
@pytest.mark.slow
def test_labels_and_likeness_are_shown(shown):
    with shown(RunModel("test", make("classifier"))) as page:
        type_in(page, text=TEXT)
        page.wait_for_selector("#labels .confidence-set")
        assert page.locator("#labels .confidence-set").count() == len(small_berts.LABELS)
    with shown(RunModel("test", make("embedder"))) as page:
        type_in(page, text="the dog\nthe dog\na red house")
        page.wait_for_selector("#likeness td")
        cells = page.locator("#likeness td").all_inner_texts()
        assert len(cells) == 9 and cells[0] == cells[1] == "1.00"


@pytest.mark.browser
@pytest.mark.slow
def test_a_text_is_written_piece_by_piece(shown):
    model = RunModel("test", make("characters"))
    asked = {"max_new_tokens": 100, "temperature": 0.8, "top_k": 0, "top_p": 0.95, "seed": 0}
    pieces = list(model.generate("the ", **asked))
    assert len(pieces) > 1
    with shown(model) as page:
        page.evaluate(
            """() => { window.seen = []; setInterval(() => {
            window.seen.push(document.querySelector('#answer textarea').value) }, 5) }"""
        )
        type_in(page, text="the ")
        text = answer(page, "the " + "".join(pieces))
        seen = {value for value in page.evaluate("() => window.seen") if value}
        assert len(seen) > 2  # it grew
        assert all(text.startswith(value) for value in seen)
