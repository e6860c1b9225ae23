"""What every contestant is asked to do: the same sizes, the same ids, the same count of tokens."""

from dataclasses import dataclass

import numpy as np

PAD, BOS, EOS = 0, 1, 2
FIRST_WORD = 4  # ids below are special


@dataclass(frozen=True)
class Sizes:
    """Sizes of an encoder-decoder with one vocabulary and tied embeddings.

    The fields have the names of `keras_transformer.models.TransformerConfig`.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    encoder_layers: int
    decoder_layers: int


PRESETS = {
    "quick": Sizes(500, 32, 64, 2, 1, 1),  # to see that everything runs; its ratios say nothing
    "tiny": Sizes(6000, 128, 256, 4, 4, 4),
    "small": Sizes(8000, 256, 1024, 8, 3, 3),
}


@dataclass(frozen=True)
class EncoderSizes:
    """Sizes of a BERT; the fields have the names of `keras_transformer.models.BertConfig`."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_hidden_layers: int


ENCODER_PRESETS = {
    "quick": EncoderSizes(500, 32, 64, 2, 1),
    "minilm": EncoderSizes(30522, 384, 1536, 12, 6),
    "base": EncoderSizes(30522, 768, 3072, 12, 12),
}


@dataclass(frozen=True)
class EncoderJob:
    """A classifier of two labels on a BERT: batches of texts, each padded to `length`."""

    preset: str
    batch_size: int = 8
    length: int = 128
    dropout: float = 0.1
    learning_rate: float = 2e-5
    threads: int = 2
    seed: int = 0

    @property
    def sizes(self) -> EncoderSizes:
        """The preset's sizes."""
        if self.preset not in ENCODER_PRESETS:
            raise ValueError(
                f"Unknown preset {self.preset!r}: choose from {', '.join(ENCODER_PRESETS)}."
            )
        return ENCODER_PRESETS[self.preset]

    def batches(self) -> tuple[np.ndarray, np.ndarray]:
        """Two batches: ids int32 [2, batch_size, length], labels int32 [2, batch_size].

        Lengths lie between three quarters of `length` and all of it, as in a length bucket.
        """
        random = np.random.default_rng(self.seed)
        ids = np.zeros((2, self.batch_size, self.length), np.int32)
        for row in np.ndindex(*ids.shape[:2]):
            count = random.integers(3 * self.length // 4, self.length, endpoint=True)
            ids[row][:count] = random.integers(FIRST_WORD, self.sizes.vocab_size, size=count)
        labels = random.integers(0, 2, size=ids.shape[:2], dtype=np.int32)
        return ids, labels

    def tokens(self) -> float:
        """Real tokens of an average batch."""
        ids, _ = self.batches()
        return float((ids != PAD).sum()) / len(ids)


@dataclass(frozen=True)
class TrainingJob:
    """Training steps on batches of `batch_size` pairs, each side padded to `length`."""

    preset: str
    batch_size: int = 128
    length: int = 32
    dropout: float = 0.1
    label_smoothing: float = 0.1
    learning_rate: float = 1e-4
    threads: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.length < 4:
            raise ValueError(f"length is {self.length}; a sentence needs at least 4 tokens.")

    @property
    def sizes(self) -> Sizes:
        """The preset's sizes."""
        return _sizes(self.preset)

    def batches(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Four batches: source, target, labels, each int32 [4, batch_size, length].

        Lengths lie between three quarters of `length` and all of it, as in a length bucket.
        The target starts with BOS, the labels are the same sequence shifted and end with EOS.
        """
        random = np.random.default_rng(self.seed)
        shape = (4, self.batch_size, self.length)
        source, target, labels = (np.zeros(shape, np.int32) for _ in range(3))
        for row in np.ndindex(*shape[:2]):
            for_source, for_target = random.integers(
                3 * self.length // 4, self.length, size=2, endpoint=True
            )
            source[row][:for_source] = self._words(random, for_source)
            source[row][for_source - 1] = EOS
            target[row][:for_target] = self._words(random, for_target)
            labels[row][: for_target - 1] = target[row][1:for_target]
            target[row][0], labels[row][for_target - 1] = BOS, EOS
        return source, target, labels

    def tokens(self) -> float:
        """Real tokens, source and target together, of an average batch."""
        source, target, _ = self.batches()
        return float((source != PAD).sum() + (target != PAD).sum()) / len(source)

    def _words(self, random: np.random.Generator, count: int) -> np.ndarray:
        return random.integers(FIRST_WORD, self.sizes.vocab_size, size=count, dtype=np.int32)


@dataclass(frozen=True)
class DecodingJob:
    """Decoding of sentences of `source_length` tokens to exactly `new_tokens` tokens each."""

    preset: str
    source_length: int = 32
    new_tokens: int = 32
    threads: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.source_length < 2:
            raise ValueError(
                f"source_length is {self.source_length}; it must be at least 2 (EOS counts)."
            )

    @property
    def sizes(self) -> Sizes:
        """The preset's sizes."""
        return _sizes(self.preset)

    def source(self, batch_size: int) -> np.ndarray:
        """Sources without padding, int32 [batch_size, source_length], words only.

        The last word gives way to the library's own end-of-sentence id; the largest id of the
        vocabulary, which some libraries need for padding, does not occur.
        """
        random = np.random.default_rng(self.seed)
        shape = (batch_size, self.source_length)
        return random.integers(FIRST_WORD, self.sizes.vocab_size - 1, size=shape, dtype=np.int32)

    def check(self, lengths: list[int]) -> int:
        """Returns the number of tokens made, after checking that all sentences have theirs."""
        if any(length != self.new_tokens for length in lengths):
            raise ValueError(
                f"Every sentence must get exactly {self.new_tokens} tokens, or the comparison "
                f"is unfair; got lengths from {min(lengths)} to {max(lengths)}."
            )
        return sum(lengths)


def _sizes(preset: str) -> Sizes:
    if preset not in PRESETS:
        raise ValueError(f"Unknown preset {preset!r}: choose from {', '.join(PRESETS)}.")
    return PRESETS[preset]
