"""Tagged words -> batches for a tagger, and back: a word has one tag, however many pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from keras_transformer.checks import check_at_least

from .conll import TaggedReport, TaggedSentence, TaggedSentences
from .example_batches import ExampleBatches
from .text_segments import join_segments
from .token_arrays import check_special_ids, token_arrays
from .windows import word_windows

NO_TAG = -1  # label of special tokens, padding, and pieces that are not asked


@dataclass
class TaggingWindow:
    """A part of a sentence that the model reads at once.

    Attributes:
        example: `token_ids`, `segment_ids` and `tags` `[length]`; `tags` has the id of a word's
            tag at its first piece, for the words that this window answers for, else -1.
        sentence: number of the sentence.
        first: number of the first word that this window answers for; the others follow it.
        positions: int32 `[words]`, where the first pieces of those words stand.
    """

    example: dict[str, np.ndarray]
    sentence: int
    first: int
    positions: np.ndarray


def tagging_windows(
    sentences: Iterable[TaggedSentence],
    tokenizer: Any,
    tag_names: Sequence[str],
    max_length: int = 128,
    overlap: int | None = None,
    unknown_tags: Literal["refuse", "ignore"] = "refuse",
) -> list[TaggingWindow]:
    """Sentences as `Bert` reads them (Devlin et al. 2019, 5.3).

    A word's tag stands at its first piece. A sentence that is too long is read in windows of whole
    words that overlap; every word is answered for by one of them, so that it gets one tag. A word
    of which the tokenizer makes nothing is read as [UNK].

    Args:
        sentences: words and tags.
        tokenizer: has [CLS], [SEP] and [UNK].
        tag_names: the tags in the order of their ids.
        max_length: most ids of a window, special ones included.
        overlap: pieces that two windows share at most; a quarter of a window by default.
        unknown_tags: what becomes of a tag that is not among `tag_names`: "ignore" gives its word
            the label -1.

    Raises:
        ValueError: an unknown tag, or lengths that are impossible.
    """
    check_special_ids(tokenizer, "cls_id", "sep_id", "unk_id")
    check_at_least(3, max_length=max_length)
    room = max_length - 2
    overlap = room // 4 if overlap is None else overlap
    sentences = list(sentences)
    words = sorted({word for sentence in sentences for word in sentence.words})
    pieces = dict(zip(words, token_arrays(words, tokenizer), strict=True))
    unknown = np.array([tokenizer.unk_id], np.int32)
    cut = [pieces[w] if len(pieces[w]) else unknown for s in sentences for w in s.words]
    cut = [ids[:room] for ids in cut]  # of a word of more pieces than a window the first ones
    sizes = tf.RaggedTensor.from_row_lengths(
        np.array([len(ids) for ids in cut], np.int64),
        np.array([len(sentence.words) for sentence in sentences], np.int64),
    )  # [sentences, (words)]
    begins = sizes.row_starts().numpy()  # [sentences], the first word of each
    ids_of = {name: index for index, name in enumerate(tag_names)}
    windows = []
    columns = (part.numpy().tolist() for part in word_windows(sizes, room, overlap))
    for number, start, end, first, last in zip(*columns, strict=True):
        places = 1 + np.cumsum([0, *(len(ids) for ids in cut[start:end])])  # after [CLS]
        positions = places[first - start : last - start].astype(np.int32)
        example = join_segments(np.concatenate(cut[start:end]), None, tokenizer)
        tags = np.full(len(example["token_ids"]), NO_TAG, np.int32)
        begin = int(begins[number])
        asked = sentences[number].tags[first - begin : last - begin]
        tags[positions] = [_id(tag, ids_of, unknown_tags) for tag in asked]
        example |= {"tags": tags}
        windows.append(TaggingWindow(example, number, first - begin, positions))
    return windows


def tagging_batches(
    sentences: TaggedSentences,
    tokenizer: Any,
    tag_names: Sequence[str],
    *,
    max_length: int = 128,
    overlap: int | None = None,
    unknown_tags: Literal["refuse", "ignore"] = "refuse",
    **options: Any,
) -> ExampleBatches:
    """Batches for `BertTagger`.

    A batch is `({"token_ids", "segment_ids": int32 [batch, length]}, tags int32 [batch, length])`;
    the tag -1 stands wherever no word begins: `TokenCrossEntropy(pad_id=-1)` leaves it out.

    Args:
        sentences: words and tags.
        tokenizer: has [CLS], [SEP] and [UNK].
        tag_names: the tags in the order of their ids (`sentences.tag_names()`).
        max_length: most ids of an example, special ones included.
        overlap: pieces that two windows of a long sentence share at most.
        unknown_tags: as for `tagging_windows`.
        **options: of `ExampleBatches`.

    Raises:
        ValueError: what the sentences raise; an unknown tag.

    Example:
        >>> batches = tagging_batches(sentences, tokenizer, names)  # doctest: +SKIP
        >>> model.fit(batches.dataset, epochs=3)  # doctest: +SKIP
    """
    report: TaggedReport = sentences.check()
    windows = tagging_windows(sentences, tokenizer, tag_names, max_length, overlap, unknown_tags)
    parts = Counter(window.sentence for window in windows)
    if windowed := sum(count > 1 for count in parts.values()):
        repaired = report.repaired + Counter({"read in several windows": windowed})
        report = replace(report, repaired=repaired)
    return ExampleBatches(
        [window.example for window in windows],
        "tags",
        fillers={"tags": NO_TAG},
        texts=report,
        **options,
    )


def tags_of_windows(
    windows: Sequence[TaggingWindow], predicted: Sequence[np.ndarray], tag_names: Sequence[str]
) -> list[list[str]]:
    """Tag ids of the windows' tokens -> the tags of each sentence's words.

    Args:
        windows: of `tagging_windows`, all of them.
        predicted: ids of tags `[length]` for each window, padding or not.
        tag_names: the tags in the order of their ids.

    Returns:
        As many tags for each sentence as it has words.

    Example:
        >>> window = TaggingWindow({}, sentence=0, first=0, positions=np.array([1, 3]))
        >>> tags_of_windows([window], [np.array([0, 1, 0, 0, 0])], ["O", "B-PER"])
        [['B-PER', 'O']]
    """
    sentences: list[list[str]] = [[] for _ in range(1 + max(w.sentence for w in windows))]
    for window, ids in zip(windows, predicted, strict=True):
        tags = sentences[window.sentence]
        if len(tags) != window.first:
            raise ValueError(
                f"the window of sentence {window.sentence} begins at word {window.first}, but "
                f"{len(tags)} words have tags: give all windows in their order."
            )
        tags += [tag_names[ids[position]] for position in window.positions]
    return sentences


def entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """The entities that the tags of a sentence mark: (type, first word, word after the last).

    B-X begins an entity of type X. I-X continues one of type X that ends just before it;
    otherwise, after O, another type or at the beginning, it begins one, just as B-X does. (So do
    conlleval and seqeval.)

    Args:
        tags: "O", "B-X" or "I-X" for each word.

    Raises:
        ValueError: another kind of tag.

    Example:
        >>> entities(["I-PER", "I-PER", "O", "B-PER", "I-LOC"])
        [('PER', 0, 2), ('PER', 3, 4), ('LOC', 4, 5)]
    """
    found: list[tuple[str, int, int]] = []
    for word, tag in enumerate(tags):
        if tag == "O":
            continue
        prefix, _, kind = tag.partition("-")
        if prefix not in ("B", "I") or not kind:
            raise ValueError(f"tag {word} is {tag!r}; entities need the tags O, B-TYPE and I-TYPE.")
        if prefix == "I" and found and found[-1][0] == kind and found[-1][2] == word:
            found[-1] = (kind, found[-1][1], word + 1)
        else:
            found.append((kind, word, word + 1))
    return found


def _id(tag: str, ids_of: dict[str, int], unknown_tags: str) -> int:
    if tag not in ids_of:
        if unknown_tags == "ignore":
            return NO_TAG
        raise ValueError(
            f"the tag {tag!r} is not among the tags known from training: {', '.join(ids_of)}."
        )
    return ids_of[tag]
