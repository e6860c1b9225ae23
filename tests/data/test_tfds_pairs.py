"""Prepared TFDS folders, read without a network."""

import sys

import numpy as np
import pytest

from keras_transformer.data import load_pairs, tfds_pairs

tfds = pytest.importorskip("tensorflow_datasets")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """A data set of three pairs a split that TFDS itself has written."""
    folder = tmp_path_factory.mktemp("tensorflow_datasets")

    def examples(split):
        for i in range(3):
            yield i, {"en": f"{split} {i}", "zh": f"第{i}", "id": i, "note": {"by": "me"}}

    class TinyTranslate(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")
        code_path = None  # no folder of code with checksums
        BUILDER_CONFIGS = (tfds.core.BuilderConfig(name="zh_to_en", version="1.0.0"),)

        def _info(self):
            return tfds.core.DatasetInfo(
                builder=self,
                features=tfds.features.FeaturesDict(
                    {
                        "en": tfds.features.Text(),
                        "zh": tfds.features.Text(),
                        "id": tfds.features.Scalar(np.int64),
                        "note": {"by": tfds.features.Text()},
                    }
                ),
                supervised_keys=("zh", "en"),
            )

        def _split_generators(self, dl_manager):
            return {split: self._generate_examples(split) for split in ("train", "validation")}

        def _generate_examples(self, split):
            yield from examples(split)

    builder = TinyTranslate(data_dir=folder)
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(try_download_gcs=False)
    )
    return folder


def test_a_prepared_dataset_loads_without_network_or_its_code(data_dir):
    pairs = load_pairs("tfds:tiny_translate/zh_to_en", data_dir=data_dir)
    assert sorted(pairs) == [(f"第{i}", f"train {i}") for i in range(3)]
    assert list(pairs) == list(pairs)  # the same order every time
    assert pairs.report.read == pairs.report.kept == 3


def test_valid_finds_validation_and_slices_work(data_dir):
    valid = load_pairs("tfds:tiny_translate/zh_to_en:1.0.0", split="valid", data_dir=data_dir)
    assert ("第0", "validation 0") in list(valid)
    two = tfds_pairs("tiny_translate/zh_to_en", "train[:2]", data_dir=data_dir)
    assert two.report.kept == 2


def test_fields_can_be_named_even_nested(data_dir):
    pairs = tfds_pairs("tiny_translate/zh_to_en", source="en", target="note.by", data_dir=data_dir)
    assert ("train 1", "me") in list(pairs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "en", "target": "fr"}, "no text field 'fr'; its texts are: en, note.by, zh"),
        ({"source": "en", "target": "id"}, "no text field 'id'"),
        ({"split": "test"}, "no split 'test'; it has: train, validation"),
    ],
)
def test_missing_fields_and_splits_are_named(data_dir, arguments, message):
    with pytest.raises(ValueError, match=message):
        tfds_pairs("tiny_translate/zh_to_en", data_dir=data_dir, **arguments)


@pytest.mark.parametrize("name", ["ted_hrlr_translate/pt_to_en", "tiny_translate/zh_to_en:2.0.0"])
def test_a_missing_dataset_names_the_folder_and_the_way_by_files(data_dir, name):
    with pytest.raises(FileNotFoundError) as caught:
        load_pairs(f"tfds:{name}", data_dir=data_dir)
    assert str(data_dir) in str(caught.value)
    assert "two line-aligned files" in str(caught.value)


def test_a_missing_package_is_named(data_dir, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"pip install tensorflow-datasets"):
        tfds_pairs("tiny_translate/zh_to_en", data_dir=data_dir)
