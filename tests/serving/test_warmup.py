"""Warm-up records: what is written has been answered, and can be replayed."""

from __future__ import annotations

import gzip
import math
import shutil
import stat
import sys
from typing import Any

import numpy as np
import pytest
import small_exports
import tensorflow as tf

from keras_transformer.serving import read_warmup, write_warmup
from keras_transformer.serving.named_inputs import arrays_of
from keras_transformer.serving.saved_signatures import saved_signatures
from keras_transformer.serving.warmup import (
    MOST_RECORDS,
    WARMUP_FILE,
    WarmupRequest,
    count_warmup,
)
from keras_transformer.serving.warmup_requests import read_requests

TEXT = {"text": tf.TensorSpec([None], tf.string)}
PAIR = {name: tf.TensorSpec([None], tf.string) for name in ("text", "text_pair")}
PROMPT = {
    "prompt": tf.TensorSpec([None], tf.string),
    "top_k": tf.TensorSpec([None], tf.int32),
    "temperature": tf.TensorSpec([None], tf.float32),
}
DEFAULTS = {"top_k": 0, "temperature": 1.0, "beam_size": 4}


def write(folder: Any, text: str, name: str = "requests.jsonl") -> str:
    (folder / name).write_bytes(text.encode())
    return str(folder / name)


def asked(requests: list[WarmupRequest]) -> list[tuple[str, dict[str, list]]]:
    return [(r.signature, {k: v.tolist() for k, v in r.inputs.items()}) for r in requests]


# From a file.


def test_a_line_of_text_is_a_request_to_every_signature_of_one_text(tmp_path):
    file = write(tmp_path, "one\n\n  \n小\r\n", "texts.txt")
    requests = read_requests(file, {"serving_default": TEXT, "tokens": TEXT})
    lines = [{"text": [b"one"]}, {"text": ["小".encode()]}]
    assert asked(requests) == [(n, line) for n in ("serving_default", "tokens") for line in lines]
    assert [request.origin for request in requests[:2]] == [f"{file}, line 1", f"{file}, line 4"]


def test_options_that_the_task_has_need_not_be_named(tmp_path):
    file = write(tmp_path, "ROMEO:\n", "prompts")
    signatures = {"serving_default": {"prompt": PROMPT["prompt"]}, "generate": PROMPT}
    assert asked(read_requests(file, signatures, DEFAULTS)) == [
        ("serving_default", {"prompt": [b"ROMEO:"]}),
        ("generate", {"prompt": [b"ROMEO:"], "top_k": [0], "temperature": [1.0]}),
    ]


def test_a_json_line_goes_to_the_signatures_whose_inputs_it_names(tmp_path):
    lines = '{"text": "a", "text_pair": "b"}\n\n{"text": "c"}\n{"prompt": "d", "top_k": 7}\n'
    file = write(tmp_path, lines)
    signatures = {"serving_default": TEXT, "pair": PAIR, "generate": PROMPT}
    assert asked(read_requests(file, signatures, DEFAULTS)) == [
        ("serving_default", {"text": [b"a"]}),
        ("serving_default", {"text": [b"c"]}),
        ("pair", {"text": [b"a"], "text_pair": [b"b"]}),
        ("generate", {"prompt": [b"d"], "top_k": [7], "temperature": [1.0]}),
    ]


def test_json_lines_may_be_packed_and_hold_several_rows_and_bytes(tmp_path):
    path = tmp_path / "requests.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": ["a", {"b64": "/w=="}], "text_pair": "c"}\n'))
    (request,) = read_requests(path, {"pair": PAIR})
    assert request.inputs["text"].tolist() == [b"a", b"\xff"]
    assert request.inputs["text_pair"].tolist() == [b"c", b"c"]


MISFITS = {
    "a text where two are needed": (
        ("a.txt", "x\n", {"pair": PAIR}),
        "a.txt, line 1: no signature takes one text, but 'pair' (text, text_pair): give JSON lines",
    ),
    "texts where one signature needs two": (
        ("a.txt", "x\n", {"serving_default": TEXT, "pair": PAIR}),
        "a.txt: no line is a request to 'pair' (text, text_pair); give JSON lines",
    ),
    "an unknown input": (
        ("a.jsonl", '\n{"tex": "a"}\n', {"serving_default": TEXT}),
        "a.jsonl, line 2: no signature takes tex, but 'serving_default' (text).",
    ),
    "an unknown input beside known ones": (
        ("a.jsonl", '{"text": "a", "txet_pair": "b"}\n', {"s": TEXT, "pair": PAIR}),
        "a.jsonl, line 1: no signature has an input 'txet_pair'; there are text, text_pair.",
    ),
    "no line for a signature": (
        ("a.jsonl", '{"text": "a"}\n', {"s": TEXT, "pair": PAIR}),
        "a.jsonl: no line is a request to 'pair'",
    ),
    "no object": (
        ("a.jsonl", '{"text": "a"}\n["b"]\n', {"s": TEXT}),
        "a.jsonl, line 2: a JSON object of named inputs is needed, not ['b'].",
    ),
    "no JSON": (("a.jsonl", '{"text": \n', {"s": TEXT}), "a.jsonl, line 1: not JSON"),
    "nothing": (("a.jsonl", "", {"s": TEXT}), "a.jsonl: no line is a request to 's' (text)"),
    "too much": (
        ("a.txt", "x\n" * (MOST_RECORDS // 2 + 1), {"s": TEXT, "t": TEXT}),
        "There are 1,002 warm-up records; a server takes 1,000 at most",
    ),
}


@pytest.mark.parametrize(("given", "words"), MISFITS.values(), ids=MISFITS.keys())
def test_what_fits_no_signature_is_refused_by_file_and_line(tmp_path, given, words):
    name, text, signatures = given
    with pytest.raises(ValueError) as error:
        read_requests(write(tmp_path, text, name), signatures)
    assert words in str(error.value)


def test_as_many_records_as_a_server_takes_are_right(tmp_path):
    file = write(tmp_path, "x\n" * (MOST_RECORDS // 2), "a.txt")
    assert len(read_requests(file, {"s": TEXT, "t": TEXT})) == MOST_RECORDS


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"prompt": 5}, "line 1: prompt must be a text, not 5."),
        ({"prompt": None}, "line 1: prompt must be a text, not None."),
        ({"prompt": {"b64": "?"}}, "line 1: prompt: '?' is not base64."),
        ({"prompt": "\ud800"}, "line 1: prompt has half a surrogate pair"),
        ({"prompt": [["a"]]}, "line 1: prompt must be a text, not ['a']."),
        ({"prompt": "a", "top_k": 1.5}, "line 1: top_k must be a whole number, not 1.5."),
        ({"prompt": "a", "top_k": True}, "line 1: top_k must be a whole number, not True."),
        ({"prompt": "a", "top_k": 2**31}, "line 1: top_k must be from -2147483648 to 2147483647"),
        ({"prompt": "a", "temperature": "1"}, "line 1: temperature must be a number, not '1'."),
        ({"prompt": "a", "temperature": 10**400}, "must be a number that float32 holds, not 1000"),
        ({"prompt": "a", "temperature": math.inf}, "must be a number that float32 holds, not inf"),
        ({"prompt": "a", "temperature": math.nan}, "must be a number that float32 holds, not nan"),
        ({"prompt": ["a", "b"], "top_k": [1]}, "as many rows, not prompt 2, top_k 1."),
        ({"prompt": []}, "line 1: there must be at least one row."),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused_by_name(values, words):
    with pytest.raises(ValueError) as error:
        arrays_of({"top_k": 1, "temperature": 1.0} | values, PROMPT, "line 1")
    assert words in str(error.value)


def test_numbers_have_the_dtype_of_their_input():
    arrays = arrays_of({"prompt": "a", "top_k": 3, "temperature": 2}, PROMPT, "line 1")
    assert {name: str(array.dtype) for name, array in arrays.items()} == {
        "prompt": "object",
        "top_k": "int32",
        "temperature": "float32",
    }
    (flag,) = arrays_of({"sure": True}, {"sure": tf.TensorSpec([None], tf.bool)}, "").values()
    assert flag.dtype == bool and flag.tolist() == [True]


# Beside a model.


@pytest.fixture(scope="module")
def exported():
    """With a signature of one text and one of two."""
    return small_exports.export("classifier")


@pytest.fixture(scope="module")
def loaded(exported):
    return tf.saved_model.load(str(exported))


@pytest.fixture(scope="module")
def requests(exported, tmp_path_factory):
    lines = '{"text": "who?", "text_pair": "Ada lives"}\n{"text": ["", "小"], "text_pair": "x"}\n'
    signatures = {signature.name: signature.inputs for signature in saved_signatures(exported)}
    return read_requests(write(tmp_path_factory.mktemp("lines"), lines), signatures)


@pytest.fixture(scope="module")
def package():
    pytest.importorskip("tensorflow_serving", reason="needs tensorflow-serving-api")


@pytest.fixture(scope="module")
def written(package, exported, requests, tmp_path_factory):
    """A copy with its records."""
    version = shutil.copytree(exported, tmp_path_factory.mktemp("written") / "1")
    assert write_warmup(version, requests, "labels") == version / WARMUP_FILE
    return version


@pytest.fixture
def version(exported, loaded, tmp_path, monkeypatch):
    """A copy without records; it is not loaded anew."""
    monkeypatch.setattr(tf.saved_model, "load", lambda path: loaded)
    return shutil.copytree(exported, tmp_path / "1")


def test_records_parse_back_as_they_were_asked(written, requests):
    assert asked(read_warmup(written)) == asked(requests)
    assert count_warmup(written) == 4
    path = written / WARMUP_FILE
    assert path.stat().st_mode & stat.S_IROTH  # a server may be another user
    assert {file.name for file in path.parent.iterdir()} == {"precision.json", path.name}


def test_records_are_those_of_the_serving_api(written):
    from tensorflow_serving.apis import prediction_log_pb2

    names = []
    for data in tf.data.TFRecordDataset(str(written / WARMUP_FILE)).as_numpy_iterator():
        log = prediction_log_pb2.PredictionLog.FromString(data)
        assert log.WhichOneof("log_type") == "predict_log"
        assert log.predict_log.request.model_spec.name == "labels"
        names.append(log.predict_log.request.model_spec.signature_name)
    assert names == ["serving_default", "serving_default", "pair", "pair"]


def test_replayed_they_are_answered_as_in_python(written, loaded):
    task = small_exports.task("classifier")
    for request in read_warmup(written):
        inputs = {name: tf.constant(values) for name, values in request.inputs.items()}
        found = loaded.signatures[request.signature](**inputs)
        expected = task.signatures()[request.signature](**inputs)
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values, name)


@pytest.mark.parametrize(
    ("signature", "inputs", "words"),
    [
        ("pair", {"text": [b"a"], "text_pair": [b"b", b"c"]}, "does not answer: "),
        ("pair", {"text": [b"a"]}, "does not answer: "),
        ("serving_default", {"text": [1.5]}, "does not answer: "),
        ("best", {"text": [b"a"], "text_pair": [b"b"]}, "line 9: there is no signature 'best'"),
    ],
)
def test_a_request_that_fails_is_not_written_and_nor_are_the_others(
    package, version, requests, signature, inputs, words
):
    given = {n: np.array(v, object if isinstance(v[0], bytes) else None) for n, v in inputs.items()}
    bad = WarmupRequest(signature, given, "line 9")
    with pytest.raises(ValueError, match=f"^line 9: .*{words.removeprefix('line 9: ')}"):
        write_warmup(version, [*requests, bad])
    assert [p.name for p in (version / WARMUP_FILE).parent.iterdir()] == ["precision.json"]
    assert count_warmup(version) == 0


def test_no_records_and_too_many_are_refused(package, version, requests):
    with pytest.raises(ValueError, match="no requests to warm up with"):
        write_warmup(version, [])
    with pytest.raises(ValueError, match="There are 1,004 warm-up records"):
        write_warmup(version, requests * 251)
    assert count_warmup(version) == 0


def test_a_missing_file_and_other_records_are_refused(package, version):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        list(read_warmup(version))
    from tensorflow_serving.apis import prediction_log_pb2

    log = prediction_log_pb2.PredictionLog()
    log.classify_log.request.model_spec.name = "other"
    with tf.io.TFRecordWriter(str(version / WARMUP_FILE)) as file:
        file.write(log.SerializeToString())
    with pytest.raises(ValueError, match="record 1: it is no request to predict"):
        list(read_warmup(version))


def test_without_its_package_one_sentence_says_what_to_install(version, requests, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_serving", None)
    monkeypatch.delitem(sys.modules, "tensorflow_serving.apis", raising=False)
    with pytest.raises(
        ValueError, match=r"need the package tensorflow-serving-api.*\[serving\]'\.$"
    ):
        write_warmup(version, requests)
    assert count_warmup(version) == 0
