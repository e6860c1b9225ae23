"""Corpora far larger than memory: bounded, level over epochs; small types for what is held."""

import gzip
import resource

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data import TextDocuments, language_model_batches, load_texts
from keras_transformer.data.token_stream import TokenStream
from keras_transformer.text import CharacterTokenizer

LINE = "The quick brown fox jumps over the lazy dog; and so on, and so on, for some 100 bytes.\n"
TOKENIZER = CharacterTokenizer.train([LINE])


class Bytes:
    """Every byte of a text is a token: quickly made, and two bytes each where they are held."""

    pad_id, bos_id, eos_id, vocab_size, special_ids = 0, 1, 2, 260, (0, 1, 2)

    def tokenize(self, texts):
        ids = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)  # [tokens]
        return tf.RaggedTensor.from_row_lengths(
            tf.cast(ids, tf.int32) + 4, tf.strings.length(texts)
        )


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


@pytest.mark.parametrize("packing", ["stream", "documents"])
def test_memory_stays_bounded_and_level_over_epochs(packing):
    def read():  # 29 million tokens; held all at once, they take 58 MB
        for i in range(7000):
            yield [LINE * (24 + i % 48)]

    batches = language_model_batches(
        TextDocuments("many", read),
        Bytes(),
        packing=packing,
        block_size=512,
        batch_size=32,
        hold_tokens=2**20,
    )
    small = TextDocuments("few", lambda: iter([[LINE]] * 9))
    next(language_model_batches(small, Bytes()).batches())  # threads are not what is measured
    before = resident_mb()
    peaks = []
    for epoch in range(2):
        sampled = (resident_mb() for i, _ in enumerate(batches.batches(epoch)) if i % 50 == 0)
        peaks.append(max(sampled) - before)
    assert batches.report.tokens > 28_000_000
    assert batches.report.on_disk
    assert max(peaks) < 40
    assert peaks[1] < peaks[0] + 10


def test_tokens_are_held_in_the_smallest_type_of_integer_and_read_once():
    reads = 0

    def read():
        nonlocal reads
        reads += 1
        yield from ([LINE] for _ in range(500))

    class Large:
        """The same ids in a larger vocabulary."""

        eos_id, vocab_size = 2, 50_257
        tokenize = staticmethod(TOKENIZER.tokenize)

    for tokenizer, dtype in ((TOKENIZER, np.uint8), (Large, np.uint16)):
        stream = TokenStream(TextDocuments("some", read), tokenizer, hold=10**6)
        tokens = stream.count_tokens()
        reads = 0
        assert stream.is_held and reads == 0
        assert {chunk.dtype for chunk in stream.chunks()} == {np.dtype(dtype)}
        assert sum(map(len, stream.chunks())) == tokens == 500 * (len(LINE) + 1)
        assert reads == 0
    longer = TokenStream(TextDocuments("some", read), TOKENIZER, hold=tokens - 1)
    assert longer.count_tokens() == tokens and not longer.is_held
    np.testing.assert_array_equal(longer.tokens[:], stream.tokens[:])
    assert reads == 1


def test_shards_of_a_folder_are_one_corpus(tmp_path):
    texts = [f"shard {n} {LINE * n}" for n in range(1, 6)]
    for n, text in enumerate(texts):
        content = text.encode()
        name = f"{n}.txt" if n % 2 else f"{n}.txt.gz"
        (tmp_path / name).write_bytes(content if n % 2 else gzip.compress(content))
    tokenizer = CharacterTokenizer.train(texts)
    batches = language_model_batches(
        load_texts(tmp_path), tokenizer, block_size=64, batch_size=2, training=False
    )
    labels = np.concatenate([labels.ravel() for _, labels in batches.batches()])
    found = tokenizer.detokenize(labels[labels != 0]).numpy().decode()
    assert found == "".join(texts)
    assert batches.report.text_bytes == sum(map(len, texts))
    assert batches.report.texts.documents == 5
