"""Sampling with a seed for each row."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.generation import logits as processors
from keras_transformer.generation.constraints import Constraints
from keras_transformer.generation.greedy import likeliest_token
from keras_transformer.generation.growth import Grow
from keras_transformer.generation.hypotheses import Hypotheses
from keras_transformer.generation.loop import LoopState, TokenLoop
from keras_transformer.generation.step import State, StepModel
from keras_transformer.generation.stops import Stops

Option = float | tf.Tensor | None


@dataclass(frozen=True)
class Draw:
    """Draws the next token of each row by the probabilities that the processors leave.

    A `Choose` of `TokenLoop`; see `sample` for the fields.
    """

    pad_id: int
    seeds: tf.Tensor
    first_number: int | tf.Tensor = 0
    context_ids: tf.Tensor | None = None
    temperature: Option = None
    top_k: int | tf.Tensor | None = None
    top_p: Option = None
    min_p: Option = None
    repetition_penalty: Option = None

    def __call__(
        self, logits: tf.Tensor, log_probs: tf.Tensor, bias: tf.Tensor, loop: LoopState
    ) -> tf.Tensor:
        if self.repetition_penalty is not None:
            model_log_probs = log_probs
            log_probs = tf.cond(
                tf.reduce_all(tf.equal(self.repetition_penalty, 1)),
                lambda: model_log_probs,
                lambda: self._penalised(logits, loop),
            )
        if self.temperature is None:
            return self._drawn(log_probs + bias, loop)
        return tf.cond(
            tf.reduce_all(tf.equal(self.temperature, 0)),
            lambda: likeliest_token(logits, log_probs, bias, loop),
            lambda: self._drawn(log_probs + bias, loop),
        )

    def _penalised(self, logits: tf.Tensor, loop: LoopState) -> tf.Tensor:
        previous = tf.transpose(loop.ids)  # [batch, max_length]
        if self.context_ids is not None:
            previous = tf.concat([self.context_ids, previous], axis=1)
        logits = processors.repetition_penalty(
            logits, previous, self.repetition_penalty, pad_id=self.pad_id
        )
        return tf.nn.log_softmax(logits)

    def _drawn(self, log_probs: tf.Tensor, loop: LoopState) -> tf.Tensor:
        log_probs = processors.temperature(log_probs, self.temperature)
        log_probs = processors.likeliest(log_probs, top_k=self.top_k, top_p=self.top_p)
        log_probs = processors.min_p(log_probs, self.min_p)
        numbers = self.first_number + loop.length
        noise = gumbel_noise(self.seeds, numbers, log_probs.shape[-1])  # [batch, vocab]
        # Gumbel-max trick: the argmax is distributed as softmax(log_probs).
        return tf.argmax(log_probs + noise, axis=-1, output_type=tf.int32)  # [batch]


def sample(
    model: StepModel,
    state: State,
    *,
    seeds: tf.Tensor,
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
    first_number: int | tf.Tensor = 0,
    context_ids: tf.Tensor | None = None,
    temperature: Option = None,
    top_k: int | tf.Tensor | None = None,
    top_p: Option = None,
    min_p: Option = None,
    repetition_penalty: Option = None,
    grow: Grow | None = None,
) -> Hypotheses:
    """Draws each token at random, by the probabilities that the processors leave.

    The random numbers of a row come from its own seed and the token's number alone, so a row gives
    the same text alone and in any batch. Processors act in the order repetition penalty, forbidden
    ids and lengths, temperature, top-k, top-p, min-p; each may be None (off), a number, or a tensor
    [batch].

    Args:
        seeds: int32 or int64 [batch].
        first_number: number of the first token drawn, by which its random numbers are known; an
            int, or int32 [batch] for texts that are continued.
        context_ids: int32 [batch, length], filled up with PAD on either side: what the repetition
            penalty counts as used beside the emitted tokens, such as a prompt.
        temperature: 1 is off, 0 is greedy; see `logits.temperature`.
        top_k: 0 is off, 1 is greedy; see `logits.likeliest`.
        top_p: 1 is off, 0 is greedy; see `logits.likeliest`.
        min_p: 0 is off; see `logits.min_p`.
        repetition_penalty: 1 is off; see `logits.repetition_penalty`.
        model, state, batch_size, bos_id, eos_id, pad_id, max_length, max_lengths, min_lengths,
            forbidden_ids, must_end, stops, grow: as for `greedy_search`.

    Returns:
        `Hypotheses` with `n_best` = 1; scores and log-probabilities are the model's own, without
        temperature and the like.

    Raises:
        ValueError: an option or limit out of its range, or an id outside of the vocabulary.

    >>> class CountingModel:
    ...     def step(self, ids, state):
    ...         return tf.one_hot(ids + 1, 8) * 99.0, state
    >>> found = sample(CountingModel(), (), seeds=[7], batch_size=1, bos_id=3, eos_id=6, pad_id=0,
    ...                max_length=5, top_k=2)
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
    draw = Draw(
        pad_id=pad_id,
        seeds=tf.convert_to_tensor(seeds),
        first_number=first_number,
        context_ids=context_ids,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
    )
    return TokenLoop(model, draw, constraints).run(
        state, batch_size=batch_size, bos_id=bos_id, max_length=max_length, grow=grow
    )


def gumbel_noise(seeds: tf.Tensor, numbers: int | tf.Tensor, size: int) -> tf.Tensor:
    """Standard Gumbel noise, float32 [rows, size], each row from its seed and its number only.

    Args:
        seeds: int32 or int64 [rows].
        numbers: an integer for all rows, or integers [rows].
        size: of the vocabulary.

    >>> gumbel_noise(tf.constant([1, 2]), 0, 5).shape.as_list()
    [2, 5]
    """
    numbers = tf.cast(numbers, seeds.dtype) + tf.zeros_like(seeds)  # [rows]

    def row(seed: tf.Tensor) -> tf.Tensor:
        return tf.random.stateless_uniform(
            [size],
            seed=seed,
            minval=None,
            maxval=None,
            dtype=tf.uint32,
            alg="philox",
        )

    # Whole numbers, because XLA makes other fractions of the same bits.
    bits = tf.map_fn(
        row,
        tf.stack([seeds, numbers], axis=1),  # [rows, 2]
        fn_output_signature=tf.TensorSpec([size], tf.uint32),
    )
    uniform = (tf.cast(tf.bitwise.right_shift(bits, 9), tf.float32) + 0.5) * 2.0**-23  # in (0, 1)
    return -tf.math.log(-tf.math.log(uniform))  # [rows, size]
