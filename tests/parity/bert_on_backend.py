"""Computes every kind of BERT with given weights and compares its outputs with given ones.

A script for a process with another Keras backend.
"""

import json
import sys
import traceback
from pathlib import Path

import keras
import numpy as np
from models import berts


def difference(path: Path) -> float:
    """The largest difference of any output."""
    model = berts.built(path.stem)
    with np.load(path) as saved:
        expected = dict(saved)
    outputs = berts.outputs_of(model, berts.batch(path.stem))
    assert outputs.keys() == expected.keys()
    return max(
        float(np.abs(keras.ops.convert_to_numpy(outputs[name]) - values).max())
        for name, values in expected.items()
    )


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
