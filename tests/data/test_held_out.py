"""Documents held out for validation and for test."""

import itertools

import pytest

from keras_transformer.data import TextDocuments, TooFewDocuments, document_files, hold_out


def numbered(count: int, name: str = "corpus") -> TextDocuments:
    """Documents of one sentence each, their position."""
    return TextDocuments(name, lambda: ([str(number)] for number in range(count)))


def positions(documents: TextDocuments) -> list[int]:
    return [int(sentence) for sentence in documents.sentences()]


@pytest.mark.parametrize("share", [0.01, 0.02, 0.037, 0.1, 0.25, 1 / 3, 0.49])
@pytest.mark.parametrize("splits", [("valid", "test"), ("valid",), ("test",)])
def test_every_document_is_in_one_split_and_each_split_has_its_share(share, splits):
    for count in (321, 1000):
        parts = hold_out(numbered(count), share, splits)
        assert list(parts) == ["train", *splits]
        found = {split: positions(part) for split, part in parts.items()}
        assert sorted(itertools.chain(*found.values())) == list(range(count))
        for split in splits:
            assert abs(len(found[split]) - share * count) < 1


@pytest.mark.parametrize("share", [0.02, 0.03, 0.3])
def test_what_is_held_out_lies_evenly_over_the_corpus(share):
    parts = hold_out(numbered(2000), share)
    for split in ("valid", "test"):
        found = positions(parts[split])
        gaps = [after - before for before, after in itertools.pairwise(found)]
        assert max(gaps) - min(gaps) <= 2
        assert found[0] <= max(gaps) and found[-1] >= 2000 - max(gaps) - 1


def test_parts_are_the_same_in_every_pass_and_stay_when_the_corpus_grows():
    small, large = hold_out(numbered(500)), hold_out(numbered(700))
    for split, part in small.items():
        assert positions(part) == positions(part)
        assert positions(part) == [number for number in positions(large[split]) if number < 500]


def test_documents_stay_whole_and_keep_their_sentences(tmp_path):
    for name, first in (("a.txt", 0), ("b.txt", 50)):
        documents = (f"Text {n}.\nMore of {n}.\n" for n in range(first, first + 50))
        (tmp_path / name).write_text("\n".join(documents))
    parts = hold_out(document_files(tmp_path), 0.05)
    for split, size in (("train", 90), ("valid", 5), ("test", 5)):
        documents = list(parts[split])
        assert len(documents) == parts[split].report.documents == size
        for first, second in documents:
            assert second == f"More of {first.removeprefix('Text ')}"
        assert parts[split].name == f"{tmp_path} (2 files):{split}"


def test_the_reports_of_the_parts_add_up():
    texts = [["a\0b", " "], ["c", "d"], ["\0", "\t"], ["e"], [], ["\t", "f"], ["g"], ["\0"]]
    corpus = TextDocuments("odd", lambda: iter(texts * 10))
    whole = corpus.check()
    parts = [part.check() for part in hold_out(corpus, 0.2).values()]
    for field in ("read", "kept", "documents"):
        assert sum(getattr(part, field) for part in parts) == getattr(whole, field)
    for field in ("dropped", "repaired"):
        counts = [getattr(part, field) for part in parts]
        assert sum(counts[1:], counts[0]) == getattr(whole, field)
    assert [part.documents for part in parts] == [30, 10, 10]


def test_no_more_than_one_document_is_held_in_memory():
    alive = 0

    class Sentences(list):
        def __init__(self, *arguments):
            nonlocal alive
            super().__init__(*arguments)
            alive += 1

        def __del__(self):
            nonlocal alive
            alive -= 1

    most = 0
    corpus = TextDocuments("counted", lambda: (Sentences([str(n)]) for n in range(200)))
    for part in hold_out(corpus).values():
        for _ in part:
            most = max(most, alive)
    assert 0 < most <= 2
    assert alive == 0


@pytest.mark.parametrize(
    ("splits", "least", "needed"),
    [(("valid", "test"), 1, 38), (("valid",), 1, 25), (("valid", "test"), 2, 88)],
)
def test_too_few_documents_are_refused_and_the_least_number_is_said(splits, least, needed):
    with pytest.raises(TooFewDocuments) as error:
        hold_out(numbered(needed - 1, "books"), 0.02, splits, least)
    for words in (f"books: {needed - 1} documents", "share of 0.02", f"it takes {needed},"):
        assert words in str(error.value)
    parts = hold_out(numbered(needed), 0.02, splits, least)
    assert min(part.report.documents for part in parts.values()) == least


def test_training_keeps_a_document():
    with pytest.raises(TooFewDocuments, match="corpus: 2 documents"):
        hold_out(numbered(2), 0.49)
    with pytest.raises(TooFewDocuments, match="corpus: 1 documents"):
        hold_out(numbered(1), 0.9, ["valid"])
    assert all(part.report.kept for part in hold_out(numbered(100), 0.49).values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0.5}, "a share of 0.5 cannot be held out for 'valid', 'test'.*less than 0.5,"),
        ({"share": 0}, "must be more than 0"),
        ({"share": float("nan")}, "a share of nan"),
        ({"share": 1.0, "splits": ["dev"]}, "for 'dev'.*less than 1,"),
        ({"splits": []}, "splits are none"),
        ({"splits": ["train"]}, "not 'train'"),
        ({"splits": ["dev", "dev"]}, "different names"),
        ({"least": 0}, "least is 0"),
    ],
)
def test_impossible_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        hold_out(numbered(100), **options)


def test_documents_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: byte 0xe9"):
        hold_out(document_files(tmp_path))
