"""The tokens of a generated text, where others want its words: one prompt, one window."""

from __future__ import annotations

from functools import cached_property

import tensorflow as tf

from keras_transformer.generation import Stops
from keras_transformer.tasks.answers import WrittenIds
from keras_transformer.tasks.generation_search import GenerationSearch, Progress
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.row_options import RowOptions


class TokenWriter:
    """Goes on from a prompt as the search does, as far as the model's window reaches.

    Args:
        search: how texts are generated.
    """

    def __init__(self, search: GenerationSearch):
        self._search = search

    def __call__(
        self, prompts: tf.Tensor, options: RowOptions, transitions: tf.Tensor
    ) -> WrittenIds:
        """The ids of one prompt `[1]`, as the model reads them, and of what follows.

        Args:
            prompts: string `[1]`.
            options: of that row.
            transitions: of `StopStrings`, int32 `[states, vocab]`.
        """
        tokens, lengths, cut = self._search.prompt_tokens(prompts)
        options = options.within_range()
        wanted, read = int(options.max_new_tokens[0]), int(lengths[0])
        if wanted <= 0:
            return WrittenIds(tokens[0].numpy().tolist(), [], bool(cut[0]))
        room = int(self._search.window.room(lengths)[0])
        options = options._replace(max_new_tokens=tf.constant([min(wanted, room)]))
        progress = self._finish(tokens, lengths, options, transitions)
        length = int(progress.lengths[0])
        ids = progress.tokens[0].numpy().tolist()
        full = wanted > room and length - read == room
        return WrittenIds(ids[:read], ids[read:length], bool(cut[0]) or full)

    @cached_property
    def _finish(self) -> tf.types.experimental.PolymorphicFunction:
        """Tokens of prompts, options and stop strings to the texts' tokens."""

        def finish(
            tokens: tf.Tensor, lengths: tf.Tensor, options: RowOptions, transitions: tf.Tensor
        ) -> Progress:
            progress = self._search.begin(tokens, lengths, options)
            return self._search.finish(progress, options, Stops(transitions))

        return graph_function(
            finish,
            input_signature=[
                tf.TensorSpec([None, None], tf.int32),
                tf.TensorSpec([None], tf.int32),
                RowOptions.specs(),
                tf.TensorSpec([None, None], tf.int32),
            ],
        )
