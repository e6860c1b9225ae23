"""Prompts and how they go on -> batches to fine-tune a causal language model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from keras_transformer.checks import check_at_least

from .example_batches import Example, ExampleBatches
from .json_lines import JSON_LINES_ENDINGS, json_pairs
from .language_model import check_end_marker, ignored_label
from .pairs import ReadReport, TextPairs
from .text_files import text_files
from .token_arrays import token_arrays

LEAST_SHARE = 0.5  # of the prompts; fewer that are kept are worth a warning
SOURCE = "{source}"


def prompt_file(
    *paths: str | os.PathLike[str], prompt: str = "prompt", completion: str = "completion"
) -> TextPairs:
    """Prompts and completions of UTF-8 JSON-lines files, plain or gzip.

    Args:
        paths: files, and folders, whose files `*.jsonl` and `*.jsonl.gz` at any depth are taken in
            the order of their names.
        prompt: name of the field with the prompt; a dot reaches into an object.
        completion: the same for the completion.

    Returns:
        `TextPairs` of (prompt, completion). Reading them raises a ValueError naming file and line
        for a line that is not a JSON object, lacks a field, or has one that is not a text. A pair
        with a blank side is left out and counted.

    Raises:
        ValueError: no path is given, a folder has no such file, or a field's name is not a text.
        FileNotFoundError: there is no such file.

    Example:
        >>> prompt_file("questions.jsonl", prompt="question", completion="answer")
        Traceback (most recent call last):
        FileNotFoundError: questions.jsonl: there is no such file or folder.
    """
    if not paths:
        raise ValueError("give at least one JSON-lines file, or a folder of them.")
    for side, field in (("prompt", prompt), ("completion", completion)):
        if not isinstance(field, str):
            raise ValueError(f"the {side} field must be a name (a text), not {field!r}.")
    name, files = text_files(*paths, endings=JSON_LINES_ENDINGS)
    return TextPairs(
        f"jsonl:{name}",
        lambda: chain.from_iterable(json_pairs(file, prompt, completion) for file in files),
    )


def translation_prompts(pairs: TextPairs, prompt: str = "{source}\n") -> TextPairs:
    """Pairs of texts as prompts and completions: the target is how the prompt goes on.

    Args:
        pairs: source and target texts.
        prompt: the prompt, with `{source}` where the source text goes. It should end in something
            that no source has, so that a model knows where the target begins.

    Raises:
        ValueError: the prompt has not one `{source}`.

    Example:
        >>> pairs = TextPairs("one", lambda: iter([("你好。", "Hello.")]))
        >>> list(translation_prompts(pairs, "{source} = "))
        [('你好。 = ', 'Hello.')]
    """
    if prompt.count(SOURCE) != 1:
        raise ValueError(f"the prompt {prompt!r} must hold {SOURCE} once, for the source text.")
    before, after = prompt.split(SOURCE)
    return pairs.with_sources(f"{pairs.name} as prompts", lambda source: before + source + after)


def prompt_batches(
    prompts: TextPairs,
    tokenizer: Any,
    *,
    max_length: int = 256,
    overlong: Literal["cut", "drop"] = "cut",
    start_id: int | None = None,
    training: bool = True,
    seed: int = 0,
    **options: Any,
) -> ExampleBatches:
    """Batches that teach a causal language model how prompts go on.

    A batch is `({"token_ids": int32 [batch, length]}, labels int32 [batch, length])`: prompt and
    completion in a row, and as labels the tokens of the completion and the end marker (`eos_id`),
    each in the place of the token before it. The prompt itself is not to be learned: its labels
    are `ignored_label(tokenizer)`, as those of padding are, which `TokenCrossEntropy` leaves out as
    its `pad_id`. Rows of similar lengths share a batch. All examples are held in memory.

    Prompt and completion are tokenised one by one, so that a prompt has the tokens here that it
    has when the model is to continue it.

    Args:
        prompts: (prompt, completion) pairs.
        tokenizer: has an `eos_id`.
        max_length: most ids of a prompt with its completion.
        overlong: "cut" prompts that are too long at their beginning, or "drop" them; both are
            counted in the report. A completion that leaves no room for a token of the prompt is
            dropped, never cut.
        start_id: stands before each prompt, for a model that starts texts with one (`bos_id`);
            None for none. It is never cut.
        training: whether to shuffle.
        seed: seed of the order.
        **options: of `ExampleBatches`: `batch_size`, `length_multiple`, `replicas`.

    Raises:
        ValueError: what the prompts raise; none of them is kept; impossible arguments.

    Example:
        >>> from keras_transformer.text import CharacterTokenizer
        >>> prompts = TextPairs("one", lambda: iter([("ab", "ca")]))
        >>> batches = prompt_batches(prompts, CharacterTokenizer("abc"))
        >>> for features, labels in batches.dataset:
        ...     print(features["token_ids"].numpy().tolist(), labels.numpy().tolist())
        [[4, 5, 6, 4]] [[0, 6, 4, 2]]
    """
    start = np.array([] if start_id is None else [start_id], np.int32)
    check_at_least(2 + len(start), max_length=max_length)
    if overlong not in ("cut", "drop"):
        raise ValueError(f'overlong is {overlong!r}; right are "cut" and "drop".')
    if start_id is not None and not 0 <= start_id < tokenizer.vocab_size:
        raise ValueError(f"start_id is {start_id}; ids are 0 to {tokenizer.vocab_size - 1}.")
    check_end_marker(tokenizer)
    prompts.check()
    report = replace(
        prompts.report,
        kept=0,
        dropped=prompts.report.dropped.copy(),
        repaired=prompts.report.repaired.copy(),
    )
    ignored = ignored_label(tokenizer)
    examples: list[Example] = []
    for prompt, completion in _tokenised(prompts, tokenizer):
        room = max_length - len(start) - len(completion)  # for the prompt
        if fault := _fault(prompt, completion, room, max_length, overlong):
            report.dropped[fault] += 1
            continue
        if len(prompt) > room:
            report.repaired[f"prompt cut to fit {max_length} ids"] += 1
            prompt = prompt[-room:]
        token_ids = np.concatenate([start, prompt, completion])
        labels = np.full(len(token_ids), ignored, np.int32)
        labels[-len(completion) - 1 :] = [*completion, tokenizer.eos_id]
        examples.append({"token_ids": token_ids, "labels": labels})
    report.kept = len(examples)
    _judge_kept_share(report, max_length)
    return ExampleBatches(
        examples,
        "labels",
        fillers={"token_ids": max(0, tokenizer.pad_id), "labels": ignored},
        training=training,
        seed=seed,
        texts=report,
        **options,
    )


def _tokenised(prompts: TextPairs, tokenizer: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    ids = token_arrays(chain.from_iterable(prompts), tokenizer)
    return zip(ids, ids, strict=True)  # prompt and completion by turns


def _fault(
    prompt: np.ndarray, completion: np.ndarray, room: int, max_length: int, overlong: str
) -> str | None:
    if not len(prompt) or not len(completion):
        return "no tokens"
    if room < 1:
        return f"completion too long for {max_length} ids"
    if overlong == "drop" and len(prompt) > room:
        return f"longer than {max_length} ids"
    return None


def _judge_kept_share(report: ReadReport, max_length: int) -> None:
    if not report.kept:
        raise ValueError(f"{report}; raise max_length ({max_length}) or give other prompts.")
    if report.kept < LEAST_SHARE * report.read:
        warnings.warn(f"{report} (max_length={max_length}).", stacklevel=3)
