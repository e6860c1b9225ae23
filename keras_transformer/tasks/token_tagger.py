"""A tag for each word, as in named entity recognition."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.checks import check_at_least, check_whole
from keras_transformer.data.tags import entities as entity_spans
from keras_transformer.data.windows import WordWindows, word_windows
from keras_transformer.models import BertTagger
from keras_transformer.tasks.answer_rows import tagged_words
from keras_transformer.tasks.answers import TaggedWord
from keras_transformer.tasks.bert_inputs import BertReading
from keras_transformer.tasks.bert_task import BertTask, check_labels
from keras_transformer.tasks.chunks import run_in_chunks
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.requests import plain
from keras_transformer.tasks.text_bounds import beginnings, most_bytes
from keras_transformer.tasks.texts import as_texts, valid_unicode
from keras_transformer.tasks.words import WordSpans, split_words
from keras_transformer.text import Tokenizer


class Entity(NamedTuple):
    """Words in a row that belong to one entity."""

    text: str
    """The exact part of the text."""
    label: str
    start: int
    """First character in the text."""
    end: int
    """One past the last character."""
    score: float
    """The lowest probability of its words' tags."""


class TokenTagger(BertTask):
    """Tags every word of a text, also of one that is far longer than the model takes.

    Words are cut by the rule of `words.split_words`, or come cut already (`tag_words`). Each word
    is cut into tokens by itself, and its tag is that of its first token; a word of which the
    tokenizer leaves nothing stands as one unknown token. A text with more tokens than the model
    takes is read in windows of whole words, as in training, and each word gets its tag from the
    window where it has the most words around it. Tags are given as the model has them; what
    entities BIO tags mean says `data.entities`.

    Args:
        model: the tagger.
        tokenizer: of the same ids.
        labels: names of the tags, by id.
        max_length: most tokens of a window, special ones included; as many as the model takes by
            default.
        stride: tokens from the start of a window to that of the next, at most a whole window;
            three quarters of one by default. Where whole words do not fit it may be more.
        max_words: most words of a text, of which the first ones are tagged. (All answers to a
            request are as wide as the longest.)

    Raises:
        ValueError: when model and tokenizer do not have the same ids, when there are not as many
            labels as the model has, or for an option out of range.

    >>> tagger = TokenTagger.load("runs/wnut17")  # doctest: +SKIP
    >>> tagger.entities(["Ada Lovelace lived in London."])  # doctest: +SKIP
    [[Entity(text='Ada Lovelace', label='person', start=0, end=12, score=0.98), ...]]
    """

    model_classes = (BertTagger,)

    def __init__(
        self,
        model: BertTagger,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        max_length: int | None = None,
        stride: int | None = None,
        max_words: int = 10_000,
    ):
        super().__init__(model, tokenizer, max_length, name="token_tagger")
        self.labels = check_labels(labels, model)
        self._room = self.max_length - 2
        stride = self._room - self._room // 4 if stride is None else stride
        check_whole(stride=stride, max_words=max_words)
        check_at_least(1, stride=stride, max_words=max_words)
        self.max_words = int(max_words)
        self.stride = min(int(stride), self._room)  # a longer one would leave words out
        text = [tf.TensorSpec([None], tf.string, name="text")]
        self.serving_default = graph_function(self._tag_texts, input_signature=text)
        words = [tf.RaggedTensorSpec([None, None], tf.string, row_splits_dtype=tf.int64)]
        self._words_function = graph_function(self._tag_words, input_signature=words)

    # In Python.

    def __call__(self, texts: Sequence[str]) -> list[list[TaggedWord]]:
        """The words of each text with their tags; warns of texts with more than `max_words`.

        Raises:
            ValueError: when ``texts`` is anything but a list of strings.
        """
        outputs = plain(self.serving_default(as_texts(texts)))
        if cut := np.flatnonzero(outputs["truncated"]).tolist():
            warnings.warn(
                f"{len(cut)} of the texts, the first of them texts[{cut[0]}], have more than "
                f"max_words={self.max_words} words: what follows is not tagged.",
                stacklevel=2,
            )
        return tagged_words(outputs)

    def tag_words(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tags of words that are cut already, as many as there are words.

        Args:
            sentences: the words of each sentence.

        Raises:
            ValueError: when a sentence is anything but a list of strings.
        """
        if isinstance(sentences, str | bytes):
            raise ValueError("sentences must be a list of lists of words, not one string.")
        sentences = [
            as_texts(sentence, f"sentences[{index}]") for index, sentence in enumerate(sentences)
        ]
        words = tf.RaggedTensor.from_row_lengths(
            tf.concat([as_texts([]), *sentences], 0),
            tf.constant([len(sentence) for sentence in sentences], tf.int64),
        )  # [sentences, (words)]
        tags, _ = self._words_function(words)
        return [[tag.decode("utf-8") for tag in row] for row in tags.to_list()]

    def entities(self, texts: Sequence[str]) -> list[list[Entity]]:
        """The entities of each text, by the rule of `data.entities`: ``I-X`` goes on with an entity
        of kind X that ends just before it, and else begins one as ``B-X`` does.

        Raises:
            ValueError: when ``texts`` is anything but a list of strings, or the labels are not
                ``O``, ``B-...`` and ``I-...``.
        """
        entity_spans(self.labels)  # refuses labels of another kind, whether or not they occur
        tagged = self(texts)
        # Places are characters of the texts, of whose damaged bytes each is one.
        plain = (text.decode("utf-8") for text in valid_unicode(as_texts(texts)).numpy())
        return [entities_of(text, words) for text, words in zip(plain, tagged, strict=True)]

    # In the graph.

    def signatures(self) -> dict[str, Any]:
        """`serving_default`: words, tags, places and probabilities of at most `max_words`."""
        return {"serving_default": self.serving_default}

    def reading(self, texts: tf.Tensor, text_pairs: tf.Tensor | None = None) -> BertReading:
        """What the model is given of texts: windows of whole words.

        Raises:
            ValueError: when there are ``text_pairs``, of which this task knows nothing.
        """
        if text_pairs is not None:
            raise ValueError("A TokenTagger reads one text, not a pair.")
        words, truncated = self._words(texts)
        pieces, windows, starts, ends = self._windows(words.words)
        tokens = tf.gather(pieces.values, tf.ragged.range(starts, ends))  # [rows, (tokens)]
        return BertReading(self._inputs.single(tokens), windows.rows, truncated)

    def _words(self, texts: tf.Tensor) -> tuple[WordSpans, tf.Tensor]:
        """The words that are tagged, and which texts have more of them `[batch]`."""
        texts, too_long = beginnings(texts, most_bytes(self.max_words))
        found = split_words(texts)  # [batch, (words)] each
        truncated = too_long | (found.words.row_lengths() > self.max_words)  # [batch]
        return WordSpans(*(part[:, : self.max_words] for part in found)), truncated

    def _windows(
        self, words: tf.RaggedTensor
    ) -> tuple[tf.RaggedTensor, WordWindows, tf.Tensor, tf.Tensor]:
        """Tokens of all words, windows of words, and the first and last token of each window."""
        pieces = self._pieces(words.values)  # [all_words, (tokens)]
        sizes = words.with_values(pieces.row_lengths())  # [batch, (words)]
        windows = word_windows(sizes, self._room, self._room - self.stride)
        starts, ends = (tf.gather(pieces.row_splits, part) for part in windows[1:3])
        return pieces, windows, starts, ends

    def _tag_texts(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        (words, starts, ends), truncated = self._words(text)
        tags, scores = self._tag_words(words)
        outputs = {"words": words, "tags": tags, "starts": starts, "ends": ends, "scores": scores}
        dense = {name: part.to_tensor(shape=[None, None]) for name, part in outputs.items()}
        length = tf.cast(words.row_lengths(), tf.int32)  # [batch]
        return dense | {"length": length, "truncated": truncated}

    def _tag_words(self, words: tf.RaggedTensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Tags and their probabilities, `[batch, (words)]` each, of words `[batch, (words)]`."""
        pieces, windows, starts, ends = self._windows(words)
        places = pieces.row_splits  # [all_words + 1], tokens before each word

        def tag(starts: tf.Tensor, ends: tf.Tensor) -> tuple[tf.Tensor, ...]:
            tokens = tf.gather(pieces.values, tf.ragged.range(starts, ends))  # [rows, (tokens)]
            batch = self._inputs.single(tokens)
            inputs = {"token_ids": batch.token_ids, "segment_ids": batch.segment_ids}
            logits = self.model(inputs, training=False)[:, 1:-1]  # [rows, tokens, num_labels]
            probabilities = tf.cast(tf.nn.softmax(logits), tf.float32)
            padding = [[0, 0], [0, self._room - tf.shape(logits)[1]]]
            return (
                tf.pad(tf.argmax(logits, axis=-1, output_type=tf.int32), padding),  # [rows, room]
                tf.pad(tf.reduce_max(probabilities, axis=-1), padding),  # [rows, room]
            )

        found = run_in_chunks(
            tag,
            (starts, ends),
            tf.cast(ends - starts, tf.int32) + 2,
            (tf.TensorSpec([None, self._room], tf.int32), tf.TensorSpec([None, self._room])),
        )

        # Each word's first token, in the window that answers for it.
        window = tf.repeat(tf.range(tf.size(starts)), windows.lasts - windows.firsts)  # [all_words]
        place = places[:-1] - tf.gather(starts, window)  # [all_words], in its window
        at = tf.cast(window, tf.int64) * self._room + place  # in [windows * room]
        tags, scores = (tf.gather(tf.reshape(part, [-1]), at) for part in found)
        return (
            words.with_values(tf.gather(tf.constant(self.labels), tags)),
            words.with_values(scores),
        )

    def _pieces(self, words: tf.Tensor) -> tf.RaggedTensor:
        """The tokens of words `[words]`, at least one of each: int32 `[words, (tokens)]`.

        Of a word with more tokens than a window the first are enough for its tag.
        """
        pieces = self.tokenizer.tokenize(words)[:, : self._room]
        missing = tf.cast(pieces.row_lengths() == 0, tf.int64)  # [words]
        unknown = tf.RaggedTensor.from_row_lengths(
            tf.fill([tf.reduce_sum(missing)], self.tokenizer.unk_id), missing, validate=False
        )
        return tf.concat([pieces, unknown], axis=1)

    # Saving.

    def _head(self) -> dict[str, Any]:
        return {"num_labels": self.model.num_labels}

    def _options(self) -> dict[str, Any]:
        return {
            "labels": list(self.labels),
            "max_length": self.max_length,
            "stride": self.stride,
            "max_words": self.max_words,
        }


def entities_of(text: str, words: Sequence[TaggedWord]) -> list[Entity]:
    """The entities that the BIO tags of a text's words mean.

    >>> entities_of("Ada ran", [TaggedWord("Ada", "B-PER", 0, 3, 0.9)])
    [Entity(text='Ada', label='PER', start=0, end=3, score=0.9)]
    """
    found = []
    for label, first, end in entity_spans([word.tag for word in words]):
        start, stop = words[first].start, words[end - 1].end
        score = min(word.score for word in words[first:end])
        found.append(Entity(text[start:stop], label, start, stop, score))
    return found
