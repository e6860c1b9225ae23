"""Every layer compiles under XLA and gives what it gives without, in value and gradient."""

import pytest
import tensorflow as tf
from layers import gallery
from numpy.testing import assert_allclose

pytestmark = pytest.mark.slow


def test_all_layers_under_xla_equal_the_plain_call():
    models = {name: gallery.build(name) for name in gallery.GALLERY}
    for model in models.values():
        gallery.randomise(model)
    batches = {name: gallery.inputs_of(name) for name in models}

    # One function for all of them: compiling many small ones takes much longer.
    @tf.function(jit_compile=True)
    def compiled(batches):
        return {name: model(batches[name]) for name, model in models.items()}

    results = compiled(batches)
    for name, model in models.items():
        for result, expected in zip(
            tf.nest.flatten(results[name]), gallery.outputs_of(model, batches[name]), strict=True
        ):
            assert_allclose(result, expected, atol=1e-5, err_msg=name)


def test_gradients_under_xla_equal_the_plain_ones():
    models = {name: gallery.build(name) for name in ("decoder_layer", "hand_stacked")}
    batches = {name: gallery.inputs_of(name) for name in models}
    weights = [w.value for model in models.values() for w in model.trainable_weights]

    def gradients(batches):
        with tf.GradientTape() as tape:
            loss = sum(tf.reduce_mean(model(batches[name]) ** 3) for name, model in models.items())
        return tape.gradient(loss, weights)

    compiled = tf.function(gradients, jit_compile=True)(batches)
    for result, expected in zip(compiled, gradients(batches), strict=True):
        assert_allclose(tf.convert_to_tensor(result), tf.convert_to_tensor(expected), atol=1e-5)
