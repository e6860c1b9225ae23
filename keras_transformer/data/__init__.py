"""Sources of text, and what makes batches of ids of them."""

from keras_transformer.text.lines import decode_lines, read_lines

from .epoch_clock import EpochClock
from .json_lines import json_lines_pairs
from .length_report import LengthReport
from .line_files import line_file_pairs
from .load import load_pairs
from .pairs import ReadReport, TextPairs
from .tfds_pairs import tfds_pairs
from .translation import TranslationBatches, translation_dataset
from .tsv import tsv_pairs

__all__ = [
    "EpochClock",
    "LengthReport",
    "ReadReport",
    "TextPairs",
    "TranslationBatches",
    "decode_lines",
    "json_lines_pairs",
    "line_file_pairs",
    "load_pairs",
    "read_lines",
    "tfds_pairs",
    "translation_dataset",
    "tsv_pairs",
]
