"""Folders of files where one file would do: which are read, in what order, and their faults."""

import gzip
import json
import tracemalloc

import pytest

from keras_transformer.data import conll_file, document_files, labelled_tsv, squad_file
from keras_transformer.data.text_files import text_files


def write(path, content: str | bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def squad(path, *questions, context="Rome is old."):
    """A file of questions (id, answer) about one context."""
    qas = [
        {
            "id": name,
            "question": f"{name}?",
            "answers": [{"text": answer, "answer_start": context.index(answer)}],
        }
        for name, answer in questions
    ]
    data = {"data": [{"paragraphs": [{"context": context, "qas": qas}]}]}
    return write(path, json.dumps(data))


def test_a_folder_gives_its_files_at_any_depth_in_the_order_of_their_names(tmp_path):
    hidden = ("._a.tsv", ".ipynb_checkpoints/a-checkpoint.tsv")
    for name in ("b.tsv", "a.tsv.gz", "part/c.tsv", "README.md", "z.tsv/d.tsv", *hidden):
        write(tmp_path / name, "x")
    name, files = text_files(tmp_path, endings=[".tsv"])
    found = [str(file.relative_to(tmp_path)) for file in files]
    assert found == ["a.tsv.gz", "b.tsv", "part/c.tsv", "z.tsv/d.tsv"]
    assert name == f"{tmp_path} (4 files)"


def test_a_file_is_taken_whatever_it_is_called_and_named_alone(tmp_path):
    file = write(tmp_path / "data.csv", "x")
    assert text_files(str(file), endings=[".tsv"]) == (str(file), [file])


@pytest.mark.parametrize(
    ("read", "endings"),
    [
        (document_files, r"\.txt or \.txt\.gz"),
        (squad_file, r"\.json or \.json\.gz"),
        (labelled_tsv, r"\.tsv or \.tsv\.gz"),
        (conll_file, r"\.conll, .*\.bio, .*\.iob, .*\.txt or \.txt\.gz"),
    ],
)
def test_what_is_not_there_is_named_before_anything_is_read(tmp_path, read, endings):
    write(tmp_path / "README.md", "x")
    with pytest.raises(FileNotFoundError, match=r"none: there is no such file or folder\."):
        read(tmp_path / "none")
    with pytest.raises(ValueError, match=rf"^{tmp_path}: the folder has no file {endings} in it"):
        read(tmp_path)


# Questions.


def test_questions_of_a_folder_keep_their_ids_and_contexts(tmp_path):
    squad(tmp_path / "b.json", ("q1", "Oslo"), context="Oslo is cold.")
    squad(tmp_path / "a.json.gz", ("q2", "Rome"), ("q1", "old"))
    questions = squad_file(tmp_path)
    assert [(q.id, q.context[:4], q.answers[0].text) for q in questions] == [
        ("q2", "Rome", "Rome"),
        ("q1", "Rome", "old"),
        ("q1", "Oslo", "Oslo"),
    ]
    assert list(questions) == list(questions)
    assert (questions.report.kept, questions.report.contexts) == (3, 2)
    assert questions.name == f"squad:{tmp_path} (2 files)"


def test_a_faulty_file_among_questions_is_named(tmp_path):
    squad(tmp_path / "a.json", ("q1", "Rome"))
    write(tmp_path / "b.json", '{"data": [\n1,]}')
    with pytest.raises(ValueError, match=r"b\.json, line 2: not JSON"):
        squad_file(tmp_path).check()
    write(tmp_path / "b.json", '{"data": [{}]}')
    with pytest.raises(ValueError, match=r"b\.json, data\[0\]: there is no 'paragraphs'"):
        squad_file(tmp_path).check()


def test_one_file_of_questions_is_in_memory_at_a_time(tmp_path):
    for number in range(6):
        context = f"{number} " + "x" * 1_000_000
        squad(tmp_path / f"{number}.json", ("q", str(number)), context=context)

    def peak(path):
        tracemalloc.start()
        assert squad_file(path).check().kept
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    alone = peak(tmp_path / "0.json")
    assert alone > 1_000_000
    assert peak(tmp_path) < 1.5 * alone


def test_questions_from_a_pipe_are_refused():
    with pytest.raises(ValueError, match="/dev/null can be read only once"):
        squad_file("/dev/null").check()


# Tagged words.


def test_sentences_and_documents_end_with_their_file_and_are_numbered_on(tmp_path):
    write(tmp_path / "a.conll", "-DOCSTART- O\n\na O\n\nb O\n-DOCSTART- O\nc O")
    write(tmp_path / "b.bio", "\n \n")
    write(tmp_path / "c.iob.gz", "d\tO\n")
    write(tmp_path / "d.txt", "-DOCSTART- O\ne O\n-DOCSTART- O\n")
    write(tmp_path / "e.txt", "f O\n")
    sentences = conll_file(tmp_path)
    found = [(" ".join(sentence.words), sentence.document) for sentence in sentences]
    assert found == [("a", 0), ("b", 0), ("c", 1), ("d", 2), ("e", 3), ("f", 4)]
    assert (sentences.report.kept, sentences.report.documents) == (6, 5)
    assert sentences.name == f"conll:{tmp_path} (5 files)"


def test_a_faulty_line_among_tagged_files_is_named(tmp_path):
    write(tmp_path / "a.conll", "a O\n")
    write(tmp_path / "b.conll", "\na O\nb\n")
    with pytest.raises(ValueError, match=r"b\.conll, line 3: 1 columns where the first word of"):
        conll_file(tmp_path).check()


def test_tagged_files_with_other_columns_are_refused(tmp_path):
    write(tmp_path / "a.conll", "a NNP B-PER\n")
    write(tmp_path / "b.conll", "b\tNNP\n")
    message = r"b\.conll, line 1: 2 columns where the first word of .*a\.conll has 3; every word"
    with pytest.raises(ValueError, match=message):
        conll_file(tmp_path).check()


# Labelled texts.


def test_each_labelled_file_has_its_own_header_or_none_has(tmp_path):
    write(tmp_path / "a.tsv", "label\ttext\n1\tfine\n")
    write(tmp_path / "b.tsv", "")
    write(tmp_path / "c.tsv.gz", "\ufefflabel\ttext\n0\tpoor\n\n1\tgood")
    texts = labelled_tsv(tmp_path)
    assert [(row.text, row.label) for row in texts] == [("fine", "1"), ("poor", "0"), ("good", "1")]
    assert (texts.report.read, texts.report.dropped) == (4, {"blank text": 1})
    assert texts.name == f"tsv:{tmp_path} (3 files)"
    for name, row in (("a.tsv", "fine\t1\n"), ("c.tsv.gz", "poor\t0\n")):
        write(tmp_path / name, row)
    assert [row.text for row in labelled_tsv(tmp_path)] == ["fine", "poor"]
    assert [row.text for row in labelled_tsv(tmp_path, 2, 1)] == ["1", "0"]


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        (
            "text\tlabel\na\t1\n",
            "label\ttext\n1\ta\n",
            {},
            r"b\.tsv has the header label, text, but .*a\.tsv has the header text, label; all "
            "files of a folder need the same columns in the same order",
        ),
        (
            "text\tlabel\na\t1\n",
            "b\t1\n",
            {},
            r"b\.tsv has 2 columns without a header, but .*a\.tsv has the header text, label",
        ),
        (
            "a\t1\n",
            "text\tlabel\nb\t1\n",
            {},
            r"b\.tsv has the header text, label, but .*a\.tsv has 2 columns without a header",
        ),
        (
            "a\t1\n",
            "b\t1\tx\n",
            {"text": 1, "label": 2},
            r"b\.tsv has 3 columns without a header, but .*a\.tsv has 2 columns without",
        ),
        (
            "review\tstars\na\t1\n",
            "text\tstars\nb\t1\n",
            {"text": "review", "label": "stars"},
            r"b\.tsv has no column named 'review' in its first line, which has: text, stars",
        ),
    ],
)
def test_labelled_files_with_other_columns_are_refused(tmp_path, first, second, options, message):
    write(tmp_path / "a.tsv", first)
    write(tmp_path / "b.tsv", second)
    with pytest.raises(ValueError, match=message):
        labelled_tsv(tmp_path, **options).check()


def test_a_faulty_line_among_labelled_files_is_named(tmp_path):
    write(tmp_path / "a.tsv", "a\t1\nb\t2\n")
    write(tmp_path / "b.tsv", "c\t3\nd\n")
    with pytest.raises(ValueError, match=r"b\.tsv, line 2: 1 columns where the first line has 2"):
        labelled_tsv(tmp_path).check()
    write(tmp_path / "b.tsv", "c\t3\nd\tmuch\n")
    with pytest.raises(ValueError, match=r"b\.tsv, line 2: the label is 'much'"):
        labelled_tsv(tmp_path, regression=True).check()
