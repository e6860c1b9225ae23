"""The texts, or the prompts, that a GPT learns from and is scored on; and their batches."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from gpt_train_options import GptTrainOptions
from waiting import check

from keras_transformer.data import (
    BlockBatches,
    ExampleBatches,
    TextDocuments,
    TextPairs,
    hold_out_end,
    language_model_batches,
    load_pairs,
    load_texts,
    prompt_batches,
    prompt_file,
    translation_prompts,
)
from keras_transformer.text import Tokenizer

SPLITS = ("train", "valid")


def load_splits(options: GptTrainOptions) -> dict[str, TextDocuments] | dict[str, TextPairs]:
    """What to train on and what to validate with, the latter held out of the end of the former
    where nothing else gives it, and cut to as much as is to be scored.

    Raises:
        ValueError: where some sources have a validation split and others do not; whatever the
            sources raise.
    """
    splits = whole_splits(options)
    if (most := options.valid_characters) is not None:
        valid = splits["valid"]
        name = f"{valid.name} (of its first {most:,} characters)"
        splits["valid"] = valid.characters(name, 0, most)
    return splits


def whole_splits(options: GptTrainOptions) -> dict[str, TextDocuments] | dict[str, TextPairs]:
    """The same, with all that there is to validate with."""
    if options.prompts is None:
        given, held = (options.text, options.valid_text), "--valid-text"
    else:
        given, held = (options.prompts, options.valid_prompts), "--valid-prompts"
    sources, others = given
    if others is not None:
        return {"train": load(options, sources, "train"), "valid": load(options, others, "valid")}
    split = [source for source in sources if holds_splits(source)]
    if len(split) == len(sources):
        return {name: load(options, sources, name) for name in SPLITS}
    if split:
        raise ValueError(
            f"{split[0]} has a validation split of its own, but not all the others have: give "
            f"{held}."
        )
    everything = load(options, sources, "train")
    if options.prompts is None:
        return hold_out_end(everything, options.held_out)
    return hold_out_last(everything, options.held_out)


def holds_splits(source: str) -> bool:
    """Whether a source has a training and a validation split, not just texts."""
    return source == "builtin" or source.startswith("tfds:") or "{split}" in source


def load(options: GptTrainOptions, sources: list[str], split: str) -> TextDocuments | TextPairs:
    """The texts of a split, or its prompts with their completions."""
    if options.prompts is None:
        return load_texts(
            sources,
            split,
            field=options.text_field,
            document=options.document or "file",  # None where no source has files
            data_dir=options.data_dir,
        )
    if sources == ["builtin"]:
        return translation_prompts(load_pairs("builtin", split=split))
    if "builtin" in sources:
        raise ValueError("builtin prompts stand alone: give no files beside them.")
    return prompt_file(
        *(source.replace("{split}", split) for source in sources),
        prompt=options.prompt_field,
        completion=options.completion_field,
    )


def hold_out_last(pairs: TextPairs, share: float) -> dict[str, TextPairs]:
    """Parts pairs by their position: the first to train on, the last held out of them."""
    count = pairs.check().kept
    border = math.floor(count * (1 - Fraction(str(share))))
    if not border:
        raise ValueError(
            f"{pairs.name}: a share of {share:g} of {count:,} prompts leaves none to train on; "
            "give more, another --held-out, or --valid-prompts."
        )
    bounds = {"train": (0, border), "valid": (border, None)}
    return {
        split: TextPairs(f"{pairs.name}:{split}", lambda ends=ends: itertools.islice(pairs, *ends))
        for split, ends in bounds.items()
    }


def counts(data: TextDocuments | TextPairs) -> str:
    """What is there to learn from, in words; reads it once, and refuses data with nothing in it."""
    report = check(data)
    if isinstance(data, TextPairs):
        return str(report)
    kept = report.documents
    words = [f"{report.name}: {kept:,} {'text' if kept == 1 else 'texts'}"]
    if report.kept != kept:  # of the built-in text
        words.append(f"{report.kept:,} sentences")
    words.append(f"{report.characters:,} characters")
    for title, reasons in (("dropped", report.dropped), ("repaired", report.repaired)):
        words += [f"{title} {number:,} ({reason})" for reason, number in sorted(reasons.items())]
    return ", ".join(words)


def learnable(data: TextDocuments | TextPairs) -> Iterator[str]:
    """Whole texts, for a tokenizer to learn from."""
    if isinstance(data, TextPairs):
        return itertools.chain.from_iterable(data)
    return ("\n".join(document) for document in data)


def make_batches(
    options: GptTrainOptions,
    data: TextDocuments | TextPairs,
    tokenizer: Tokenizer,
    *,
    block_size: int,
    start_id: int | None,
    training: bool,
) -> BlockBatches | ExampleBatches:
    """Batches of a split; those of validation are the same in every epoch and every run."""
    common: dict[str, Any] = {
        "batch_size": options.rows(block_size),
        "training": training,
        "seed": options.seed,
    }
    if isinstance(data, TextPairs):
        return prompt_batches(data, tokenizer, max_length=block_size, start_id=start_id, **common)
    if options.packing == "documents":
        common["start_id"] = start_id
    return language_model_batches(
        data, tokenizer, block_size=block_size, packing=options.packing, **common
    )
