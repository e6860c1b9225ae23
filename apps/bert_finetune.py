"""Fine-tunes a BERT for a task: labels of texts, tags of words, or answers to questions.

With --task alone it learns a small task that comes with the package, from random weights; --init
gives it a pretrained model to begin with.
"""

from collections.abc import Iterable
from pathlib import Path

import command_line
import keras
import training_run
from bert_finetune_options import BertFinetuneOptions
from bert_start import start
from finetune_classify import Classify
from finetune_qa import AnswerQuestions
from finetune_tag import Tag
from run_folder import check_folders, write_json
from waiting import check, waiting

from keras_transformer.inspection.training_report import TrainingReport
from keras_transformer.training import ScoreCallback, adamw, updates_made

TASKS = {"classify": Classify, "tag": Tag, "qa": AnswerQuestions}


def main() -> None:
    options = command_line.parse_resumable(BertFinetuneOptions, __doc__)
    check_folders(options)
    with training_run.begin(options) as report:
        train_and_export(options, report)


def train_and_export(options: BertFinetuneOptions, report: TrainingReport) -> None:
    """Everything from the data to the SavedModel."""
    recipe = TASKS[options.task](options)
    for split, data in recipe.splits.items():
        print(counts := check(data), flush=True)
        report.add_data(split, counts)
    model, tokenizer = start(options, recipe.texts, recipe.model_class, **recipe.head())
    print(f"Model: {model.count_params():,} weights", flush=True)
    task = recipe.task(model, tokenizer)  # refuses what does not fit before training
    history = fit(options, recipe, task, report)
    task.save(options.output)

    scores = {}
    for split in ("valid", "test"):
        with waiting(f"Scoring the {split} data"):
            scores[split] = found = recipe.score(task, split)
        print(f"{split.capitalize()}: {found}", flush=True)
    found = {split: score._asdict() for split, score in scores.items()}
    results = found | {"updates": updates_made(model), "history": history}
    write_json(results, Path(options.output, "results.json"))
    exported = training_run.export(task, options)
    report.finish(found, show(recipe.samples(task)))
    print(f"Run: {options.output}\nSavedModel: {exported}")


def show(samples: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Prints what the model says beside what is right; gives it, too."""
    samples = list(samples)
    for sample in samples:
        (_, asked), *answers = sample.items()
        print(f"  {asked}", *(f"    {name}: {text}" for name, text in answers), sep="\n")
    return samples


def fit(
    options: BertFinetuneOptions, recipe, task, report: TrainingReport
) -> list[tuple[int, float]]:
    """Trains, and leaves the best weights in the model; gives the validation scores by epoch."""
    with waiting("Tokenising"):
        batches = recipe.batches("train", task.tokenizer)
        valid_batches = recipe.batches("valid", task.tokenizer)
    print(batches.report, flush=True)
    report.add_data("train", batches.report)
    total = options.max_steps or options.epochs * batches.count_batches()
    warmup = min(max(1, round(options.warmup_share * total)), total - 1)
    loss, metrics = recipe.loss_and_metrics()
    task.model.compile(
        optimizer=adamw(
            training_run.schedule(options.schedule, options.learning_rate, warmup, total),
            weight_decay=options.weight_decay,
            clip_norm=options.clip_norm,
        ),
        loss=loss,
        metrics=metrics,
        weighted_metrics=[],
        train_step=training_run.train_step(options),
    )

    def valid_score(_: keras.Model) -> float:
        with waiting("Scoring"):
            return getattr(recipe.score(task, "valid"), recipe.measure)

    scoring = ScoreCallback(
        valid_score,
        every=options.score_every,
        name=f"valid_{recipe.measure}",
        patience=options.patience,
    )
    training_run.fit(task.model, batches, valid_batches, options, report, scoring)
    return training_run.scores_by_epoch(scoring)


if __name__ == "__main__":
    command_line.run(main)
