"""Sampling with a seed for each row."""

import tensorflow as tf

from keras_transformer.generation import logits as processors
from keras_transformer.generation.constraints import Constraints
from keras_transformer.generation.growth import Grow
from keras_transformer.generation.hypotheses import Hypotheses
from keras_transformer.generation.loop import LoopState, generate
from keras_transformer.generation.step import State, StepModel


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
    temperature: float | tf.Tensor | None = None,
    top_k: int | tf.Tensor | None = None,
    top_p: float | tf.Tensor | None = None,
    repetition_penalty: float | tf.Tensor | None = None,
    grow: Grow | None = None,
) -> Hypotheses:
    """Draws each token at random, by the probabilities that the processors leave.

    The random numbers of a row come from its own seed and the step alone, so a row gives the same
    text alone and in any batch. Processors act in the order repetition penalty, forbidden ids and
    lengths, temperature, top-k, top-p; each may be None (off), a number, or a tensor [batch].

    Args:
        seeds: int32 or int64 [batch].
        temperature: 1 is off, 0 is greedy; see `logits.temperature`.
        top_k: 0 is off, 1 is greedy; see `logits.top_k`.
        top_p: 1 is off, 0 is greedy; see `logits.top_p`.
        repetition_penalty: 1 is off; of the emitted tokens, not of a prompt; see
            `logits.repetition_penalty`.
        model, state, batch_size, bos_id, eos_id, pad_id, max_length, max_lengths, min_lengths,
            forbidden_ids, grow: as for `greedy_search`.

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
    seeds = tf.convert_to_tensor(seeds)
    constraints = Constraints.create(
        eos_id=eos_id,
        pad_id=pad_id,
        forbidden_ids=forbidden_ids,
        max_length=max_length,
        max_lengths=max_lengths,
        min_lengths=min_lengths,
    )

    def draw(
        logits: tf.Tensor, log_probs: tf.Tensor, bias: tf.Tensor, loop: LoopState
    ) -> tf.Tensor:
        if repetition_penalty is not None:
            previous = tf.transpose(loop.ids)  # [batch, max_length]
            log_probs = tf.nn.log_softmax(
                processors.repetition_penalty(logits, previous, repetition_penalty, pad_id=pad_id)
            )
        log_probs += bias
        log_probs = processors.temperature(log_probs, temperature)
        log_probs = processors.top_k(log_probs, top_k)
        log_probs = processors.top_p(log_probs, top_p)
        noise = gumbel_noise(seeds, loop.length, log_probs.shape[-1])  # [batch, vocab]
        # Gumbel-max trick: the argmax is distributed as softmax(log_probs).
        return tf.argmax(log_probs + noise, axis=-1, output_type=tf.int32)  # [batch]

    return generate(
        model,
        state,
        draw,
        constraints,
        batch_size=batch_size,
        bos_id=bos_id,
        max_length=max_length,
        alpha=0.0,
        grow=grow,
    )


def gumbel_noise(seeds: tf.Tensor, step: tf.Tensor, size: int) -> tf.Tensor:
    """Standard Gumbel noise, float32 [rows, size], each row from its seed and the step only.

    >>> gumbel_noise(tf.constant([1, 2]), 0, 5).shape.as_list()
    [2, 5]
    """
    step = tf.cast(step, seeds.dtype)

    def row(seed: tf.Tensor) -> tf.Tensor:
        return tf.random.stateless_uniform(
            [size],
            seed=tf.stack([seed, step]),
            minval=None,
            maxval=None,
            dtype=tf.uint32,
            alg="philox",
        )

    # Whole numbers, because XLA makes other fractions of the same bits.
    bits = tf.map_fn(row, seeds, fn_output_signature=tf.TensorSpec([size], tf.uint32))
    uniform = (tf.cast(tf.bitwise.right_shift(bits, 9), tf.float32) + 0.5) * 2.0**-23  # in (0, 1)
    return -tf.math.log(-tf.math.log(uniform))  # [rows, size]
