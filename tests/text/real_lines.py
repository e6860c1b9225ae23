"""Real lines of several languages and scripts."""

import gzip
import itertools
import json

from realdata import real_data


def few_lines() -> list[str]:
    """Some 400 of them: captions, contexts and questions, a novel."""
    lines = []
    for language in ("en", "de", "fr", "cs"):
        lines += _read(real_data("multi30k") / f"val.{language}.gz", 60)
    for language in ("en", "de", "zh"):
        found = _contexts_and_questions(real_data("xquad") / f"xquad.{language}.json")
        lines += itertools.islice(found, 40)
    return lines + _read(real_data("classics_zh") / "hongloumeng.txt.gz", 60)


def many_lines() -> list[str]:
    """More than 10,000 of them, news, reviews and tables too."""
    lines = []
    for language in ("en", "de", "fr", "cs"):
        lines += _read(real_data("multi30k") / f"val.{language}.gz")
    for language in ("en", "de", "zh"):
        lines += _contexts_and_questions(real_data("xquad") / f"xquad.{language}.json")
    lines += _read(real_data("news_commentary_en_zh") / "news-commentary-v13.en-zh.tsv", 2000)
    lines += _read(real_data("wiki_zh") / "drcd_dev_traditional.txt.gz", 1000)
    lines += _read(real_data("wikitext2") / "wiki.valid.txt.gz")
    lines += _read(real_data("tatoeba_fra_eng") / "test.tsv", 1000)
    lines += _read(real_data("chnsenticorp") / "dev.tsv")
    lines += _read(real_data("weibo_ner") / "dev.conll", 1000)
    assert len(lines) > 10_000
    return lines


def novel_lines() -> list[str]:
    """The first lines of an English novel."""
    return _read(real_data("gutenberg_en") / "alice.txt.gz", 200)


def _read(path, count=None):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in itertools.islice(file, count)]


def _contexts_and_questions(path):
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            yield paragraph["context"]
            yield from (question["question"] for question in paragraph["qas"])
