"""Trains a Transformer on pairs of texts, scores it, and exports it: text in, text out.

Without arguments it learns Chinese-English from sentences that come with the package.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import command_line
import keras
import training_run
from run_folder import check_folders, write_json
from translate_options import TranslateTrainOptions
from waiting import check, waiting

from keras_transformer.data import TextPairs, TranslationBatches, load_pairs
from keras_transformer.inspection.training_report import TrainingReport
from keras_transformer.models import Transformer, TransformerConfig
from keras_transformer.tasks import TranslationOptions, Translator
from keras_transformer.tasks.text_scores import text_score
from keras_transformer.text import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    load_tokenizer,
)
from keras_transformer.training import (
    ScoreCallback,
    TokenAccuracy,
    TokenCrossEntropy,
    adamw,
    updates_made,
)

PART = 512  # texts translated by one call


def main() -> None:
    options = command_line.parse_resumable(TranslateTrainOptions, __doc__)
    check_folders(options)
    with training_run.begin(options) as report:
        train_and_export(options, report)


def train_and_export(options: TranslateTrainOptions, report: TrainingReport) -> None:
    """Everything from the data to the SavedModel."""
    run = Path(options.output)
    train, valid, test = load_splits(options)
    for split, pairs in (("train", train), ("valid", valid), ("test", test)):
        print(counts := check(pairs), flush=True)
        report.add_data(split, counts)
    source_tokenizer, target_tokenizer = tokenizers(options, train, run)
    model = build_model(options, source_tokenizer, target_tokenizer)
    translator = Translator(
        model,
        source_tokenizer,
        target_tokenizer,
        TranslationOptions(
            beam_size=options.beam_size,
            n_best=options.beam_size,
            length_penalty=options.length_penalty,
            max_source_length=options.max_source_length,
            max_target_length=options.max_target_length,
        ),
    )
    history = fit(options, translator, train, valid, report)
    translator.save(run)

    scores = score(translator, test, options)
    results = scores | {"updates": updates_made(model), "history": history}
    write_json(results, run / "results.json")
    exported = training_run.export(translator, options)
    report.finish(scores, show_samples(translator, test))
    print(f"Run: {run}\nSavedModel: {exported}")


def load_splits(options: TranslateTrainOptions) -> tuple[TextPairs, TextPairs, TextPairs]:
    """Training, validation and test pairs."""
    common = {
        "source_field": options.source_field,
        "target_field": options.target_field,
        "data_dir": options.data_dir,
        "reverse": options.reverse,
    }
    train = load_pairs(options.dataset, options.source, options.target, split="train", **common)
    held_out, missing = [], []
    for split in ("valid", "test"):
        source, target = (getattr(options, f"{split}_{side}") for side in ("source", "target"))
        dataset = getattr(options, f"{split}_dataset")
        if dataset is None and source is None:
            dataset = options.dataset
            if dataset is None or not holds_splits(dataset):
                missing.append(split)
                continue
        if dataset and dataset.startswith("tfds:") and split == "valid":
            split = "validation"
        if dataset and not holds_splits(dataset):
            split = None
        held_out.append(load_pairs(dataset, source, target, split=split, **common))
    if missing:
        kinds = " and no ".join({"valid": "validation", "test": "test"}[split] for split in missing)
        ways = " and ".join(
            f"--{split}-source and --{split}-target (or --{split}-dataset)" for split in missing
        )
        raise ValueError(
            f"No {kinds} pairs are given: give {ways}, or a --dataset with {{split}} in its path."
        )
    return train, *held_out


def holds_splits(dataset: str) -> bool:
    """Whether a dataset has training, validation and test pairs, not just one kind."""
    return dataset == "builtin" or dataset.startswith("tfds:") or "{split}" in dataset


def tokenizers(
    options: TranslateTrainOptions, train: TextPairs, run: Path
) -> tuple[Tokenizer, Tokenizer]:
    """The run's tokenizers: loaded when it is resumed, else trained and saved."""
    names = ["source_tokenizer", "target_tokenizer"]
    texts = [train.sources, train.targets]
    if not options.separate_vocabularies:
        names, texts = ["tokenizer"], [lambda: both_sides(train)]
    missing = [name for name in names if not (run / name).is_dir()]
    if options.resume and missing:
        raise ValueError(
            f"{run} holds no {missing[0]}: its run had another choice of --separate-vocabularies."
        )
    found = []
    for name, sides in zip(names, texts, strict=True):
        if not options.resume:
            with waiting(f"Learning the {name.replace('_', ' ')}") as bar:
                train_tokenizer(options, bar.count(sides())).save(run / name)
        found.append(load_tokenizer(run / name))
        print(f"Vocabulary of the {name}: {found[-1].vocab_size:,} ids")
    return found[0], found[-1]


def both_sides(pairs: TextPairs) -> Iterator[str]:
    """All texts of the pairs."""
    return itertools.chain.from_iterable(pairs)


def train_tokenizer(options: TranslateTrainOptions, texts: Iterable[str]) -> Tokenizer:
    """Learns a vocabulary."""
    if options.tokenizer == "char":
        return CharacterTokenizer.train(texts, vocab_size=options.vocab_size)
    return SentencePieceTokenizer.train(
        texts,
        options.vocab_size,
        model_type=options.tokenizer,
        split_han=options.split_han,
        hard_vocab_limit=False,
    )


def build_model(
    options: TranslateTrainOptions, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
) -> Transformer:
    """The compiled model."""
    shared = source_tokenizer is target_tokenizer
    sizes = {
        "vocab_size": source_tokenizer.vocab_size,
        "target_vocab_size": None if shared else target_tokenizer.vocab_size,
        "share_embeddings": shared,
        "max_position_embeddings": max(options.max_source_length, options.max_target_length),
    }
    model = Transformer(TransformerConfig.preset(options.preset, **(sizes | options.model)))
    model.build()
    schedule = training_run.schedule(
        options.schedule, options.learning_rate, options.warmup_steps, options.max_steps
    )
    model.compile(
        optimizer=adamw(
            schedule,
            weight_decay=options.weight_decay,
            clip_norm=options.clip_norm,
            ema=options.ema or None,
        ),
        loss=TokenCrossEntropy(label_smoothing=options.label_smoothing),
        metrics=[TokenAccuracy()],
        weighted_metrics=[],
        train_step=training_run.train_step(options),
    )
    sizes = f"{model.config.encoder_layers} + {model.config.decoder_layers} layers of width "
    print(f"Model: {sizes}{model.config.hidden_size}, {model.count_params():,} weights")
    return model


def fit(
    options: TranslateTrainOptions,
    translator: Translator,
    train: TextPairs,
    valid: TextPairs,
    report: TrainingReport,
) -> list[tuple[int, float]]:
    """Trains, and leaves the best weights in the model; gives the validation scores by epoch."""
    lengths = {
        "batch_tokens": options.batch_tokens,
        "max_source_length": options.max_source_length,
        "max_target_length": options.max_target_length,
        "length_multiple": options.length_multiple,
    }
    tokenizer_pair = (translator.source_tokenizer, translator.target_tokenizer)
    batches = TranslationBatches(train, *tokenizer_pair, **lengths, seed=options.seed)
    valid_batches = TranslationBatches(
        valid, *tokenizer_pair, **lengths, overlong="truncate", training=False
    )
    with waiting("Tokenising the training texts"):
        batches.count_batches()
    print(batches.report, flush=True)
    report.add_data("train", batches.report)

    sources, references = (list(side) for side in zip(*valid, strict=True))
    # What cannot be scored is refused before training.
    text_score(options.metric, references, references, options.bleu_tokenize)

    def valid_score(_: keras.Model) -> float:
        translations = in_parts(translator.translate, sources, "Scoring", beam_size=1)
        found = [translation.texts[0] for translation in translations]
        return text_score(options.metric, found, references, options.bleu_tokenize).value

    scoring = ScoreCallback(
        valid_score,
        every=options.score_every,
        name=f"valid_{options.metric}",
        patience=options.patience,
        average=bool(options.ema),
    )
    training_run.fit(translator.model, batches, valid_batches, options, report, scoring)
    return training_run.scores_by_epoch(scoring)


def in_parts(translate: Callable[..., list], texts: list[str], what: str, **options: Any) -> list:
    """Translations of all texts. Between two parts of them Ctrl-C is heard."""
    found = []
    with waiting(what, total=len(texts)) as bar:
        for first in range(0, len(texts), PART):
            found += translate(texts[first : first + PART], **options)
            bar.advance(len(found) - first)
    return found


def score(
    translator: Translator, test: TextPairs, options: TranslateTrainOptions
) -> dict[str, object]:
    """Translates the test texts with beam search and prints the scores."""
    sources, references = (list(side) for side in zip(*test, strict=True))
    translations = in_parts(translator, sources, "Translating the test texts")
    scores = {}
    for metric in dict.fromkeys(["bleu", "chrf", options.metric]):
        result = text_score(metric, translations, references, options.bleu_tokenize)
        print(f"Test {result}", flush=True)
        scores[metric] = result._asdict()
    return {"test": scores, "test_pairs": len(sources)}


def show_samples(translator: Translator, test: TextPairs, count: int = 5) -> list[dict[str, str]]:
    """Prints a few translations beside their references; gives them, too."""
    pairs = list(itertools.islice(test, 0, None, max(1, test.report.kept // count)))[:count]
    found = translator([source for source, _ in pairs])
    samples = [
        {"source": source, "model": translation, "reference": reference}
        for (source, reference), translation in zip(pairs, found, strict=True)
    ]
    for sample in samples:
        shown = "  {source}\n    model:     {model}\n    reference: {reference}"
        print(shown.format_map(sample))
    return samples


if __name__ == "__main__":
    command_line.run(main)
