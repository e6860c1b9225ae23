"""Tasks of BERT say in other processes what they say here, saved and exported."""

import os
import shutil

import pytest
import small_berts
import tensorflow as tf
from small_berts import TASKS, ask, columns_of
from tasks import processes

pytestmark = pytest.mark.slow

# Beside word pieces: a task whose answers are texts, by each of the other tokenizers.
OTHERS = {"characters": small_berts.characters, "subwords": small_berts.subwords}


def requests_of(task):
    """Columns for each of its signatures."""
    return {name: columns_of(function) for name, function in task.signatures().items()}


@pytest.fixture(scope="module")
def tagger_by():
    return {name: small_berts.make("tagger", make()) for name, make in OTHERS.items()}


@pytest.fixture(scope="module")
def tasks(bert_task, tagger_by):
    """A task of each kind by word pieces, and one by each other tokenizer."""
    return {kind: bert_task(kind) for kind in TASKS} | tagger_by


@pytest.fixture(scope="module")
def expected(tasks):
    """What each says here, in its graphs: a dictionary of rows for each signature."""
    return {
        kind: {
            name: ask(function, **requests_of(task)[name])
            for name, function in task.signatures().items()
        }
        for kind, task in tasks.items()
    }


@pytest.fixture(scope="module")
def exports(bert_task, exported_bert, tagger_by, tmp_path_factory):
    """Their exports; those of tasks out of folders that are gone since, in another place."""
    folder = tmp_path_factory.mktemp("exports")
    paths = {kind: exported_bert(kind) for kind in TASKS}
    for name, task in tagger_by.items():
        task.save(folder / "run")
        loaded = type(task).load(folder / "run")
        shutil.rmtree(folder / "run")
        written = loaded.export(folder / "written" / name)
        paths[name] = shutil.move(written, folder / name)
    return paths


def test_a_fresh_process_loads_them_all_and_says_the_same(tasks, expected, tmp_path):
    for kind, task in tasks.items():
        task.save(tmp_path / "here" / kind)
    (tmp_path / "here").rename(tmp_path / "there")
    folders = [tmp_path / "there" / kind for kind in tasks]
    # The first texts will do: that rows do not depend on each other is shown elsewhere.
    requests = [
        {
            name: {column: texts[:4] for column, texts in columns.items()}
            for name, columns in requests_of(task).items()
        }
        for task in tasks.values()
    ]
    answers = processes.run("fresh_process.py", "ask_saved_tasks", *folders, given=requests)
    for kind, found in zip(tasks, answers, strict=True):
        first = {name: rows[:4] for name, rows in expected[kind].items()}
        small_berts.assert_same(found, first, tolerance=1e-5)


@pytest.mark.parametrize(
    "python",
    [
        pytest.param(None, id="this"),
        pytest.param("KERAS_TRANSFORMER_OLD_PYTHON", marks=pytest.mark.slow),
    ],
)
def test_a_process_with_tensorflow_alone_says_the_same(tasks, expected, exports, python):
    if python and python not in os.environ:
        pytest.skip(f"needs a Python with an older TensorFlow; set {python} to it")
    requests = []
    for task in tasks.values():
        columns = requests_of(task)
        # Several times in one batch, and in a batch of nothing.
        requests.append(
            [
                [name, {column: times * texts for column, texts in columns[name].items()}]
                for name in columns
                for times in (5, 0)
            ]
        )
    options = {"python": os.environ[python]} if python else {}
    paths = [exports[kind] for kind in tasks]
    served = processes.run("serve_saved_model.py", *paths, given=requests, **options)
    assert served["ours"] == served["unregistered"] == []
    if python:
        assert served["versions"][0].split(".")[:2] != tf.__version__.split(".")[:2]
    for kind, answers in zip(tasks, served["answers"], strict=True):
        for number, name in enumerate(expected[kind]):
            many, nothing = answers[2 * number : 2 * number + 2]
            small_berts.assert_same(small_berts.rows_of(many), 5 * expected[kind][name])
            assert nothing.keys() == many.keys()
            assert all(len(values) == 0 for values in nothing.values())
