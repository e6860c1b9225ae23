"""Sources of text, and what makes batches of ids of them."""

from keras_transformer.text.lines import decode_lines, read_lines

from .classification import balanced_weights, classification_batches, classification_examples
from .conll import TaggedSentence, TaggedSentences, conll_file
from .documents import TextDocuments, builtin_documents, document_files
from .epoch_clock import EpochClock
from .example_batches import BatchReport, ExampleBatches
from .held_out import TooFewDocuments, hold_out
from .json_lines import json_lines_pairs
from .labelled_texts import LabelledText, LabelledTexts, labelled_tsv
from .length_report import LengthReport
from .line_files import line_file_pairs
from .load import load_pairs
from .load_tasks import load_documents, load_labelled, load_questions, load_tagged
from .masking import MaskedText, Masking
from .pairs import ReadReport, TextPairs
from .pretraining import pretraining_batches
from .sentence_pairs import SentencePairs, TextPair, single_texts
from .small_tasks import builtin_questions, builtin_reviews, builtin_tagged
from .spans import SpanWindow, span_batches, span_windows
from .squad import Answer, Question, Questions, squad_file
from .tags import TaggingWindow, entities, tagging_batches, tagging_windows, tags_of_windows
from .tfds_pairs import tfds_pairs
from .tfds_tasks import labelled_tfds, squad_tfds, tagged_tfds
from .translation import TranslationBatches, translation_dataset
from .tsv import tsv_pairs

__all__ = [
    "Answer",
    "BatchReport",
    "EpochClock",
    "ExampleBatches",
    "LabelledText",
    "LabelledTexts",
    "LengthReport",
    "MaskedText",
    "Masking",
    "Question",
    "Questions",
    "ReadReport",
    "SentencePairs",
    "SpanWindow",
    "TaggedSentence",
    "TaggedSentences",
    "TaggingWindow",
    "TextDocuments",
    "TextPair",
    "TextPairs",
    "TooFewDocuments",
    "TranslationBatches",
    "balanced_weights",
    "builtin_documents",
    "builtin_questions",
    "builtin_reviews",
    "builtin_tagged",
    "classification_batches",
    "classification_examples",
    "conll_file",
    "decode_lines",
    "document_files",
    "entities",
    "hold_out",
    "json_lines_pairs",
    "labelled_tfds",
    "labelled_tsv",
    "line_file_pairs",
    "load_documents",
    "load_labelled",
    "load_pairs",
    "load_questions",
    "load_tagged",
    "pretraining_batches",
    "read_lines",
    "single_texts",
    "span_batches",
    "span_windows",
    "squad_file",
    "squad_tfds",
    "tagged_tfds",
    "tagging_batches",
    "tagging_windows",
    "tags_of_windows",
    "tfds_pairs",
    "translation_dataset",
    "tsv_pairs",
]
