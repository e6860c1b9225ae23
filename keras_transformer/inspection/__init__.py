"""Seeing inside: what a model attends to, step by step and over a training."""

from keras_transformer.inspection.attention import AttentionMap, TextAttention, attention_of
from keras_transformer.inspection.attention_figures import (
    plot_alignment,
    plot_head,
    plot_heads,
    plot_lines,
)
from keras_transformer.inspection.attention_page import attention_page, write_attention_page
from keras_transformer.inspection.layer_calls import LayerCall, record_calls
from keras_transformer.inspection.report_comparison import Comparison
from keras_transformer.inspection.token_labels import Token
from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.inspection.topic_page import topics_page, write_topics_page
from keras_transformer.inspection.topic_text import print_topic
from keras_transformer.inspection.trace_attention import ATTENTION_EXAMPLES, attention_topic
from keras_transformer.inspection.trace_figures import position_figure
from keras_transformer.inspection.trace_positions import mask_topic, positions_topic
from keras_transformer.inspection.trace_shapes import shapes_topic
from keras_transformer.inspection.trace_sizes import activations_topic, schedules_topic, sizes_topic
from keras_transformer.inspection.trace_softmax import (
    gradient_topic,
    look_up_topic,
    scaling_topic,
    softmax_topic,
    variance_topic,
)
from keras_transformer.inspection.trace_vectors import contexts_topic, neighbours_topic
from keras_transformer.inspection.training_report import TrainingReport, read_report

__all__ = [
    "ATTENTION_EXAMPLES",
    "AttentionMap",
    "Comparison",
    "LayerCall",
    "Matrix",
    "Step",
    "TextAttention",
    "Token",
    "Topic",
    "TrainingReport",
    "activations_topic",
    "attention_of",
    "attention_page",
    "attention_topic",
    "contexts_topic",
    "gradient_topic",
    "look_up_topic",
    "mask_topic",
    "neighbours_topic",
    "plot_alignment",
    "plot_head",
    "plot_heads",
    "plot_lines",
    "position_figure",
    "positions_topic",
    "print_topic",
    "read_report",
    "record_calls",
    "scaling_topic",
    "schedules_topic",
    "shapes_topic",
    "sizes_topic",
    "softmax_topic",
    "topics_page",
    "variance_topic",
    "write_attention_page",
    "write_topics_page",
]
