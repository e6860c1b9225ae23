"""Documents of plain text, and the built-in ones."""

import gzip

import pytest
from realdata import real_data

from keras_transformer.data import (
    TextDocuments,
    builtin_documents,
    document_files,
    load_documents,
)
from keras_transformer.data import documents as documents_module


def test_blank_lines_part_documents_and_so_does_the_end_of_a_file(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffA one.\r\nA two.\r\n \n\n\nB.".encode())
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("C one.\nC\u2028two.\n".encode()))
    (tmp_path / "README.md").write_text("not a text")
    documents = document_files(tmp_path)
    assert list(documents) == [["A one.", "A two."], ["B."], ["C one.", "C\u2028two."]]
    assert (documents.report.read, documents.report.documents) == (5, 3)
    assert "(2 files)" in documents.name
    assert list(documents.sentences())[2] == "B."


def test_a_document_too_long_for_memory_counts_as_several(tmp_path, monkeypatch):
    monkeypatch.setattr(documents_module, "LONGEST_DOCUMENT", 10)
    (tmp_path / "a.txt").write_text("12345\n67890\nabc\n\ndef\n")
    assert list(document_files(tmp_path)) == [["12345", "67890"], ["abc"], ["def"]]


def test_nul_and_blank_sentences_are_counted():
    documents = TextDocuments("odd", lambda: iter([["a\0b", " "], ["\t"]]))
    assert list(documents) == [["a b"]]
    assert str(documents.report) == (
        "odd: read 3, kept 1, dropped 2 (blank: 2), "
        "repaired 1 (NUL replaced by a space: 1) sentences in 1 documents"
    )


def test_faults_are_named(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: byte 0xe9"):
        document_files(tmp_path / "a.txt").check()
    (tmp_path / "blank.txt").write_text("\n \n")
    with pytest.raises(ValueError, match=r"blank\.txt: read 0, kept 0"):
        document_files(tmp_path / "blank.txt").check()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=r"no file \.txt or \.txt\.gz"):
        document_files(tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        document_files(tmp_path / "b.txt")
    with pytest.raises(ValueError, match="at least one"):
        document_files()


def test_builtin_splits_share_no_sentence():
    splits = {split: builtin_documents(split) for split in ("train", "valid", "test")}
    sentences = {split: set(documents.sentences()) for split, documents in splits.items()}
    assert len(sentences["train"]) > 1000
    assert min(len(sentences["valid"]), len(sentences["test"])) > 50
    assert not sentences["train"] & (sentences["valid"] | sentences["test"])
    assert not sentences["valid"] & sentences["test"]
    for documents in splits.values():
        assert all(len(document) > 1 for document in documents)
    with pytest.raises(ValueError, match="no split 'dev'"):
        builtin_documents("dev")


def test_a_real_folder_of_books():
    report = load_documents(str(real_data("gutenberg_en"))).report
    assert (report.documents, report.kept) == (246, 43_033)
