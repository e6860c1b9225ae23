"""Beam search with live and finished hypotheses kept apart."""

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.generation.constraints import Constraints
from keras_transformer.generation.greedy import greedy_search
from keras_transformer.generation.growth import Grow, search_loop
from keras_transformer.generation.hypotheses import Hypotheses
from keras_transformer.generation.hypotheses import length_penalty as penalty
from keras_transformer.generation.step import (
    State,
    StepModel,
    as_tensors,
    keep_shapes,
    vocabulary_size,
)
from keras_transformer.generation.stops import Stops
from keras_transformer.generation.top_k import wide_top_k

_IMPOSSIBLE = float("-inf")


class BeamState(NamedTuple):
    """All that changes from one step to the next."""

    length: tf.Tensor  # int32 []: tokens of every live hypothesis
    last_ids: tf.Tensor  # int32 [batch * beam]: what the model is fed next
    live_ids: tf.Tensor  # int32 [batch, beam, max_length]: best first, never with EOS
    live_log_probs: tf.Tensor  # float32 [batch, beam]: falling; -inf where no hypothesis is
    live_stop_states: tf.Tensor  # int32 [batch, beam]
    finished: Hypotheses  # best first; fillers where none is
    done: tf.Tensor  # bool [batch]: the finished ones of this row are final
    model_state: State


def beam_search(
    model: StepModel,
    state: State,
    *,
    batch_size: int | tf.Tensor,
    beam_size: int,
    bos_id: int | tf.Tensor,
    eos_id: int,
    pad_id: int,
    max_length: int | tf.Tensor,
    n_best: int = 1,
    max_lengths: tf.Tensor | None = None,
    min_lengths: tf.Tensor | None = None,
    forbidden_ids: tuple[int, ...] = (),
    must_end: bool = True,
    stops: Stops | None = None,
    length_penalty: float | tf.Tensor = 0.6,
    grow: Grow | None = None,
) -> Hypotheses:
    """Finds the best texts that a beam of `beam_size` hypotheses a sentence comes by.

    Score: log-probability divided by the length penalty of the hypothesis' own length (Wu et al.
    2016, section 7). At each step the best `2 * beam_size` continuations of a row are looked at,
    so that `beam_size` live ones remain whatever number of them ends. Those that end compete for
    the `n_best` finished places and never change again.

    A row is done as soon as no live hypothesis can still win a place. That is a proof, not a
    guess: log-probabilities are never positive, so a live hypothesis can at best keep the one it
    has, and the penalty that is kindest to it is that of the row's maximum length; a score that
    is no better than the worst finished one comes too late, as the earlier wins a tie. Stopping
    there gives the same result as searching to the end, and a row gives the same result alone
    and in a batch.

    A hypothesis at its maximum length has only EOS to go on with, at EOS's log-probability. So
    all results end with EOS and all scores are those of whole sequences under the model. Unless
    texts need not end (`must_end`): then all that have come to the maximum length compete for the
    finished places as they are.

    Ties go to the earlier finished hypothesis, then to the lower beam, then to the likelier token
    of that step, then to the lower id.

    With `beam_size` 1 there is nothing to rank: the result is that of `greedy_search`, whatever
    the length penalty, and `model.reorder` is not called.

    Args:
        model: see `StepModel`.
        state: the model's state for `batch_size * beam_size` rows, those of a sentence alike.
        batch_size: number of sentences, at least 1; an int or an int32 scalar.
        beam_size: number of live hypotheses a sentence.
        bos_id: the id that is fed first; an int, or int32 [batch] to continue prompts.
        eos_id: ends a text.
        pad_id: fills up the result; never emitted (unless it is the EOS id). -1 where the
            vocabulary has none.
        max_length: width of the result; an int or an int32 scalar.
        n_best: number of results a sentence, from 1 to `beam_size`; where fewer exist, fillers
            with score `-inf` follow.
        max_lengths: int32 [batch], a row's own limit on its number of tokens, EOS counted; at
            most `max_length`. 0 leaves only fillers.
        min_lengths: int32 [batch], the number of tokens before EOS that a row must have.
        forbidden_ids: ids never emitted besides PAD, such as BOS and UNK.
        must_end: whether every text ends with EOS; see `greedy_search`.
        stops: sequences of tokens that end a text as EOS does; they stay part of it.
        length_penalty: alpha, 0 or more; a scalar or float32 [batch].
        grow: gives the state more room; see `greedy_search`.

    Returns:
        `Hypotheses`, best first.

    Raises:
        ValueError: a size or limit out of its range, or an id outside of the vocabulary.

    >>> class CountingModel:
    ...     def step(self, ids, state):
    ...         return tf.one_hot(ids + 1, 8) * 9.0, state
    ...     def reorder(self, state, rows):
    ...         return state
    >>> found = beam_search(CountingModel(), (), batch_size=1, beam_size=2, bos_id=3, eos_id=6,
    ...                     pad_id=0, max_length=5)
    >>> found.ids.numpy().tolist()
    [[[4, 5, 6, 0, 0]]]
    """
    if beam_size < 1:
        raise ValueError(f"beam_size is {beam_size}; it must be at least 1.")
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best is {n_best}; it must be from 1 to beam_size ({beam_size}).")
    if isinstance(length_penalty, int | float) and length_penalty < 0:
        raise ValueError(f"length_penalty is {length_penalty}; it must be 0 or more.")
    if beam_size == 1:
        return greedy_search(
            model,
            state,
            batch_size=batch_size,
            bos_id=bos_id,
            eos_id=eos_id,
            pad_id=pad_id,
            max_length=max_length,
            max_lengths=max_lengths,
            min_lengths=min_lengths,
            forbidden_ids=forbidden_ids,
            must_end=must_end,
            stops=stops,
            length_penalty=length_penalty,
            grow=grow,
        )
    constraints = Constraints.create(
        eos_id=eos_id,
        pad_id=pad_id,
        forbidden_ids=forbidden_ids,
        max_length=max_length,
        max_lengths=max_lengths,
        min_lengths=min_lengths,
        must_end=must_end,
        stops=stops,
    )
    alpha = tf.cast(length_penalty, tf.float32)
    # The penalty that a live log-probability can at best be divided by: that of the greatest
    # length (of the least one, were alpha negative). [batch] or [1]
    kindest_penalty = tf.maximum(penalty(constraints.max_lengths, alpha), penalty(1, alpha))
    alpha = tf.reshape(alpha, [-1, 1])  # [batch or 1, 1]
    first_rows = tf.range(batch_size)[:, None] * beam_size  # [batch, 1]
    positions = tf.range(1, max_length + 1)  # [max_length]

    def unfinished(beams: BeamState) -> tf.Tensor:
        return (beams.length < max_length) & ~tf.reduce_all(beams.done)

    def advance(beams: BeamState) -> tuple[BeamState]:
        logits, model_state = model.step(beams.last_ids, beams.model_state)  # [rows, vocab]
        length = beams.length + 1

        # The best continuations of each beam, then of each sentence.
        vocab_size = vocabulary_size(logits)
        log_probs = tf.nn.log_softmax(tf.cast(logits, tf.float32))  # [batch * beam, vocab]
        log_probs = tf.reshape(log_probs, [batch_size, beam_size, vocab_size])
        log_probs += constraints.bias(length, vocab_size)[:, None]  # [batch, beam, vocab]
        log_probs = tf.reshape(log_probs, [-1, vocab_size])  # [batch * beam, vocab]
        choices = min(2 * beam_size, vocab_size)
        log_probs, ids = wide_top_k(log_probs, choices)  # [batch * beam, choices]
        log_probs = tf.reshape(log_probs, [batch_size, beam_size, choices])
        log_probs += beams.live_log_probs[..., None]  # [batch, beam, choices]
        log_probs = tf.reshape(log_probs, [batch_size, beam_size * choices])
        log_probs, best = tf.math.top_k(log_probs, 2 * beam_size)  # [batch, 2 * beam]
        ids = tf.reshape(ids, [batch_size, beam_size * choices])
        ids = tf.gather(ids, best, batch_dims=1)  # [batch, 2 * beam]
        parents = best // choices  # [batch, 2 * beam]
        texts = tf.gather(beams.live_ids, parents, batch_dims=1)  # [batch, 2 * beam, max_length]
        texts = tf.where(positions == length, ids[..., None], texts)
        stop_states = tf.gather(beams.live_stop_states, parents, batch_dims=1)  # [batch, 2 * beam]
        stop_states = constraints.follow(stop_states, ids)
        is_end = constraints.ends(ids, stop_states)  # [batch, 2 * beam]
        at_limit = constraints.at_limit(length)  # [batch] or [1]

        # Those that end compete with the finished ones, which come first and so win ties.
        counts = (is_end | at_limit[:, None]) & ~beams.done[:, None]  # [batch, 2 * beam]
        scores = tf.where(counts, log_probs / penalty(length, alpha), _IMPOSSIBLE)
        lengths = tf.zeros_like(ids) + length
        ending = Hypotheses(texts, scores, lengths, log_probs, stop_states)
        both = Hypotheses(
            *(tf.concat(pair, axis=1) for pair in zip(beams.finished, ending, strict=True))
        )  # [batch, n_best + 2 * beam, ...]
        _, kept = tf.math.top_k(both.scores, n_best)  # [batch, n_best]
        finished = Hypotheses(*(tf.gather(tensor, kept, batch_dims=1) for tensor in both))

        # Those that do not end live on.
        live_log_probs, kept = tf.math.top_k(
            tf.where(is_end, _IMPOSSIBLE, log_probs), beam_size
        )  # [batch, beam]
        live_ids = tf.gather(texts, kept, batch_dims=1)  # [batch, beam, max_length]
        ids = tf.gather(ids, kept, batch_dims=1)  # [batch, beam]
        rows = first_rows + tf.gather(parents, kept, batch_dims=1)  # [batch, beam]
        model_state = model.reorder(model_state, tf.reshape(rows, [-1]))  # rows: [batch * beam]

        attainable = live_log_probs[:, 0] / kindest_penalty  # [batch]
        return (
            BeamState(
                length=length,
                last_ids=tf.reshape(ids, [-1]),  # [batch * beam]
                live_ids=live_ids,
                live_log_probs=live_log_probs,
                live_stop_states=tf.gather(stop_states, kept, batch_dims=1),  # [batch, beam]
                finished=finished,
                done=beams.done | at_limit | (finished.scores[:, -1] >= attainable),
                model_state=keep_shapes(model_state, beams.model_state),
            ),
        )

    # All beams of a sentence start alike, so all but the first are switched off.
    only_first = tf.one_hot([0], beam_size, on_value=0.0, off_value=_IMPOSSIBLE)  # [1, beam]
    first_ids = tf.fill([batch_size], 0) + tf.cast(bos_id, tf.int32)  # [batch]
    start = BeamState(
        length=tf.constant(0),
        last_ids=tf.repeat(first_ids, beam_size),  # [batch * beam]
        live_ids=tf.fill([batch_size, beam_size, max_length], pad_id),
        live_log_probs=tf.tile(only_first, [batch_size, 1]),  # [batch, beam]
        live_stop_states=tf.tile(
            constraints.first_stop_states(batch_size)[:, None], [1, beam_size]
        ),  # [batch, beam]
        finished=Hypotheses(
            ids=tf.fill([batch_size, n_best, max_length], pad_id),
            scores=tf.fill([batch_size, n_best], _IMPOSSIBLE),
            lengths=tf.fill([batch_size, n_best], 0),
            log_probs=tf.fill([batch_size, n_best], _IMPOSSIBLE),
            stop_states=tf.tile(constraints.first_stop_states(batch_size)[:, None], [1, n_best]),
        ),
        done=tf.fill([batch_size], False) | constraints.at_limit(0),
        model_state=as_tensors(state),
    )
    return search_loop(unfinished, advance, start, max_length=max_length, grow=grow).finished
