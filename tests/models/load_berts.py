"""Loads every `.keras` file of a folder and reports how far its outputs are from the saved ones.

A script for a fresh process, which imports of the package its models alone.
"""

import json
import sys
import traceback
from pathlib import Path

import keras
import numpy as np

import keras_transformer.models  # noqa: F401


def difference(path: Path) -> float:
    """The largest difference of any output; infinite where a shape differs."""
    model = keras.models.load_model(path)  # safe mode is on
    with np.load(path.with_suffix(".npz")) as saved:
        inputs = {k.removeprefix("input "): saved[k] for k in saved if k.startswith("input ")}
        expected = {k.removeprefix("output "): saved[k] for k in saved if k.startswith("output ")}
    outputs = model(inputs)
    outputs = outputs if isinstance(outputs, dict) else {"output": outputs}
    outputs = {name: keras.ops.convert_to_numpy(output) for name, output in outputs.items()}
    if {n: o.shape for n, o in outputs.items()} != {n: e.shape for n, e in expected.items()}:
        return float("inf")
    return max(float(np.abs(outputs[name] - expected[name]).max()) for name in expected)


report = {}
for path in sorted(Path(sys.argv[1]).glob("*.keras")):
    try:
        report[path.stem] = difference(path)
    except Exception:
        report[path.stem] = traceback.format_exc()[-1500:]
print(json.dumps(report))
