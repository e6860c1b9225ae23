"""Hiding tokens for a model to guess: the masked language model of BERT."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from keras_transformer.text.wordpiece_vocabulary import SPECIAL_TOKEN, SUFFIX

from .token_arrays import check_special_ids

MASK_SHARE, RANDOM_SHARE = 0.8, 0.1  # of the chosen tokens; the rest stays as it is


class MaskedText(NamedTuple):
    """A text with hidden tokens.

    Attributes:
        token_ids: int32 `[length]`, what the model reads.
        positions: int32 `[predictions]`, the chosen positions in ascending order.
        labels: int32 `[predictions]`, the ids that stood there.
    """

    token_ids: np.ndarray
    positions: np.ndarray
    labels: np.ndarray


class Masking:
    """Chooses tokens of a text at random and hides them (Devlin et al. 2019, 3.1 and A.1).

    15 % of the tokens are chosen, at least one. Of the chosen ones 80 % become [MASK], 10 % a
    random token, 10 % stay, so that the model cannot know which tokens to trust. Special tokens,
    padding and the unknown token are never chosen, nor drawn as random tokens.

    Args:
        tokenizer: gives the vocabulary and the ids of the special tokens.
        share: share of the tokens that are chosen.
        whole_words: choose words instead of tokens: all pieces of a word or none.

    Raises:
        ValueError: the tokenizer has no [MASK] or no ordinary token, or an impossible share.

    Example:
        >>> from keras_transformer.text import WordPieceTokenizer
        >>> tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"])
        >>> masking = Masking(tokenizer)
        >>> masked = masking(np.array([2, 5, 3, 0]), np.random.default_rng(1))
        >>> masked.positions.tolist(), masked.labels.tolist()
        ([1], [5])
    """

    def __init__(self, tokenizer: Any, share: float = 0.15, whole_words: bool = False):
        check_special_ids(tokenizer, "mask_id")
        if not 0 < share < 1:
            raise ValueError(f"share is {share}; it must lie between 0 and 1.")
        tokens = [tokenizer.id_to_token(index) for index in range(tokenizer.vocab_size)]
        # Names like [unused7] stand for nothing that a text says.
        self._is_text = np.array([not SPECIAL_TOKEN.fullmatch(token) for token in tokens])
        self._is_text[[*tokenizer.special_ids, tokenizer.unk_id]] = False
        self._text_ids = np.flatnonzero(self._is_text).astype(np.int32)
        if not len(self._text_ids):
            raise ValueError("the vocabulary has special tokens only; there is nothing to guess.")
        self._continues = np.array([token.startswith(SUFFIX) for token in tokens])
        self._mask_id = tokenizer.mask_id
        self.share = share
        self.whole_words = whole_words

    def __call__(self, token_ids: np.ndarray, rng: np.random.Generator) -> MaskedText:
        """Hides tokens of one text.

        Args:
            token_ids: `[length]`, special tokens included.
            rng: random generator.

        Returns:
            `MaskedText`; without any position if the text has special tokens only.
        """
        token_ids = np.asarray(token_ids, np.int32)
        maskable = np.flatnonzero(self._is_text[token_ids])
        count = max(1, round(self.share * len(maskable)))
        if self.whole_words:
            positions = self._words(token_ids, maskable, count, rng)
        else:
            positions = np.sort(rng.permutation(maskable)[:count])
        labels = token_ids[positions]
        fate = rng.random(len(positions))
        replaced = np.where(
            fate < MASK_SHARE, self._mask_id, rng.choice(self._text_ids, len(positions))
        )
        masked = token_ids.copy()
        masked[positions] = np.where(fate < MASK_SHARE + RANDOM_SHARE, replaced, labels)
        return MaskedText(masked, positions.astype(np.int32), labels)

    def _words(
        self, token_ids: np.ndarray, maskable: np.ndarray, count: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Positions of whole words, at most `count` unless a single word has more."""
        if not len(maskable):
            return maskable
        begins = ~self._continues[token_ids[maskable]]
        begins |= np.diff(maskable, prepend=-2) > 1  # a special token parts words, too
        words = np.split(maskable, np.flatnonzero(begins)[1:])
        chosen: list[np.ndarray] = []
        for index in rng.permutation(len(words)):
            if len(words[index]) <= count:
                chosen.append(words[index])
                count -= len(words[index])
        return np.sort(np.concatenate(chosen or [min(words, key=len)]))
