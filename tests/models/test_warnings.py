"""No kind of model warns of anything when it is built, trained and asked."""

import warnings

import keras
import numpy as np
import pytest
from models import berts, gpts, small

from keras_transformer.models import Bert, Gpt, Transformer

KINDS = {
    **{
        f"transformer_{name}": lambda c=config: Transformer(c)
        for name, config in small.CONFIGS.items()
    },
    **{kind: lambda make=make: make(Bert(berts.CONFIG)) for kind, make in berts.KINDS.items()},
    **{f"gpt_{name}": lambda c=config: Gpt(c) for name, config in gpts.CONFIGS.items()},
}


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_of_every_kind_gives_no_warning(kind):
    inputs = small.batch() if kind.startswith("transformer") else berts.batch(kind)
    if kind.startswith("gpt"):
        inputs = {"token_ids": np.array([[5, 6, 7, 0], [8, 9, 10, 11]], "int32")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # Keras' own dealings with NumPy
        model = KINDS[kind]()
        outputs = model(inputs)
        labels = keras.tree.map_structure(lambda output: np.zeros(output.shape, "float32"), outputs)
        loss = keras.tree.map_structure(lambda _: "mse", outputs)
        model.compile("sgd", loss, run_eagerly=True)  # what warns does so without a graph too
        model.fit(inputs, labels, verbose=0)
        model.predict(inputs, verbose=0)
