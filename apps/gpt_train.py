"""Trains a GPT on texts, or on prompts and how they go on, and exports it: text in, text out.

Without arguments it learns from the English that comes with Python, in a few minutes.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import command_line
import gpt_samples
import gpt_start
import gpt_texts
import keras
import numpy as np
import training_run
from gpt_sections import Sections
from gpt_train_options import GptTrainOptions
from run_folder import check_folders, check_unchanged, write_json
from waiting import waiting

from keras_transformer.data import (
    BlockBatches,
    ExampleBatches,
    TextDocuments,
    TextPairs,
    ignored_label,
)
from keras_transformer.inspection.training_report import TrainingReport
from keras_transformer.models import Gpt
from keras_transformer.tasks import TextGenerator
from keras_transformer.text import (
    ByteLevelBPETokenizer,
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
)
from keras_transformer.training import (
    ScoreCallback,
    TokenAccuracy,
    TokenCrossEntropy,
    TokenLoss,
    adamw,
    perplexity,
    updates_made,
)
from keras_transformer.training.progress import count_tokens

# A resumed run finds its place in the data by these.
SAME_DATA = ("score_every", "block_size", "batch_size", "batch_tokens", "packing", "seed")
# What is trained on and what is held out hangs on these. (Files may have moved meanwhile.)
SAME_TEXTS = (
    "held_out",
    "valid_characters",
    "document",
    "text_field",
    "prompt_field",
    "completion_field",
)
# A resumed run has its model already.
SAME_MODEL = ("init", "tokenizer", "vocab_size", "preset", "model")
# What --tokenizer calls them.
KINDS = {
    CharacterTokenizer: "char",
    SentencePieceTokenizer: "sentencepiece",
    ByteLevelBPETokenizer: "bpe",
}
MOST_SECTIONS = 10**6  # of a training: more than there is time for, where only that is limited

Data = Mapping[str, TextDocuments | TextPairs]
Batches = Mapping[str, BlockBatches | ExampleBatches]


class Scores(NamedTuple):
    """What a model makes of the validation texts."""

    loss: float  # nats a token
    perplexity: float
    bits_per_byte: float | None  # None for completions of prompts
    accuracy: float
    tokens: int

    def __str__(self) -> str:
        bits = "" if self.bits_per_byte is None else f", {self.bits_per_byte:.4f} bits per byte"
        return (
            f"loss {self.loss:.4f}, perplexity {self.perplexity:.3f}{bits}, accuracy "
            f"{self.accuracy:.4f} of {self.tokens:,} tokens"
        )


def main() -> None:
    options = command_line.parse_resumable(GptTrainOptions, __doc__)
    check_folders(options)
    check_unchanged(options, (*SAME_DATA, *SAME_TEXTS, *SAME_MODEL))
    with training_run.begin(options) as report:
        train_and_export(options, report)


def train_and_export(options: GptTrainOptions, report: TrainingReport) -> None:
    """Everything from the texts to the SavedModel."""
    generator, data, batches = prepare(options)
    for split, part in batches.items():
        report.add_data(split, part.report)
    model = generator.model
    unknown = count_unknown(batches["valid"], generator.tokenizer)
    total = count_updates(options, batches["train"].count_batches())
    print(describe_tokenizer(options, generator), flush=True)
    compile_model(options, generator, total)

    prompt = gpt_samples.sample_prompt(options, data["valid"])
    history = fit(options, generator, batches, total, prompt, report)
    generator.save(options.output)
    scores = evaluate(model, batches["valid"])
    print(f"Validation: {scores}", flush=True)
    found = {"valid": scores._asdict() | {"unknown_tokens": unknown}}
    if isinstance(data["valid"], TextPairs):
        found["completions"] = gpt_samples.score_completions(generator, data["valid"])
    results = found | {"updates": updates_made(model), "history": history}
    write_json(results, Path(options.output, "results.json"))
    exported = training_run.export(generator, options)
    report.finish(found, gpt_samples.show_texts(generator, data["valid"], options))
    print(f"Run: {options.output}\nSavedModel: {exported}")


def prepare(options: GptTrainOptions) -> tuple[TextGenerator, Data, Batches]:
    """The model with its tokenizer, and for each split the texts and their batches."""
    data = gpt_texts.load_splits(options)
    for part in data.values():
        print(gpt_texts.counts(part), flush=True)
    model, tokenizer, start_id = gpt_start.start(
        options, lambda: gpt_texts.learnable(data["train"])
    )
    if options.prompts is None and options.packing == "stream":
        start_id = tokenizer.eos_id  # what a text begins after in a stream
    generator = TextGenerator(model, tokenizer, options.generation(), start_id)
    batches = {}
    for split, part in data.items():
        with waiting(f"Tokenising {part.name}"):
            batches[split] = gpt_texts.make_batches(
                options,
                part,
                tokenizer,
                block_size=gpt_start.block_size(options, model),
                start_id=start_id,
                training=split == "train",
            )
            report = batches[split].report
        print(report, flush=True)
    return generator, data, batches


def count_unknown(batches: BlockBatches | ExampleBatches, tokenizer: Tokenizer) -> int:
    """Labels that stand for characters which the tokenizer does not know."""
    if tokenizer.unk_id < 0:
        return 0
    unknown = sum(int(np.sum(labels == tokenizer.unk_id)) for _, labels in batches.batches())
    if unknown:
        print(
            f"The validation text has {unknown:,} characters that the tokenizer does not know; "
            "all of them count as one and the same token.",
            flush=True,
        )
    return unknown


def describe_tokenizer(options: GptTrainOptions, generator: TextGenerator) -> str:
    """What the model reads: kind of tokenizer, ids, tokens of a row."""
    tokenizer = generator.tokenizer
    kind = KINDS.get(type(tokenizer), type(tokenizer).__name__)
    asked = options.vocab_size
    if asked is None and kind != "char":
        asked = gpt_start.SUBWORDS
    ids = f"{tokenizer.vocab_size:,} ids"
    if options.init is None and asked is not None and tokenizer.vocab_size < asked:
        ids += f" (the text gives no more; asked for were {asked:,})"
    block_size = gpt_start.block_size(options, generator.model)
    return f"Tokenizer: {kind}, {ids}; blocks of {block_size:,} tokens"


def count_updates(options: GptTrainOptions, batches_an_epoch: int) -> int | None:
    """How many updates training has; None where only its time is limited."""
    limits = [options.max_steps, options.epochs and options.epochs * batches_an_epoch]
    return min(filter(None, limits), default=None)


def compile_model(options: GptTrainOptions, generator: TextGenerator, total: int | None) -> None:
    """Gives the model its loss, metrics and optimizer."""
    model = generator.model
    warmup = 200 if total is None else min(round(options.warmup_share * total), total - 1)
    ignored = ignored_label(generator.tokenizer)
    model.compile(
        optimizer=adamw(
            training_run.schedule(
                options.schedule, options.learning_rate, warmup, total, options.end_share or 0.0
            ),
            weight_decay=options.weight_decay,
            beta_2=options.beta_2,
            clip_norm=options.clip_norm,
        ),
        loss=TokenCrossEntropy(pad_id=ignored),
        metrics=[TokenLoss(pad_id=ignored), TokenAccuracy(pad_id=ignored)],
        weighted_metrics=[],
        train_step=training_run.train_step(options),
    )
    name = options.init or options.preset
    print(f"Model: {name}, {model.count_params():,} weights", flush=True)


def fit(
    options: GptTrainOptions,
    generator: TextGenerator,
    batches: Batches,
    total: int | None,
    prompt: str,
    report: TrainingReport,
) -> list[tuple[int, float]]:
    """Trains, and leaves the best weights in the model; gives the losses by updates.

    Args:
        options: of the command.
        generator: with the compiled model.
        batches: of each split.
        total: updates in all, if it is known.
        prompt: how the samples begin that are shown after each score.
        report: of the run.
    """
    model = generator.model

    def valid_score(_: keras.Model) -> float:
        scores = evaluate(model, batches["valid"])
        print(f"  {updates_made(model):,} updates: {scores}", flush=True)
        if options.sample_tokens:
            gpt_samples.show_sample(generator, prompt, options.sample_tokens, report)
        return scores.loss

    scoring = ScoreCallback(valid_score, name="valid_loss", mode="min", patience=options.patience)
    sections = Sections(batches["train"], options.score_every)
    training_run.fit(
        model,
        sections,
        None,
        options,
        report,
        scoring,
        epochs=MOST_SECTIONS if total is None else math.ceil(total / sections.length),
        max_steps=total,
    )
    updates = updates_made(model)
    return [
        (min(section * sections.length, updates), loss)
        for section, loss in training_run.scores_by_epoch(scoring)
    ]


def evaluate(model: Gpt, batches: BlockBatches | ExampleBatches) -> Scores:
    """The model's scores on all tokens, each of which counts alike."""
    with waiting("Scoring", total=batches.count_batches()) as bar:
        found = model.evaluate(
            batches.dataset, verbose=0, return_dict=True, callbacks=[bar.callback()]
        )
    loss, report = found["token_loss"], batches.report
    is_text = isinstance(batches, BlockBatches)
    return Scores(
        loss,
        perplexity(loss),
        report.bits_per_byte(loss) if is_text else None,
        found["token_accuracy"],
        int(count_tokens(model)),
    )


if __name__ == "__main__":
    command_line.run(main)
