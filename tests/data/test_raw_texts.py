"""Texts whose line ends are kept: files, JSON lines, one door to all, the end held out."""

import gzip
import hashlib
import json
import tracemalloc

import pytest
from realdata import real_data

from keras_transformer.data import (
    TextDocuments,
    TooFewDocuments,
    hold_out,
    hold_out_end,
    json_lines_texts,
    load_texts,
    raw_text_files,
)
from keras_transformer.data import raw_texts as raw_texts_module
from keras_transformer.text.lines import read_line_pieces

PLAY = "ROMEO:\n\n  Ay me!\n\n\nJULIET:\n\tO Romeo"


def write(path, content):
    content = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def records(*texts, field="text"):
    return "".join(json.dumps({field: text, "id": n}) + "\n" for n, text in enumerate(texts))


# Files.


def test_a_file_is_one_text_with_its_blanks_blank_lines_and_line_ends(tmp_path):
    file = write(tmp_path / "play.txt", PLAY)
    assert list(raw_text_files(file)) == [[PLAY + "\n"]]
    write(tmp_path / "dos.txt.gz", ("\ufeff" + PLAY).replace("\n", "\r\n"))
    documents = raw_text_files(tmp_path)
    assert list(documents) == [[PLAY + "\n"]] * 2
    assert (documents.report.documents, documents.report.characters) == (2, 2 * len(PLAY) + 2)


def test_paragraphs_lie_between_blank_lines(tmp_path):
    file = write(tmp_path / "play.txt", PLAY)
    documents = raw_text_files(file, document="paragraph")
    assert list(documents) == [["ROMEO:\n"], ["  Ay me!\n"], ["JULIET:\n\tO Romeo\n"]]


def test_other_endings_can_be_asked_for(tmp_path):
    write(tmp_path / "a.py", "def f():\n    pass\n")
    write(tmp_path / "b.txt", "not code")
    assert list(raw_text_files(tmp_path, endings=[".py"])) == [["def f():\n    pass\n"]]


def test_a_text_too_long_for_memory_counts_as_several(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_texts_module, "LONGEST_DOCUMENT", 2**16)
    lines = [f"line {n} {'x' * (n % 90)}\n" for n in range(80_000)]
    file = write(tmp_path / "long.txt", "".join(lines))  # 4 MB
    tracemalloc.start()
    characters = 0
    for (text,) in raw_text_files(file):
        assert len(text) < 2**16 + 100 and text.endswith("\n")
        characters += len(text)
        del text
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert characters == sum(map(len, lines)) > 4_000_000
    assert peak < 1_000_000


def test_a_text_without_line_ends_is_cut_and_never_held_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_texts_module, "LONGEST_DOCUMENT", 2**16)
    text = "naïve – 日本語 words " * 100_000  # one line of 2.7 MB
    for file in (tmp_path / "plain.txt", tmp_path / "packed.txt.gz"):
        write(file, text)
        tracemalloc.start()
        hashed, characters = hashlib.sha256(), 0
        for (part,) in raw_text_files(file):
            assert len(part) < 2 * 2**16
            hashed.update(part.encode())
            characters += len(part)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert characters == len(text) + 1
        assert hashed.digest() == hashlib.sha256(f"{text}\n".encode()).digest()
        assert peak < 1_000_000


@pytest.mark.parametrize("longest", [4, 5, 6, 7, 8, 100])
def test_pieces_of_lines_make_them_up_again_wherever_they_are_cut(tmp_path, longest):
    lines = ["", "é", "日本語日本語", "a\rb\r", "x" * 16, "𝄞𝄞𝄞", "no end"]
    file = write(tmp_path / "a.txt", "\ufeff" + "\r\n".join(lines))
    pieces = list(read_line_pieces(file, longest))
    found = "".join(text + "\n" * is_end for text, is_end in pieces)
    assert found == "\n".join(lines) + "\n"
    assert sum(is_end for _, is_end in pieces) == len(lines)
    assert all(len(text.encode()) <= longest + 3 for text, _ in pieces)


def test_a_bad_byte_in_a_long_line_is_named_by_its_place_in_it(tmp_path):
    file = write(tmp_path / "a.txt", b"one\n" + b"x" * 50 + b"\xe9" + b"y" * 50)
    for longest in (8, 50, 51, 52, 1000):
        with pytest.raises(ValueError, match=r"a.txt, line 2: byte 0xe9 at position 51 is"):
            list(read_line_pieces(file, longest))


def test_blank_files_are_counted(tmp_path):
    write(tmp_path / "a.txt", "\n \n")
    write(tmp_path / "b.txt", "")
    write(tmp_path / "c.txt", "text")
    documents = raw_text_files(tmp_path)
    assert list(documents) == [["text\n"]]
    assert documents.report.dropped == {"blank": 1}


def test_a_bad_byte_is_named_and_nul_does_not_cut_the_line(tmp_path):
    file = write(tmp_path / "a.txt", b"fine\ncaf\xe9\nx\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: byte 0xe9 at position 4"):
        raw_text_files(file).check()
    documents = raw_text_files(write(tmp_path / "b.txt", b"a\r\nb\0c\rd\n\0\n"))
    assert list(documents) == [["a\nb c\rd\n \n"]]
    assert documents.report.repaired == {"NUL replaced by a space": 1}


# JSON lines.


def test_json_lines_of_a_file_or_folder_are_texts(tmp_path):
    write(tmp_path / "b.jsonl", "\ufeff" + records("two\nlines", " ").replace("\n", "\r\n"))
    write(tmp_path / "part" / "a.jsonl.gz", records("中文", "é") + "\n")
    write(tmp_path / "c.json", "[1]")
    assert list(json_lines_texts(tmp_path / "b.jsonl")) == [["two\nlines"]]
    documents = json_lines_texts(tmp_path)
    assert list(documents) == [["two\nlines"], ["中文"], ["é"]]
    assert documents.report.dropped == {"blank": 2}
    assert documents.name == f"jsonl:{tmp_path} (2 files)"


def test_another_field_may_lie_in_an_object(tmp_path):
    file = write(tmp_path / "a.jsonl", '{"page": {"body": "x"}}\n')
    assert list(json_lines_texts(file, field="page.body")) == [["x"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a"', r"line 2: not JSON"),
        ('{"body": "a", "id": 1}', r"line 2: no field 'text'; the fields there are: body, id"),
        ('{"text": 3}', r"line 2: field 'text' is 3, not a text"),
        ('["a"]', r"line 2: no JSON object to take field 'text' from"),
        (r'{"text": "a\ud83d"}', r"line 2: field 'text' has half a surrogate pair"),
        ("null", r"line 2: no JSON object to take field 'text' from"),
    ],
)
def test_a_bad_line_is_named_by_file_and_line(tmp_path, line, message):
    write(tmp_path / "a.jsonl", records("fine", "too"))
    write(tmp_path / "b.jsonl", records("fine") + line + "\n")
    with pytest.raises(ValueError, match=r"b\.jsonl, " + message):
        json_lines_texts(tmp_path).check()


# One door.


def test_one_door_to_files_json_lines_and_the_built_in_texts(tmp_path):
    text = write(tmp_path / "train.txt", "a\n\nb")
    lines = write(tmp_path / "json" / "train.jsonl", records("c"))
    assert list(load_texts(text)) == [["a\n\nb\n"]]
    assert list(load_texts(str(text), document="paragraph")) == [["a\n"], ["b\n"]]
    assert list(load_texts(tmp_path / "{split}.txt")) == [["a\n\nb\n"]]
    assert list(load_texts(lines)) == list(load_texts(f"jsonl:{lines.parent}")) == [["c"]]
    both = load_texts([text, lines])
    assert list(both) == [["a\n\nb\n"], ["c"]]
    assert both.name == f"{text} + jsonl:{lines}"
    assert load_texts().report.documents > 40
    assert load_texts(split="test").name == "builtin:test"


def test_what_is_not_there_is_named(tmp_path):
    for source in (tmp_path / "no.txt", f"jsonl:{tmp_path}/no", tmp_path / "{split}.jsonl"):
        with pytest.raises(FileNotFoundError, match="there is no such file or folder"):
            load_texts(source)
    with pytest.raises(ValueError, match=r"no file \.jsonl or \.jsonl\.gz"):
        load_texts(f"jsonl:{tmp_path}")
    with pytest.raises(ValueError, match=r"no file \.txt or \.txt\.gz"):
        load_texts(tmp_path)
    with pytest.raises(ValueError, match="document is 'line'"):
        load_texts(write(tmp_path / "a.txt", "a"), document="line")
    for nothing in (lambda: load_texts([]), raw_text_files, json_lines_texts):
        with pytest.raises(ValueError, match="give at least one"):
            nothing()


# What is held out.


def test_the_end_of_a_text_is_held_out_by_characters():
    corpus = TextDocuments("odd", lambda: iter([["0123", "4567"], ["89"], ["abcdefghij"]]))
    for share, train, valid in (
        (0.25, ["0123", "4567", "89", "abcde"], ["fghij"]),
        (0.5, ["0123", "4567", "89"], ["abcdefghij"]),
        (0.7, ["0123", "45"], ["67", "89", "abcdefghij"]),
    ):
        parts = hold_out_end(corpus, share, "valid")
        assert list(parts) == ["train", "valid"]
        assert list(parts["train"].sentences()) == train
        assert list(parts["valid"].sentences()) == valid
        assert list(parts["train"].sentences()) == train  # again
    assert parts["valid"].name == "odd:valid"


def test_a_corpus_too_small_to_part_is_refused():
    with pytest.raises(TooFewDocuments, match="a share of 0.1 of 3 characters leaves no text"):
        hold_out_end(TextDocuments("x", lambda: iter([[" \n\u3000a"[:2] + "a"]])), 0.1)
    with pytest.raises(ValueError, match="a share of 1"):
        hold_out_end(TextDocuments("x", lambda: iter([["abc"]])), 1)
    with pytest.raises(TooFewDocuments, match=r"x: 1 documents \(lines part them\) are too few"):
        hold_out(TextDocuments("x", lambda: iter([["abc"]]), "lines"))


def test_the_play_that_everyone_trains_on_is_parted_as_everyone_does():
    text = load_texts(real_data("tinyshakespeare"))
    parts = hold_out_end(text, 0.1)
    assert parts["train"].report.characters == 1_003_854
    assert parts["valid"].report.characters == 111_540
