"""Tasks: tokenizers, a model and decoding in one object, with save, load and export."""

from keras_transformer.tasks.alignments import (
    AlignedTokens,
    AnswerAlignment,
    TranslationAlignment,
)
from keras_transformer.tasks.answer_search import AnswerOptions
from keras_transformer.tasks.answers import (
    Answer,
    Answers,
    Classification,
    Generation,
    Guesses,
    Regression,
    TaggedWord,
    TextScore,
    TokenVectors,
    Translation,
)
from keras_transformer.tasks.fill_mask import FillMask
from keras_transformer.tasks.generation_options import GenerationOptions
from keras_transformer.tasks.question_answerer import QuestionAnswerer
from keras_transformer.tasks.task import Task
from keras_transformer.tasks.text_classifier import TextClassifier
from keras_transformer.tasks.text_embedder import TextEmbedder
from keras_transformer.tasks.text_generator import TextGenerator
from keras_transformer.tasks.token_tagger import Entity, TokenTagger
from keras_transformer.tasks.translator import (
    TranslationOptions,
    Translator,
)

__all__ = [
    "AlignedTokens",
    "Answer",
    "AnswerAlignment",
    "AnswerOptions",
    "Answers",
    "Classification",
    "Entity",
    "FillMask",
    "Generation",
    "GenerationOptions",
    "Guesses",
    "QuestionAnswerer",
    "Regression",
    "TaggedWord",
    "Task",
    "TextClassifier",
    "TextEmbedder",
    "TextGenerator",
    "TextScore",
    "TokenTagger",
    "TokenVectors",
    "Translation",
    "TranslationAlignment",
    "TranslationOptions",
    "Translator",
]
