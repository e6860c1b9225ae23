"""What holds for every task of BERT: the same answer in every company, in every way of asking."""

import math
import re

import numpy as np
import pytest
import small_berts
import tensorflow as tf
from saved_model_files import devices, meta_graph, nodes, signature
from small_berts import GARBAGE, MASKED, TASKS, TEXTS, ask, ask_alone, assert_same, columns_of

from keras_transformer.models import BertEmbedder, BertSpanQA
from keras_transformer.tasks import Task, TextEmbedder
from keras_transformer.tasks.answers import NOTHING
from keras_transformer.tasks.chunks import TOKENS_AT_A_TIME, run_in_chunks

REVERSED = TEXTS[::-1]


@pytest.fixture(scope="module", params=TASKS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def task(kind, bert_task):
    return bert_task(kind)


def test_a_row_says_the_same_alone_and_in_any_batch(task):
    for function in task.signatures().values():
        columns = columns_of(function)
        together = ask(function, **columns)
        assert_same(ask_alone(function, **columns), together)
        backwards = {name: [*rows[::-1], *rows] for name, rows in columns.items()}
        assert_same(ask(function, **backwards), [*together[::-1], *together])


def test_broken_rows_do_not_reach_their_neighbours(task):
    for function in task.signatures().values():
        columns = columns_of(function)
        small_berts.assert_neighbours_are_safe(function, columns, GARBAGE)
        if len(columns) == 2:
            mixed = columns_of(function, [*GARBAGE, *TEXTS], [*REVERSED, *GARBAGE])
            assert_same(ask(function, **mixed), ask_alone(function, **mixed))


def test_no_new_trace_for_other_lengths_and_batches(task):
    for function in task.signatures().values():
        ask(function, **columns_of(function))
        traces = function.experimental_get_tracing_count()
        for rows in range(1, 11):
            texts = [("the [MASK] dog " * rows).strip()] * rows
            ask(function, **columns_of(function, texts, texts))
        assert function.experimental_get_tracing_count() == traces > 0


def test_a_blank_row_gives_a_blank_one(task):
    blank = ["", " ", "\n\t\u3000"]
    for function in task.signatures().values():
        for row in ask(function, **columns_of(function, blank, blank)):
            assert row.pop("truncated", False) is False
            values = [v for value in row.values() for v in np.ravel(value).tolist()]
            assert {v for v in values if v != NOTHING} <= {"", 0}, row


def test_it_comes_back_from_its_folder(task, tmp_path):
    columns = {"text": MASKED, "text_pair": REVERSED, "question": TEXTS, "context": REVERSED}
    loaded = small_berts.assert_comes_back(task, tmp_path, **columns)
    assert type(Task.load(tmp_path)) is type(task)
    assert {path.name for path in tmp_path.iterdir()} == {
        "config.json",
        "model.weights.h5",
        "tokenizer",
    }
    for a, b in zip(loaded.model.weights, task.model.weights, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def exported(kind, exported_bert):
    return exported_bert(kind)


@pytest.mark.slow
def test_its_export_says_the_same_without_python(task, exported, c_serve):
    for name, function in task.signatures().items():
        small_berts.assert_serves(exported, name, function, c_serve, columns_of(function))


def test_its_export_holds_nothing_that_a_server_lacks(exported):
    operations = {node.op for node in nodes(exported)}
    for part in ("Xla", "PyFunc", "HashTable", "Mutable"):
        assert not [name for name in operations if part in name]
    assert devices(exported) == set()


def test_in_half_precision_it_says_nearly_the_same_and_stays_so(kind, task, tmp_path):
    half = small_berts.make(kind, dtype="mixed_float16")
    columns = columns_of(task.serving_default)
    columns = {name: small_berts.strings(rows) for name, rows in columns.items()}
    expected = task.serving_default(**columns)
    with small_berts.eagerly():
        found = half.serving_default(**columns)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        if value.dtype == tf.float32:
            assert np.all(np.isfinite(found[name]))
            np.testing.assert_allclose(found[name], value, atol=3e-2)
    half.save(tmp_path)
    model = Task.load(tmp_path).model
    assert model.dtype_policy.name == model.bert.dtype_policy.name == "mixed_float16"


SHAPES = {
    "fill_mask": {
        "serving_default": {
            "in:text": ("string", [-1]),
            "out:tokens": ("string", [-1, 5]),
            "out:scores": ("float32", [-1, 5]),
            "out:truncated": ("bool", [-1]),
        },
    },
    "classifier": {
        "pair": {
            "in:text": ("string", [-1]),
            "in:text_pair": ("string", [-1]),
            "out:label": ("string", [-1]),
            "out:score": ("float32", [-1]),
            "out:scores": ("float32", [-1, 3]),
            "out:truncated": ("bool", [-1]),
        },
    },
    "regression": {
        "serving_default": {
            "in:text": ("string", [-1]),
            "out:score": ("float32", [-1]),
            "out:truncated": ("bool", [-1]),
        },
    },
    "tagger": {
        "serving_default": {
            "in:text": ("string", [-1]),
            "out:words": ("string", [-1, -1]),
            "out:tags": ("string", [-1, -1]),
            "out:starts": ("int32", [-1, -1]),
            "out:ends": ("int32", [-1, -1]),
            "out:scores": ("float32", [-1, -1]),
            "out:length": ("int32", [-1]),
            "out:truncated": ("bool", [-1]),
        },
    },
    "answerer": {
        "serving_default": {
            "in:question": ("string", [-1]),
            "in:context": ("string", [-1]),
            "out:answer": ("string", [-1]),
            "out:score": ("float32", [-1]),
            "out:start": ("int32", [-1]),
            "out:end": ("int32", [-1]),
            "out:has_answer": ("bool", [-1]),
            "out:truncated": ("bool", [-1]),
        },
        "n_best": {
            "in:question": ("string", [-1]),
            "in:context": ("string", [-1]),
            "out:answers": ("string", [-1, 3]),
            "out:scores": ("float32", [-1, 3]),
            "out:starts": ("int32", [-1, 3]),
            "out:ends": ("int32", [-1, 3]),
            "out:has_answer": ("bool", [-1]),
            "out:truncated": ("bool", [-1]),
        },
    },
    "embedder": {
        "serving_default": {
            "in:text": ("string", [-1]),
            "out:embedding": ("float32", [-1, 16]),
            "out:truncated": ("bool", [-1]),
        },
        "tokens": {
            "in:text": ("string", [-1]),
            "out:vectors": ("float32", [-1, -1, 16]),
            "out:tokens": ("string", [-1, -1]),
            "out:starts": ("int32", [-1, -1]),
            "out:ends": ("int32", [-1, -1]),
            "out:length": ("int32", [-1]),
            "out:truncated": ("bool", [-1]),
        },
    },
}


def test_signatures_have_these_names_and_shapes(kind, task, exported):
    names = set(meta_graph(exported).signature_def) - {"__saved_model_init_op"}
    assert names == set(task.signatures()) >= set(SHAPES[kind])
    for name, expected in SHAPES[kind].items():
        assert signature(exported, name) == expected
    for name in names:
        for put, (_, shape) in signature(exported, name).items():
            assert shape[0] == -1 and not put.endswith("_bytes")


# Refusals ----------------------------------------------------------------------------------------


def test_one_string_instead_of_a_list_is_refused(kind, task):
    arguments = ("abc", ["abc"]) if kind == "answerer" else ("abc",)
    with pytest.raises(ValueError, match=r"must be a list of strings, such as \[text\]"):
        task(*arguments)
    arguments = (["a", 3], ["a", "b"]) if kind == "answerer" else (["a", 3],)
    with pytest.raises(ValueError, match=r"\[1\] must be a string, not 3"):
        task(*arguments)


def refused(model_class=BertEmbedder, task_class=TextEmbedder, tokenizer=None, **options):
    tokenizer = tokenizer or small_berts.wordpieces()
    model = small_berts.make_model(model_class, small_berts.wordpieces())
    return task_class(model, tokenizer, **options)


@pytest.mark.parametrize("length", [2, 41, 1.5])
def test_a_length_that_the_model_cannot_take_is_refused(length):
    with pytest.raises(ValueError, match=rf"max_length must be .*{re.escape(str(length))}\."):
        refused(max_length=length)


def test_a_tokenizer_of_other_ids_than_the_models_is_refused():
    with pytest.raises(ValueError, match=r"The tokenizer has \d+ ids, the model \d+\."):
        refused(tokenizer=small_berts.characters())


def test_a_tokenizer_without_the_special_tokens_is_refused():
    other = [token for token in small_berts.VOCABULARY if token != "[SEP]"] + ["other"]
    with pytest.raises(ValueError, match=r"vocabulary lacks \[SEP\], which a BERT needs"):
        refused(tokenizer=type(small_berts.wordpieces())(other))


def test_a_tokenizer_that_pads_with_another_id_is_refused():
    other = [*small_berts.VOCABULARY[1:], "[PAD]"]
    with pytest.raises(ValueError, match=r"PAD is \d+ for the tokenizer, 0 for the model"):
        refused(tokenizer=type(small_berts.wordpieces())(other))


def test_a_model_for_another_task_is_refused():
    with pytest.raises(ValueError, match="model must be a BertEmbedder, not a BertSpanQA"):
        refused(BertSpanQA)


# Chunks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "length"), [(200, 10), (200, 512), (3, 512), (0, 0)])
def test_a_pass_takes_a_bounded_number_of_tokens_however_many_rows_there_are(rows, length):
    sizes = []

    def note(values):
        sizes.append(int(tf.size(values)))
        return (2 * values,)

    values = tf.range(rows)
    spec = (tf.TensorSpec([None], tf.int32),)
    (doubled,) = run_in_chunks(note, (values,), tf.fill([rows], length), spec)
    np.testing.assert_array_equal(doubled, 2 * values)
    assert all(size <= 64 and size * length <= TOKENS_AT_A_TIME for size in sizes)
    assert sum(sizes) == rows and len(sizes) == math.ceil(rows / max(sizes, default=1))
