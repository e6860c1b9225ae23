"""What fine-tuning does when nothing is said about rates, epochs and sizes."""

import random

import bert_finetune
import bert_start
import pytest
import training_run
from bert_finetune_options import BertFinetuneOptions
from finetune_classify import Classify

KEYWORDS = {"sport": "ball goal team", "food": "soup bread rice", "sky": "star moon comet"}
FILLERS = "the a one that we saw then and with there was in of it had some more".split()


def write_split(path, rows, seed):
    """Texts of ten words, one of which decides the label."""
    draw = random.Random(seed)
    lines = []
    for number in range(rows):
        label = list(KEYWORDS)[number % len(KEYWORDS)]
        words = draw.choices(FILLERS, k=9)
        words.insert(draw.randint(0, 9), draw.choice(KEYWORDS[label].split()))
        lines.append(f"{' '.join(words)}\t{label}\n")
    path.write_text("text\tlabel\n" + "".join(lines), encoding="utf-8")


@pytest.mark.slow
def test_300_rows_of_three_labels_are_learned_with_the_defaults(tmp_path):
    for seed, (split, rows) in enumerate({"train": 300, "valid": 30, "test": 90}.items()):
        write_split(tmp_path / f"{split}.tsv", rows, seed)
    options = BertFinetuneOptions(
        train=str(tmp_path / "{split}.tsv"), output=str(tmp_path / "run"), score_every=20
    )
    with training_run.begin(options) as report:
        recipe = Classify(options)
        model, tokenizer = bert_start.start(
            options, recipe.texts, recipe.model_class, **recipe.head()
        )
        task = recipe.task(model, tokenizer)
        bert_finetune.fit(options, recipe, task, report)
    scores = recipe.score(task, "test")
    assert scores.accuracy > 0.9, scores
    assert len(set(task([row.text for row in recipe.splits["test"]]))) == 3
