"""Losses, metrics, schedules, optimizers and callbacks around Keras' `compile` and `fit`."""

from keras_transformer.training.accumulation import AccumulatedGradients
from keras_transformer.training.averaging import average_checkpoints, averaged_weights
from keras_transformer.training.checkpointing import TrainingCheckpoint, load_weights
from keras_transformer.training.divergence import StopOnDivergence, TrainingDiverged
from keras_transformer.training.limits import (
    StepLimit,
    StopOnSignal,
    TimeLimit,
    TrainingInterrupted,
)
from keras_transformer.training.losses import TokenCrossEntropy
from keras_transformer.training.metrics import Perplexity, TokenAccuracy, TokenLoss
from keras_transformer.training.optimizers import TransformerAdamW, adamw, updates_made
from keras_transformer.training.perplexity import perplexity
from keras_transformer.training.progress import Throughput, TrainingProgress
from keras_transformer.training.reproducibility import set_seed
from keras_transformer.training.schedules import (
    CosineSchedule,
    InverseSquareRootSchedule,
    LinearSchedule,
)
from keras_transformer.training.scoring import ScoreCallback

__all__ = [
    "AccumulatedGradients",
    "CosineSchedule",
    "InverseSquareRootSchedule",
    "LinearSchedule",
    "Perplexity",
    "ScoreCallback",
    "StepLimit",
    "StopOnDivergence",
    "StopOnSignal",
    "Throughput",
    "TimeLimit",
    "TokenAccuracy",
    "TokenCrossEntropy",
    "TokenLoss",
    "TrainingCheckpoint",
    "TrainingDiverged",
    "TrainingInterrupted",
    "TrainingProgress",
    "TransformerAdamW",
    "adamw",
    "average_checkpoints",
    "averaged_weights",
    "load_weights",
    "perplexity",
    "set_seed",
    "updates_made",
]
