"""Greedy search: the likeliest token at every step."""

import tensorflow as tf

from keras_transformer.generation.constraints import Constraints
from keras_transformer.generation.growth import Grow
from keras_transformer.generation.hypotheses import Hypotheses
from keras_transformer.generation.loop import LoopState, TokenLoop
from keras_transformer.generation.step import State, StepModel
from keras_transformer.generation.stops import Stops


def greedy_search(
    model: StepModel,
    state: State,
    *,
    batch_size: int | tf.Tensor,
    bos_id: int | tf.Tensor,
    eos_id: int,
    pad_id: int,
    max_length: int | tf.Tensor,
    max_lengths: tf.Tensor | None = None,
    min_lengths: tf.Tensor | None = None,
    forbidden_ids: tuple[int, ...] = (),
    must_end: bool = True,
    stops: Stops | None = None,
    length_penalty: float | tf.Tensor = 0.0,
    grow: Grow | None = None,
) -> Hypotheses:
    """Takes the likeliest token at every step (the lower id on a tie) until EOS.

    Costs as many calls of `model.step` as the longest text has tokens; a row that has ended is
    fed PAD and does not change any more, so a row's answer does not depend on its batch.

    Args:
        model: see `StepModel`.
        state: the model's state for `batch_size` rows.
        batch_size: number of rows, at least 1; an int or an int32 scalar.
        bos_id: the id that is fed first; an int, or int32 [batch] to continue prompts.
        eos_id: ends a text.
        pad_id: fills up the result; never emitted (unless it is the EOS id). -1 where the
            vocabulary has none; the model is then fed -1 for rows that have ended.
        max_length: width of the result; an int or an int32 scalar.
        max_lengths: int32 [batch], a row's own limit on its number of tokens, EOS counted; at
            most `max_length`. 0 gives no token at all.
        min_lengths: int32 [batch], the number of tokens before EOS that a row must have.
        forbidden_ids: ids never emitted besides PAD, such as BOS and UNK.
        must_end: whether every text ends with EOS: the last place that a limit leaves is then
            EOS's (see `Constraints`). If not, a text at its limit is just over, without EOS.
        stops: sequences of tokens that end a text as EOS does; they stay part of it.
        length_penalty: alpha of the reported scores, a scalar or float32 [batch]; it changes
            nothing in what is found.
        grow: the model's function that gives a state room for more tokens. Then `state` has room
            for none yet, and gets it as the texts become longer, so that a short text does not
            pay for the longest one allowed. By default `state` has room for `max_length`, and the
            loop can be compiled by XLA.

    Returns:
        `Hypotheses` with `n_best` = 1.

    Raises:
        ValueError: a limit below 1, or an id outside of the vocabulary.

    >>> class CountingModel:
    ...     def step(self, ids, state):
    ...         return tf.one_hot(ids + 1, 8) * 9.0, state
    >>> found = greedy_search(CountingModel(), (), batch_size=1, bos_id=3, eos_id=6, pad_id=0,
    ...                       max_length=5)
    >>> found.ids.numpy().tolist()
    [[[4, 5, 6, 0, 0]]]
    """
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
    return TokenLoop(model, likeliest_token, constraints).run(
        state,
        batch_size=batch_size,
        bos_id=bos_id,
        max_length=max_length,
        alpha=length_penalty,
        grow=grow,
    )


def likeliest_token(
    logits: tf.Tensor, log_probs: tf.Tensor, bias: tf.Tensor, loop: LoopState
) -> tf.Tensor:
    """What greedy search chooses, see `Choose`: int32 [batch]."""
    return tf.argmax(log_probs + bias, axis=-1, output_type=tf.int32)
