"""Loads every `.keras` file of a folder and reports how far its outputs are from the saved ones.

A script for a fresh process: it knows of our layers only what importing the package brings.
"""

import json
import sys
import traceback
from pathlib import Path

import keras
import numpy as np

import keras_transformer.layers
import keras_transformer.models  # noqa: F401


def difference(path: Path) -> float:
    """The largest difference of any output; infinite where a shape differs."""
    model = keras.models.load_model(path)  # safe mode is on
    with np.load(path.with_suffix(".npz")) as saved:
        inputs = {k.removeprefix("input "): saved[k] for k in saved if k.startswith("input ")}
        expected = [saved[k] for k in saved if k.startswith("output ")]
    outputs = model(inputs)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    outputs = [keras.ops.convert_to_numpy(output) for output in outputs]
    if [o.shape for o in outputs] != [e.shape for e in expected]:
        return float("inf")
    return max(float(np.abs(o - e).max()) for o, e in zip(outputs, expected, strict=True))


report = {}
for path in sorted(Path(sys.argv[1]).glob("*.keras")):
    try:
        report[path.stem] = difference(path)
    except Exception:
        report[path.stem] = traceback.format_exc()[-1500:]
print(json.dumps(report))
