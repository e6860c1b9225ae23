"""Beam searches over the models made of tables, in graphs."""

import tensorflow as tf
from generation.fakes import BOS, SPECIAL, UNK, Automaton

from keras_transformer.generation import Hypotheses, beam_search

FORBIDDEN = (BOS, UNK)
VOCAB = 7  # PAD, BOS, EOS, UNK and three words
STATES = 6


def searched(model, starts, *, beam_size, max_length, jit_compile=False, **options):
    """Beam search inside a tf.function, from one start state a sentence."""
    options = {"forbidden_ids": FORBIDDEN, **SPECIAL, **options}

    @tf.function(jit_compile=jit_compile)
    def search():
        return beam_search(
            model,
            tf.repeat(tf.constant(starts, tf.int32), beam_size),
            batch_size=len(starts),
            beam_size=beam_size,
            max_length=max_length,
            **options,
        )

    return Hypotheses(*(tensor.numpy() for tensor in search()))


@tf.function
def exhaustive_search(transitions, logits, starts, alpha, max_lengths, min_lengths):
    """One trace for all random tables: 27 beams hold every text of three words, twice three."""
    return beam_search(
        Automaton(transitions, logits),
        tf.repeat(starts, 27),
        batch_size=2,
        beam_size=27,
        n_best=5,
        max_length=4,
        max_lengths=max_lengths,
        min_lengths=min_lengths,
        length_penalty=alpha,
        forbidden_ids=FORBIDDEN,
        **SPECIAL,
    )
