"""Gpt as a Keras model like any other: fit, save, load, export."""

import dataclasses
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers.fresh_process import report_of
from models import gpts
from numpy.testing import assert_allclose

from keras_transformer.models import Gpt, GptConfig

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

OTHER = GptConfig(
    vocab_size=31,
    hidden_size=24,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=20,
    hidden_act="relu",
    gated=True,
    positions="rotary",
    rope_theta=300.0,
    rope_scaling=gpts.LLAMA3,
    max_position_embeddings=50,
    norm="rms_norm",
    layer_norm_eps=1e-3,
    use_bias=False,
    embedding_dropout=0.4,
    hidden_dropout=0.3,
    attention_dropout=0.2,
    tie_word_embeddings=False,
    initializer_range=0.5,
    pad_token_id=5,
    bos_token_id=6,
    eos_token_id=7,
)
PACKED = {
    "token_ids": np.array([[5, 6, 7, 8, 9], [10, 11, 12, 3, 4]], "int32"),
    "segment_ids": np.array([[1, 1, 2, 2, 2], [1, 2, 2, 0, 0]], "int32"),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Saves everything, loads it in one fresh process, and gives the differences by name."""
    folder = tmp_path_factory.mktemp("saved")
    models = {kind: gpts.built(kind) for kind in gpts.CONFIGS}
    models["half"] = gpts.built("llama", "mixed_float16")
    for name, model in models.items():
        model.save(folder / f"{name}.keras")
        np.savez(
            folder / f"{name}.npz",
            **{f"input {k}": v for k, v in PACKED.items()},
            **{"output output": model(PACKED)},
        )
    return report_of(Path(__file__).with_name("load_berts.py"), folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*gpts.CONFIGS, "half"])
def test_a_fresh_process_gets_the_same_outputs(report, name):
    assert isinstance(report[name], float), report[name]
    assert report[name] <= 1e-6


def test_a_config_comes_back_with_every_option(tmp_path):
    default = dataclasses.asdict(GptConfig(vocab_size=1024))
    assert all(value != default[name] for name, value in OTHER.to_dict().items())
    model = Gpt(OTHER, dtype="mixed_bfloat16", name="writer")
    model.build()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.get_config() == model.get_config() and loaded.config == OTHER
    assert (loaded.name, loaded.dtype_policy) == ("writer", model.dtype_policy)
    assert [w.path for w in loaded.weights] == [w.path for w in model.weights]
    assert len({w.path for w in model.weights}) == len(model.weights)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_plain_call_graph_predict_and_export_agree(kind, tmp_path):
    model = gpts.built(kind)
    inputs = {"token_ids": gpts.prompts(model)}
    plain = model(inputs)
    assert_allclose(tf.function(model)(inputs), plain, atol=1e-5)
    assert_allclose(model.predict(inputs, verbose=0), plain, atol=1e-5)
    model.export(tmp_path / "export", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "export")
    assert_allclose(loaded.serve(inputs), plain, atol=1e-5)
    shorter = {"token_ids": inputs["token_ids"][:2, :4]}
    assert_allclose(loaded.serve(shorter), model(shorter), atol=1e-5)
    assert "Xla" not in (tmp_path / "export" / "saved_model.pb").read_bytes().decode("latin-1")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_fit_evaluate_and_save_without_any_warning(kind, tmp_path):
    model = gpts.built(kind)
    labels = np.roll(PACKED["token_ids"], -1, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # Keras' own dealings with NumPy
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.AdamW(1e-2), loss)
        history = model.fit(PACKED, labels, epochs=12, verbose=0)
        after = model.evaluate(PACKED, labels, verbose=0)
        model.predict(PACKED, verbose=0)
        model.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
    assert not model.jit_compile
    assert after < 0.8 * history.history["loss"][0]
    # The optimizer comes back too.
    assert_allclose(loaded.evaluate(PACKED, labels, verbose=0), after, atol=1e-5)
    assert int(loaded.optimizer.iterations) == 12 and not loaded.jit_compile


def test_training_in_half_precision_stays_finite():
    config = GptConfig.preset("nano", vocab_size=31, num_hidden_layers=1)
    model = Gpt(config, dtype="mixed_float16")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss)
    data = tf.data.Dataset.from_tensors((PACKED, PACKED["token_ids"])).repeat(30)
    losses = []
    note = keras.callbacks.LambdaCallback(on_batch_end=lambda _, logs: losses.append(logs["loss"]))
    model.fit(data, shuffle=False, verbose=0, callbacks=[note])
    assert len(losses) == 30 and np.all(np.isfinite(losses)) and losses[-1] < losses[0]
    assert all(np.all(np.isfinite(w.numpy())) for w in model.weights)


def test_a_functional_model_may_hold_one():
    gpt = gpts.built("llama")
    inputs = {"token_ids": keras.Input((None,), dtype="int32", name="token_ids")}
    model = keras.Model(inputs, keras.layers.Softmax()(gpt(inputs)))
    ids = {"token_ids": gpts.prompts(gpt)}
    assert_allclose(model(ids), tf.nn.softmax(gpt(ids)), atol=1e-6)


def test_a_strategy_builds_and_trains_one():
    with tf.distribute.OneDeviceStrategy("cpu:0").scope():
        model = Gpt(gpts.CONFIGS["gpt2"])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-3), loss)
    history = model.fit(PACKED, PACKED["token_ids"], verbose=0)
    assert np.isfinite(history.history["loss"][0])


def test_a_model_that_was_never_called_is_saved_with_its_weights(tmp_path):
    model = Gpt(OTHER)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    ids = {"token_ids": np.array([[5, 6, 7]])}
    assert_allclose(loaded(ids), model(ids), atol=1e-6)
