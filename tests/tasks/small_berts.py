"""Tasks of BERT small enough to trace in seconds, and ways to compare their answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import small_translators
import tensorflow as tf

from keras_transformer.models import (
    Bert,
    BertClassifier,
    BertConfig,
    BertEmbedder,
    BertMaskedLM,
    BertSpanQA,
    BertTagger,
)
from keras_transformer.tasks import (
    AnswerOptions,
    FillMask,
    QuestionAnswerer,
    TextClassifier,
    TextEmbedder,
    TokenTagger,
)
from keras_transformer.text import CharacterTokenizer, SentencePieceTokenizer, WordPieceTokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = "the dog cat runs sees red blue house in london ada lives and tea who where what".split()
CHINESE = "我她住在北京喝茶。"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CONTINUED = [f"##{letter}" for letter in LETTERS]
VOCABULARY = [*SPECIAL, *WORDS, *LETTERS, *CONTINUED, *"0123456789.,!?'-", *CHINESE]

# Of several scripts and lengths, some longer than the model takes, some blank.
TEXTS = [
    "the dog sees the red house.",
    "Ada lives in London, and drinks TEA!",
    "我住在北京。 she drinks 茶",
    "",
    "  \u3000\n",
    "where's the cat? " * 12,
    "x" * 70,
    "réd 🙂 house",
]
MASKED = [text.replace("the", "the [MASK]", 1) for text in TEXTS]
GARBAGE = small_translators.GARBAGE

LABELS = ["O", "B-PER", "I-PER"]
TASKS = {
    "fill_mask": (FillMask, BertMaskedLM, {}),
    "classifier": (TextClassifier, BertClassifier, {"labels": LABELS}),
    "regression": (TextClassifier, BertClassifier, {}),
    "tagger": (TokenTagger, BertTagger, {"labels": LABELS}),
    "answerer": (
        QuestionAnswerer,
        BertSpanQA,
        {"options": AnswerOptions(max_length=32, stride=5, max_answer_length=4, n_best=3)},
    ),
    "embedder": (TextEmbedder, BertEmbedder, {}),
}
HEADS = {
    "classifier": {"num_labels": 3},
    "regression": {"num_labels": 1},
    "tagger": {"num_labels": 3},
    "embedder": {"normalize": True},
}


def wordpieces() -> WordPieceTokenizer:
    """By the rules whose graph is the smaller one."""
    return WordPieceTokenizer(VOCABULARY, normalization="bert", strip_accents=False)


def characters() -> CharacterTokenizer:
    return CharacterTokenizer.train([" ".join(TEXTS)])


def subwords() -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train(TEXTS * 4, 330, hard_vocab_limit=False)


def make(kind: str, tokenizer: Any = None, dtype: Any = None) -> Any:
    """The task of a kind, with random weights."""
    task_class, model_class, options = TASKS[kind]
    tokenizer = tokenizer or wordpieces()
    model = make_model(model_class, tokenizer, dtype=dtype, **HEADS.get(kind, {}))
    return task_class(model, tokenizer, **options)


def make_model(
    model_class: Any, tokenizer: Any, *, dtype: Any = None, seed: int = 1, **head: Any
) -> Any:
    """A model of weights that matter: with zero biases and unit gains mistakes would hide."""
    config = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        max_position_embeddings=40,
        layer_norm_eps=1e-6,
    )
    model = model_class(Bert(config, dtype=dtype), **head)
    model.build()
    random = np.random.default_rng(seed)
    for weight in model.weights:
        gain = float(weight.path.endswith("gamma"))
        weight.assign(random.normal(gain, 0.25, size=tuple(weight.shape)))
    return model


def ignore_context(model: Any) -> Any:
    """The model, whose vectors now depend on nothing but their own tokens."""
    for weight in model.weights:
        parts = weight.path.split("/")
        if {"position_embedding", "segment_embedding", "output", "output_dense"} & set(parts):
            weight.assign(np.zeros(tuple(weight.shape)))
    return model


@contextmanager
def eagerly() -> Iterator[None]:
    """Inside, functions run without being traced: quicker where they are called once."""
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


# Answers -----------------------------------------------------------------------------------------


def rows_of(outputs: dict[str, Any]) -> list[dict[str, Any]]:
    """A signature's outputs row by row, cut to the row's `length` where there is one."""
    columns = {
        name: value.numpy() if tf.is_tensor(value) else value for name, value in outputs.items()
    }
    rows = []
    for row in range(len(next(iter(columns.values())))):
        values = {name: plain(value[row]) for name, value in columns.items()}
        if (length := values.get("length")) is not None:
            padded = {name: value for name, value in values.items() if isinstance(value, list)}
            assert all(is_filler(value[length:]) for value in padded.values())
            values |= {name: value[:length] for name, value in padded.items()}
        rows.append(values)
    return rows


def plain(value: Any) -> Any:
    """Lists of strings and numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.decode("utf-8") if isinstance(value, bytes) else value


def is_filler(value: Any) -> bool:
    return all(is_filler(item) for item in value) if isinstance(value, list) else not value


def ask(function: Any, **columns: list) -> list[dict[str, Any]]:
    """A signature's answers to rows in one call."""
    return rows_of(function(**{name: strings(rows) for name, rows in columns.items()}))


def ask_alone(function: Any, **columns: list) -> list[dict[str, Any]]:
    """The same with each row in a call of its own."""
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    return [ask(function, **dict(zip(names, ([v] for v in row), strict=True)))[0] for row in rows]


def columns_of(function: Any, texts: Any = None, second: Any = None) -> dict[str, list]:
    """A column for each input of a signature."""
    texts, second = texts or MASKED, second or TEXTS[::-1]
    return dict(zip(inputs_of(function), [texts, second], strict=False))


def strings(rows: list) -> tf.Tensor:
    return tf.constant(rows, tf.string, shape=[len(rows)])


def assert_same(found: Any, expected: Any, tolerance: float = 1e-4) -> None:
    """Strings, whole numbers and flags equal, other numbers nearly so."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = ([part[name] for name in sorted(part)] for part in (found, expected))
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b, tolerance)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=tolerance)
    else:
        assert found == expected


def assert_serves(
    path: Any, name: str, function: Any, c_serve: Any, columns: dict[str, list]
) -> None:
    """A signature says what Python says, without Python and without XLA, in one call and alone."""
    rows = zip(*columns.values(), strict=True)
    alone = [dict(zip(columns, ([value] for value in row), strict=True)) for row in rows]
    nothing = {column: [] for column in columns}
    together, none, *alone = c_serve.ask(path, name, [columns, nothing, *alone])
    expected = ask(function, **columns)
    assert_same(rows_of(together), expected)
    assert_same([rows_of(answer)[0] for answer in alone], expected)
    assert none.keys() == together.keys() and all(len(values) == 0 for values in none.values())


def assert_neighbours_are_safe(function: Any, sound: dict[str, list], broken: list) -> None:
    """Sound rows between broken ones answer as without them."""
    expected = ask(function, **sound)
    count = len(expected)
    columns = {name: [*rows, *broken, *rows] for name, rows in sound.items()}
    found = ask(function, **columns)
    assert_same(found[:count], expected)
    assert_same(found[-count:], expected)


def assert_comes_back(task: Any, folder: Any, **columns: list) -> Any:
    """Saved and loaded, a task says the same (not traced, too); returns the loaded one."""
    task.save(folder)
    loaded = type(task).load(folder)
    for name, function in task.signatures().items():
        given = {key: rows for key, rows in columns.items() if key in inputs_of(function)}
        expected = ask(function, **given)
        with eagerly():
            assert_same(ask(loaded.signatures()[name], **given), expected, 1e-5)
    assert loaded._config() == task._config()
    return loaded


def inputs_of(function: Any) -> list[str]:
    return [spec.name for spec in function.input_signature]
