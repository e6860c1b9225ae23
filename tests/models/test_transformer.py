"""The Transformer as a Keras model: fit, predict, save, export, and what it must not see."""

import math
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers import gallery
from models import small
from numpy.testing import assert_allclose

from keras_transformer.models import Transformer, TransformerConfig

POLICIES = ["float32", "mixed_float16", "mixed_bfloat16"]


@pytest.fixture(params=small.CONFIGS, scope="module")
def model(request):
    transformer = Transformer(small.CONFIGS[request.param])
    transformer.build()
    gallery.randomise(transformer)
    return transformer


def tiny(dtype=None, **options):
    sizes = small.SIZES | {"encoder_layers": 1, "decoder_layers": 1}
    return Transformer(TransformerConfig(**sizes | options), dtype=dtype)


# What must not be seen ---------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["paper", "buckets"], indirect=True)
def test_logits_do_not_depend_on_what_a_sentence_is_batched_with(model):
    random = np.random.default_rng(0)
    sentences = [random.integers(3, 23, size=n) for n in (1, 2, 4, 7, 11, 17, 23, 30)]
    targets = [
        np.concatenate([[1], random.integers(3, 23, size=n)]) for n in (3, 9, 1, 6, 2, 8, 5, 4)
    ]

    def pad(rows):
        padded = np.zeros((len(rows), max(map(len, rows))), "int32")
        for row, ids in zip(padded, rows, strict=True):
            row[: len(ids)] = ids
        return padded

    def logits(order, size):
        results = {}
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            output = model(
                {
                    "source": pad([sentences[i] for i in rows]),
                    "target": pad([targets[i] for i in rows]),
                }
            )
            for i, result in zip(rows, output, strict=True):
                results[i] = result[: len(targets[i])]
        return results

    alone = logits(list(range(8)), 1)
    for size in (3, 8):
        batched = logits(list(random.permutation(8)), size)
        for i in range(8):
            assert_allclose(batched[i], alone[i], atol=1e-5, rtol=1e-5)


def test_what_stands_in_the_padding_does_not_show(model):
    batch = small.batch()
    before = model(batch).numpy()
    tables = {model.source_embedding, model.target_embedding}
    kept = [(table, table.embeddings.numpy()) for table in tables]
    for table, values in kept:
        changed = values.copy()
        changed[0] = 1e4
        table.embeddings.assign(changed)
    after = model(batch).numpy()
    for table, values in kept:
        table.embeddings.assign(values)
    real = batch["target"] != 0
    # The logit of padding itself is its vector's product, where tied: not compared.
    assert_allclose(after[real][:, 1:], before[real][:, 1:], atol=1e-5, rtol=1e-5)


def test_logits_do_not_depend_on_later_target_tokens(model):
    batch = small.batch()
    before = model(batch).numpy()
    for t in (0, 3):
        target = batch["target"].copy()
        target[:, t + 1 :] = (target[:, t + 1 :] + 7) % 20 + 3
        after = model({"source": batch["source"], "target": target}).numpy()
        assert_allclose(after[:, : t + 1], before[:, : t + 1], atol=1e-6)
        assert np.abs(after[:, t + 1] - before[:, t + 1]).max() > 1e-3


def test_random_targets_cannot_be_learned():
    """A magically low loss would mean that the decoder looks ahead.

    Without the causal mask the same training reaches 0.65 instead of the logarithm of 6, 1.79.
    """
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    model = tiny(
        vocab_size=9, hidden_size=32, intermediate_size=32, positions="rotary", norm_first=True
    )
    labels = random.integers(3, 9, size=(1600 + 256, 6)).astype("int32")
    target = np.concatenate([np.ones_like(labels[:, :1]), labels[:, :-1]], axis=1)
    inputs = {"source": np.full((len(labels), 2), 3, "int32"), "target": target}
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(5e-3), loss)
    train = {name: ids[:1600] for name, ids in inputs.items()}
    model.fit(train, labels[:1600], batch_size=32, verbose=0)
    held_out = {name: ids[1600:] for name, ids in inputs.items()}
    assert float(loss(labels[1600:], model(held_out))) > math.log(6) - 0.02


@pytest.mark.parametrize("policy", POLICIES)
def test_a_sentence_of_padding_only_is_finite_and_does_not_touch_its_neighbour(policy):
    transformer = tiny(policy, encoder_layers=2)
    batch = {"source": np.array([[4, 5, 6], [0, 0, 0]]), "target": np.array([[1, 7, 8], [0, 0, 0]])}
    labels = np.array([[7, 8, 2], [0, 0, 0]])
    alone = {name: ids[:1] for name, ids in batch.items()}
    transformer(batch)

    def loss_and_gradients(batch, labels):
        with tf.GradientTape() as tape:
            logits = transformer(batch)
            losses = keras.ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
            loss = tf.reduce_sum(losses * (labels != 0)) / np.sum(labels != 0)
        weights = [w.value for w in transformer.trainable_weights]
        gradients = tape.gradient(loss, weights)
        return logits, loss, [tf.convert_to_tensor(g).numpy() for g in gradients]

    logits, loss, gradients = loss_and_gradients(batch, labels)
    expected_logits, expected_loss, expected_gradients = loss_and_gradients(alone, labels[:1])
    tolerance = {"float32": 1e-5, "mixed_float16": 1e-2, "mixed_bfloat16": 5e-2}[policy]
    assert np.all(np.isfinite(logits))
    assert_allclose(logits[:1], expected_logits, atol=tolerance)
    assert_allclose(loss, expected_loss, atol=tolerance)
    for gradient, expected in zip(gradients, expected_gradients, strict=True):
        assert np.all(np.isfinite(gradient))
        assert_allclose(gradient, expected, atol=tolerance)


def test_padding_may_have_another_id():
    config = TransformerConfig(**small.SIZES, pad_token_id=22)
    transformer = Transformer(config)
    batch = small.batch()
    expected = transformer({"source": batch["source"][:1, :4], "target": batch["target"][:1]})
    source = np.where(batch["source"] == 0, 22, batch["source"])
    padded = transformer({"source": source, "target": batch["target"]})
    assert_allclose(padded[:1], expected, atol=1e-5)


# Sizes and numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("tied", [True, False])
def test_logits_are_float32_under_every_policy(policy, tied):
    transformer = tiny(policy, tie_word_embeddings=tied)
    assert transformer(small.batch()).dtype == "float32"
    assert transformer.encode(small.batch()["source"]).dtype == transformer.compute_dtype


def test_training_in_half_precision_stays_finite():
    transformer = tiny("mixed_float16")
    transformer.compile(
        keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    batch = small.batch()
    data = tf.data.Dataset.from_tensors((batch, batch["target"])).repeat(50)
    losses = []
    transformer.fit(
        data,
        shuffle=False,
        verbose=0,
        callbacks=[
            keras.callbacks.LambdaCallback(
                on_train_batch_end=lambda _, logs: losses.append(logs["loss"])
            )
        ],
    )
    assert len(losses) == 50 and np.all(np.isfinite(losses))
    assert losses[-1] < losses[0]
    assert all(np.all(np.isfinite(w.numpy())) for w in transformer.weights)


def test_tables_are_shared_or_not_as_the_config_says():
    def tables(**options):
        transformer = tiny(**options)
        transformer.build()
        return sorted(tuple(w.shape) for w in transformer.weights if 23 in w.shape or 29 in w.shape)

    assert tables() == [(23, 16)]
    assert tables(tie_word_embeddings=False) == [(16, 23), (23, 16)]
    two = {"share_embeddings": False, "target_vocab_size": 29}
    assert tables(**two) == [(23, 16), (29, 16)]
    assert tables(**two, tie_word_embeddings=False) == [(16, 29), (23, 16), (29, 16)]


def test_logits_cover_the_target_vocabulary():
    transformer = tiny(share_embeddings=False, target_vocab_size=29)
    assert transformer(small.batch()).shape == (3, 6, 29)


def test_embeddings_start_at_standard_deviation_one_over_the_root_of_the_width():
    transformer = Transformer(TransformerConfig.preset("tiny", vocab_size=2000))
    batch = small.batch()
    logits = transformer(batch)
    assert_allclose(np.std(transformer.source_embedding.embeddings), 128**-0.5, rtol=0.02)
    # What follows from it: scaled vectors and first logits are of the order of one.
    assert_allclose(np.std(transformer.source_embedding(batch["source"][1:])), 1.0, rtol=0.1)
    assert 0.5 < np.std(logits) < 2.0


@pytest.mark.parametrize("kind", ["hidden_dropout", "attention_dropout", "activation_dropout"])
def test_each_kind_of_dropout_acts_in_training_only(kind):
    off = {"hidden_dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    batch = small.batch()
    transformer = tiny(**off)
    assert_allclose(transformer(batch, training=True), transformer(batch), atol=1e-6)
    transformer = tiny(**off | {kind: 0.5})
    assert_allclose(transformer(batch, training=False), transformer(batch), atol=1e-6)
    assert np.abs(transformer(batch, training=True) - transformer(batch)).max() > 1e-2


def test_presets_have_the_sizes_of_the_paper():
    base = TransformerConfig.preset("base", vocab_size=10)
    assert (base.hidden_size, base.intermediate_size, base.num_attention_heads) == (512, 2048, 8)
    assert (base.encoder_layers, base.decoder_layers, base.norm_first) == (6, 6, False)
    big = TransformerConfig.preset("big", vocab_size=10)
    assert (big.hidden_size, big.intermediate_size, big.num_attention_heads) == (1024, 4096, 16)
    overridden = TransformerConfig.preset("tiny", vocab_size=10, hidden_dropout=0.3)
    assert (overridden.hidden_size, overridden.hidden_dropout) == (128, 0.3)


def test_every_choice_of_the_config_reaches_the_layers():
    config = small.CONFIGS["learned"]
    transformer = Transformer(config)
    for layer in (*transformer.encoder.layers, *transformer.decoder.layers):
        for name in (
            "intermediate_size",
            "hidden_act",
            "gated",
            "norm_first",
            "norm",
            "layer_norm_eps",
            "use_bias",
            "hidden_dropout",
            "attention_dropout",
            "activation_dropout",
        ):
            assert getattr(layer, name) == getattr(config, name), name
        assert layer.num_heads == config.num_attention_heads
    assert not transformer.encoder.final_norm and not transformer.decoder.final_norm
    assert transformer.source_dropout.rate == transformer.target_dropout.rate == 0.3
    rotary = Transformer(small.CONFIGS["rotary"])
    assert {rotary.encoder.layers[0].rotary.theta, rotary.decoder.layers[0].rotary.theta} == {500.0}
    assert rotary.encoder.layers[0].num_key_value_heads == 2
    assert rotary.encoder.final_norm  # pre-norm brings it
    buckets = Transformer(small.CONFIGS["buckets"])
    assert buckets.encoder.layers[0].position_bias.bidirectional
    assert not buckets.decoder.layers[0].position_bias.bidirectional


def test_a_config_survives_as_plain_values():
    for config in small.CONFIGS.values():
        assert TransformerConfig(**config.to_dict()) == config


# A Keras model like any other --------------------------------------------------------------------


def test_paths_of_variables_are_unique_and_the_same_in_every_instance(model):
    paths = [w.path for w in model.weights]
    assert len(set(paths)) == len(paths)
    assert all(path.startswith("transformer/") for path in paths)
    again = Transformer(model.config)
    again(small.batch())
    assert [w.path for w in again.weights] == paths


def test_plain_call_graph_predict_and_export_agree(tmp_path):
    transformer = Transformer(small.CONFIGS["rotary"])
    batch = small.batch()
    plain = transformer(batch)
    assert_allclose(tf.function(transformer)(batch), plain, atol=1e-5)
    assert_allclose(transformer.predict(batch, verbose=0), plain, atol=1e-5)
    transformer.export(tmp_path / "export", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "export")
    assert_allclose(loaded.serve(batch), plain, atol=1e-5)
    shorter = {name: ids[:2, :3] for name, ids in batch.items()}
    assert_allclose(loaded.serve(shorter), transformer(shorter), atol=1e-5)


def test_fit_traces_its_step_once(monkeypatch):
    transformer, traces = tiny(), []
    train_step = transformer.train_step
    monkeypatch.setattr(transformer, "train_step", lambda *a: traces.append(1) or train_step(*a))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    transformer.compile(keras.optimizers.Adam(1e-3), loss)
    batch = small.batch()
    transformer.fit(batch, batch["target"], batch_size=1, verbose=0)
    assert traces == [1]


def test_fit_evaluate_predict_and_save_without_any_warning(tmp_path):
    transformer = tiny()
    batch = small.batch()
    labels = np.roll(batch["target"], -1, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Keras' own dealings with NumPy.
        warnings.simplefilter("ignore", DeprecationWarning)
        transformer.compile(
            keras.optimizers.AdamW(1e-2),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        history = transformer.fit(batch, labels, epochs=20, verbose=0)
        loss, accuracy = transformer.evaluate(batch, labels, verbose=0)
        predicted = transformer.predict(batch, verbose=0)
        transformer.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loss < history.history["loss"][0] - 0.5 and accuracy > 0.2
    assert_allclose(loaded(batch), predicted, atol=1e-6)
    # The optimizer comes back too: both go on alike.
    assert_allclose(loaded.evaluate(batch, labels, verbose=0)[0], loss, atol=1e-5)
    assert int(loaded.optimizer.iterations) == 20


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.ones((1, 3), "int32"), "takes a dictionary of source, target, not a "),
        ({"source": np.ones((1, 3), "int32")}, "takes source, target: target is missing"),
        (small.batch() | {"labels": np.ones((3, 3))}, "labels is not one of them"),
    ],
)
def test_inputs_that_are_wrong_are_refused_in_one_sentence(inputs, message):
    with pytest.raises(ValueError, match=message):
        tiny()(inputs)


def test_the_model_is_a_part_of_a_functional_model():
    transformer = tiny()
    inputs = {n: keras.Input((None,), dtype="int32", name=n) for n in ("source", "target")}
    whole = keras.Model(inputs, keras.layers.Softmax()(transformer(inputs)))
    batch = small.batch()
    assert_allclose(whole(batch), keras.ops.softmax(transformer(batch)), atol=1e-6)
