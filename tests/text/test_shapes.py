"""What users give a tokenizer keeps every text and every id, whatever stands beside it."""

import pytest
import tensorflow as tf

from keras_transformer.text import CharacterTokenizer
from keras_transformer.text.shapes import as_ids, as_texts


@pytest.mark.parametrize("values", [[[], [1, 2]], [[1, 2], []], [[], [3], []], [[[], [1]], [[2]]]])
def test_no_row_is_lost_beside_an_empty_one(values):
    assert as_ids(values).to_list() == values
    texts = tf.nest.map_structure(str, values)
    assert as_texts(texts).to_list() == tf.nest.map_structure(str.encode, texts)


def test_a_tokenizer_joins_all_rows():
    tokenizer = CharacterTokenizer.train(["abc"])
    ids = [[], tokenizer.tokenize("cab").numpy().tolist()]
    assert tokenizer.detokenize(ids).numpy().tolist() == [b"", b"cab"]


def test_nothing_at_all_stays_nothing():
    assert as_texts([]).shape == (0,)
    assert as_ids([[], []]).shape.as_list()[0] == 2
    tokenizer = CharacterTokenizer.train(["abc"])
    assert tokenizer.tokenize([]).nrows() == 0
    assert tokenizer.detokenize([[], []]).numpy().tolist() == [b"", b""]
