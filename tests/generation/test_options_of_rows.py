"""All options together, each row with its own, against a slow reference in NumPy."""

import numpy as np
import tensorflow as tf
from generation import slow_choice
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_transformer.generation import logits as processors
from keras_transformer.generation.loop import LoopState
from keras_transformer.generation.sampling import Draw, gumbel_noise

VOCAB, ROWS, PAD = 11, 3, 0
OFF = (1.0, 0, 1.0, 0.0, 1.0)  # temperature, top-k, top-p, min-p, repetition penalty


# Values that no random probability comes near by chance.
options = st.tuples(
    st.sampled_from([0.0, 0.31, 1.0, 1.7]),
    st.sampled_from([0, 1, 2, 5, 10, 99]),
    st.sampled_from([0.0, 0.271828, 0.618034, 0.90909, 1.0]),
    st.sampled_from([0.0, 0.05772, 0.3141, 0.8123]),
    st.sampled_from([0.77, 1.0, 1.3, 4.1]),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    rows=st.tuples(options, options, options),
    used=st.tuples(*[st.lists(st.integers(1, VOCAB - 1), max_size=4)] * ROWS),
)
@example(seed=0, rows=(OFF, OFF, OFF), used=([], [1], [1, 2]))
def test_every_row_draws_by_its_own_options_what_the_reference_would_draw(seed, rows, used):
    logits = np.random.default_rng(seed).normal(scale=2.0, size=[ROWS, VOCAB]).astype(np.float32)
    temperature, top_k, top_p, min_p, penalty = (tf.constant(v) for v in zip(*rows, strict=True))
    context = [[*ids, *[PAD] * (4 - len(ids))] for ids in used]
    draw = Draw(
        pad_id=PAD,
        seeds=tf.constant([seed, seed + 1, seed + 2]),
        first_number=tf.constant([0, 5, 9]),
        context_ids=tf.constant(context, tf.int32),
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=penalty,
    )
    loop = LoopState(*[None] * len(LoopState._fields))._replace(
        length=tf.constant(0), ids=tf.fill([2, ROWS], PAD)
    )
    bias = tf.where(tf.range(VOCAB) == PAD, float("-inf"), 0.0)[None]  # [1, vocab]
    drawn = draw(tf.constant(logits), tf.nn.log_softmax(logits), bias, loop).numpy()
    noise = gumbel_noise(draw.seeds, draw.first_number, VOCAB).numpy()
    for row in range(ROWS):
        expected = slow_choice.probabilities(logits[row], used[row], (PAD,), *rows[row])
        assert drawn[row] == slow_choice.draw(expected, noise[row])


def test_processors_give_the_probabilities_of_the_reference():
    logits = np.random.default_rng(1).normal(scale=2.0, size=[1, VOCAB]).astype(np.float32)
    logits[0, PAD] = -np.inf
    scores = processors.temperature(tf.constant(logits), 0.7)
    scores = processors.likeliest(scores, top_k=6, top_p=0.9)
    scores = processors.min_p(scores, 0.1)
    expected = slow_choice.probabilities(logits[0], (), (PAD,), 0.7, 6, 0.9, 0.1)
    found = tf.nn.softmax(scores)[0].numpy()
    np.testing.assert_allclose(found, [expected.get(t, 0.0) for t in range(VOCAB)], atol=1e-6)
