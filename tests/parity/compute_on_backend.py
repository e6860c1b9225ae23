"""Builds every layer and model with given weights and compares its outputs with given ones.

A script for a process with another Keras backend.
"""

import json
import sys
import traceback
from pathlib import Path

import keras
import numpy as np
from layers import gallery
from models import berts, gpts, small

from keras_transformer.models import Gpt, Transformer

BERTS = ("pretraining", "classifier", "span_qa", "embedder", "cls_embedder")
NAMES = [
    *gallery.GALLERY,
    *(f"transformer_{name}" for name in small.CONFIGS),
    *(f"bert_{kind}" for kind in BERTS),
    *(f"gpt_{name}" for name in gpts.CONFIGS),
]


def built(name: str) -> tuple[keras.Model, dict[str, np.ndarray]]:
    """The model of a name, with fresh weights, and its inputs."""
    if name in gallery.GALLERY:
        return gallery.build(name), gallery.inputs_of(name)
    family, _, kind = name.partition("_")
    if family == "bert":
        return berts.built(kind), berts.batch(kind)
    if family == "gpt":
        model = gpts.built(kind)
        return model, {"token_ids": gpts.prompts(model)}
    model = Transformer(small.CONFIGS[kind])
    model.build()
    return model, small.batch()


def outputs_of(model: keras.Model, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a call, and where text is generated those of two steps of two beams."""
    outputs = gallery.outputs_of(model, inputs)
    if isinstance(model, Transformer | Gpt):
        given = inputs["source" if isinstance(model, Transformer) else "token_ids"]
        state = model.start(keras.ops.convert_to_tensor(given), max_length=3, beams=2)
        for ids in ([1] * 6, [4, 5, 6, 7, 8, 9]):
            logits, state = model.step(keras.ops.convert_to_tensor(ids, "int32"), state)
            outputs.append(keras.ops.convert_to_numpy(logits))
            rows = keras.ops.convert_to_tensor([1, 1, 2, 3, 5, 4], "int32")
            state = model.reorder(state, rows)
    return outputs


def difference(path: Path) -> float:
    """The largest difference of any output; infinite where a shape differs."""
    model, inputs = built(path.stem)
    with np.load(path) as saved:
        weights = [saved[f"weight {i}"] for i in range(len(model.weights))]
        expected = [saved[k] for k in saved if k.startswith("output ")]
    model.set_weights(weights)
    outputs = outputs_of(model, inputs)
    if [o.shape for o in outputs] != [e.shape for e in expected]:
        return float("inf")
    return max(float(np.abs(o - e).max()) for o, e in zip(outputs, expected, strict=True))


def main() -> None:
    """Reports on each file of the folder."""
    report = {"backend": keras.backend.backend()}
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        try:
            report[path.stem] = difference(path)
        except Exception:
            report[path.stem] = traceback.format_exc()[-1500:]
    print(json.dumps(report))


if __name__ == "__main__":
    main()
