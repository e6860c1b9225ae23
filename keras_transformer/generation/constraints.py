"""What may come next and what ends a text: ids never emitted, no end too early, an end in time."""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from keras_transformer.generation.stops import Stops


@dataclass(frozen=True)
class Constraints:
    """The hard rules of a search, as a bias of 0 or `-inf` on the log-probabilities.

    - PAD and `forbidden_ids` are never emitted.
    - EOS is not emitted while a text would have fewer than `min_lengths` tokens before it.
    - A text has at most `max_lengths` tokens. If it `must_end`, the last place is open to EOS only.
      It costs its log-probability like any other, so a text that was cut short is still a whole
      sequence under the model and its score can be compared. Where the two rules clash, the
      maximum wins. A text that need not end is just over at its maximum.
    - A text is over when it has come to a final state of `stops`.

    The model's log-probabilities are not renormalised after a token is ruled out, so scores stay
    those of the model.
    """

    eos_id: int
    pad_id: int
    forbidden_ids: tuple[int, ...]
    max_lengths: tf.Tensor  # int32 [batch], or [1] where all rows share one limit; EOS counted
    min_lengths: tf.Tensor | None  # int32 [batch]: tokens before EOS
    must_end: bool
    stops: Stops | None

    @classmethod
    def create(
        cls,
        *,
        eos_id: int,
        pad_id: int,
        forbidden_ids: tuple[int, ...],
        max_length: int | tf.Tensor,
        max_lengths: tf.Tensor | None,
        min_lengths: tf.Tensor | None,
        must_end: bool = True,
        stops: Stops | None = None,
    ) -> "Constraints":
        """Checks the arguments that every search takes and puts them in one form."""
        if isinstance(max_length, int) and max_length < 1:
            raise ValueError(f"max_length is {max_length}; it must be at least 1 (EOS counts).")
        if eos_id in forbidden_ids:
            raise ValueError(f"forbidden_ids holds eos_id {eos_id}; then no text could ever end.")
        max_length = tf.convert_to_tensor(max_length, tf.int32)
        limits = max_length[None]  # [1]
        if max_lengths is not None:
            limits = tf.minimum(limits, tf.cast(max_lengths, tf.int32))  # [batch]
        if min_lengths is not None:
            min_lengths = tf.cast(min_lengths, tf.int32)
        padding = () if pad_id in (eos_id, -1) else (pad_id,)
        forbidden_ids = (*padding, *forbidden_ids)
        return cls(eos_id, pad_id, forbidden_ids, limits, min_lengths, must_end, stops)

    def bias(self, length: tf.Tensor, vocab_size: int) -> tf.Tensor:
        """What to add to the log-probabilities of the token that makes texts `length` long.

        Returns: float32 [batch, vocab], or [1, vocab] where all rows are alike.
        """
        must_end = self.at_limit(length) & self.must_end  # [batch] or [1]
        rule = tf.cast(must_end, tf.int32) * _ONLY_END
        if self.min_lengths is not None:
            rule = tf.where(~must_end & (length <= self.min_lengths), _NO_END, rule)
        return tf.gather(self._biases(vocab_size), rule)

    def at_limit(self, length: tf.Tensor) -> tf.Tensor:
        """In which rows a text of `length` tokens can get no longer: bool [batch] or [1]."""
        return length >= self.max_lengths

    def first_stop_states(self, rows: int | tf.Tensor) -> tf.Tensor:
        """The stop states of texts without a token: int32 [rows]."""
        return tf.fill([rows], 0) + (0 if self.stops is None else self.stops.start)

    def follow(self, stop_states: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """The stop states, int32 [...], after one more token of each text."""
        return stop_states if self.stops is None else self.stops.follow(stop_states, ids)

    def ends(self, ids: tf.Tensor, stop_states: tf.Tensor) -> tf.Tensor:
        """Which texts end with the tokens that led to these stop states: bool [...]."""
        ends = ids == self.eos_id
        return ends if self.stops is None else ends | self.stops.final(stop_states)

    def _biases(self, vocab_size: int) -> np.ndarray:  # [3, vocab], a constant of the graph
        for name, token in (("eos_id", self.eos_id), *(("id", i) for i in self.forbidden_ids)):
            if not 0 <= token < vocab_size:
                raise ValueError(
                    f"The {name} {token} to search with lies outside of the model's vocabulary; "
                    f"it must be from 0 to {vocab_size - 1}."
                )
        biases = np.zeros([3, vocab_size], np.float32)
        biases[:, list(self.forbidden_ids)] = -np.inf
        biases[_ONLY_END] = -np.inf
        biases[_ONLY_END, self.eos_id] = 0.0
        biases[_NO_END, self.eos_id] = -np.inf
        return biases


_ONLY_END, _NO_END = 1, 2  # rows of the table of biases; row 0: any token but the forbidden ones
