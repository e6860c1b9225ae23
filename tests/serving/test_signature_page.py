"""The page beside an export: what it shows can be sent as it stands."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import small_exports
import tensorflow as tf
import yaml

import keras_transformer
from keras_transformer.serving.examples import example_inputs, examples_of
from keras_transformer.serving.export import default_inputs
from keras_transformer.serving.named_inputs import arrays_of
from keras_transformer.serving.provenance import Provenance, provenance
from keras_transformer.serving.saved_signatures import SavedSignature, saved_signatures
from keras_transformer.serving.signature_page import signature_page
from keras_transformer.serving.warmup import WarmupRequest
from keras_transformer.versions import commit_of_this_code

CURL = 'curl() { printf "%s\\0" "$@"; }\n'  # says what it was given
QUOTED = 'he said: "it\'s $HOME\\n", 100 % `小`'


def page_of(kind: str, request: dict[str, Any] | None = None, name: str = "model") -> str:
    """The page of a small task's export; its examples are usual ones, or of one request."""
    task, exported = small_exports.task(kind), small_exports.export(kind)
    examples = {}
    for signature in saved_signatures(exported):
        requests = []
        if request is not None:
            inputs = arrays_of(request, signature.inputs, "test")
            requests.append(WarmupRequest(signature.name, inputs))
        known = type(task).__name__, default_inputs(task), requests
        examples[signature.name] = example_inputs(signature.inputs, *known)
    return signature_page(exported, name, examples, provenance(task))


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)\n```$", page, re.S | re.M)


def sections(page: str) -> dict[str, str]:
    """The text about each signature."""
    parts = re.split(r"^## (.*)$", page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def sent(line: str) -> tuple[str, dict[str, Any]]:
    """Where a command sends what, as a shell understands it."""
    done = subprocess.run(["sh", "-c", CURL + line], check=True, capture_output=True)
    flag, body, url = done.stdout.decode().split("\0")[:-1]
    assert flag == "-d"
    return url, json.loads(body)


def rows_in(body: dict[str, Any]) -> dict[str, list]:
    """The columns of a request in either form."""
    if "inputs" in body:
        return body["inputs"]
    rows = body["instances"]
    return {name: [row[name] for row in rows] for name in rows[0]}


QUICK = ["classifier"]
OTHERS = [kind for kind in (*small_exports.QUICK, *small_exports.OTHERS) if kind not in QUICK]


@pytest.fixture(
    scope="module",
    params=[*QUICK, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)],
)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def page(kind):
    return page_of(kind)


def test_each_signature_answers_to_both_forms_of_its_command(kind, page):
    loaded = tf.saved_model.load(str(small_exports.export(kind)))
    found = sections(page)
    for name, function in small_exports.task(kind).signatures().items():
        (commands,) = blocks(found[name], "bash")
        bodies = []
        for line in commands.split("\n"):
            url, body = sent(line)
            assert url == "http://localhost:8501/v1/models/model:predict"
            assert body.pop("signature_name") == name
            bodies.append(body)
        assert [set(body) for body in bodies] == [{"instances"}, {"inputs"}]
        assert rows_in(bodies[0]) == rows_in(bodies[1])
        specs = {spec.name: spec for spec in function.input_signature}
        inputs = arrays_of(rows_in(bodies[0]), specs, "the page")
        outputs = loaded.signatures[name](**{k: tf.constant(v) for k, v in inputs.items()})
        assert {len(value) for value in outputs.values()} == {1}


def test_the_tables_name_what_each_signature_takes_and_gives(kind, page):
    for signature in saved_signatures(small_exports.export(kind)):
        rows = re.findall(
            r"^\| (\w+) \| `(\w+)` \| (\w+) \| \[(.*)\] \|$", sections(page)[signature.name], re.M
        )
        assert [row[:3] for row in rows] == [
            (way, name, spec.dtype.name)
            for way, specs in (("input", signature.inputs), ("output", signature.outputs))
            for name, spec in specs.items()
        ]
        assert all(shape.split(", ")[0] == "rows" for *_, shape in rows)


def test_sizes_that_are_always_the_same_are_shown():
    assert "| output | `scores` | float32 | [rows, 3] |" in page_of("classifier")


def test_options_are_shown_as_the_task_has_them():
    specs = {"prompt": tf.TensorSpec([None], tf.string), "top_k": tf.TensorSpec([None], tf.int32)}
    assert example_inputs(specs, defaults={"top_k": 40}) == {
        "prompt": ["Once upon a time"],
        "top_k": [40],
    }
    flag = {"other": tf.TensorSpec([None], tf.bool), "name": tf.TensorSpec([None], tf.string)}
    assert example_inputs(flag) == {"other": [True], "name": ["name"]}


def test_the_python_asks_what_the_command_asks(kind, page, monkeypatch):
    requests = fake_grpc(monkeypatch)
    for name, text in sections(page).items():
        if not (snippets := blocks(text, "python")):
            continue
        url, body = sent(blocks(text, "bash")[0].split("\n")[0])
        exec(compile(snippets[0], name, "exec"), {})
        (request,) = requests
        requests.clear()
        assert (request.model_spec.name, request.model_spec.signature_name) == ("model", name)
        specs = {
            spec.name: spec for spec in small_exports.task(kind).signatures()[name].input_signature
        }
        expected = arrays_of(rows_in(body), specs, "the command")
        assert request.inputs.keys() == expected.keys()
        for key, tensor in request.inputs.items():
            found = tf.make_ndarray(tensor)
            assert found.dtype == expected[key].dtype
            np.testing.assert_array_equal(found, expected[key])


def fake_grpc(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests that are then made go into the list; where there is no server."""
    apis = pytest.importorskip("tensorflow_serving.apis")
    from tensorflow_serving.apis import predict_pb2

    requests: list[Any] = []

    class Channel:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def predict(request, timeout):
        assert timeout > 0
        requests.append(request)
        return predict_pb2.PredictResponse()

    grpc, service = ModuleType("grpc"), ModuleType("prediction_service_pb2_grpc")
    grpc.insecure_channel = lambda address: Channel()
    service.PredictionServiceStub = lambda channel: SimpleNamespace(Predict=predict)
    monkeypatch.setitem(sys.modules, "grpc", grpc)
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis.prediction_service_pb2_grpc", service)
    monkeypatch.setattr(apis, "prediction_service_pb2_grpc", service, raising=False)
    return requests


def test_a_request_of_ones_own_is_the_example_whatever_is_quoted_in_it():
    found = page_of("classifier", {"text": QUOTED, "text_pair": ""}, name="a b")
    for line in blocks(found, "bash")[0].split("\n"):
        url, body = sent(line)
        assert rows_in(body) == {"text": [QUOTED]}
        assert url.endswith("/models/a%20b:predict")
    assert "小" in found  # as it is, not as an escape


def test_bytes_that_are_no_text_are_shown_in_base64():
    found = page_of("classifier", {"text": b"\xff\x00", "text_pair": ""})
    _, body = sent(blocks(found, "bash")[0].split("\n")[0])
    assert body["instances"] == [{"text": {"b64": "/wA="}}]
    assert r"[b'\xff\x00']" in blocks(found, "python")[0]


def test_a_long_request_is_no_example():
    assert "Ada lives in London." in page_of("classifier", {"text": "x" * 10_000, "text_pair": ""})


def test_a_compiled_signature_shows_the_warm_up_of_the_one_that_it_is_of():
    text = {"text": tf.TensorSpec([None], tf.string)}
    requests = [WarmupRequest("n_best", {"text": np.array(["苹果".encode()], object)})]
    assert examples_of({"n_best": text, "n_best_xla": text, "other": text}, requests=requests) == {
        **dict.fromkeys(("n_best", "n_best_xla"), {"text": ["苹果"]}),
        "other": {"text": ["Ada lives in London."]},
    }


@pytest.mark.parametrize(
    "names, target, source",
    [(["text"], "translation", "text"), (["question", "context"], "question", "context")],
)
def test_weights_are_said_to_be_of_what_the_model_has(monkeypatch, names, target, source):
    inputs = {name: tf.TensorSpec([None], tf.string, name) for name in names}
    outputs = {"weights": tf.TensorSpec([None, None, None], tf.float32, "weights")}
    alignment = SavedSignature("alignment", inputs, outputs)
    module = "keras_transformer.serving.signature_page"
    monkeypatch.setattr(f"{module}.saved_signatures", lambda folder: [alignment])
    examples = examples_of({"alignment": inputs})
    page = signature_page("exported", "model", examples, Provenance("Some", "float32", 1, {}))
    assert f"`t` of the {target} of row `i` looked at token `s` of the {source}:" in page


# Where the model comes from.


@pytest.fixture
def run(tmp_path):
    """What a training leaves."""
    options = {"dataset": "tsv:a|b.tsv", "source": None, "reverse": False, "init": "runs/old"}
    (tmp_path / "options.yaml").write_text(yaml.safe_dump(options), encoding="utf-8")
    results = {"test": {"bleu": {"value": 34.5, "signature": "a|b"}}, "history": [[1, 2.0]]}
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (tmp_path / "config.json").write_text('{"task": "TextClassifier", "max_length": 5}')
    (tmp_path / "model.weights.h5").write_bytes(b"weights")
    report = {"commit": "0123abc-dirty", "versions": {"tensorflow": "2.20.0"}, "epochs": []}
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return tmp_path


def test_a_run_says_what_its_model_learned_from_and_how_well(run):
    task = small_exports.task("classifier")
    found = provenance(task, run)
    assert found.task == "TextClassifier" and found.precision == "float32"
    assert found.data == {"dataset": "tsv:a|b.tsv", "init": "runs/old"}
    assert found.scores == {"test.bleu.value": 34.5, "test.bleu.signature": "a|b"}
    assert found.config == {"max_length": 5}
    assert found.parameters == sum(np.size(weight) for weight in task.model.get_weights())
    assert found.trained_commit == "0123abc-dirty"
    assert found.trained_versions == {"tensorflow": "2.20.0"}
    assert found.weights_sha256 == hashlib.sha256(b"weights").hexdigest()


def test_the_page_tells_of_the_run(run):
    exported = small_exports.export("classifier")
    examples = {"serving_default": {"text": ["a"]}, "pair": {"text": ["a"], "text_pair": ["b"]}}
    page = signature_page(
        exported, "tags", examples, provenance(small_exports.task("classifier"), run)
    )
    assert r"| trained with `--dataset` | tsv:a\|b.tsv |" in page  # the cell is whole
    assert "| result test.bleu.value | 34.5 |" in page
    assert "| trained by commit | 0123abc-dirty |" in page
    assert "| trained with tensorflow | 2.20.0 |" in page
    assert f"| exported with tensorflow | {tf.__version__} |" in page
    assert f"| exported with keras_transformer | {keras_transformer.__version__} |" in page
    assert "| precision | float32 |" in page
    assert json.loads(blocks(page, "json")[0]) == {"max_length": 5}
    assert yaml.safe_load(blocks(page, "yaml")[0])["source"] is None
    assert "not known" not in page


def test_what_a_folder_does_not_say_is_said_to_be_unknown():
    page = page_of("classifier")
    assert "What it was trained on is not known" in page
    assert "result" not in sections(page)["Where it comes from"]
    assert "trained by commit" not in page


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("results.json", '{"test": ', "results.json cannot be read"),
        ("results.json", "[1]", "results.json must hold named values, not a list"),
        ("options.yaml", "a: [", "options.yaml cannot be read"),
        ("report.json", "[]", "report.json must hold named values, not a list"),
    ],
)
def test_a_damaged_file_of_a_run_is_refused_by_name(run, file, text, words):
    (run / file).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        provenance(small_exports.task("classifier"), run)


def git(folder, *arguments):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_is_that_of_this_code_and_not_of_a_repository_around_it(tmp_path, monkeypatch):
    package = tmp_path / "keras_transformer"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (tmp_path / "other").write_text("")
    monkeypatch.setattr(keras_transformer, "__file__", str(package / "__init__.py"))
    assert commit_of_this_code() is None
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "other")
    git(tmp_path, "commit", "-q", "-m", "other")
    assert commit_of_this_code() is None  # installed into somebody's repository
    git(tmp_path, "add", "keras_transformer")
    git(tmp_path, "commit", "-q", "-m", "ours")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert commit_of_this_code() == commit
    (package / "__init__.py").write_text("changed = True\n")
    assert commit_of_this_code() == f"{commit}-dirty"


def test_a_page_is_made_of_what_the_export_says_and_not_of_the_task(tmp_path):
    with pytest.raises(ValueError, match="holds no SavedModel: there is no saved_model.pb in it"):
        signature_page(tmp_path, "model", {}, Provenance("Task", "float32", 1, {}))
