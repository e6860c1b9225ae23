"""Loads a `.keras` file and says what is in it; knows of the package by its name alone."""

import json
import sys

import keras

import keras_transformer  # noqa: F401

model = keras.models.load_model(sys.argv[1])
print(
    json.dumps(
        {
            "model": type(model).__name__,
            "loss": type(model.loss).__name__,
            "optimizer": type(model.optimizer).__name__,
            "schedule": type(model.optimizer._learning_rate).__name__,
        }
    )
)
