"""Text as it is generated, token by token, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from keras_transformer.generation import Stops
from keras_transformer.generation.growth import FIRST_CAPACITY
from keras_transformer.generation.loop import LoopState, TokenLoop
from keras_transformer.tasks.generation_search import GenerationSearch, Progress
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.row_options import RowOptions
from keras_transformer.tasks.stop_strings import StopStrings


class TextStream:
    """Does what `GenerationSearch` does, for one prompt and with a call for each token.

    The graphs of these calls are traced once, for prompts and texts of any length.

    Args:
        search: one that samples.
    """

    def __init__(self, search: GenerationSearch):
        self._search = search
        ids, row = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
        progress = Progress(
            tokens=ids,
            lengths=row,
            prompt_lengths=row,
            log_probs=tf.TensorSpec([None], tf.float32),
            stop_states=row,
            done=tf.TensorSpec([None], tf.bool),
        )
        # The text so far, its options, and the transitions of its stop strings.
        text, capacity = [progress, RowOptions.specs(), ids], tf.TensorSpec([], tf.int32)
        self._start = graph_function(self._start_round, input_signature=[*text, capacity])
        loop = tf.nest.map_structure(
            lambda tensor: tf.TensorSpec(tensor.shape, tensor.dtype),
            self._start.get_concrete_function().structured_outputs,
        )
        self._step = graph_function(self._advance, input_signature=[*text, loop])
        self._grow = graph_function(self._grown, input_signature=[loop, capacity])
        self._finish = graph_function(self._after_round, input_signature=[*text, loop])

    def __call__(self, prompt: tf.Tensor, options: RowOptions, stops: StopStrings) -> Iterator[str]:
        """Yields pieces of the new text; all together they are the whole.

        A piece holds whole characters, and nothing that may turn out to belong to a stop string.

        Args:
            prompt: string `[1]`.
            options: of one row.
            stops: the stop strings.
        """
        search, spelling = self._search, self._search.spelling
        options = options.within_range()
        tokens, lengths, _ = search.prompt_tokens(prompt)
        progress = search.begin(tokens, lengths, options)
        transitions = tf.constant(stops.transitions)
        is_first = bool(search.nothing_before(progress)[0])  # whether nothing stands before
        pending = b""  # what is not shown yet
        for token, state in self._tokens(progress, options, transitions):
            pending += spelling.tokens[token]
            cut = stops.cut(state)
            held = stops.held[state] if cut is None else 0
            pending = pending[: len(pending) - (cut or 0)]
            if settled := spelling.settled(pending[: len(pending) - held]):
                if text := spelling.settled_text(pending[:settled], is_first):
                    yield text
                pending, is_first = pending[settled:], False
        if text := spelling.text(pending, is_first):  # no stop string came of it
            yield text

    def _tokens(
        self, progress: Progress, options: RowOptions, transitions: tf.Tensor
    ) -> Iterator[tuple[int, int]]:
        """The new tokens, each with the stop state after it."""
        while not progress.done[0]:
            text, capacity = (progress, options, transitions), FIRST_CAPACITY
            loop = self._start(*text, capacity)
            while not loop.done[0]:
                if loop.length == capacity:
                    capacity *= 2
                    loop = self._grow(loop, capacity)
                loop = self._step(*text, loop)
                yield int(loop.last_ids[0]), int(loop.stop_states[0])
            progress = self._finish(*text, loop)

    # The graphs.

    def _loop(self, progress: Progress, options: RowOptions, transitions: tf.Tensor) -> TokenLoop:
        _, limits = self._search.context(progress, options)
        stops = Stops(transitions, progress.stop_states)
        return self._search.token_loop(progress, limits, options, stops)

    def _start_round(
        self, progress: Progress, options: RowOptions, transitions: tf.Tensor, capacity: tf.Tensor
    ) -> LoopState:
        context, limits = self._search.context(progress, options)
        model = self._search.model
        return self._loop(progress, options, transitions).start(
            model.grow(model.start(context, tf.constant(0)), capacity),
            batch_size=tf.shape(context)[0],
            bos_id=model.last_ids(context),
            max_length=tf.reduce_max(limits),
        )

    def _advance(
        self, progress: Progress, options: RowOptions, transitions: tf.Tensor, loop: LoopState
    ) -> LoopState:
        return self._loop(progress, options, transitions).advance(loop)

    def _grown(self, loop: LoopState, capacity: tf.Tensor) -> LoopState:
        return loop._replace(model_state=self._search.model.grow(loop.model_state, capacity))

    def _after_round(
        self, progress: Progress, options: RowOptions, transitions: tf.Tensor, loop: LoopState
    ) -> Progress:
        found = self._loop(progress, options, transitions).found(loop)
        return self._search.after_round(progress, found, options, Stops(transitions))
