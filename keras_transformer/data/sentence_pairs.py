"""Sentences packed into the texts that BERT is pretrained on, alone or in pairs.

Sentences that follow each other make up a text until it is as long as the model is to read; in
pairs, one half of the second texts follow their first ones, the other half come from another
document (Devlin et al. 2019, 3.1 and A.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .text_segments import fit_lengths
from .token_documents import Sentence, TokenDocument, TokenDocuments

Documents = TokenDocuments | Sequence[Sequence[Sentence]]

RANDOM_SHARE = 0.5
DRAWS = 20  # of a place in another document, before all places are looked at


class TextPair(NamedTuple):
    """Two texts, and whether the second one follows the first one in its document."""

    first: np.ndarray
    second: np.ndarray
    follows: bool


class SentencePairs:
    """Pairs of texts out of documents, of which a half follow each other.

    Every second text of the other half begins at a random sentence of another document, and
    never with the words that really follow. Texts are as long as there is room for; where both
    are too long for it, the longer one is cut at a random end.

    Args:
        documents: at least two, each of them sentences of ids `[tokens]`.
        room: most tokens of both texts together.
        short_share: share of the pairs that get less room, a random number of tokens from 2 on,
            so that the model also reads short texts.

    Raises:
        ValueError: pairs of both kinds cannot be made of these documents.

    Example:
        >>> a, b, c, d = (np.array([n]) for n in (5, 6, 17, 18))
        >>> pairs = SentencePairs([[a, b], [c, d]], room=2)
        >>> for first, second, follows in pairs.one_pass(np.random.default_rng(0)):
        ...     assert follows == (second[0] == first[0] + 1)
    """

    def __init__(self, documents: Documents, room: int, short_share: float = 0.1):
        if room < 2:
            raise ValueError(f"room is {room}; two texts need at least 2 tokens.")
        if len(documents) < 2:
            raise ValueError(
                f"the corpus has {len(documents)} document(s), but pairs of texts that do not "
                "follow each other need two: put blank lines between documents, or pretrain "
                "without sentence pairs."
            )
        documents = TokenDocuments.of(documents)
        if documents.sizes.max() < 2:
            raise ValueError(
                f"none of the {len(documents)} documents has two sentences, so no text follows "
                "another one: put blank lines between documents only, or pretrain without "
                "sentence pairs."
            )
        self._documents = documents
        self._room = room
        self._short_share = short_share

    def one_pass(self, rng: np.random.Generator) -> Iterator[TextPair]:
        """Pairs whose first texts and following texts go once through all documents, which come
        in random order."""
        owed = 0  # pairs that could not follow; as many others must, for the halves to be equal
        for number in rng.permutation(len(self._documents)):
            document = self._documents[int(number)]
            start = 0
            while start < len(document):
                room = self._random_room(rng)
                end = _filled(document, start, room, least=2)
                # The last sentence of a document has nothing that follows it.
                cut = start + (int(rng.integers(1, end - start)) if end - start > 1 else 1)
                first = document.text(start, cut)
                can_follow = cut < end
                follows = can_follow and (owed > 0 or rng.random() >= RANDOM_SHARE)
                if follows:
                    owed -= owed > 0
                    second = document.text(cut, end)
                else:
                    owed += not can_follow
                    real = document[cut] if cut < len(document) else None
                    second = self._from_elsewhere(int(number), real, room - len(first), rng)
                    end = cut  # what was not used begins the next pair
                yield self._cut(first, second, bool(follows), room, rng)
                start = end

    def _random_room(self, rng: np.random.Generator) -> int:
        if rng.random() < self._short_share:
            return int(rng.integers(2, self._room + 1))
        return self._room

    def _from_elsewhere(
        self, number: int, real: Sentence | None, room: int, rng: np.random.Generator
    ) -> np.ndarray:
        """A text of another document than `number`, whose first sentence is not `real`."""

        def fits(sentence: Sentence) -> bool:
            return real is None or not np.array_equal(sentence, real)

        def draw() -> tuple[int, int]:
            other = int(rng.integers(len(self._documents) - 1))
            other += other >= number
            return other, int(rng.integers(len(self._documents[other])))

        for _ in range(DRAWS):
            other, start = draw()
            if fits(self._documents[other][start]):
                break
        else:
            places = [
                (other, start)
                for other, document in enumerate(self._documents)
                for start, sentence in enumerate(document)
                if other != number and fits(sentence)
            ]
            if not places:
                raise ValueError(
                    "all documents but one say only what follows a text of that one: there is "
                    "nothing that does not follow it. Remove repeated documents, or pretrain "
                    "without sentence pairs."
                )
            other, start = places[int(rng.integers(len(places)))]
        document = self._documents[other]
        return document.text(start, _filled(document, start, room, least=1))

    def _cut(
        self, first: Sentence, second: Sentence, follows: bool, room: int, rng: np.random.Generator
    ) -> TextPair:
        lengths = fit_lengths(len(first), len(second), room)
        return TextPair(
            *(
                _cut_ends(text, length, rng)
                for text, length in zip((first, second), lengths, strict=True)
            ),
            follows,
        )


def single_texts(
    documents: Documents, room: int, rng: np.random.Generator, short_share: float = 0.1
) -> Iterator[np.ndarray]:
    """Texts of one or several sentences of a document, for pretraining without sentence pairs.

    Every token of the documents, which come in random order, is in one text. A sentence with more
    tokens than there is room for becomes several texts.

    Args:
        documents: at least one, each of them sentences of ids `[tokens]`.
        room: most tokens of a text.
        rng: random generator.
        short_share: share of the texts that get less room, a random number of tokens.

    Example:
        >>> documents = [[np.array([5, 6]), np.array([7]), np.array([8, 9, 10, 11])]]
        >>> texts = single_texts(documents, 3, np.random.default_rng(0), short_share=0)
        >>> [text.tolist() for text in texts]
        [[5, 6, 7], [8, 9, 10], [11]]
    """
    documents = TokenDocuments.of(documents)
    for number in rng.permutation(len(documents)):
        document, start = documents[int(number)], 0
        while start < len(document):
            short = rng.random() < short_share
            size = int(rng.integers(1, room + 1)) if short else room
            end = _fitting(document, start, size)
            text = document.text(start, end)
            for i in range(0, len(text), size):
                yield text[i : i + size]
            start = end


def _filled(document: TokenDocument, start: int, room: int, least: int) -> int:
    """End of the sentences from `start` on that fill the room, the last one perhaps beyond it;
    `least` of them, where there are as many."""
    full = int(np.searchsorted(document.starts, document.starts[start] + room))
    return min(max(full, start + least), len(document))


def _fitting(document: TokenDocument, start: int, room: int) -> int:
    """End of the sentences from `start` on that fit into the room; of one at least."""
    over = int(np.searchsorted(document.starts, document.starts[start] + room, side="right"))
    return max(over - 1, start + 1)


def _cut_ends(text: Sentence, length: int, rng: np.random.Generator) -> Sentence:
    """`length` tokens of the text; each one too many goes from the beginning or the end."""
    from_beginning = int(rng.binomial(len(text) - length, 0.5))
    return text[from_beginning : from_beginning + length]
