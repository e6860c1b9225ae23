"""Hugging Face directories of small models, and ways to spoil them."""

import json

from models import berts
from numpy.testing import assert_allclose
from safetensors.numpy import load_file, save_file

from keras_transformer.checkpoints import save_huggingface

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
QUERY = "encoder.layer.1.attention.self.query.weight"


def saved(kind, folder, **options):
    model = berts.built(kind)
    save_huggingface(model, folder, **options)
    return model


def change_tensors(folder, change):
    """Rewrites the tensors of a directory after ``change`` had its way with them."""
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


def change_config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def split(folder):
    """Makes two files and an index of the one file."""
    tensors = load_file(folder / WEIGHTS)
    names = sorted(tensors)
    files = {"part-1.safetensors": names[::2], "part-2.safetensors": names[1::2]}
    for file, held in files.items():
        save_file({name: tensors[name] for name in held}, folder / file)
    places = {name: file for file, held in files.items() for name in held}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (folder / WEIGHTS).unlink()
    return places


def assert_same(found, expected, kind):
    inputs = berts.batch(kind)
    outputs = berts.outputs_of(expected, inputs)
    for name, values in berts.outputs_of(found, inputs).items():
        assert_allclose(values, outputs[name], atol=1e-6)
