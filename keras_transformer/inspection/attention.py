"""What a model attends to in given texts: the tokens, and the weights of every layer and head."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.checks import check_at_least
from keras_transformer.inspection.cached_steps import generation_steps, translation_steps
from keras_transformer.inspection.token_labels import Token, token_labels
from keras_transformer.layers import capture_attention
from keras_transformer.tasks import Task, TextGenerator, Translator
from keras_transformer.tasks.bert_task import BertTask
from keras_transformer.tasks.texts import as_text_pairs, as_texts
from keras_transformer.tasks.token_spelling import TokenSpelling

Kind = Literal["encoder", "decoder", "cross"]


class AttentionMap(NamedTuple):
    """One kind of attention, in all layers and heads."""

    kind: Kind
    """Self-attention of an encoder or a decoder, or a decoder's attention to an encoder."""
    queries: list[Token]
    """The tokens that look: those that are read at each place."""
    keys: list[Token]
    """The tokens that are looked at."""
    weights: np.ndarray
    """float32 `[layers, heads, queries, keys]`; what a query may not see has exactly 0."""
    predicted: list[Token] | None = None
    """In a decoder, the token that is chosen at each query, one place after the one it reads; of
    a prompt that nothing follows all but the last."""


class TextAttention(NamedTuple):
    """What a model attends to in one text."""

    text: str
    text_pair: str | None
    """The second text, or the context of a question."""
    written: str | None
    """The translation, the model's own or the one that was asked about, or the new text."""
    maps: dict[Kind, AttentionMap]
    truncated: bool
    """Whether not everything that was given, or that might follow, is shown."""
    window: int = 0
    """Which window of a long text this is."""
    windows: int = 1
    """In how many windows the model reads the text."""


def attention_of(
    task: Task,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None = None,
    *,
    window: int = 0,
    translate: bool = True,
    **generation: Any,
) -> list[TextAttention]:
    """The attention of every layer and head, as the task reads texts and writes new ones.

    The weights are those that the layers themselves use, before dropout. A translation or the text
    that follows a prompt is searched as the task does it; then the tokens found are decoded once
    more by the same cached steps, whose weights are shown. Each text is read by itself: there is
    no padding.

    Args:
        task: a task of any kind.
        texts: the texts, questions or prompts.
        text_pairs: the second text of each, or context; for a `Translator`, translations to look
            at instead of its own.
        window: which window of a text to show that the model reads in several (tags, answers).
        translate: whether a `Translator` translates; else only the encoder is shown.
        **generation: options of a `TextGenerator`, those of `GenerationOptions`. Prompt i draws
            with seed + i. With ``max_new_tokens=0`` only the prompt is shown.

    Raises:
        ValueError: for texts or options that the task does not take; for a window that is not
            there.

    >>> shown = attention_of(Translator.load("runs/translate"), ["A dog."])  # doctest: +SKIP
    >>> shown[0].maps["cross"].weights.shape  # doctest: +SKIP
    (2, 4, 4, 4)
    """
    given = as_texts(texts)
    if text_pairs is not None:
        _, pairs = as_text_pairs(texts, text_pairs, ("texts", "text_pairs"))
    if generation and not isinstance(task, TextGenerator):
        raise ValueError(f"A {type(task).__name__} takes no option {next(iter(generation))!r}.")
    if window and not isinstance(task, BertTask):
        raise ValueError(f"A {type(task).__name__} reads a text in one window, 0, not {window}.")
    check_at_least(0, max_new_tokens=generation.get("max_new_tokens", 0))
    shown = []
    for index, text in enumerate(_strings(given)):
        pair = None if text_pairs is None else _strings(pairs)[index]
        if isinstance(task, Translator):
            shown.append(_of_translation(task, text, pair, translate))
        elif isinstance(task, TextGenerator):
            if pair is not None:
                raise ValueError("A TextGenerator reads prompts: there are no text_pairs.")
            options = task.options.changed(**generation)
            seeded = generation | {"seed": (options.seed + index) % 2**31}
            shown.append(_of_generation(task, text, seeded))
        elif isinstance(task, BertTask):
            shown.append(_of_bert(task, text, pair, window))
        else:
            raise ValueError(f"A {type(task).__name__} has no attention that could be shown.")
    return shown


def _strings(texts: tf.Tensor) -> list[str]:
    return [text.decode("utf-8", "replace") for text in texts.numpy()]


def _of_bert(task: BertTask, text: str, pair: str | None, window: int) -> TextAttention:
    reading = task.reading(tf.constant([text]), None if pair is None else tf.constant([pair]))
    windows = int(tf.shape(reading.batch.token_ids)[0])
    if not 0 <= window < windows:
        if not windows:
            raise ValueError(f"The model reads nothing of {(pair or text)!r:.80}: it has no token.")
        raise ValueError(f"window must be from 0 to {windows - 1}, not {window}.")
    length = int(reading.batch.lengths[window])
    ids = reading.batch.token_ids[window : window + 1, :length]  # [1, length]
    segments = reading.batch.segment_ids[window : window + 1, :length]
    encoder = getattr(task.model, "bert", task.model)
    with capture_attention() as weights:
        encoder({"token_ids": ids, "segment_ids": segments}, training=False)
    tokens = token_labels(task.tokenizer, ids[0].numpy().tolist())
    parts = _parts(ids[0].numpy(), task.tokenizer.sep_id, pair is not None)
    tokens = [token._replace(part=part) for token, part in zip(tokens, parts, strict=True)]
    maps = _maps({path: w.numpy()[0] for path, w in weights.items()}, encoder=tokens)
    return TextAttention(text, pair, None, maps, bool(reading.truncated[0]), window, windows)


def _parts(ids: np.ndarray, sep_id: int, is_pair: bool) -> list[int]:
    """Of which text each token of `[CLS] first [SEP] second [SEP]` is; models may know of one
    segment only."""
    first = int(np.flatnonzero(ids == sep_id)[0])
    return [int(is_pair and place > first) for place in range(len(ids))]


def _of_translation(
    task: Translator, text: str, translation: str | None, translate: bool
) -> TextAttention:
    if not translate and translation is None:
        source, _, truncated = task.written_ids(text, "")
        ids = tf.constant([source], tf.int32)
        with capture_attention() as weights:
            task.model.encode(ids, training=False)
        read = token_labels(task.source_tokenizer, source)
        maps = _maps({path: w.numpy()[0] for path, w in weights.items()}, encoder=read)
        return TextAttention(text, None, None, maps, truncated)
    source, written, truncated = task.written_ids(text, translation)
    inputs = [task.model.config.bos_token_id, *written[:-1]]
    weights = translation_steps(task.model, source, inputs)
    maps = _maps(
        weights,
        encoder=token_labels(task.source_tokenizer, source),
        decoder=token_labels(task.target_tokenizer, inputs),
        predicted=token_labels(task.target_tokenizer, written),
    )
    said = task.target_tokenizer.detokenize([written]).numpy()[0].decode("utf-8", "replace")
    return TextAttention(text, None, said, maps, truncated)


def _of_generation(task: TextGenerator, prompt: str, options: dict[str, Any]) -> TextAttention:
    ids, written, truncated = task.written_ids(prompt, **options)
    weights = generation_steps(task.model, ids, [*ids[-1:], *written[:-1]])
    before = token_labels(task.tokenizer, ids)
    after = token_labels(task.tokenizer, written, part=1)
    read = [*before, *after[:-1]]
    maps = _maps(weights, decoder=read, predicted=[*before[1:], *after])
    spelling = TokenSpelling.of(task.tokenizer)
    said = spelling.text(spelling.spelled(written)) if written else None
    return TextAttention(prompt, None, said, maps, truncated)


_PLACE = re.compile(r"(?:.*/)?(encoder|decoder)/layer_(\d+)/(self|cross)_attention")


def _maps(
    weights: dict[str, np.ndarray],
    encoder: list[Token] | None = None,
    decoder: list[Token] | None = None,
    predicted: list[Token] | None = None,
) -> dict[Kind, AttentionMap]:
    """Weights of layers put together by what they are, for the tokens on both sides."""
    found: dict[Kind, dict[int, np.ndarray]] = {}
    for path, value in weights.items():
        place = _PLACE.fullmatch(path)
        if place is None:
            raise ValueError(f"{path} is no attention layer of an encoder or a decoder.")
        kind = "cross" if place[3] == "cross" else place[1]
        found.setdefault(kind, {})[int(place[2])] = value
    sides = {"encoder": (encoder, encoder), "decoder": (decoder, decoder)}
    sides["cross"] = (decoder, encoder)
    return {
        kind: AttentionMap(
            kind,
            *sides[kind],
            np.stack([found[kind][layer] for layer in sorted(found[kind])]),
            None if kind == "encoder" else predicted,
        )
        for kind in ("encoder", "decoder", "cross")
        if kind in found
    }
