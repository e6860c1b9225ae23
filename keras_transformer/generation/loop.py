"""The loop that grows one text a sentence; greedy search and sampling differ only in the choice."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.generation.constraints import Constraints
from keras_transformer.generation.growth import Grow, search_loop
from keras_transformer.generation.hypotheses import Hypotheses, ended, length_penalty
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
    log_probs: tf.Tensor  # float32 [batch]: the model's own, summed until EOS
    done: tf.Tensor  # bool [batch]: EOS was chosen; nothing of such a row changes any more
    model_state: State


Choose = Callable[[tf.Tensor, tf.Tensor, tf.Tensor, LoopState], tf.Tensor]
"""`choose(logits, log_probs, bias, loop) -> int32 [batch]`; all three float32 [batch, vocab]
(`bias` perhaps [1, vocab]), `log_probs` the model's own, `bias` 0 or `-inf`."""


def generate(
    model: StepModel,
    state: State,
    choose: Choose,
    constraints: Constraints,
    *,
    batch_size: int | tf.Tensor,
    bos_id: int | tf.Tensor,
    max_length: int | tf.Tensor,
    alpha: float | tf.Tensor,
    grow: Grow | None,
) -> Hypotheses:
    """Runs `choose` until every row has ended; see `greedy_search` for the arguments."""

    def unfinished(loop: LoopState) -> tf.Tensor:
        return (loop.length < max_length) & ~tf.reduce_all(loop.done)

    def advance(loop: LoopState) -> tuple[LoopState]:
        logits, model_state = model.step(loop.last_ids, loop.model_state)  # [batch, vocab]
        logits = tf.cast(logits, tf.float32)
        length = loop.length + 1
        log_probs = tf.nn.log_softmax(logits)  # [batch, vocab]
        bias = constraints.bias(length, vocabulary_size(logits))
        chosen = choose(logits, log_probs, bias, loop)  # [batch]
        gained = tf.gather(log_probs, chosen, batch_dims=1)  # [batch]
        chosen = tf.where(loop.done, constraints.pad_id, chosen)
        return (
            LoopState(
                length=length,
                last_ids=chosen,
                ids=tf.tensor_scatter_nd_update(loop.ids, [[loop.length]], chosen[None]),
                log_probs=tf.where(loop.done, loop.log_probs, loop.log_probs + gained),
                done=loop.done | (chosen == constraints.eos_id),
                model_state=keep_shapes(model_state, loop.model_state),
            ),
        )

    start = LoopState(
        length=tf.constant(0),
        last_ids=tf.fill([batch_size], 0) + tf.cast(bos_id, tf.int32),
        ids=tf.fill([max_length, batch_size], constraints.pad_id),
        log_probs=tf.fill([batch_size], 0.0),
        done=tf.fill([batch_size], False),
        model_state=as_tensors(state),
    )
    loop = search_loop(unfinished, advance, start, max_length=max_length, grow=grow)

    ids = tf.transpose(loop.ids)  # [batch, max_length]
    tokens = (ids != constraints.pad_id) & (ids != constraints.eos_id)
    lengths = tf.reduce_sum(tf.cast(tokens, tf.int32), axis=1) + 1  # [batch]
    ids = ended(ids, lengths, eos_id=constraints.eos_id, pad_id=constraints.pad_id)
    scores = loop.log_probs / length_penalty(lengths, alpha)
    return Hypotheses(  # [batch, ...] -> [batch, n_best = 1, ...]
        *(tensor[:, None] for tensor in (ids, scores, lengths, loop.log_probs))
    )
