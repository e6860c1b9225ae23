"""A vocabulary is learned from a large file in minutes and within a small machine's memory."""

import random
from pathlib import Path

import pytest
from layers.fresh_process import report_of

MEGABYTES = 50


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Made-up words, a few of them frequent and hundreds of thousands rare, as in real text."""
    draw = random.Random(1)
    syllables = [c + v for c in "b d f g k l m n p r s t v z st tr".split() for v in "aeiou"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 5))) for _ in range(300_000)]
    weights = [1 / (rank + 2) for rank in range(len(words))]
    path = tmp_path_factory.mktemp("large") / "corpus.txt"
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < MEGABYTES * 10**6:
            drawn = draw.choices(words, weights, k=200_000)
            lines = (" ".join(drawn[start : start + 12]) for start in range(0, len(drawn), 12))
            file.write("\n".join(lines) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_8000_ids_are_learned_from_50_megabytes(corpus, kind):
    report = report_of(Path(__file__).with_name("learn_vocabulary.py"), kind, corpus)
    assert report["ids"] == 8000
    assert report["seconds"] < 600
    assert report["bytes"] < 2 * 2**30
