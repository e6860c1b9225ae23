"""What the contestants of the GPT benchmarks are asked to do: the same sizes, the same ids."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.jobs import FIRST_WORD


@dataclass(frozen=True)
class GptSizes:
    """Sizes of a GPT-2: learned positions, tied embeddings, inner networks four times as wide.

    The fields have the names of `keras_transformer.models.GptConfig`.
    """

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int

    @property
    def intermediate_size(self) -> int:
        """Inner width of the feed-forward networks."""
        return 4 * self.hidden_size


GPT_PRESETS = {
    "quick": GptSizes(500, 32, 1, 2),  # to see that everything runs; its ratios say nothing
    "nano": GptSizes(8000, 128, 4, 4),
    "mini": GptSizes(8000, 384, 6, 6),
    "gpt2": GptSizes(50257, 768, 12, 12),
}


@dataclass(frozen=True)
class GptJob:
    """A model of a preset's sizes, for texts of up to `length` tokens.

    Raises:
        ValueError: If there is no such preset.
    """

    preset: str
    length: int
    threads: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.preset not in GPT_PRESETS:
            raise ValueError(
                f"Unknown preset {self.preset!r}: choose from {', '.join(GPT_PRESETS)}."
            )

    @property
    def sizes(self) -> GptSizes:
        """The preset's sizes."""
        return GPT_PRESETS[self.preset]

    def _words(self, shape: tuple[int, ...]) -> np.ndarray:
        random = np.random.default_rng(self.seed)
        return random.integers(FIRST_WORD, self.sizes.vocab_size, size=shape, dtype=np.int32)


@dataclass(frozen=True)
class GptTrainingJob(GptJob):
    """Training steps on `batch_size` blocks of `length` tokens, cut from one stream of text."""

    batch_size: int = 8
    dropout: float = 0.1
    learning_rate: float = 1e-4

    def batches(self) -> tuple[np.ndarray, np.ndarray]:
        """Four batches: ids and the ids after them, each int32 [4, batch_size, length].

        Blocks of a stream are full: there is no padding, whose cost libraries might not share.
        """
        ids = self._words((4, self.batch_size, self.length + 1))
        return ids[..., :-1], ids[..., 1:]

    def tokens(self) -> int:
        """Tokens of a batch."""
        return self.batch_size * self.length


@dataclass(frozen=True)
class GptGenerationJob(GptJob):
    """Texts that begin with a prompt and have up to `length` tokens, prompt and new ones."""

    def prompts(self, batch_size: int, length: int) -> np.ndarray:
        """Prompts without padding, int32 [batch_size, length]."""
        return self._words((batch_size, length))


def count_new(lengths: Sequence[int], new_tokens: int) -> int:
    """The number of tokens made.

    Raises:
        ValueError: If not every text got `new_tokens`.
    """
    if any(length != new_tokens for length in lengths):
        raise ValueError(
            f"Every text must get exactly {new_tokens} new tokens, or the comparison is unfair; "
            f"got from {min(lengths)} to {max(lengths)}."
        )
    return sum(lengths)
