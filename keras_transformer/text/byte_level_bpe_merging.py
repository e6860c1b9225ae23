"""The merges of byte pair encoding, for all words of a batch at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

BEGIN = -1  # stands before each word; no pair with it has a rank
NEVER = 2**31 - 1  # the rank of a pair that is not merged
HALF = 32  # bits: two numbers of 32 make one of 64


class MergeTable:
    """Merges pairs of symbols by rank (Sennrich et al. 2016), as graph ops over constants.

    In each word the pair of the lowest rank is merged, the leftmost one of several, until no pair
    of the word has a rank. A round does one merge in every word that still has one, and words that
    are finished leave the loop: the work of a round follows the symbols that are left, not the
    longest word.

    Args:
        merges: left, right and the merged symbol, none negative, in the order of their ranks.

    >>> table = MergeTable([(0, 1, 2), (2, 2, 3)])
    >>> table.merge(tf.ragged.constant([[0, 1, 0, 1, 0], [1]])).to_list()
    [[3, 0], [1]]
    """

    def __init__(self, merges: Sequence[tuple[int, int, int]]):
        left, right, merged = np.array(merges, np.int64).reshape(-1, 3).T
        pairs = (left << HALF) + right
        order = np.argsort(pairs)
        # NumPy, so that every graph gets constants of its own. One more entry, so that what is
        # searched for always has a place.
        self._pairs = np.append(pairs[order], np.iinfo(np.int64).max)  # [merges + 1], sorted
        self._ranks = np.append(order, NEVER).astype(np.int32)  # [merges + 1]
        self._merged = merged.astype(np.int32)  # [merges], by rank

    def merge(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """Merges what can be merged.

        Args:
            words: int32 [words, (symbols)], none empty.

        Returns:
            int32 [words, (tokens)].
        """
        return _merge(words, self._pairs, self._ranks, self._merged)


# A function, so that eager callers do not go through the loop op by op, and one for all tables.
@tf.function(
    input_signature=[
        tf.RaggedTensorSpec([None, None], tf.int32, 1),
        tf.TensorSpec([None], tf.int64),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([None], tf.int32),
    ],
    autograph=False,
)
def _merge(
    words: tf.RaggedTensor, pairs: tf.Tensor, ranks_of_pairs: tf.Tensor, merged_of_ranks: tf.Tensor
) -> tf.RaggedTensor:
    def rank(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        wanted = tf.bitwise.left_shift(tf.cast(left, tf.int64), HALF) + tf.cast(right, tf.int64)
        place = tf.searchsorted(pairs, wanted)
        return tf.where(tf.gather(pairs, place) == wanted, tf.gather(ranks_of_pairs, place), NEVER)

    def words_are_left(symbols, ranks, names, done, done_names):
        return tf.size(names) > 0

    def one_merge_a_word(symbols, ranks, names, done, done_names):
        # The lowest rank and, of equal ones, the first place, as one number.
        place = tf.range(tf.size(symbols, tf.int64))
        scores = tf.bitwise.left_shift(tf.cast(ranks, tf.int64), HALF) + place
        word = tf.cumsum(tf.cast(symbols == BEGIN, tf.int32)) - 1  # [symbols]
        best = tf.math.segment_min(scores, word)  # [words]
        best_rank = tf.cast(tf.bitwise.right_shift(best, HALF), tf.int32)
        unfinished = best_rank < NEVER  # [words]
        left = tf.boolean_mask(tf.bitwise.bitwise_and(best, 2**HALF - 1), unfinished)
        merged = tf.gather(merged_of_ranks, tf.boolean_mask(best_rank, unfinished))  # [merging]
        symbols = tf.tensor_scatter_nd_update(symbols, left[:, None], merged)

        stays = tf.gather(unfinished, word)  # [symbols]
        done = tf.concat([done, tf.boolean_mask(symbols, ~stays)], 0)
        done_names = tf.concat([done_names, tf.boolean_mask(names, ~unfinished)], 0)
        names = tf.boolean_mask(names, unfinished)
        stays = tf.tensor_scatter_nd_update(stays, left[:, None] + 1, tf.zeros_like(left, tf.bool))
        kept = tf.where(stays)[:, 0]  # [symbols left]
        symbols, ranks = tf.gather(symbols, kept), tf.gather(ranks, kept)

        # Only the pairs on either side of a merged symbol are new.
        left = tf.searchsorted(kept, left)  # [merging]
        changed = tf.concat([left - 1, left], 0)  # [2 * merging]
        following = tf.gather(tf.concat([symbols, [BEGIN]], 0), changed + 1)
        new_ranks = rank(tf.gather(symbols, changed), following)
        ranks = tf.tensor_scatter_nd_update(ranks, changed[:, None], new_ranks)
        return symbols, ranks, names, done, done_names

    count = words.nrows(tf.int32)
    symbols = tf.concat([tf.fill([count, 1], BEGIN), words], axis=1).values  # [symbols]
    following = tf.concat([symbols[1:], [BEGIN]], 0)[: tf.size(symbols)]
    nothing = tf.zeros([0], tf.int32)
    # Names are the places of the words in `words`; `done` is what has left the loop.
    state = (symbols, rank(symbols, following), tf.range(count), nothing, nothing)
    vectors = tuple(tf.TensorShape([None]) for _ in state)
    *_, done, done_names = tf.while_loop(
        words_are_left, one_merge_a_word, state, shape_invariants=vectors
    )
    begins = tf.where(done == BEGIN)[:, 0]  # [words]
    ends = tf.concat([begins[1:], tf.shape(done, tf.int64)], 0)[: tf.size(begins)]
    tokens = tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(done, done != BEGIN), ends - begins - 1, validate=False
    )  # [words, (tokens)], in the order in which they were finished
    return tf.gather(tokens, tf.math.invert_permutation(done_names))
