"""Which tokens may come next: ids never emitted, no end too early, an end in time."""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Constraints:
    """The hard rules of a search, as a bias of 0 or `-inf` on the log-probabilities.

    - PAD and `forbidden_ids` are never emitted.
    - EOS is not emitted while a text would have fewer than `min_lengths` tokens before it.
    - The last place that `max_lengths` leaves is open to EOS only. It costs its log-probability
      like any other, so a text that was cut short is still a whole sequence under the model and
      its score can be compared. Where the two rules clash, the maximum wins.

    The model's log-probabilities are not renormalised after a token is ruled out, so scores stay
    those of the model.
    """

    eos_id: int
    pad_id: int
    forbidden_ids: tuple[int, ...]
    max_lengths: tf.Tensor  # int32 [batch], or [1] where all rows share one limit; EOS counted
    min_lengths: tf.Tensor | None  # int32 [batch]: tokens before EOS

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
        padding = () if pad_id == eos_id else (pad_id,)
        return cls(eos_id, pad_id, (*padding, *forbidden_ids), limits, min_lengths)

    def bias(self, length: tf.Tensor, vocab_size: int) -> tf.Tensor:
        """What to add to the log-probabilities of the token that makes texts `length` long.

        Returns: float32 [batch, vocab], or [1, vocab] where all rows are alike.
        """
        at_end = length >= self.max_lengths  # [batch] or [1]
        rule = tf.cast(at_end, tf.int32) * _ONLY_END
        if self.min_lengths is not None:
            rule = tf.where(~at_end & (length <= self.min_lengths), _NO_END, rule)
        return tf.gather(self._biases(vocab_size), rule)

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
