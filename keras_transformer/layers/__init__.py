"""The parts of a Transformer, on every Keras backend."""

from keras_transformer.layers import masks
from keras_transformer.layers.ancestry import ancestry_mask
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.cache import KeyValueCache, ProjectedMemory
from keras_transformer.layers.capture import capture_attention
from keras_transformer.layers.decoder import Decoder, DecoderLayer
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.embeddings import TokenEmbedding
from keras_transformer.layers.encoder import Encoder, EncoderLayer
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.position_bias import AlibiPositionBias, BucketedPositionBias
from keras_transformer.layers.positions import LearnedPositions, SinusoidalPositions
from keras_transformer.layers.residual import ResidualConnection
from keras_transformer.layers.rotary import RotaryPositions

__all__ = [
    "AlibiPositionBias",
    "BucketedPositionBias",
    "Decoder",
    "DecoderLayer",
    "Dropout",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "KeyValueCache",
    "LearnedPositions",
    "MultiHeadAttention",
    "ProjectedMemory",
    "ResidualConnection",
    "RotaryPositions",
    "SinusoidalPositions",
    "TokenEmbedding",
    "ancestry_mask",
    "capture_attention",
    "masks",
]
