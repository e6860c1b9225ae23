"""Sources of text, and what makes batches of ids of them."""

from keras_transformer.text.lines import decode_lines, read_lines

from .block_batches import BlockBatches, BlockReport
from .classification import balanced_weights, classification_batches, classification_examples
from .conll import TaggedSentence, TaggedSentences, conll_file
from .documents import TextDocuments, builtin_documents, document_files
from .epoch_clock import EpochClock
from .example_batches import BatchReport, ExampleBatches
from .held_out import TooFewDocuments, hold_out, hold_out_end
from .json_lines import json_lines_pairs
from .json_texts import json_lines_texts
from .labelled_texts import LabelledText, LabelledTexts, labelled_tsv
from .language_model import ignored_label, language_model_batches
from .length_report import LengthReport
from .line_files import line_file_pairs
from .load import load_pairs
from .load_tasks import load_documents, load_labelled, load_questions, load_tagged
from .load_texts import load_texts
from .masking import MaskedText, Masking
from .pairs import ReadReport, TextPairs
from .pretraining import pretraining_batches
from .prompts import prompt_batches, prompt_file, translation_prompts
from .raw_texts import raw_text_files
from .sentence_pairs import SentencePairs, TextPair, single_texts
from .small_tasks import builtin_questions, builtin_reviews, builtin_tagged
from .spans import SpanWindow, span_batches, span_windows
from .squad import Answer, Question, Questions, squad_file
from .tags import TaggingWindow, entities, tagging_batches, tagging_windows, tags_of_windows
from .tfds_pairs import tfds_pairs
from .tfds_tasks import labelled_tfds, squad_tfds, tagged_tfds
from .tfds_texts import tfds_texts
from .translation import TranslationBatches, translation_dataset
from .tsv import tsv_pairs

__all__ = [
    "Answer",
    "BatchReport",
    "BlockBatches",
    "BlockReport",
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
    "hold_out_end",
    "ignored_label",
    "json_lines_pairs",
    "json_lines_texts",
    "labelled_tfds",
    "labelled_tsv",
    "language_model_batches",
    "line_file_pairs",
    "load_documents",
    "load_labelled",
    "load_pairs",
    "load_questions",
    "load_tagged",
    "load_texts",
    "pretraining_batches",
    "prompt_batches",
    "prompt_file",
    "raw_text_files",
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
    "tfds_texts",
    "translation_dataset",
    "translation_prompts",
    "tsv_pairs",
]
