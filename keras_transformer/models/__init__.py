"""Whole models, each with a configuration of its own."""

from keras_transformer.models.bert import Bert
from keras_transformer.models.bert_config import BertConfig
from keras_transformer.models.bert_pretraining import BertMaskedLM, BertPretraining
from keras_transformer.models.bert_tasks import (
    BertClassifier,
    BertEmbedder,
    BertSpanQA,
    BertTagger,
)
from keras_transformer.models.distributed import DistributedTraining
from keras_transformer.models.gpt import Gpt
from keras_transformer.models.gpt_config import GptConfig
from keras_transformer.models.gpt_state import GptState
from keras_transformer.models.recomputation import recompute_layers
from keras_transformer.models.transformer import DecodingState, Transformer
from keras_transformer.models.transformer_config import TransformerConfig

__all__ = [
    "Bert",
    "BertClassifier",
    "BertConfig",
    "BertEmbedder",
    "BertMaskedLM",
    "BertPretraining",
    "BertSpanQA",
    "BertTagger",
    "DecodingState",
    "DistributedTraining",
    "Gpt",
    "GptConfig",
    "GptState",
    "Transformer",
    "TransformerConfig",
    "recompute_layers",
]
