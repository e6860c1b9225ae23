"""Fine-tunes a BERT for a task: labels of texts, tags of words, or answers to questions.

With --task alone it learns a small task that comes with the package, from random weights; --init
gives it a pretrained model to begin with.
"""

from pathlib import Path

import bert_start
import command_line
import keras
import training_run
from bert_finetune_options import BertFinetuneOptions
from finetune_classify import Classify
from finetune_qa import AnswerQuestions
from finetune_tag import Tag

from keras_transformer.serving import export_for_serving
from keras_transformer.training import ScoreCallback, adamw, updates_made

TASKS = {"classify": Classify, "tag": Tag, "qa": AnswerQuestions}


def main() -> None:
    options = command_line.parse_resumable(BertFinetuneOptions, __doc__)
    training_run.check_folders(options)
    with training_run.begin(options):
        train_and_export(options)


def train_and_export(options: BertFinetuneOptions) -> None:
    """Everything from the data to the SavedModel."""
    recipe = TASKS[options.task](options)
    for data in recipe.splits.values():
        print(data.check(), flush=True)
    bert, tokenizer = bert_start.start(options, recipe.texts)
    model = recipe.model(bert)
    model.build()
    print(f"Model: {model.count_params():,} weights", flush=True)
    task = recipe.task(model, tokenizer)  # refuses what does not fit before training
    history = fit(options, recipe, task)
    task.save(options.output)

    scores = {split: recipe.score(task, split) for split in ("valid", "test")}
    for split, found in scores.items():
        print(f"{split.capitalize()}: {found}", flush=True)
    results = {split: found._asdict() for split, found in scores.items()}
    results |= {"updates": updates_made(model), "history": history}
    training_run.write_json(results, Path(options.output, "results.json"))
    exported = export_for_serving(task, options.export, run=options.output)
    for sample in recipe.samples(task):
        print(f"  {sample}")
    print(f"Run: {options.output}\nSavedModel: {exported}")


def fit(options: BertFinetuneOptions, recipe, task) -> list[tuple[int, float]]:
    """Trains, and leaves the best weights in the model; gives the validation scores by epoch."""
    batches = recipe.batches("train", task.tokenizer)
    valid_batches = recipe.batches("valid", task.tokenizer)
    print(batches.report, flush=True)
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
        return getattr(recipe.score(task, "valid"), recipe.measure)

    scoring = ScoreCallback(
        valid_score,
        every=options.score_every,
        name=f"valid_{recipe.measure}",
        patience=options.patience,
    )
    training_run.fit(task.model, batches, valid_batches, options, scoring)
    return training_run.scores_by_epoch(scoring)


if __name__ == "__main__":
    command_line.run(main)
