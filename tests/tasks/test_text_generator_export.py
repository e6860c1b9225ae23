"""An exported text generator says the same everywhere, and what it was saved as comes back."""

import json
import os

import numpy as np
import pytest
import small_generators
import tensorflow as tf
from saved_model_files import devices, meta_graph, nodes, signature
from small_generators import LLAMA, PROMPTS
from tasks import processes

from benchmarks import same_everywhere
from keras_transformer.tasks import GenerationOptions, TextGenerator

ROWS = 40
GARBAGE = ["x" * 300, "👩‍👩‍👧" * 20, "<s></s>", "\x10▁", "\0"]


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    """Subwords and a model like Llama; saved and loaded, its files gone."""
    options = GenerationOptions(max_new_tokens=20, repetition_penalty=1.1, stop=("e d", "🙂"))
    made = small_generators.make_generator(small_generators.subwords(), options, seed=2, **LLAMA)
    folder = tmp_path_factory.mktemp("generator")
    made.save(folder / "run")
    loaded = TextGenerator.load(folder / "run")
    (folder / "run").rename(folder / "gone")
    return loaded


@pytest.fixture(scope="module")
def exported(generator, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    version = generator.export(folder / "written" / "gpt")
    return version.parent.parent.rename(folder / "moved") / "gpt" / version.name


@pytest.fixture(scope="module")
def request_columns():
    """What each row asks for is its own."""
    random = np.random.default_rng(0)
    prompts = [*PROMPTS, *GARBAGE]
    return {
        "prompt": [prompts[row % len(prompts)] for row in range(ROWS)],
        "max_new_tokens": random.integers(-1, 30, ROWS).tolist(),
        "temperature": random.choice([0.0, 0.5, 1.0, 1.5], ROWS).tolist(),
        "top_k": random.choice([0, 5, 50], ROWS).tolist(),
        "top_p": random.choice([0.5, 0.9375, 1.0], ROWS).tolist(),
        "seed": random.integers(0, 1000, ROWS).tolist(),
    }


def ask(function, columns):
    """A signature's outputs as lists of strings and numbers."""
    outputs = function(
        **{
            name: tf.constant(
                values,
                {"prompt": tf.string, "text": tf.string}.get(
                    name, tf.float32 if name in ("temperature", "top_p") else tf.int32
                ),
            )
            for name, values in columns.items()
        }
    )
    return plain(outputs)


def plain(outputs):
    def listed(value):
        value = value.numpy().tolist()
        return [item.decode() if isinstance(item, bytes) else item for item in value]

    return {name: listed(value) for name, value in outputs.items()}


@pytest.fixture(scope="module")
def expected(generator, request_columns):
    """What Python says."""
    return {
        "serving_default": ask(generator.serving_default, prompt_column(request_columns)),
        "generate": ask(generator.serving_generate, request_columns),
        "score": ask(generator.serving_score, {"text": request_columns["prompt"]}),
    }


def prompt_column(columns):
    return {"prompt": columns["prompt"]}


def assert_same_answers(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if name in ("score", "log_probability"):
            np.testing.assert_allclose(found[name], values, atol=1e-3)
        else:
            assert found[name] == values


def test_a_batch_in_python_asks_the_same_graph(generator, expected, request_columns):
    prompts = request_columns["prompt"][:5]
    found = generator.generate(prompts, max_new_tokens=7, top_k=5, seed=3)
    columns = {
        "prompt": prompts,
        "max_new_tokens": [7] * 5,
        "temperature": [1.0] * 5,
        "top_k": [5] * 5,
        "top_p": [1.0] * 5,
        "seed": [3, 4, 5, 6, 7],
    }
    served = ask(generator.serving_generate, columns)
    assert served["text"] == [generation.text for generation in found]
    assert served["full_text"] == [generation.full_text for generation in found]
    assert any(expected["generate"]["truncated"]) and len(set(expected["generate"]["text"])) > 20


def test_the_default_signature_draws_each_row_with_the_same_seed(generator, expected):
    found = expected["serving_default"]
    first, again = found["text"][0], found["text"][len(PROMPTS) + len(GARBAGE)]
    assert first == again == generator.generate([""])[0].text


def test_the_signatures_take_and_give_one_value_a_row(exported):
    texts = {
        "out:text": ("string", [-1]),
        "out:full_text": ("string", [-1]),
        "out:score": ("float32", [-1]),
        "out:truncated": ("bool", [-1]),
    }
    assert signature(exported, "serving_default") == {"in:prompt": ("string", [-1])} | texts
    assert signature(exported, "generate") == texts | {
        "in:prompt": ("string", [-1]),
        "in:max_new_tokens": ("int32", [-1]),
        "in:temperature": ("float32", [-1]),
        "in:top_k": ("int32", [-1]),
        "in:top_p": ("float32", [-1]),
        "in:seed": ("int32", [-1]),
    }
    assert signature(exported, "score") == {
        "in:text": ("string", [-1]),
        "out:log_probability": ("float32", [-1]),
        "out:tokens": ("int32", [-1]),
        "out:truncated": ("bool", [-1]),
    }
    assert set(meta_graph(exported).signature_def) >= {"serving_default", "generate", "score"}


def test_the_graph_holds_nothing_that_a_server_lacks(exported):
    operations = {node.op for node in nodes(exported)}
    for part in ("Xla", "PyFunc", "HashTable", "Mutable"):
        assert not [name for name in operations if part in name]
    assert {"SentencepieceOp", "StatelessRandomUniformFullIntV2"} <= operations  # all was searched
    assert devices(exported) == set()


@pytest.mark.parametrize(
    "python",
    [
        pytest.param(None, id="this"),
        pytest.param("KERAS_TRANSFORMER_OLD_PYTHON", marks=pytest.mark.slow),
    ],
)
def test_a_process_with_tensorflow_alone_says_the_same(exported, expected, request_columns, python):
    if python and python not in os.environ:
        pytest.skip(f"needs a Python with an older TensorFlow; set {python} to it")
    few = {name: values[:3] for name, values in request_columns.items()}
    requests = [
        ["serving_default", prompt_column(request_columns)],
        ["generate", request_columns],
        ["score", {"text": request_columns["prompt"]}],
        ["generate", few],
        ["serving_default", {"prompt": []}],
    ]
    options = {"python": os.environ[python]} if python else {}
    served = processes.run("serve_saved_model.py", exported, given=[requests], **options)
    assert served["ours"] == served["unregistered"] == []
    default, generate, score, part, empty = served["answers"][0]
    assert_same_answers(default, expected["serving_default"])
    assert_same_answers(generate, expected["generate"])
    assert_same_answers(score, expected["score"])
    assert part["text"] == expected["generate"]["text"][:3]
    assert empty == {"text": [], "full_text": [], "score": [], "truncated": []}


@pytest.mark.slow
def test_without_python_rows_together_and_alone_say_the_same(
    exported, expected, request_columns, c_serve
):
    alone = [{name: [v[row]] for name, v in request_columns.items()} for row in range(ROWS)]
    together, *rows = c_serve.ask(exported, "generate", [request_columns, *alone[:15]])
    assert_same_answers(together, expected["generate"])
    for row, found in enumerate(rows):
        assert_same_answers(found, {n: [v[row]] for n, v in expected["generate"].items()})
    (default,) = c_serve.ask(exported, "serving_default", [prompt_column(request_columns)])
    assert_same_answers(default, expected["serving_default"])
    (scores,) = c_serve.ask(exported, "score", [{"text": request_columns["prompt"]}])
    assert_same_answers(scores, expected["score"])


@pytest.mark.slow
def test_the_command_that_compares_all_ways_takes_options_of_each_row(
    generator, exported, request_columns, c_serve, tmp_path, capsys, monkeypatch
):
    generator.save(tmp_path / "run")
    rows = [{name: values[row] for name, values in request_columns.items()} for row in range(ROWS)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.setattr(same_everywhere.CServe, "build", lambda *_: c_serve)
    ways = ["--model", tmp_path / "run", "--export", exported, "--c-serve", tmp_path]
    arguments = [*ways, "--signature", "generate", "--texts", tmp_path / "rows.jsonl"]
    same_everywhere.main([*map(str, arguments), "--count", "4"])
    assert capsys.readouterr().out.count("4 of 4") == 5  # against each of the other ways


def test_without_python_nonsense_and_no_rows_are_answered(exported, expected, c_serve):
    columns = {
        "prompt": ["", "the "],
        "max_new_tokens": [-9, 3],
        "temperature": [float("nan"), -1.0],
        "top_k": [-3, 0],
        "top_p": [7.0, float("inf")],
        "seed": [-1, 0],
    }
    nonsense, nothing = c_serve.ask(exported, "generate", [columns, {name: [] for name in columns}])
    assert nonsense["text"][0] == "" and nonsense["full_text"][1].startswith("the ")
    assert nothing == {"text": [], "full_text": [], "score": [], "truncated": []}
