"""Tagged words: files in the manner of CoNLL, alignment with word pieces, entities."""

import numpy as np
import pytest
from data.bert_tokenizers import CLS, SEP, letters_tokenizer, words_tokenizer
from realdata import real_data

from keras_transformer.data import (
    TaggedSentence,
    TaggedSentences,
    conll_file,
    entities,
    load_tagged,
    tagging_batches,
    tagging_windows,
    tags_of_windows,
)


def write(path, text: str | bytes):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def sentence(words, tags=None):
    words = words.split()
    return TaggedSentence(tuple(words), tuple(tags.split() if tags else ["O"] * len(words)))


# Files.


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_the_last_sentence_needs_no_blank_line(tmp_path, end):
    path = write(tmp_path / "a.conll", f"\ufeffAda\tB-PER\nsleeps\tO\n\nOh\tO\n \t\n\nNo\tO{end}")
    sentences = conll_file(path)
    assert [s.words for s in sentences] == [("Ada", "sleeps"), ("Oh",), ("No",)]
    assert (sentences.report.kept, sentences.report.words) == (3, 4)


def test_document_marks_are_no_words_and_part_documents(tmp_path):
    text = "-DOCSTART- -X- O O\n\na x y B-X\n\nb x y O\n-DOCSTART- -X- O O\nc x y O\n"
    sentences = list(conll_file(write(tmp_path / "a.conll", text)))
    assert [(s.words, s.tags, s.document) for s in sentences] == [
        (("a",), ("B-X",), 0),
        (("b",), ("O",), 0),
        (("c",), ("O",), 1),
    ]
    assert conll_file(tmp_path / "a.conll").report.documents == 2


def test_columns_are_separated_by_tabs_or_blanks_and_chosen_by_number(tmp_path):
    path = write(tmp_path / "a.conll", "1  Ada   NNP B-PER \r\n2 sat VBD  O\r\n")
    assert next(iter(conll_file(path, word_column=2))) == sentence("Ada sat", "B-PER O")
    assert next(iter(conll_file(path, 2, 3))).tags == ("NNP", "VBD")
    path = write(tmp_path / "b.conll", "New York\tB-LOC\n \tO\n")
    assert next(iter(conll_file(path))).words == ("New York", " ")


def test_a_no_break_space_is_a_word_and_part_of_words(tmp_path):
    for separator in ("\t", " "):
        path = write(tmp_path / "a.conll", f"10\u00a0km{separator}O\n\u00a0{separator}B-X\n")
        assert next(iter(conll_file(path))).words == ("10\u00a0km", "\u00a0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c O\na b O\n", r"a\.conll, line 2: 3 columns where the first word has 4; .* blanks"),
        ("a\tO\nb c O\n", "line 2: 1 columns where the first word has 2; .* tabs"),
        ("one\ntwo\n", "line 1: one column only; a line needs a word and its tag"),
        ("a\tO\nb\t \n", "line 2: the tag is blank"),
        ("a\tO\n\tO\n", "line 2: the word is blank"),
        (b"a O\n\xe9 O\n", "line 2: byte 0xe9"),
        ("\n", "read 0, kept 0"),
    ],
)
def test_faults_of_a_file_are_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        conll_file(write(tmp_path / "a.conll", text)).check()


def test_columns_there_are_not_are_refused(tmp_path):
    path = write(tmp_path / "a.conll", "a\tO\n")
    with pytest.raises(ValueError, match="there is no column 3; the line has 2"):
        conll_file(path, tag_column=3).check()
    with pytest.raises(ValueError, match="word_column is 0; columns are counted from 1"):
        conll_file(path, word_column=0)


def test_nul_and_sentences_without_words_are_counted():
    sentences = TaggedSentences(
        "odd", lambda: iter([TaggedSentence((), ()), TaggedSentence(("a\0b",), ("O",))])
    )
    assert next(iter(sentences)).words == ("a\ufffdb",)
    assert sentences.report.dropped == {"no words": 1}
    assert sentences.report.repaired == {"NUL replaced by U+FFFD": 1}


# Tags.


def test_the_first_piece_of_a_word_is_labelled_and_the_tags_come_back():
    henson = sentence("Jim Henson was a puppeteer", "B-PER I-PER O O O")
    names = ["O", "B-PER", "I-PER"]
    (window,) = tagging_windows([henson], letters_tokenizer(), names)
    tags = window.example["tags"]
    assert len(tags) == 2 + len("JimHensonwasapuppeteer")
    assert tags[tags >= 0].tolist() == [1, 2, 0, 0, 0]
    assert tags[[1, 4, 10, 13, 14]].tolist() == [1, 2, 0, 0, 0]
    assert tags_of_windows([window], [np.maximum(tags, 0)], names) == [list(henson.tags)]


def test_every_word_of_a_long_sentence_gets_a_tag_in_one_window():
    names = ["O", "B-X", "I-X"]
    tags = ["B-X" if n == 140 else "I-X" if n % 3 else "O" for n in range(150)]
    long = TaggedSentence(tuple(f"w{n}" for n in range(150)), tuple(tags))
    windows = tagging_windows([long, sentence("w1 w2")], words_tokenizer(), names, max_length=66)
    assert all(len(window.example["token_ids"]) <= 66 for window in windows)
    assert len(windows) == 3 + 1
    asked = np.concatenate([w.example["tags"] for w in windows if w.sentence == 0])
    assert (asked >= 0).sum() == 150
    predicted = [np.maximum(window.example["tags"], 0) for window in windows]
    assert tags_of_windows(windows, predicted, names) == [tags, ["O", "O"]]
    # A window answers for words that have others around them.
    assert min(windows[1].positions) > 1


def test_a_word_without_pieces_or_with_too_many_still_has_a_tag():
    odd = TaggedSentence(("\u200b", "a" * 90, "b"), ("B-X", "O", "B-X"))
    names = ["O", "B-X"]
    windows = tagging_windows([odd], letters_tokenizer(), names, max_length=12)
    predicted = [np.maximum(window.example["tags"], 0) for window in windows]
    assert tags_of_windows(windows, predicted, names) == [["B-X", "O", "B-X"]]
    assert windows[0].example["token_ids"].tolist()[:2] == [CLS, 1]


def test_a_batch_for_a_tagger():
    sentences = TaggedSentences("two", lambda: iter([sentence("w1 w2", "B-X O"), sentence("w3")]))
    batches = tagging_batches(
        sentences, words_tokenizer(), ["O", "B-X"], length_multiple=1, training=False
    )
    ((features, tags),) = batches.dataset.as_numpy_iterator()
    assert features["token_ids"].tolist() == [[CLS, 8, SEP, 0], [CLS, 6, 7, SEP]]
    assert tags.tolist() == [[-1, 0, -1, -1], [-1, 1, 0, -1]]
    assert not features["segment_ids"].any()


def test_sentences_in_several_windows_are_counted_and_unknown_tags_refused():
    sentences = TaggedSentences("long", lambda: iter([sentence("w1 " * 30), sentence("w2")]))
    batches = tagging_batches(sentences, words_tokenizer(), ["O"], max_length=12)
    assert "read in several windows: 1" in str(batches.report)
    with pytest.raises(ValueError, match="tag 'O' is not among .* training: B-X"):
        tagging_batches(sentences, words_tokenizer(), ["B-X"])
    batches = tagging_batches(
        sentences, words_tokenizer(), ["B-X"], unknown_tags="ignore", training=False
    )
    assert all((tags == -1).all() for _, tags in batches.dataset.as_numpy_iterator())
    with pytest.raises(ValueError, match="overlap must be 0 or more, and less"):
        tagging_batches(sentences, words_tokenizer(), ["O"], max_length=12, overlap=10)


def test_windows_in_another_order_are_refused():
    windows = tagging_windows([sentence("w1 " * 30)], words_tokenizer(), ["O"], max_length=12)
    with pytest.raises(ValueError, match="give all windows in their order"):
        tags_of_windows(windows[1:], [np.zeros(12, int)] * (len(windows) - 1), ["O"])


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("I-PER I-PER", [("PER", 0, 2)]),
        ("B-PER I-LOC", [("PER", 0, 1), ("LOC", 1, 2)]),
        ("O I-PER", [("PER", 1, 2)]),
        ("B-PER B-PER I-PER O I-PER", [("PER", 0, 1), ("PER", 1, 3), ("PER", 4, 5)]),
        ("B-GPE.NAM I-GPE.NAM B-per-son", [("GPE.NAM", 0, 2), ("per-son", 2, 3)]),
        ("O O", []),
    ],
)
def test_entities_by_the_stated_rule(tags, found):
    assert entities(tags.split()) == found


def test_other_tags_mark_no_entities():
    with pytest.raises(ValueError, match="tag 1 is 'NN'"):
        entities(["O", "NN"])


def test_tag_names_have_an_order_that_stays():
    sentences = TaggedSentences("one", lambda: iter([sentence("a b c d", "I-B B-B I-A O")]))
    assert sentences.tag_names() == ["O", "I-A", "B-B", "I-B"]


def test_real_files():
    sentences = load_tagged(f"{real_data('wnut17')}/{{split}}.conll", "dev")
    assert (sentences.report.kept, sentences.report.words) == (1009, 15_733)
    assert sum(len(entities(s.tags)) for s in sentences) == 836
    sentences = load_tagged(str(real_data("weibo_ner") / "train.dedup.conll"))
    assert (sentences.report.kept, sentences.report.words) == (1174, 66_269)
    assert len(sentences.tag_names()) == 17
