"""Decoding over one step function: greedy search, beam search, sampling."""

from keras_transformer.generation.beam import beam_search
from keras_transformer.generation.greedy import greedy_search
from keras_transformer.generation.hypotheses import Hypotheses, length_penalty
from keras_transformer.generation.sampling import sample
from keras_transformer.generation.step import StepModel
from keras_transformer.generation.stops import Stops

__all__ = [
    "Hypotheses",
    "StepModel",
    "Stops",
    "beam_search",
    "greedy_search",
    "length_penalty",
    "sample",
]
