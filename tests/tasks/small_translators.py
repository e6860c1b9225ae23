"""Translators small enough to build and trace in seconds."""

from __future__ import annotations

import random

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.tasks import TranslationOptions, Translator
from keras_transformer.text import CharacterTokenizer, SentencePieceTokenizer, Tokenizer
from keras_transformer.training import TokenCrossEntropy

# Short pairs of several lengths and scripts. Some targets begin alike: what follows can only be
# right if the source is looked at.
PAIRS = [
    ("red", "rot"),
    ("blue", "blau"),
    ("one dog", "ein Hund"),
    ("one cat", "eine Katze"),
    ("two dogs run", "zwei Hunde laufen"),
    ("two cats run", "zwei Katzen laufen"),
    ("two dogs sleep", "zwei Hunde schlafen"),
    ("the dog sees the cat", "der Hund sieht die Katze"),
    ("the cat sees the dog", "die Katze sieht den Hund"),
    ("a small red house", "ein kleines rotes Haus"),
    ("a big blue house", "ein großes blaues Haus"),
    ("she drinks tea", "sie trinkt Tee"),
    ("he drinks milk", "er trinkt Milch"),
    ("good morning!", "guten Morgen!"),
    ("good night!", "gute Nacht!"),
    ("我喝茶。", "I drink tea."),
    ("她喝茶。", "She drinks tea."),
    ("🙂", "😀 ok"),
    ('he said "no"', "er sagte „nein“"),
    ("back\\slash", "Rück\\strich"),
]
SOURCES = [source for source, _ in PAIRS]
TARGETS = [target for _, target in PAIRS]
TEXTS = SOURCES + TARGETS

# What must not reach the rows beside it.
GARBAGE = [
    b"\xff\xfe\x80 not UTF-8 \xc3",
    "x" * 10_000,
    "👩‍👩‍👧" * 50,
    "nul \0 in between",
    "\0",
    "<s></s><pad><unk>[MASK]",
    "\n\r\t\x1b[0m",
    "a\u0300\u200b\ufeff\u202e",
]

TIE = 1e-4  # scores so close may change places with the rounding of another batch


def subwords(**options) -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train(TEXTS * 4, 400, hard_vocab_limit=False, **options)


def characters(texts=tuple(TEXTS)) -> CharacterTokenizer:
    return CharacterTokenizer.train(texts)


def make_translator(
    source: Tokenizer,
    target: Tokenizer | None = None,
    options: TranslationOptions | None = None,
    seed: int = 1,
    **config,
) -> Translator:
    """A translator with random weights; always the same for the same arguments."""
    random.seed(seed)  # where Keras' initializers take their seeds from
    sizes = {
        "vocab_size": source.vocab_size,
        "target_vocab_size": None if target is None else target.vocab_size,
        "share_embeddings": target is None,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "hidden_dropout": 0.0,
        "norm_first": True,
    }
    options = options or TranslationOptions(
        beam_size=4, n_best=3, max_source_length=40, max_target_length=32, length_offset=8
    )
    model = Transformer(TransformerConfig(**sizes | config))
    return Translator(model, source, target, options)


def overfit(translator: Translator, pairs=tuple(PAIRS)) -> float:
    """Teaches the pairs by heart; returns the last loss."""
    model, config = translator.model, translator.model.config
    source, target = (list(side) for side in zip(*pairs, strict=True))

    def ids(tokenizer: Tokenizer, texts: list[str], before: list[int], after: list[int]):
        rows = [[*before, *tokenizer.tokenize(t).numpy(), *after] for t in texts]
        return tf.ragged.constant(rows, tf.int32).to_tensor(config.pad_token_id)

    bos, eos = [config.bos_token_id], [config.eos_token_id]
    inputs = {
        "source": ids(translator.source_tokenizer, source, [], eos),
        "target": ids(translator.target_tokenizer, target, bos, []),
    }
    labels = ids(translator.target_tokenizer, target, [], eos)
    model.compile(keras.optimizers.Adam(5e-3, beta_2=0.98), loss=TokenCrossEntropy())
    learned = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda _, logs: setattr(model, "stop_training", logs["loss"] < 0.01)
    )
    data = tf.data.Dataset.from_tensors((inputs, labels)).repeat(50)
    history = model.fit(data, epochs=20, verbose=0, callbacks=[learned]).history
    return history["loss"][-1]


def plain_outputs(outputs: dict) -> dict[str, list]:
    """A signature's outputs as lists of strings and numbers."""

    def plain(value: np.ndarray) -> list:
        if value.dtype == object:
            value = np.vectorize(lambda text: text.decode("utf-8"), otypes=[object])(value)
        return value.tolist()

    return {name: plain(value.numpy()) for name, value in outputs.items()}


def alone(function, texts: list) -> dict[str, list]:
    """The outputs of a signature's function for each text in a call of its own, put together."""
    answers = [plain_outputs(function(tf.constant([text]))) for text in texts]
    return {name: [row for answer in answers for row in answer[name]] for name in answers[0]}


def assert_same_answers(found: dict[str, list], expected: dict[str, list], ties: int = 0) -> None:
    """Compares outputs of `serving_default` row by row.

    Args:
        found: texts, scores and flags.
        expected: the same by another way.
        ties: how many rows may have another text; they are listed, and score the same to 1e-4.
    """
    np.testing.assert_allclose(found["score"], expected["score"], atol=TIE, rtol=0)
    rows = list(zip(found["translation"], expected["translation"], strict=True))
    different = [(row, a, b) for row, (a, b) in enumerate(rows) if a != b]
    print("rows whose texts differ at the same score:", different)
    assert len(different) <= ties, different
    assert found["truncated"] == expected["truncated"] or different
