"""Labelled texts, tagged sentences and questions of prepared TFDS folders."""

import numpy as np
import pytest

from keras_transformer.data import (
    Answer,
    LabelledText,
    load_labelled,
    load_questions,
    load_tagged,
    squad_tfds,
)

tfds = pytest.importorskip("tensorflow_datasets")

SETS = {
    "tiny_sst2": (
        {
            "sentence": tfds.features.Text(),
            "label": tfds.features.ClassLabel(names=["negative", "positive"]),
            "idx": np.int32,
        },
        [("fine", 1), ("poor", 0), ("whatever", -1)],
        lambda i, row: {"sentence": row[0], "label": row[1], "idx": i},
    ),
    "tiny_stsb": (
        {
            "sentence1": tfds.features.Text(),
            "sentence2": tfds.features.Text(),
            "label": np.float32,
        },
        [("a", "b", 2.5)],
        lambda i, row: {"sentence1": row[0], "sentence2": row[1], "label": row[2]},
    ),
    "tiny_conll": (
        {
            "tokens": tfds.features.Sequence(tfds.features.Text()),
            "ner": tfds.features.Sequence(tfds.features.ClassLabel(names=["O", "B-PER"])),
        },
        [(["Ada", "sleeps"], [1, 0])],
        lambda i, row: {"tokens": row[0], "ner": row[1]},
    ),
    "tiny_squad": (
        {
            "id": tfds.features.Text(),
            "question": tfds.features.Text(),
            "context": tfds.features.Text(),
            "answers": tfds.features.Sequence(
                {"text": tfds.features.Text(), "answer_start": np.int32}
            ),
            "is_impossible": np.bool_,
        },
        [("罗马 is old", "罗马", 0, False), ("Rome", "Rome", 1, False), ("Rome", "", 0, True)],
        lambda i, row: {
            "id": f"q{i}",
            "question": "Where?",
            "context": row[0],
            "answers": {"text": [row[1]], "answer_start": [row[2]]},
            "is_impossible": row[3],
        },
    ),
}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """Small data sets that TFDS itself has written."""
    folder = tmp_path_factory.mktemp("tensorflow_datasets")
    for dataset, (features, rows, as_example) in SETS.items():

        class Builder(tfds.core.GeneratorBasedBuilder):
            VERSION = tfds.core.Version("1.0.0")
            code_path = None  # no folder of code with checksums
            name = dataset
            contents = (features, rows, as_example)

            def _info(self):
                features = tfds.features.FeaturesDict(self.contents[0])
                return tfds.core.DatasetInfo(builder=self, features=features)

            def _split_generators(self, dl_manager):
                return {"validation": self._generate_examples()}

            def _generate_examples(self):
                _, rows, as_example = self.contents
                for i, row in enumerate(rows):
                    yield i, as_example(i, row)

        Builder(data_dir=folder).download_and_prepare(
            download_config=tfds.download.DownloadConfig(try_download_gcs=False)
        )
    return folder


def test_labels_have_their_names_and_no_label_is_counted(data_dir):
    texts = load_labelled("tfds:tiny_sst2", "valid", data_dir=data_dir)
    assert sorted(texts) == [
        LabelledText("fine", None, "positive"),
        LabelledText("poor", None, "negative"),
    ]
    assert texts.report.dropped == {"no label": 1}


def test_pairs_with_a_number_are_regression(data_dir):
    texts = load_labelled("tfds:tiny_stsb", "validation", data_dir=data_dir)
    assert texts.regression and list(texts) == [LabelledText("a", "b", 2.5)]
    texts = load_labelled(
        "tfds:tiny_stsb", "valid", data_dir=data_dir, text="sentence2", label="label"
    )
    assert list(texts) == [LabelledText("b", None, 2.5)]


def test_tagged_sentences(data_dir):
    (sentence,) = load_tagged("tfds:tiny_conll", "valid", data_dir=data_dir)
    assert (sentence.words, sentence.tags) == (("Ada", "sleeps"), ("B-PER", "O"))


def test_questions(data_dir):
    questions = load_questions("tfds:tiny_squad", "valid", data_dir=data_dir)
    found = {question.id: question for question in questions}
    assert found["q0"].answers == (Answer("罗马", 0),)
    assert set(found) == {"q0", "q2"} and not found["q2"].has_answer
    assert questions.report.dropped == {"no answer at its offset": 1}


@pytest.mark.parametrize(
    ("load", "name", "options", "message"),
    [
        (load_labelled, "tiny_sst2", {"label": "stars"}, "no label 'stars'; it has: .*sentence"),
        (load_labelled, "tiny_sst2", {"text": "idx", "label": "label"}, "no text field 'idx'"),
        (load_labelled, "tiny_squad", {"label": "id"}, "say which fields to take; its texts are"),
        (load_tagged, "tiny_conll", {"tags": "pos"}, "no sequence 'pos'"),
        (load_questions, "tiny_conll", {}, "is not like SQuAD: it lacks answers, context, id"),
    ],
)
def test_what_is_not_there_is_named(data_dir, load, name, options, message):
    with pytest.raises(ValueError, match=message):
        load(f"tfds:{name}", "valid", data_dir=data_dir, **options)


def test_a_missing_set_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no prepared TFDS dataset 'squad'"):
        squad_tfds(data_dir=tmp_path)
