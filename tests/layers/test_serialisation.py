"""Every layer and model comes back from its `.keras` file, in a fresh process."""

import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from layers import gallery
from layers.fresh_process import report_of
from models import small

from keras_transformer import layers
from keras_transformer.models import Transformer

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

BLOCK = {
    "num_heads": 2,
    "intermediate_size": 8,
    "num_key_value_heads": 1,
    "hidden_act": "silu",
    "gated": True,
    "norm_first": True,
    "norm": "rms_norm",
    "layer_norm_eps": 1e-3,
    "use_bias": False,
    "hidden_dropout": 0.1,
    "attention_dropout": 0.2,
    "activation_dropout": 0.3,
}
NAMES = [*gallery.GALLERY, *(f"transformer_{name}" for name in small.CONFIGS), "half_precision"]


def model_and_inputs(name):
    if name in gallery.GALLERY:
        model, inputs = gallery.build(name), gallery.inputs_of(name)
    else:
        config = small.CONFIGS[name.removeprefix("transformer_")]
        model, inputs = Transformer(config), small.batch()
        model.build()
    gallery.randomise(model)
    return model, inputs


def half_precision():
    model = Transformer(small.CONFIGS["learned"], dtype="mixed_float16")
    model.build()
    return model, small.batch()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Saves everything, loads it in one fresh process, and gives the differences by name."""
    folder = tmp_path_factory.mktemp("saved")
    for name in NAMES:
        model, inputs = half_precision() if name == "half_precision" else model_and_inputs(name)
        outputs = gallery.outputs_of(model, inputs)
        model.save(folder / f"{name}.keras")
        np.savez(
            folder / f"{name}.npz",
            **{f"input {k}": v for k, v in inputs.items()},
            **{f"output {i}": output for i, output in enumerate(outputs)},
        )
    return report_of(Path(__file__).with_name("load_models.py"), folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_process_gets_the_same_outputs(report, name):
    assert isinstance(report[name], float), report[name]
    assert report[name] <= 1e-6


def test_a_loaded_model_keeps_its_config_policy_and_name(tmp_path):
    model = Transformer(small.CONFIGS["learned"], dtype="mixed_bfloat16", name="translator")
    model.build()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.config == model.config
    assert loaded.dtype_policy == model.dtype_policy
    assert loaded.name == "translator"
    assert [w.path for w in loaded.weights] == [w.path for w in model.weights]


@pytest.mark.parametrize(
    ("layer_class", "options"),
    [
        (
            layers.ResidualConnection,
            {"norm_first": True, "norm": "rms_norm", "layer_norm_eps": 1e-3, "dropout": 0.2},
        ),
        (
            layers.BucketedPositionBias,
            {"num_heads": 4, "num_buckets": 16, "max_distance": 64, "bidirectional": False},
        ),
        (layers.AlibiPositionBias, {"num_heads": 4}),
        (
            layers.RotaryPositions,
            {"theta": 5.0, "scaling": {"rope_type": "linear", "factor": 2.0}},
        ),
        (layers.LearnedPositions, {"max_position_embeddings": 9}),
        (
            layers.MultiHeadAttention,
            {
                "num_heads": 4,
                "key_dim": 8,
                "num_key_value_heads": 2,
                "value_dim": 3,
                "output_dim": 5,
                "dropout": 0.1,
                "use_bias": False,
            },
        ),
        (
            layers.FeedForward,
            {
                "intermediate_size": 8,
                "hidden_act": "silu",
                "gated": True,
                "use_bias": False,
                "activation_dropout": 0.1,
            },
        ),
        (
            layers.TokenEmbedding,
            {"vocab_size": 5, "hidden_size": 4, "scale": False, "mask_zero": True},
        ),
        *(
            (stack, {"num_layers": 3, "final_norm": True} | BLOCK | own)
            for stack, own in (
                (layers.Encoder, {}),
                (layers.Decoder, {"cross_attention": False}),
            )
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_option_is_in_the_config_and_comes_back(layer_class, options):
    layer = layer_class(**options, name="named", dtype="mixed_bfloat16", trainable=False)
    config = layer.get_config()
    assert {name: config[name] for name in options} == options
    again = layer_class.from_config(config)
    assert again.get_config() == config
    assert (again.name, again.dtype_policy, again.trainable) == ("named", layer.dtype_policy, False)


def test_injected_parts_and_initialisers_are_in_the_config():
    layer = layers.MultiHeadAttention(
        4,
        8,
        rotary=layers.RotaryPositions(theta=5.0),
        position_bias=layers.AlibiPositionBias(4),
        kernel_initializer="he_normal",
        output_initializer="ones",
    )
    again = layers.MultiHeadAttention.from_config(layer.get_config())
    assert again.rotary.theta == 5.0
    assert again.position_bias.num_heads == 4
    assert isinstance(again.kernel_initializer, keras.initializers.HeNormal)
    assert isinstance(again.output_initializer, keras.initializers.Ones)
    block = layers.DecoderLayer(2, 16, cross_attention=False, output_initializer="ones")
    block = layers.DecoderLayer.from_config(block.get_config())
    block.build((None, None, 8))
    for part in (block.self_attention, block.feed_forward):
        assert np.all(part.output_dense.kernel == 1) and isinstance(
            type(part).from_config(part.get_config()).output_initializer, keras.initializers.Ones
        )
    assert not np.all(block.self_attention.query_dense.kernel == 1)
    embedding = layers.TokenEmbedding(5, 4, initializer="zeros")
    again = layers.TokenEmbedding.from_config(embedding.get_config())
    assert isinstance(again.initializer, keras.initializers.Zeros)


def test_a_bias_shared_by_layers_of_ones_own_stack_is_never_silently_lost(tmp_path):
    """Keras cannot tell that parts of two layers are one; loading says so. `Encoder` is the way."""
    bias = layers.BucketedPositionBias(2, num_buckets=8, max_distance=16)
    inputs = keras.Input((None, 8))
    hidden = inputs
    for _ in range(2):
        hidden = layers.EncoderLayer(2, 16, position_bias=bias)(hidden)
    model = keras.Model(inputs, hidden)
    gallery.randomise(model)
    model.save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match=r"bucketed_position_bias\S* expected 1 variables"):
        keras.models.load_model(tmp_path / "model.keras")


@pytest.mark.parametrize("name", ["decoder", "transformer_buckets"])
def test_a_file_without_some_weights_is_refused(tmp_path, name):
    model, _ = model_and_inputs(name)
    whole, broken = tmp_path / "whole.keras", tmp_path / "broken.keras"
    model.save(whole)
    with zipfile.ZipFile(whole) as archive:
        archive.extractall(tmp_path)
        members = archive.namelist()
    with h5py.File(tmp_path / "model.weights.h5", "r+") as weights:
        datasets = []
        weights.visititems(lambda n, v: datasets.append(n) if isinstance(v, h5py.Dataset) else None)
        del weights[datasets[len(datasets) // 2]]
    with zipfile.ZipFile(broken, "w") as archive:
        for member in members:
            archive.write(tmp_path / member, member)
    keras.models.load_model(whole)
    with pytest.raises(ValueError, match=r"expected \d+ variables"):
        keras.models.load_model(broken)


def test_weights_of_another_size_are_refused(tmp_path):
    model, _ = model_and_inputs("transformer_paper")
    model.save_weights(tmp_path / "model.weights.h5")
    other = Transformer(small.CONFIGS["learned"])
    other.build()
    with pytest.raises(ValueError, match=r"variables|shape|could not be loaded"):
        other.load_weights(tmp_path / "model.weights.h5")
