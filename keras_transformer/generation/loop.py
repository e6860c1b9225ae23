"""The loop that grows one text a sentence; greedy search and sampling differ only in the choice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.generation.constraints import Constraints
from keras_transformer.generation.growth import Grow, search_loop
from keras_transformer.generation.hypotheses import Hypotheses, length_penalty
from keras_transformer.generation.step import (
    State,
    StepModel,
    as_tensors,
    keep_shapes,
    vocabulary_size,
)


class LoopState(NamedTuple):
    """All that changes from one step to the next."""

    length: tf.Tensor  # int32 []: tokens chosen so far
    last_ids: tf.Tensor  # int32 [batch]: what the model is fed next
    ids: tf.Tensor  # int32 [max_length, batch]: time-major, so that a step writes one row
    lengths: tf.Tensor  # int32 [batch]: tokens of each text, EOS among them
    log_probs: tf.Tensor  # float32 [batch]: the model's own, summed until EOS
    stop_states: tf.Tensor  # int32 [batch]
    done: tf.Tensor  # bool [batch]: the text is over; nothing of such a row changes any more
    model_state: State


Choose = Callable[[tf.Tensor, tf.Tensor, tf.Tensor, LoopState], tf.Tensor]
"""`choose(logits, log_probs, bias, loop) -> int32 [batch]`; all three float32 [batch, vocab]
(`bias` perhaps [1, vocab]), `log_probs` the model's own, `bias` 0 or `-inf`."""


@dataclass(frozen=True)
class TokenLoop:
    """Grows texts token by token, each the one that `choose` gives.

    `run` does it all in one graph. Who wants to see each token calls `start` once, `advance` while
    `unfinished`, and `found`.
    """

    model: StepModel
    choose: Choose
    constraints: Constraints

    def start(
        self,
        state: State,
        *,
        batch_size: int | tf.Tensor,
        bos_id: int | tf.Tensor,
        max_length: int | tf.Tensor,
    ) -> LoopState:
        """Texts without a token; a row whose limit is 0 is over."""
        rules = self.constraints
        return LoopState(
            length=tf.constant(0),
            last_ids=tf.fill([batch_size], 0) + tf.cast(bos_id, tf.int32),
            ids=tf.fill([max_length, batch_size], rules.pad_id),
            lengths=tf.fill([batch_size], 0),
            log_probs=tf.fill([batch_size], 0.0),
            stop_states=rules.first_stop_states(batch_size),
            done=tf.fill([batch_size], False) | rules.at_limit(0),
            model_state=as_tensors(state),
        )

    def unfinished(self, loop: LoopState) -> tf.Tensor:
        """Whether any text goes on: bool []."""
        # The buffer's length also bounds the loop, which XLA wants to see.
        return (loop.length < tf.shape(loop.ids)[0]) & ~tf.reduce_all(loop.done)

    def advance(self, loop: LoopState) -> LoopState:
        """The texts with one more token each, but for those that are over."""
        rules = self.constraints
        logits, model_state = self.model.step(loop.last_ids, loop.model_state)  # [batch, vocab]
        logits = tf.cast(logits, tf.float32)
        length = loop.length + 1
        log_probs = tf.nn.log_softmax(logits)  # [batch, vocab]
        bias = rules.bias(length, vocabulary_size(logits))
        chosen = self.choose(logits, log_probs, bias, loop)  # [batch]
        gained = tf.gather(log_probs, chosen, batch_dims=1)  # [batch]
        stop_states = rules.follow(loop.stop_states, chosen)
        over = rules.ends(chosen, stop_states) | rules.at_limit(length)  # [batch]
        written = tf.where(loop.done, rules.pad_id, chosen)
        return LoopState(
            length=length,
            last_ids=written,
            ids=tf.tensor_scatter_nd_update(loop.ids, [[loop.length]], written[None]),
            lengths=tf.where(loop.done, loop.lengths, length),
            log_probs=tf.where(loop.done, loop.log_probs, loop.log_probs + gained),
            stop_states=tf.where(loop.done, loop.stop_states, stop_states),
            done=loop.done | over,
            model_state=keep_shapes(model_state, loop.model_state),
        )

    def run(
        self,
        state: State,
        *,
        batch_size: int | tf.Tensor,
        bos_id: int | tf.Tensor,
        max_length: int | tf.Tensor,
        alpha: float | tf.Tensor = 0.0,
        grow: Grow | None = None,
    ) -> Hypotheses:
        """Goes on until every row has ended; see `greedy_search` for the arguments."""
        start = self.start(state, batch_size=batch_size, bos_id=bos_id, max_length=max_length)
        loop = search_loop(
            self.unfinished,
            lambda loop: (self.advance(loop),),
            start,
            max_length=max_length,
            grow=grow,
        )
        return self.found(loop, alpha)

    def found(self, loop: LoopState, alpha: float | tf.Tensor = 0.0) -> Hypotheses:
        """The texts; `alpha` is the length penalty's."""
        scores = loop.log_probs / length_penalty(loop.lengths, alpha)
        found = (tf.transpose(loop.ids), scores, loop.lengths, loop.log_probs, loop.stop_states)
        # [batch, ...] -> [batch, n_best = 1, ...]
        return Hypotheses(*(tensor[:, None] for tensor in found))
