"""Documents -> batches for a causal language model, which learns to guess the next token."""

from __future__ import annotations

from typing import Any

from keras_transformer.checks import check_at_least, check_whole

from .block_batches import BlockBatches, Packing
from .documents import TextDocuments
from .length_buckets import check_rows
from .token_stream import TokenStream

HOLD_TOKENS = 2**25  # some 130 MB of English in subwords


def language_model_batches(
    documents: TextDocuments,
    tokenizer: Any,
    *,
    block_size: int = 256,
    batch_size: int = 16,
    packing: Packing = "stream",
    start_id: int | None = None,
    hold_tokens: int = HOLD_TOKENS,
    replicas: int = 1,
    training: bool = True,
    seed: int = 0,
) -> BlockBatches:
    """Batches for a causal language model of a corpus of any size.

    A batch is `({"token_ids": int32 [batch, block]}, labels int32 [batch, block])`, where a label
    is the token after the one that stands in its place. Each document ends with the end marker
    (`eos_id`). In every epoch every token of the corpus, end markers included, is a label exactly
    once. Where there is nothing to guess the label is `ignored_label(tokenizer)`, which
    `TokenCrossEntropy` leaves out as its `pad_id`.

    `packing` says how documents fill the blocks:

    - "stream": documents joined and cut to blocks (GPT-2: Radford et al. 2019). Only the very last
      block can have padding. In training the first block of an epoch begins somewhere else than
      that of the last epoch, so that a token is not always guessed from the same ones.
    - "documents": documents stay whole, several in a row where they fit; only one that is longer
      than the block is cut. The features have `"segment_ids"` int32 `[batch, block]` too: 1, 2, ...
      for the documents of a row and 0 for padding, as `layers.masks.segment_mask` takes them. No
      label and, with that mask, no input reaches into another document.

    In training the blocks are shuffled anew in every epoch; otherwise they keep the order of the
    corpus (packed documents: of their blocks), and no token is lost: the last batch is filled up
    with rows of padding.

    The corpus is read and tokenised once. Up to `hold_tokens` tokens stay in memory, in the
    smallest type of integer; a longer corpus goes to a temporary file (in the folder that the
    environment variable TMPDIR names: two bytes a token for up to 65,536 ids), of which each batch
    reads its blocks. Either way all blocks are shuffled together, and the batches are the same.

    Args:
        documents: the texts. The sentences of a document are joined by line feeds.
        tokenizer: has an `eos_id`.
        block_size: tokens of a row; the longest text that a model sees at once.
        batch_size: rows of every batch.
        packing: "stream" or "documents".
        start_id: with "documents", what stands before the first token of a document; by default
            the end marker, as in a stream.
        hold_tokens: most tokens to hold in memory.
        replicas: `batch_size` must be a multiple of it.
        training: whether to shuffle and to shift.
        seed: seed of the order and of the shifts.

    Returns:
        `BlockBatches`: `dataset`, `report`, `clock` and `count_batches` are used as those of
        `ExampleBatches` are.

    Raises:
        ValueError: impossible arguments; when the documents are read, everything that they raise,
            or that they have no tokens.

    Example:
        >>> from keras_transformer.text import CharacterTokenizer
        >>> documents = TextDocuments("two", lambda: iter([["abc"], ["b"]]))
        >>> tokenizer = CharacterTokenizer("abc")
        >>> batches = language_model_batches(
        ...     documents, tokenizer, block_size=4, batch_size=2, training=False
        ... )
        >>> for features, labels in batches.dataset:
        ...     print(features["token_ids"].numpy().tolist(), labels.numpy().tolist())
        [[2, 4, 5, 6], [2, 5, 0, 0]] [[4, 5, 6, 2], [5, 2, 0, 0]]
    """
    check_whole(block_size=block_size, batch_size=batch_size)
    check_at_least(1, block_size=block_size, replicas=replicas, hold_tokens=hold_tokens)
    check_rows(batch_size, replicas)
    if packing not in ("stream", "documents"):
        raise ValueError(f'packing is {packing!r}; right are "stream" and "documents".')
    check_end_marker(tokenizer)
    if start_id is None:
        start_id = tokenizer.eos_id
    elif packing == "stream":
        raise ValueError(
            f'start_id is {start_id}, but packing="stream" joins documents by end markers alone; '
            'use packing="documents".'
        )
    if not 0 <= start_id < tokenizer.vocab_size:
        raise ValueError(f"start_id is {start_id}; ids are 0 to {tokenizer.vocab_size - 1}.")
    return BlockBatches(
        TokenStream(documents, tokenizer, hold=hold_tokens),
        block_size=block_size,
        batch_size=batch_size,
        packing=packing,
        start_id=start_id,
        pad_id=max(0, tokenizer.pad_id),
        ignored_label=ignored_label(tokenizer),
        replicas=replicas,
        seed=seed,
        training=training,
    )


def ignored_label(tokenizer: Any) -> int:
    """The label of positions that a loss is to leave out: `TokenCrossEntropy(pad_id=...)`.

    It is the tokenizer's `pad_id`, or -1 where no id means padding alone: GPT-2's vocabulary, for
    one, pads with the end marker, which has to be learned.

    Example:
        >>> from keras_transformer.text import CharacterTokenizer
        >>> ignored_label(CharacterTokenizer("abc"))
        0
    """
    pad_id = tokenizer.pad_id
    means_padding = pad_id >= 0 and pad_id not in (tokenizer.eos_id, tokenizer.bos_id)
    return pad_id if means_padding and pad_id in tokenizer.special_ids else -1


def check_end_marker(tokenizer: Any) -> None:
    """Refuses a tokenizer without an end marker.

    Raises:
        ValueError: it has none.
    """
    if tokenizer.eos_id < 0:
        raise ValueError(
            f"the tokenizer ({type(tokenizer).__name__}) has no eos_id, with which a text ends."
        )
