"""A client's alignments are those of the task; the server is a stub."""

import numpy as np
import pytest
import small_berts
import small_translators
import tensorflow as tf
from serving_stub import Function, RestStub, StubModel

from keras_transformer.serving import Client, RequestRefused
from keras_transformer.tasks import TranslationOptions

TEXTS = ["one cat", "", "我喝茶。", "red"]
QUESTIONS = ["who lives in london?", " ", "where"]
CONTEXTS = ["Ada lives in London.", "abc", "the dog sees the red house." * 4]


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    with small_berts.eagerly():
        yield


def served(task):
    """A stub whose model is the task itself, with its alignment beside what it always has."""
    function = task.alignment
    inputs = {spec.name: spec for spec in function.input_signature}
    call = function.python_function
    outputs = call(**dict.fromkeys(inputs, tf.constant(["a"])))
    given = {name: tf.TensorSpec(part.shape, part.dtype) for name, part in outputs.items()}
    return RestStub(StubModel("model", {1: {"alignment": Function(call, inputs, given)}}))


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        one, other = one._asdict(), other._asdict()
        np.testing.assert_allclose(one.pop("weights"), other.pop("weights"), atol=1e-5)
        assert one.pop("score") == pytest.approx(other.pop("score"), abs=1e-4)
        assert one == other


def test_translations_and_what_they_looked_at():
    options = TranslationOptions(
        beam_size=1, n_best=1, max_source_length=12, max_target_length=5, length_offset=4
    )
    task = small_translators.make_translator(
        small_translators.characters(), options=options, encoder_layers=1, decoder_layers=1
    )
    with served(task) as stub:
        client = Client(stub.url, "model", batch_size=3, timeout=600)
        assert_same(client.align(TEXTS), task.align(TEXTS))
        assert client.align([]) == []
        assert client.signatures()["alignment"].outputs["weights"].dtype == "float32"
        with pytest.raises(RequestRefused):
            client.align_answers(["who?"], ["Ada"])


def test_answers_and_what_their_questions_looked_at():
    task = small_berts.make("answerer", small_berts.characters())
    with served(task) as stub:
        client = Client(stub.url, "model", batch_size=2, timeout=600)
        expected = task.align_answers(QUESTIONS, CONTEXTS)
        assert_same(client.align_answers(QUESTIONS, CONTEXTS), expected)
        with pytest.raises(ValueError, match="of one length, not 1 and 0"):
            client.align_answers(["who?"], [])
