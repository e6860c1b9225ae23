"""Line-aligned files: alignment, encodings and everything that shifts a pair."""

import gzip
import os

import pytest
from realdata import real_data

from keras_transformer.data import line_file_pairs, read_lines
from keras_transformer.text import lines as text_lines


def write(path, data: bytes):
    path.write_bytes(data)
    return path


def pairs_of(tmp_path, source: bytes, target: bytes):
    return line_file_pairs(write(tmp_path / "a.src", source), write(tmp_path / "a.tgt", target))


def test_blank_lines_drop_their_pair_and_leave_the_others_aligned(tmp_path):
    pairs = pairs_of(tmp_path, b"1\n2\n3\n4\n   \n", b"one\ntwo\n\nfour\nfive\n")
    assert list(pairs) == [("1", "one"), ("2", "two"), ("4", "four")]
    assert (pairs.report.read, pairs.report.kept) == (5, 3)
    assert pairs.report.dropped == {"blank target": 1, "blank source": 1}
    assert "read 5, kept 3, dropped 2 (blank source: 1; blank target: 1)" in str(pairs.report)


@pytest.mark.parametrize("counts", [(5, 6), (6, 5), (0, 3), (2, 9)])
def test_unequal_line_counts_are_refused_with_both_counts(tmp_path, counts):
    source, target = (b"".join(b"line %d\n" % i for i in range(n)) for n in counts)
    pairs = pairs_of(tmp_path, source, target)
    with pytest.raises(ValueError, match=rf"a\.src has {counts[0]} .*a\.tgt has {counts[1]}:"):
        pairs.check()


def test_byte_order_mark_crlf_and_missing_last_line_end_leave_no_trace(tmp_path):
    pairs = pairs_of(tmp_path, b"\xef\xbb\xbfone\r\ntwo\r\n", b"\xef\xbb\xbfeins\nzwei")
    assert list(pairs) == [("one", "eins"), ("two", "zwei")]


def test_unicode_line_separators_do_not_end_a_line(tmp_path):
    inside = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh"
    pairs = pairs_of(tmp_path, f"{inside}\nx\n".encode(), b"1\n2\n")
    assert list(pairs) == [(inside, "1"), ("x", "2")]


def test_a_line_that_memory_may_not_hold_is_refused_with_file_and_line(tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "LONGEST_LINE", 100)
    pairs = pairs_of(tmp_path, b"fine\n" + b"x" * 99 + b"\n" + b"y" * 101 + b"\n", b"1\n2\n3\n")
    with pytest.raises(ValueError, match=r"a\.src, line 3: it is longer than 100 bytes; one text"):
        pairs.check()


def test_bad_utf8_is_refused_with_file_and_line(tmp_path):
    pairs = pairs_of(tmp_path, b"fine\ncaf\xe9\nx\n", b"1\n2\n3\n")
    with pytest.raises(ValueError, match=r"a\.src, line 2: byte 0xe9 at position 4"):
        pairs.check()


def test_nul_becomes_a_space_and_does_not_cut_the_line(tmp_path):
    pairs = pairs_of(tmp_path, b"a\nb\0c\n\0\n", b"1\n2\n3\n")
    assert list(pairs) == [("a", "1"), ("b c", "2")]
    assert pairs.report.repaired == {"NUL replaced by a space": 1}
    assert pairs.report.dropped == {"blank source": 1}


def test_gzip_is_known_by_content_and_damage_is_named(tmp_path):
    data = gzip.compress(b"one\ntwo\n" * 2000)
    assert len(list(read_lines(write(tmp_path / "no_suffix", data)))) == 4000
    cut = write(tmp_path / "cut.gz", data[: len(data) - 12])
    with pytest.raises(ValueError, match=r"cut\.gz: the gzip data is damaged after line"):
        list(read_lines(cut))


@pytest.fixture
def pipe():
    """A function that gives the path of a pipe with the bytes."""
    ends = []

    def path_of(data):
        reading, writing = os.pipe()
        ends.append(reading)
        os.write(writing, data)
        os.close(writing)
        return f"/dev/fd/{reading}"

    yield path_of
    for end in ends:
        os.close(end)


def test_a_pipe_is_read_like_a_file(pipe):
    data = b"\xef\xbb\xbfone\r\ntwo"
    assert list(read_lines(pipe(data))) == ["one", "two"]
    assert list(read_lines(pipe(gzip.compress(data)))) == ["one", "two"]
    assert list(read_lines(pipe(b""))) == []


def test_pairs_from_a_pipe_are_refused(tmp_path, pipe):
    pairs = line_file_pairs(pipe(b"one\n"), write(tmp_path / "a.tgt", b"eins\n"))
    with pytest.raises(ValueError, match=r"/dev/fd/\d+ can be read only once"):
        pairs.check()


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="it is a folder, not a file"):
        list(read_lines(tmp_path))


def test_missing_file_is_named(tmp_path):
    pairs = line_file_pairs(tmp_path / "none.en", write(tmp_path / "a.de", b"x\n"))
    with pytest.raises(FileNotFoundError, match=r"none\.en: there is no such file"):
        pairs.check()


def test_source_of_blank_lines_only_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"read 2, kept 0"):
        pairs_of(tmp_path, b"\n\n", b"a\nb\n").check()


def test_pairs_can_be_read_again_and_reversed(tmp_path):
    pairs = pairs_of(tmp_path, b"1\n2\n", b"a\nb\n")
    assert list(pairs) == list(pairs)
    assert list(pairs.reversed()) == [("a", "1"), ("b", "2")]
    assert list(pairs.sources()) == ["1", "2"] and list(pairs.targets()) == ["a", "b"]


def test_an_unfinished_pass_leaves_no_false_counts(tmp_path):
    pairs = pairs_of(tmp_path, b"1\n2\n", b"a\nb\n")
    next(iter(pairs))
    assert pairs.report.read == 2


def test_multi30k_is_aligned():
    folder = real_data("multi30k")
    report = line_file_pairs(folder / "train.en.gz", folder / "train.de.gz").check()
    assert (report.read, report.kept) == (29_000, 29_000)
