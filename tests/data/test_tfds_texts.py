"""Documents of prepared TFDS folders."""

import pytest

from keras_transformer.data import load_texts, tfds_texts

tfds = pytest.importorskip("tensorflow_datasets")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """Two small data sets that TFDS itself has written."""
    folder = tmp_path_factory.mktemp("tensorflow_datasets")
    for dataset, fields in (("tiny_wiki", ("title", "text")), ("tiny_pages", ("title", "body"))):

        class Builder(tfds.core.GeneratorBasedBuilder):
            VERSION = tfds.core.Version("1.0.0")
            code_path = None  # no folder of code with checksums
            name = dataset
            names = fields

            def _info(self):
                features = {name: tfds.features.Text() for name in self.names}
                return tfds.core.DatasetInfo(
                    builder=self, features=tfds.features.FeaturesDict(features)
                )

            def _split_generators(self, dl_manager):
                return {
                    "train": self._generate_examples(4),
                    "validation": self._generate_examples(1),
                }

            def _generate_examples(self, count):
                for i in range(count):
                    yield i, {self.names[0]: f"T{i}", self.names[1]: f"罗马 {i}\n\n is old"}

        Builder(data_dir=folder).download_and_prepare()
    return folder


def test_every_example_is_a_document_with_its_line_ends(data_dir):
    documents = load_texts("tfds:tiny_wiki", data_dir=data_dir)
    assert sorted(documents) == [[f"罗马 {i}\n\n is old"] for i in range(4)]
    assert list(documents) == list(documents)
    assert len(list(load_texts("tfds:tiny_wiki", "valid", data_dir=data_dir))) == 1
    titles = tfds_texts("tiny_pages", field="title", data_dir=data_dir)
    assert sorted(titles) == [["T0"], ["T1"], ["T2"], ["T3"]]


def test_what_is_not_there_is_named(data_dir):
    with pytest.raises(ValueError, match="say which field to take; its texts are: body, title"):
        tfds_texts("tiny_pages", data_dir=data_dir)
    with pytest.raises(ValueError, match="no text field 'page'; its texts are: text, title"):
        tfds_texts("tiny_wiki", field="page", data_dir=data_dir)
    with pytest.raises(ValueError, match="no split 'test'"):
        tfds_texts("tiny_wiki", "test", data_dir=data_dir)
    with pytest.raises(FileNotFoundError, match="no prepared TFDS dataset 'none'"):
        load_texts("tfds:none", data_dir=data_dir)
