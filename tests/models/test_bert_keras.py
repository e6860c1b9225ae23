"""BERT and its heads as Keras models like any other: fit, save, load, export."""

import dataclasses
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers.fresh_process import report_of
from models import berts
from numpy.testing import assert_allclose

from keras_transformer.models import Bert, BertClassifier, BertConfig, BertSpanQA

# Keras' own dealings with NumPy, once for each weight.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

ONE_LAYER = dataclasses.replace(berts.CONFIG, num_hidden_layers=1)
OTHER = dataclasses.replace(
    berts.CONFIG,
    num_hidden_layers=1,
    hidden_act="relu",
    layer_norm_eps=1e-3,
    hidden_dropout=0.3,
    attention_dropout=0.2,
    classifier_dropout=0.4,
    initializer_range=0.5,
    pad_token_id=2,
)

SAVED = {kind: lambda kind=kind: berts.built(kind, ONE_LAYER) for kind in berts.KINDS} | {
    "other_options": lambda: berts.built("classifier", OTHER),
    "half_precision": lambda: berts.built("pretraining", ONE_LAYER, "mixed_float16"),
    "functional": lambda: functional(),
}


def functional():
    """A model with an explicit mask among its inputs."""
    span_qa = berts.built("span_qa", ONE_LAYER)
    inputs = {
        name: keras.Input((None,), dtype=dtype, name=name)
        for name, dtype in (("token_ids", "int32"), ("segment_ids", "int32"), ("answer_mask", bool))
    }
    return keras.Model(inputs, keras.layers.Softmax()(span_qa(inputs)["start"]))


def inputs_of(name):
    kinds = {"functional": "span_qa", "half_precision": "pretraining"}
    return berts.batch(kinds.get(name, name))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Saves everything, loads it in one fresh process, and gives the differences by name."""
    folder = tmp_path_factory.mktemp("saved")
    for name, make in SAVED.items():
        model, inputs = make(), inputs_of(name)
        outputs = berts.outputs_of(model, inputs)
        model.save(folder / f"{name}.keras")
        np.savez(
            folder / f"{name}.npz",
            **{f"input {k}": v for k, v in inputs.items()},
            **{f"output {k}": v for k, v in outputs.items()},
        )
    return report_of(Path(__file__).with_name("load_berts.py"), folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAVED)
def test_a_fresh_process_gets_the_same_outputs(report, name):
    assert isinstance(report[name], float), report[name]
    assert report[name] <= 1e-6


@pytest.mark.parametrize("kind", berts.KINDS)
def test_a_config_comes_back_with_every_option(kind):
    model = berts.KINDS[kind](Bert(OTHER, dtype="mixed_bfloat16", name="encoder"))
    again = type(model).from_config(model.get_config())
    assert again.get_config() == model.get_config()
    assert (again.config, again.dtype_policy) == (OTHER, model.dtype_policy)
    assert (again.name, getattr(again, "bert", again).name) == (model.name, "encoder")


def test_a_frozen_encoder_stays_frozen_in_the_file(tmp_path):
    model = berts.built("classifier", ONE_LAYER)
    model.bert.trainable = False
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert [w.path for w in loaded.trainable_weights] == [w.path for w in model.trainable_weights]
    assert len(loaded.trainable_weights) == 4  # pooler and classifier


def test_paths_of_variables_are_unique_and_the_same_in_every_instance():
    for kind in ("pretraining", "classifier", "span_qa"):
        paths = [w.path for w in berts.built(kind, ONE_LAYER).weights]
        assert len(set(paths)) == len(paths)
        assert paths == [w.path for w in berts.built(kind, ONE_LAYER).weights]


@pytest.mark.parametrize("kind", ["pretraining", "span_qa", "cls_embedder"])
def test_plain_call_graph_predict_and_export_agree(kind, tmp_path):
    model, inputs = berts.built(kind, ONE_LAYER), berts.batch()
    plain = berts.outputs_of(model, inputs)
    in_a_graph = berts.outputs_of(tf.function(model), inputs)
    predicted = model.predict(inputs, verbose=0)
    predicted = predicted if isinstance(predicted, dict) else {"output": predicted}
    model.export(tmp_path / "export", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "export")
    served = berts.outputs_of(loaded.serve, inputs)
    shorter = {name: ids[:2, :4] for name, ids in inputs.items()}
    for name, values in plain.items():
        assert_allclose(in_a_graph[name], values, atol=1e-5)
        assert_allclose(predicted[name], values, atol=1e-5)
        assert_allclose(served[name], values, atol=1e-5)
        fewer = berts.outputs_of(model, shorter)[name]
        assert_allclose(berts.outputs_of(loaded.serve, shorter)[name], fewer, atol=1e-5)
    assert "Xla" not in (tmp_path / "export" / "saved_model.pb").read_bytes().decode("latin-1")


def test_an_exported_model_refuses_an_input_longer_than_its_table(tmp_path):
    model = berts.built("classifier", ONE_LAYER)
    model.export(tmp_path / "export", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "export")
    long = {name: np.ones((1, 41), "int32") for name in ("token_ids", "segment_ids")}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: .*\[40,16\]"):
        loaded.serve(long)


def labels_of(kind):
    random = np.random.default_rng(3)
    return {
        "pretraining": {
            "masked_tokens": random.integers(3, 31, size=(3, 2)),
            "next_sentence": np.array([0, 1, 1]),
        },
        "classifier": np.array([0, 2, 1]),
        "regression": np.array([0.5, -1.0, 2.0]),
        "span_qa": {"start": np.array([2, 0, 1]), "end": np.array([4, 3, 1])},
    }[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pretraining", "regression", "span_qa"])
def test_fit_evaluate_and_save_without_any_warning(kind, tmp_path):
    model, inputs, labels = berts.built(kind, ONE_LAYER), berts.batch(kind), labels_of(kind)
    one = (
        keras.losses.MeanSquaredError()
        if kind == "regression"
        else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    loss = {name: one for name in labels} if isinstance(labels, dict) else one
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # Keras' own dealings with NumPy
        model.compile(keras.optimizers.AdamW(1e-2), loss)
        history = model.fit(inputs, labels, epochs=12, verbose=0)
        after = model.evaluate(inputs, labels, verbose=0, return_dict=True)["loss"]
        model.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
    assert not model.jit_compile
    assert after < 0.8 * history.history["loss"][0]
    # The optimizer comes back too.
    again = loaded.evaluate(inputs, labels, verbose=0, return_dict=True)["loss"]
    assert_allclose(again, after, atol=1e-5)
    assert int(loaded.optimizer.iterations) == 12 and not loaded.jit_compile


def test_training_in_half_precision_stays_finite():
    config = BertConfig.preset("tiny", vocab_size=31, num_hidden_layers=1)
    model = berts.KINDS["pretraining"](Bert(config, dtype="mixed_float16"))
    inputs, labels = berts.batch("pretraining"), labels_of("pretraining")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), {name: loss for name in labels})
    losses = []
    note = keras.callbacks.LambdaCallback(on_batch_end=lambda _, logs: losses.append(logs["loss"]))
    data = tf.data.Dataset.from_tensors((inputs, labels)).repeat(30)
    model.fit(data, shuffle=False, verbose=0, callbacks=[note])
    assert len(losses) == 30 and np.all(np.isfinite(losses)) and losses[-1] < losses[0]
    assert all(np.all(np.isfinite(w.numpy())) for w in model.weights)


def test_a_model_with_xla_computes_the_same():
    model, inputs = berts.built("pretraining", ONE_LAYER), berts.batch("pretraining")
    compiled = tf.function(model, jit_compile=True)(inputs)
    for name, values in model(inputs).items():
        assert_allclose(compiled[name], values, atol=1e-4)


def test_a_strategy_builds_and_trains_a_head():
    strategy = tf.distribute.OneDeviceStrategy("cpu:0")
    with strategy.scope():
        model = BertClassifier(Bert(ONE_LAYER), num_labels=3)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-3), loss)
    history = model.fit(berts.batch(), labels_of("classifier"), verbose=0)
    assert np.isfinite(history.history["loss"][0])


def test_one_encoder_may_serve_several_heads_in_a_file(tmp_path):
    bert = Bert(berts.CONFIG)
    inputs = {"token_ids": keras.Input((None,), dtype="int32", name="token_ids")}
    outputs = {
        "label": BertClassifier(bert, num_labels=2)(inputs),
        "start": BertSpanQA(bert)(inputs)["start"],
    }
    model = keras.Model(inputs, outputs)
    values = {"token_ids": berts.batch()["token_ids"]}
    assert len({id(w) for w in model.weights}) == len(bert.weights) + 4 + 2
    expected = model(values)
    assert expected["label"].shape == (3, 2) and expected["start"].shape == (3, 7)
