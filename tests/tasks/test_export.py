"""An exported translator answers anywhere as in Python."""

import base64
import json
import os
import stat

import pytest
import small_translators
import tensorflow as tf
from saved_model_files import devices, meta_graph, nodes, signature
from small_translators import SOURCES, TARGETS, assert_same_answers, plain_outputs
from tasks import processes

from benchmarks import same_everywhere
from keras_transformer.tasks.answers import NOTHING

TEXTS = [*SOURCES, "", " ", "the dog drinks red tea", "x" * 500]


@pytest.fixture(scope="module")
def expected(overfitted):
    """What Python says to TEXTS."""
    return plain_outputs(overfitted.serving_default(tf.constant(TEXTS)))


def encoded(text):
    return {"b64": base64.b64encode(text).decode()} if isinstance(text, bytes) else text


def test_the_default_signature_takes_and_gives_text(exported):
    assert signature(exported, "serving_default") == {
        "in:text": ("string", [-1]),
        "out:translation": ("string", [-1]),
        "out:score": ("float32", [-1]),
        "out:truncated": ("bool", [-1]),
    }


def test_the_n_best_signature_gives_as_many_as_the_options_say(exported):
    assert signature(exported, "n_best") == {
        "in:text": ("string", [-1]),
        "out:translations": ("string", [-1, 3]),
        "out:scores": ("float32", [-1, 3]),
        "out:truncated": ("bool", [-1]),
    }


def test_no_output_would_be_base64_encoded_by_a_server(exported):
    for name, definition in meta_graph(exported).signature_def.items():
        for output in (*definition.inputs, *definition.outputs):
            assert not output.endswith("_bytes"), name


def test_the_graph_holds_nothing_that_a_server_lacks(exported):
    operations = {node.op for node in nodes(exported)}
    for part in ("Xla", "PyFunc", "HashTable", "Mutable"):
        assert not [name for name in operations if part in name]
    assert "SentencepieceOp" in operations  # the functions' nodes are among them
    assert devices(exported) == set()


def test_a_server_may_read_the_files_as_another_user(exported):
    for path in (exported, *exported.rglob("*")):
        mode = path.stat().st_mode
        assert mode & stat.S_IROTH and (not path.is_dir() or mode & stat.S_IXOTH), path


@pytest.mark.parametrize(
    "python",
    [
        pytest.param(None, id="this"),
        pytest.param("KERAS_TRANSFORMER_OLD_PYTHON", marks=pytest.mark.slow),
    ],
)
def test_a_process_with_tensorflow_alone_says_the_same(exported, expected, overfitted, python):
    if python and python not in os.environ:
        pytest.skip(f"needs a Python with an older TensorFlow; set {python} to it")
    sizes = (1, 7, 33, 70)
    rows = [(TEXTS * 3)[:size] for size in sizes]
    garbage = [SOURCES[0], *small_translators.GARBAGE, SOURCES[1]]
    requests = [
        ["serving_default", {"text": TEXTS}],
        *(["serving_default", {"text": texts}] for texts in rows),
        ["serving_default", {"text": []}],
        ["n_best", {"text": []}],
        ["n_best", {"text": TEXTS[:3]}],
        ["serving_default", {"text": [encoded(text) for text in garbage]}],
    ]
    options = {"python": os.environ[python]} if python else {}
    served = processes.run("serve_saved_model.py", exported, given=[requests], **options)
    assert served["ours"] == served["unregistered"] == []
    if python:
        assert served["versions"][0].split(".")[:2] != tf.__version__.split(".")[:2]
    whole, *parts, empty, n_best_empty, n_best, between = served["answers"][0]
    assert_same_answers(whole, expected, ties=1)
    for size, part in zip(sizes, parts, strict=True):
        assert part["translation"] == (whole["translation"] * 3)[:size]
        assert part["score"] == pytest.approx((whole["score"] * 3)[:size], abs=1e-4)
    assert empty == {"translation": [], "score": [], "truncated": []}
    assert n_best_empty["translations"] == []
    in_python = plain_outputs(overfitted.n_best(tf.constant(TEXTS[:3])))
    assert n_best["translations"] == in_python["translations"]
    assert [between["translation"][row] for row in (0, -1)] == TARGETS[:2]


def test_without_python_rows_together_and_alone_say_the_same(exported, expected, c_serve):
    (together,) = c_serve.ask(exported, "serving_default", [{"text": TEXTS}])
    assert_same_answers(together, expected, ties=1)
    answers = c_serve.ask_alone(exported, "serving_default", TEXTS)
    alone = {name: [answer[name][0] for answer in answers] for name in answers[0]}
    assert len(answers) == len(TEXTS)
    assert_same_answers(alone, expected, ties=1)


def test_without_python_all_forms_of_json_are_understood(exported, c_serve):
    quotes, slash = '"he said \\"no\\""', '"back\\\\slash"'
    requests = [
        '{"text": ["我喝茶。", "🙂", ' + quotes + ", " + slash + "]}",
        json.dumps({"text": ["我喝茶。", "🙂", 'he said "no"', "back\\slash"]}),  # \u escapes
        json.dumps({"text": [encoded("我喝茶。".encode()), encoded("🙂".encode()), "red", "blue"]}),
        json.dumps({"text": ["red", encoded(b"\xff\xfe"), "nul \0 in it", "blue"]}),
        json.dumps({"text": []}),
    ]
    plain, escaped, in_base64, broken, empty = c_serve.ask_lines(
        exported, "serving_default", "".join(request + "\n" for request in requests)
    )
    assert plain["translation"] == ["I drink tea.", "😀 ok", "er sagte „nein“", "Rück\\strich"]
    assert escaped == plain
    assert in_base64["translation"] == ["I drink tea.", "😀 ok", "rot", "blau"]
    assert [broken["translation"][row] for row in (0, 3)] == ["rot", "blau"]
    assert empty == {"translation": [], "score": [], "truncated": []}


def test_without_python_n_best_gives_fillers_for_a_blank(exported, c_serve):
    (outputs,) = c_serve.ask(exported, "n_best", [{"text": ["red", " "]}])
    assert outputs["translations"][0][0] == "rot"
    assert outputs["translations"][1] == ["", "", ""]
    assert outputs["scores"][1] == [0, NOTHING, NOTHING]
    assert outputs["truncated"] == [False, False]


@pytest.fixture
def quick_export(overfitted, monkeypatch):
    """Exports of which only the files' places matter."""

    def write(path, _):
        (path / "saved_model.pb").write_bytes(b"a model")

    monkeypatch.setattr(overfitted, "_write_saved_model", write)
    return overfitted.export


def test_versions_count_up(quick_export, tmp_path):
    folder = tmp_path / "new" / "translate"
    assert quick_export(folder) == folder / "1"
    assert quick_export(folder) == folder / "2"
    assert quick_export(folder, version=10) == folder / "10"
    (folder / "notes").mkdir()
    assert quick_export(folder) == folder / "11"
    assert {p.name for p in folder.iterdir()} == {"1", "2", "10", "11", "notes"}


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (1, "has a version 1 already"),
        (0, "at least 1, not 0"),
        (1.5, "whole number, at least 1, not 1.5"),
        ("2", "whole number, at least 1, not '2'"),
        (True, "whole number, at least 1, not True"),
    ],
)
def test_an_impossible_version_is_refused(quick_export, tmp_path, version, words):
    first = quick_export(tmp_path)
    (first / "saved_model.pb").write_bytes(b"the older one")
    with pytest.raises(ValueError, match=words):
        quick_export(tmp_path, version=version)
    assert (first / "saved_model.pb").read_bytes() == b"the older one"


def write_while_another_export_ends(folder):
    """Writes a model during which version 1 appears, once."""

    def write(path, _):
        (path / "saved_model.pb").write_bytes(b"mine")
        if not (folder / "1").exists():
            (folder / "1").mkdir()
            (folder / "1" / "saved_model.pb").write_bytes(b"the other's")

    return write


def test_of_two_exports_at_the_same_time_the_later_takes_the_next_number(
    overfitted, tmp_path, monkeypatch
):
    monkeypatch.setattr(overfitted, "_write_saved_model", write_while_another_export_ends(tmp_path))
    assert overfitted.export(tmp_path) == tmp_path / "2"
    files = {path.name: (path / "saved_model.pb").read_bytes() for path in tmp_path.iterdir()}
    assert files == {"1": b"the other's", "2": b"mine"}


def test_a_version_that_another_export_took_meanwhile_is_refused(overfitted, tmp_path, monkeypatch):
    monkeypatch.setattr(overfitted, "_write_saved_model", write_while_another_export_ends(tmp_path))
    with pytest.raises(ValueError, match="got a version 1 from another export meanwhile"):
        overfitted.export(tmp_path, version=1)
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
    assert (tmp_path / "1" / "saved_model.pb").read_bytes() == b"the other's"


@pytest.mark.parametrize("name", ["run[1]", "a*", "what?", "back\\slash"])
def test_a_path_that_tensorflow_takes_for_a_pattern_is_refused(quick_export, tmp_path, name):
    with pytest.raises(ValueError, match="could not load a model from .* for a pattern"):
        quick_export(tmp_path / name / "translate")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_nothing(overfitted, tmp_path, monkeypatch):
    def fail(_, path, **__):
        with open(os.path.join(path, "saved_model.pb"), "w") as file:
            file.write("half a mod")
        raise OSError("No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="No space"):
        overfitted.export(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_of_the_system_in_one_sentence(overfitted, tmp_path, monkeypatch):
    def fail(*_, **__):
        message = "{{node Save}} /part-0; No space left on device [Op:SaveV2]"
        raise tf.errors.ResourceExhaustedError(None, None, message)

    monkeypatch.setattr(tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="cannot be written: /part-0; No space left on device.$"):
        overfitted.export(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_that_compares_all_ways_agrees(
    overfitted, exported, c_serve, tmp_path, capsys, monkeypatch
):
    overfitted.save(tmp_path / "run")
    (tmp_path / "texts").write_text("\n".join(SOURCES) + "\n", encoding="utf-8")
    monkeypatch.setattr(same_everywhere.CServe, "build", lambda *_: c_serve)
    arguments = ["--model", tmp_path / "run", "--export", exported, "--c-serve", tmp_path]
    same_everywhere.main([*map(str, arguments), "--texts", str(tmp_path / "texts"), "--count", "9"])
    shown = capsys.readouterr().out
    assert shown.count("9 of 9") == 5  # against each of the other ways
