"""Losses, metrics, schedules, optimizers and callbacks around Keras' `compile` and `fit`."""

from keras_transformer.training.losses import TokenCrossEntropy
from keras_transformer.training.metrics import Perplexity, TokenAccuracy, TokenLoss
from keras_transformer.training.schedules import (
    CosineSchedule,
    InverseSquareRootSchedule,
    LinearSchedule,
)

__all__ = [
    "CosineSchedule",
    "InverseSquareRootSchedule",
    "LinearSchedule",
    "Perplexity",
    "TokenAccuracy",
    "TokenCrossEntropy",
    "TokenLoss",
]
