"""TSV, JSON lines, and the one door to all sources."""

import json

import pytest
from realdata import real_data

from keras_transformer.data import json_lines_pairs, load_pairs, tsv_pairs


def write(path, text: str | bytes):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_quotation_mark_at_the_start_of_a_field_swallows_no_row(tmp_path):
    path = write(tmp_path / "a.tsv", 'a\t1\n"b\t2\n"c"\t"3\nd\t4\n')
    assert list(tsv_pairs(path)) == [("a", "1"), ('"b', "2"), ('"c"', '"3'), ("d", "4")]


def test_named_columns_and_byte_order_mark(tmp_path):
    path = write(tmp_path / "a.tsv", b"\xef\xbb\xbfen\tid\tde\r\none\t7\teins\r\n")
    assert list(tsv_pairs(path, "en", "de")) == [("one", "eins")]
    assert list(tsv_pairs(path, "de", "id")) == [("eins", "7")]


def test_numbered_columns_count_from_one_with_and_without_header(tmp_path):
    path = write(tmp_path / "a.tsv", "x\ty\tz\n1\t2\t3\n")
    assert list(tsv_pairs(path, 3, "1")) == [("z", "x"), ("3", "1")]
    assert list(tsv_pairs(path, 3, 1, header=True)) == [("3", "1")]


def test_columns_called_source_and_target_are_found(tmp_path):
    path = write(tmp_path / "a.tsv", "id\ttarget\tsource\n1\tt\ts\n")
    assert list(tsv_pairs(path)) == [("s", "t")]


def test_another_number_of_columns_is_refused_with_file_and_line(tmp_path):
    for row in ("only one", "a\tb\tc"):
        path = write(tmp_path / "a.tsv", f"a\t1\n{row}\nc\t3\n")
        with pytest.raises(ValueError, match=r"a\.tsv, line 2: [13] columns .* has 2"):
            tsv_pairs(path).check()


def test_a_blank_row_is_counted_not_refused(tmp_path):
    pairs = tsv_pairs(write(tmp_path / "a.tsv", "a\t1\n\nb\t2\n"))
    assert list(pairs) == [("a", "1"), ("b", "2")]
    assert pairs.report.dropped == {"both sides blank": 1}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("en", "fr"), "no column named 'fr'.*en, de"),
        ((1, 3), "no column 3: its first line has 2"),
        ((0, 1), "no column 0.*counted from 1"),
    ],
)
def test_missing_columns_are_named(tmp_path, columns, message):
    path = write(tmp_path / "a.tsv", "en\tde\none\teins\n")
    with pytest.raises(ValueError, match=message):
        tsv_pairs(path, *columns).check()


def test_one_column_without_the_other_is_refused():
    with pytest.raises(ValueError, match=r"both columns or neither"):
        tsv_pairs("a.tsv", source=1)


def test_line_separators_stay_inside_a_field(tmp_path):
    path = write(tmp_path / "a.tsv", "a\u2028b\t1\u0085\nc\t2\n")
    assert list(tsv_pairs(path)) == [("a\u2028b", "1\u0085"), ("c", "2")]


def test_tatoeba_is_read_by_column_numbers():
    pairs = load_pairs(
        f"tsv:{real_data('tatoeba_cmn_eng')}/test.tsv", source_field=2, target_field="1"
    )
    assert next(iter(pairs)) == ("我退出。", "I quit.")
    assert pairs.report.read == pairs.report.kept > 1000


def test_json_lines_fields_nested_fields_and_byte_order_mark(tmp_path):
    rows = [{"source": "a", "target": "1"}, {"source": "b\u2028", "target": "2"}]
    text = "\ufeff" + "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    assert list(json_lines_pairs(write(tmp_path / "a", text))) == [("a", "1"), ("b\u2028", "2")]
    nested = write(tmp_path / "b", '{"translation": {"en": "x", "de": "y"}}\n\n')
    pairs = json_lines_pairs(nested, "translation.en", "translation.de")
    assert list(pairs) == [("x", "y")]
    assert pairs.report.dropped == {"both sides blank": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a"', "line 2: not JSON"),
        ('{"source": "a", "text": "b"}', "line 2: no field 'target'.*source, text"),
        ('{"source": "a", "target": 3}', "line 2: field 'target' is 3, not a text"),
        ('["a", "b"]', "line 2: no JSON object"),
        (r'{"source": "a", "target": "\ud800"}', "line 2: field 'target' has half a surrogate"),
        ('{"source": "a", "target": ["b"]}', "line 2: field 'target' is an object or a list"),
        (f'{{"source": "a", "target": {"9" * 5000}}}', "line 2: JSON that cannot be read"),
        (f'{{"source": "a", "target": {"[" * 10**5}', "line 2: JSON that cannot be read"),
    ],
)
def test_bad_json_lines_are_refused_with_file_and_line(tmp_path, line, message):
    path = write(tmp_path / "a.jsonl", f'{{"source": "a", "target": "b"}}\n{line}\n')
    with pytest.raises(ValueError, match=rf"a\.jsonl, {message}"):
        json_lines_pairs(path).check()


def test_a_fields_name_is_a_text(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"": "x", "target": "y", "source": "z"}\n')
    for name in (0, 1):
        with pytest.raises(ValueError, match=f"source field must be a name .a text., not {name}"):
            load_pairs(f"jsonl:{path}", source_field=name)
    assert list(load_pairs(f"jsonl:{path}", source_field="")) == [("x", "y")]
    with pytest.raises(ValueError, match="a column is a name or a number, not 1.5"):
        tsv_pairs(path, 1.5, 2)


def test_load_pairs_opens_each_kind_of_source(tmp_path):
    write(tmp_path / "train.tsv", "a\tb\n")
    write(tmp_path / "test.tsv", "c\td\n")
    source, target = write(tmp_path / "s", "x\n"), write(tmp_path / "t", "y\n")
    write(tmp_path / "a.jsonl", '{"source": "p", "target": "q"}\n')
    pattern = f"tsv:{tmp_path}/{{split}}.tsv"
    assert list(load_pairs(pattern)) == [("a", "b")]
    assert list(load_pairs(pattern, split="test", reverse=True)) == [("d", "c")]
    assert list(load_pairs(f"jsonl:{tmp_path}/a.jsonl")) == [("p", "q")]
    assert list(load_pairs(None, source, target)) == [("x", "y")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give a dataset .* or both"),
        ({"source": "a"}, "both a source and a target"),
        ({"dataset": "builtin", "source": "a", "target": "b"}, "not both"),
        ({"dataset": "csv:a"}, "'csv:a' is unknown"),
        ({"dataset": "tsv:"}, "'tsv:' is unknown"),
        ({"dataset": "tsv:a.tsv", "split": "test"}, "holds one split"),
        ({"dataset": "builtin", "split": "dev"}, "no split 'dev'"),
    ],
)
def test_arguments_that_name_no_source_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_pairs(**arguments)


def test_the_builtin_corpus_has_three_splits_in_both_directions():
    chinese, english = next(iter(load_pairs("builtin")))
    assert not chinese.isascii() and english.isascii()
    assert next(iter(load_pairs("builtin", reverse=True))) == (english, chinese)
    train, test = (set(load_pairs("builtin", split=split)) for split in ("train", "test"))
    assert len(train) > 10_000 and not train & test
