"""Texts with labels or numbers, and the batches made of them."""

import gzip

import numpy as np
import pytest
from data.bert_tokenizers import CLS, SEP, words_tokenizer
from realdata import real_data

from keras_transformer.data import (
    LabelledText,
    LabelledTexts,
    balanced_weights,
    classification_batches,
    labelled_tsv,
    load_labelled,
)


def write(path, text: str | bytes):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rows_of(texts):
    return [(row.text, row.label) for row in texts]


def texts_of(*rows, regression=False):
    found = [(f"row {n}", *row) for n, row in enumerate(rows, start=1)]
    return LabelledTexts("rows", lambda: iter(found), regression)


def test_a_quotation_mark_swallows_no_row_and_a_byte_order_mark_no_label(tmp_path):
    path = write(tmp_path / "a.tsv", b'\xef\xbb\xbfgood\t"b\r\nbad\tc"\r\ngood\td\r\nbad\t""\r\n')
    texts = labelled_tsv(path, text=2, label=1)
    assert rows_of(texts) == [('"b', "good"), ('c"', "bad"), ("d", "good"), ('""', "bad")]
    assert texts.label_names() == ["bad", "good"]


def test_columns_by_usual_names_by_given_names_and_by_number(tmp_path):
    path = write(tmp_path / "a.tsv", "label\ttext_a\n1\tfine\n0\tpoor")
    assert rows_of(labelled_tsv(path)) == [("fine", "1"), ("poor", "0")]
    assert rows_of(labelled_tsv(path, "text_a", "label")) == [("fine", "1"), ("poor", "0")]
    assert len(rows_of(labelled_tsv(path, 2, 1))) == 3
    assert rows_of(labelled_tsv(path, 2, 1, header=True)) == [("fine", "1"), ("poor", "0")]
    path = write(tmp_path / "b.tsv", "fine\t1\npoor\t0\n")
    assert rows_of(labelled_tsv(path)) == [("fine", "1"), ("poor", "0")]


def test_pairs_of_texts(tmp_path):
    path = write(tmp_path / "a.tsv", "sentence1\tsentence2\tid\tlabel\na\tb\t7\tyes\nc\td\t8\tno\n")
    assert list(labelled_tsv(path)) == [LabelledText("a", "b", "yes"), LabelledText("c", "d", "no")]
    texts = labelled_tsv(path, "sentence2", "label", "sentence1")
    assert list(texts.texts()) == ["b", "a", "d", "c"]


def test_regression_reads_numbers_and_names_what_is_none(tmp_path):
    path = write(tmp_path / "a.tsv", "a\tb\t2.5\nc\td\t-1e1\n")
    texts = labelled_tsv(path, 1, 3, 2, regression=True)
    assert [row.label for row in texts] == [2.5, -10.0]
    with pytest.raises(ValueError, match="not names of labels"):
        texts.label_names()
    for wrong in ("much", "nan", "inf"):
        path = write(tmp_path / "a.tsv", f"a\t1\nb\t{wrong}\n")
        with pytest.raises(ValueError, match=rf"line 2: the label is '{wrong}'; .*finite number"):
            labelled_tsv(path, regression=True).check()


def test_labels_have_an_order_that_stays_with_numbers_by_size():
    texts = texts_of(*(("t", None, label) for label in ("b", "10", "9", "-1", "a", "9")))
    assert texts.label_names() == ["-1", "9", "10", "a", "b"]


def test_faults_are_counted():
    texts = texts_of(
        (" ", None, "x"), ("a", None, " "), ("b", None, None), ("c", "\t", "x"), ("", "d", "x"),
        ("e\0f", None, " x "), ("", "", "x"),
    )  # fmt: skip
    assert list(texts) == [LabelledText("e f", None, "x")]
    assert texts.report.dropped == {
        "blank text": 2,
        "no label": 2,
        "blank second text": 1,
        "blank first text": 1,
    }
    assert texts.report.repaired == {"NUL replaced by a space": 1}
    with pytest.raises(ValueError, match="the only label is x: a classifier needs two"):
        texts.label_names()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a\t1\nb\n", {}, r"a\.tsv, line 2: 1 columns where the first line has 2"),
        ("a\tb\t1\n", {}, "say which columns hold text and label; .* has 3 columns: a, b, 1"),
        ("{\n", {}, r"no table of texts and labels: its first line has no tab, .*\('{'\)"),
        ("a\t1\n", {"text": 1}, "give the columns of text and label or neither"),
        ("a\t1\n", {"text": 1, "label": 3}, "no column 3"),
        ("a\t1\n", {"text": "sentence", "label": "label"}, "no column named 'sentence'.*a, 1"),
        (b"a\t1\n\xe9\t0\n", {}, r"a\.tsv, line 2: byte 0xe9"),
        ("\n\n", {"text": 1, "label": 1}, "read 2, kept 0"),
    ],
)
def test_faults_of_a_file_are_named(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        labelled_tsv(write(tmp_path / "a.tsv", text), **options).check()


def test_blank_lines_are_counted_and_gzip_is_read(tmp_path):
    path = write(tmp_path / "a.tsv", gzip.compress(b"a\t1\n\nb\t0\n"))
    texts = labelled_tsv(path)
    assert rows_of(texts) == [("a", "1"), ("b", "0")]
    assert texts.report.dropped == {"blank text": 1}


def test_a_batch_for_a_classifier():
    texts = texts_of(("w1 w2", None, "no"), ("w3", None, "yes"), ("w4 w5 w6", None, "no"))
    batches = classification_batches(
        texts,
        words_tokenizer(),
        texts.label_names(),
        class_weights=[1, 3],
        batch_size=4,
        replicas=2,
        training=False,
        length_multiple=1,
    )
    ((features, labels, weights),) = batches.dataset.as_numpy_iterator()
    assert features["token_ids"].tolist() == [
        [CLS, 8, SEP, 0, 0],
        [CLS, 6, 7, SEP, 0],
        [CLS, 9, 10, 11, SEP],
        [0] * 5,
    ]
    assert labels.tolist() == [1, 0, 0, -1] and weights.tolist() == [3, 1, 1, 0]
    assert not features["segment_ids"].any()


def test_pairs_are_cut_so_that_both_stay_and_the_cut_is_counted():
    texts = texts_of(("w1 " * 50, "w2", 1.5), ("w3", "w4 w5", 2.0), regression=True)
    batches = classification_batches(texts, words_tokenizer(), None, max_length=8, training=False)
    ((features, labels, _),) = batches.batches()
    assert features["token_ids"].tolist() == [
        [CLS, 8, SEP, 9, 10, SEP, 0, 0],
        [CLS, 6, 6, 6, 6, SEP, 7, SEP],
    ]
    assert features["segment_ids"].tolist() == [[0] * 3 + [1] * 3 + [0] * 2, [0] * 6 + [1] * 2]
    assert labels.tolist() == [2.0, 1.5] and labels.dtype == np.float32
    assert "cut to 8 tokens: 1" in str(batches.report)


def test_labels_that_training_did_not_have_are_refused():
    texts = texts_of(("w1", None, "no"), ("w2", None, "perhaps"))
    with pytest.raises(ValueError, match="'perhaps' is not among .* training: no, yes"):
        classification_batches(texts, words_tokenizer(), ["no", "yes"])
    with pytest.raises(ValueError, match="give label_names for labels that are names"):
        classification_batches(texts, words_tokenizer(), None)
    with pytest.raises(ValueError, match="class_weights has 1 weights for 2 labels"):
        classification_batches(texts, words_tokenizer(), ["no", "perhaps"], class_weights=[1.0])


def test_balanced_weights_average_one_over_the_rows():
    texts = texts_of(*[("a", None, "x")] * 6 + [("b", None, "y")] * 2)
    assert balanced_weights(texts, ["x", "y"]) == [8 / 12, 2.0]


def test_real_files():
    texts = load_labelled(f"{real_data('sst2')}/{{split}}.tsv", "dev")
    assert texts.report.kept == 872 and texts.label_names() == ["0", "1"]
    texts = load_labelled(str(real_data("chnsenticorp") / "train.dedup.tsv.gz"))
    assert texts.report.kept == 7543 and texts.label_names() == ["0", "1"]
