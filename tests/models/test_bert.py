"""BERT and its heads: what they compute, what they must not see, what they refuse."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from models import berts
from numpy.testing import assert_allclose

from keras_transformer.layers.masked_token_head import take_positions
from keras_transformer.layers.pooling import masked_mean, unit_length
from keras_transformer.layers.segments import SegmentEmbedding
from keras_transformer.models import Bert, BertClassifier, BertConfig, BertEmbedder, BertTagger

ONE_A_TOKEN = ("bert", "tagger", "span_qa")


@pytest.fixture(params=berts.KINDS, scope="module")
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(kind):
    return berts.built(kind)


def real_outputs(kind, model, inputs):
    """The outputs of each row without what stands at its padding."""
    rows = []
    lengths = (inputs["token_ids"] != 0).sum(1)
    for values in berts.outputs_of(model, inputs).values():
        for i, length in enumerate(lengths):
            rows.append(values[i, :length] if kind in ONE_A_TOKEN else values[i])
    return rows


def shaped(inputs, rows, length):
    return {
        name: values[rows] if name == "masked_positions" else values[rows, :length]
        for name, values in inputs.items()
    }


# What must not be seen ---------------------------------------------------------------------------


def test_a_row_gives_the_same_alone_and_padded_beside_others(kind, model):
    inputs = berts.batch(kind)
    together = real_outputs(kind, model, inputs)
    alone = [
        real_outputs(kind, model, shaped(inputs, slice(i, i + 1), length))
        for i, length in enumerate([7, 4, 2])
    ]
    outputs = len(alone[0])
    for i, expected in enumerate(together):
        assert_allclose(alone[i % 3][i // 3], expected, atol=1e-5)
    assert len(together) == 3 * outputs


def test_what_stands_in_the_padding_does_not_show(kind):
    model = berts.built(kind)
    inputs = berts.batch(kind)
    before = real_outputs(kind, model, inputs)
    table = model.bert if kind != "bert" else model
    values = table.token_embedding.embeddings.numpy()
    values[0] = 1e4
    table.token_embedding.embeddings.assign(values)
    after = real_outputs(kind, model, inputs)
    for a, b in zip(after, before, strict=True):
        if kind in ("masked_lm", "pretraining") and a.shape[-1] == berts.CONFIG.vocab_size:
            a, b = a[..., 1:], b[..., 1:]  # the logit of padding itself is its vector's product
        assert_allclose(a, b, atol=1e-5)


def test_padding_may_have_another_id():
    config = dataclasses.replace(berts.CONFIG, pad_token_id=30)
    model = berts.built("embedder", config)
    inputs = berts.batch()
    inputs["token_ids"][inputs["token_ids"] == 30] = 29
    alone = model(shaped(inputs, slice(1, 2), 4))
    padded = np.where(inputs["token_ids"] == 0, 30, inputs["token_ids"])
    assert_allclose(model(inputs | {"token_ids": padded})[1:2], alone, atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
@pytest.mark.parametrize("kind", ["pretraining", "embedder", "cls_embedder"])
def test_a_row_of_padding_only_is_finite_and_leaves_its_neighbour_alone(kind, policy):
    model = berts.built(kind, dtype=policy)
    inputs = berts.batch(kind)
    inputs["token_ids"][1:] = 0
    weights = [w.value for w in model.trainable_weights]

    def first_row_and_gradients(inputs):
        with tf.GradientTape() as tape:
            outputs = berts.outputs_of(model, inputs)
            loss = sum(tf.reduce_sum(tf.square(o[:1])) for o in outputs.values())
        return outputs, [tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, weights)]

    outputs, gradients = first_row_and_gradients(inputs)
    expected, expected_gradients = first_row_and_gradients(shaped(inputs, slice(0, 1), 7))
    tolerance = {"float32": 1e-5, "mixed_float16": 1e-2}[policy]
    for name, values in outputs.items():
        assert np.all(np.isfinite(values))
        assert_allclose(values[:1], expected[name], atol=tolerance, rtol=tolerance)
    for found, wanted in zip(gradients, expected_gradients, strict=True):
        assert np.all(np.isfinite(found))
        assert_allclose(found, wanted, atol=tolerance * max(1.0, np.abs(wanted).max()))


# What the parts do -------------------------------------------------------------------------------


def test_without_segment_ids_all_is_segment_zero(kind, model):
    inputs = berts.batch(kind)
    zeros = berts.outputs_of(model, inputs | {"segment_ids": np.zeros((3, 7), "int32")})
    given = berts.outputs_of(model, inputs)
    del inputs["segment_ids"]
    for name, values in berts.outputs_of(model, inputs).items():
        assert_allclose(values, zeros[name], atol=1e-6)
        assert np.abs(values - given[name]).max() > 1e-3  # segments matter


def test_masked_positions_choose_among_all_positions():
    for kind, name in (("masked_lm", "output"), ("pretraining", "masked_tokens")):
        model, inputs = berts.built(kind), berts.batch(kind)
        chosen = berts.outputs_of(model, inputs)[name]
        positions = inputs.pop("masked_positions")
        everywhere = berts.outputs_of(model, inputs)[name]
        assert everywhere.shape == (3, 7, 31) and chosen.shape == (3, 2, 31)
        expected = np.take_along_axis(everywhere.numpy(), positions[..., None], axis=1)
        assert_allclose(chosen, expected, atol=1e-5)


@pytest.mark.parametrize("position", [-1, 3, 100])
def test_a_position_outside_of_its_row_never_reads_another_row(position):
    hidden = np.arange(12.0, dtype="float32").reshape(2, 3, 2)
    with tf.device("cpu"), pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        take_positions(hidden, np.array([[0], [position]]))


def test_a_spans_vectors_are_multiplied_with_every_position():
    model, inputs = berts.built("span_qa"), berts.batch("span_qa")
    hidden = model.bert({k: inputs[k] for k in ("token_ids", "segment_ids")}).numpy()
    kernel, bias = (w.numpy() for w in model.span_vectors.weights)
    outputs = model(inputs)
    allowed = (inputs["token_ids"] != 0) & inputs["answer_mask"]
    for i, name in enumerate(("start", "end")):
        expected = hidden @ kernel[:, i] + bias[i]
        assert_allclose(outputs[name].numpy()[allowed], expected[allowed], atol=1e-5)
        assert np.all(outputs[name].numpy()[~allowed] < -1e29)
        probabilities = keras.ops.softmax(outputs[name]).numpy()
        assert np.all(probabilities[~allowed] == 0.0)


def test_an_answer_mask_must_be_boolean():
    model, inputs = berts.built("span_qa"), berts.batch("span_qa")
    with pytest.raises(ValueError, match=r"answer_mask must be boolean .* not .*int32"):
        model(inputs | {"answer_mask": inputs["answer_mask"].astype("int32")})


def test_an_embedding_is_the_mean_of_the_real_tokens_or_the_first():
    bert, inputs = berts.built("bert"), berts.batch()
    hidden = bert(inputs).numpy()
    mean = np.stack([hidden[i, :n].mean(0) for i, n in enumerate([7, 4, 2])])
    assert_allclose(BertEmbedder(bert)(inputs), mean, atol=1e-5)
    assert_allclose(BertEmbedder(bert, pooling="cls")(inputs), hidden[:, 0], atol=1e-6)
    unit = BertEmbedder(bert, normalize=True)(inputs)
    assert_allclose(unit, mean / np.linalg.norm(mean, axis=1, keepdims=True), atol=1e-5)
    with pytest.raises(ValueError, match="pooling must be one of mean, cls, not 'max'"):
        BertEmbedder(bert, pooling="max")


def test_pooling_ignores_padding_whatever_it_holds():
    hidden = np.array([[[1.0, 2.0], [3.0, 4.0], [np.nan, np.inf]], [[9.0, 9.0]] * 3], "float32")
    mask = np.array([[True, True, False], [False] * 3])
    assert_allclose(masked_mean(hidden, mask), [[2.0, 3.0], [0.0, 0.0]])
    many = np.full((1, 4096, 1), 10.0, "float16")  # their sum is beyond half precision
    assert_allclose(masked_mean(many, np.ones((1, 4096), bool)), [[10.0]])


def test_the_zero_vector_has_no_length_and_a_finite_gradient():
    vectors = tf.Variable([[0.0, 0.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        unit = unit_length(vectors)
        total = tf.reduce_sum(unit)
    assert_allclose(unit, [[0.0, 0.0], [0.6, 0.8]], atol=1e-6)
    assert np.all(np.isfinite(tape.gradient(total, vectors)))


def test_a_head_on_a_trained_encoder_goes_on_from_its_weights():
    pretraining = berts.built("pretraining")
    bert = pretraining.bert
    classifier = BertClassifier(bert, num_labels=2)
    classifier(berts.batch())
    assert classifier.bert is bert
    assert {id(w) for w in bert.weights} < {id(w) for w in classifier.weights}
    assert_allclose(classifier.bert(berts.batch()), pretraining.bert(berts.batch()))


def test_every_choice_of_the_config_reaches_the_layers():
    config = dataclasses.replace(
        berts.CONFIG,
        hidden_act="relu",
        layer_norm_eps=1e-3,
        hidden_dropout=0.3,
        attention_dropout=0.2,
        classifier_dropout=0.4,
        initializer_range=0.5,
    )
    bert = Bert(config)
    for layer in bert.encoder.layers:
        for name in (
            "intermediate_size",
            "hidden_act",
            "layer_norm_eps",
            "hidden_dropout",
            "attention_dropout",
        ):
            assert getattr(layer, name) == getattr(config, name), name
        assert layer.num_heads == config.num_attention_heads
        assert not layer.norm_first and layer.activation_dropout == 0
    assert not bert.encoder.final_norm
    assert bert.embedding_norm.epsilon == 1e-3 and bert.embedding_dropout.rate == 0.3
    assert bert.segment_embedding.type_vocab_size == 3
    assert bert.position_embedding.max_position_embeddings == 40
    heads = [BertClassifier(bert), BertTagger(bert)]
    assert [head.dropout.rate for head in heads] == [0.4, 0.4]
    head = berts.KINDS["masked_lm"](bert).token_head
    assert (head.hidden_act, head.layer_norm_eps) == ("relu", 1e-3)


@pytest.mark.parametrize("kind", ["pretraining", "classifier", "tagger", "span_qa"])
def test_weights_start_at_the_standard_deviation_of_the_config(kind):
    model = berts.KINDS[kind](Bert(BertConfig.preset("tiny", vocab_size=500, type_vocab_size=100)))
    model.build()
    seen = []
    for weight in model.weights:
        values = weight.numpy()
        if values.ndim == 2:
            # Keras cuts the normal off at two standard deviations, which leaves 0.88 of it.
            assert 0.7 < values.std() / 0.02 < 1.1, weight.path
            seen.append(values.ravel()[:10])
        else:
            assert np.all(values == float(weight.path.endswith("gamma"))), weight.path
    assert len(np.unique(np.stack(seen), axis=0)) == len(seen)  # no two start alike


@pytest.mark.parametrize("rate", ["hidden_dropout", "attention_dropout", "classifier_dropout"])
def test_each_kind_of_dropout_acts_in_training_only(rate):
    off = {"hidden_dropout": 0.0, "attention_dropout": 0.0, "classifier_dropout": 0.0}
    inputs = berts.batch()
    model = berts.built("classifier", dataclasses.replace(berts.CONFIG, **off))
    assert_allclose(model(inputs, training=True), model(inputs), atol=1e-6)
    model = berts.built("classifier", dataclasses.replace(berts.CONFIG, **off | {rate: 0.5}))
    assert_allclose(model(inputs, training=False), model(inputs), atol=1e-6)
    assert np.abs(model(inputs, training=True) - model(inputs)).max() > 1e-2


def test_every_trainable_weight_gets_a_gradient(kind, model):
    with tf.GradientTape() as tape:
        outputs = berts.outputs_of(model, berts.batch(kind), training=True)
        loss = sum(tf.reduce_sum(tf.sin(3.0 * output)) for output in outputs.values())
    weights = model.trainable_weights
    assert len(weights) == len(model.weights)
    for weight, gradient in zip(weights, tape.gradient(loss, [w.value for w in weights])):  # noqa: B905
        assert gradient is not None, weight.path
        if not weight.path.endswith("key/bias"):  # adds the same to all scores of a query
            assert np.abs(tf.convert_to_tensor(gradient)).max() > 1e-7, weight.path


# Numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_outputs_are_float32_and_near_those_of_full_precision(kind, model, policy):
    inputs = berts.batch(kind)
    half = berts.built(kind, dtype=policy)
    assert half.compute_dtype == policy.removeprefix("mixed_")
    tolerance = {"mixed_float16": 2e-2, "mixed_bfloat16": 0.15}[policy]
    expected = real_outputs(kind, model, inputs)
    for found, wanted in zip(real_outputs(kind, half, inputs), expected, strict=True):
        assert found.dtype == ("float32" if kind != "bert" else half.compute_dtype)
        assert_allclose(found.numpy().astype("float32"), wanted, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("kind", ["pretraining", "classifier", "span_qa", "cls_embedder"])
def test_float64_stays_float64(kind):
    model = berts.built(kind, dtype="float64")
    for output in berts.outputs_of(model, berts.batch(kind)).values():
        assert output.dtype == "float64"


def test_a_classifier_may_read_the_mean_of_all_real_tokens():
    model, inputs = berts.built("mean_classifier"), berts.batch()
    vectors = BertEmbedder(model.bert)(inputs)
    kernel, bias = model.classifier.get_weights()
    assert_allclose(model(inputs), vectors.numpy() @ kernel + bias, atol=1e-5)
    assert not hasattr(model, "pooler")
    with pytest.raises(ValueError, match="pooling must be one of mean, cls, not 'max'"):
        BertClassifier(model.bert, pooling="max")


# What is refused ---------------------------------------------------------------------------------


def test_the_longest_input_works_and_one_more_token_is_refused_with_both_numbers(kind, model):
    def ids(length):
        return {"token_ids": np.full((1, length), 5, "int32")}

    model(ids(40))
    with pytest.raises(ValueError, match="input of 41 positions.*max_position_embeddings=40"):
        model(ids(41))
    if kind == "classifier":
        with pytest.raises(ValueError, match="input of 41 positions.*max_position_embeddings=40"):
            model.predict(ids(41), verbose=0)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.ones((1, 3), "int32"), r"takes a dictionary of token_ids, segment_ids \(optional\)"),
        ({"segment_ids": np.ones((1, 3), "int32")}, "token_ids is missing"),
        (
            {"token_ids": np.ones((1, 3), "int32"), "input_ids": np.ones((1, 3), "int32")},
            "input_ids is not one of them",
        ),
        ({"token_ids": np.ones((3,), "int32")}, r"token_ids must be \[batch, length\]"),
        (
            {"token_ids": np.ones((2, 3), "int32"), "segment_ids": np.ones((2, 4), "int32")},
            r"segment_ids must have the shape of the ids, \(2, 3\), not \(2, 4\)",
        ),
        (
            {"token_ids": np.ones((2, 3), "int32"), "segment_ids": np.ones((3,), "int32")},
            r"segment_ids must have the shape of the ids, \(2, 3\), not \(3,\)",
        ),
    ],
)
def test_inputs_that_are_wrong_are_refused_in_one_sentence(inputs, message):
    with pytest.raises(ValueError, match=message):
        berts.built("bert")(inputs)


def test_heads_refuse_what_they_cannot_be():
    bert = Bert(berts.CONFIG)
    for head in (BertClassifier, BertTagger):
        with pytest.raises(ValueError, match="num_labels must be at least 1, not 0"):
            head(bert, num_labels=0)
        with pytest.raises(ValueError, match="bert must be a Bert, not a BertConfig"):
            head(berts.CONFIG, num_labels=2)
    with pytest.raises(ValueError, match="type_vocab_size must be at least 1"):
        SegmentEmbedding(0)
