"""What is asked of served tasks: the same sizes, texts of as many tokens, as many rows."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.gpt_jobs import GPT_PRESETS, GptGenerationJob
from benchmarks.peers.jobs import ENCODER_PRESETS, PRESETS, DecodingJob, EncoderSizes


class Preset(NamedTuple):
    """Names of the sizes of each kind of model."""

    translator: str
    encoder: str
    generator: str


SERVING_PRESETS = {
    "quick": Preset("quick", "quick", "quick"),  # to see that everything runs; no result
    "small": Preset("small", "minilm", "mini"),
}

SIGNATURES = {
    "translate": ("serving_default",),  # greedy
    "translate_beam": ("n_best",),
    "classify": ("serving_default", "pair"),
    "tag": ("serving_default",),
    "qa": ("serving_default", "n_best"),
    "fill_mask": ("serving_default",),
    "embed": ("serving_default", "tokens"),
    "generate": ("serving_default", "generate", "score"),
}
"""Those of each task that are measured."""

SEARCHING = {
    "translate": ("serving_default",),
    "translate_beam": ("n_best",),
    "generate": ("serving_default", "generate"),
}
"""Those that XLA can compile."""

BEAM_SIZE = 4
LABELS = 9
TOP_K = 50  # of sampled texts

# WordPiece's special tokens, and words that are one token each.
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FIRST_CHARACTER = 0x4E00  # of the characters that are one token each


@dataclass(frozen=True)
class ServingJob:
    """One task and texts for it.

    Attributes:
        task: one of `SIGNATURES`.
        preset: one of `SERVING_PRESETS`.
        signatures: which of the task's are asked.
        length: tokens of a text, special ones and both texts of a pair included.
        context_length: the same of a question with its context.
        new_tokens: tokens made of each text that is translated or continued.

    Raises:
        ValueError: If there is no such task or preset, or a length leaves no room for a text.
    """

    task: str
    preset: str
    signatures: tuple[str, ...]
    length: int = 32
    context_length: int = 128
    new_tokens: int = 32
    threads: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, known in (
            ("task", self.task, SIGNATURES),
            ("preset", self.preset, SERVING_PRESETS),
        ):
            if value not in known:
                raise ValueError(f"Unknown {name} {value!r}: choose from {', '.join(known)}.")
        for name, least in (("length", 8), ("context_length", 16), ("new_tokens", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least {least}.")

    @property
    def encoder_sizes(self) -> EncoderSizes:
        """Sizes of a BERT."""
        return ENCODER_PRESETS[SERVING_PRESETS[self.preset].encoder]

    @property
    def beam_size(self) -> int:
        """Beams of a translation."""
        return BEAM_SIZE if self.task == "translate_beam" else 1

    def decoding(self) -> DecodingJob:
        """The translation of one source after the other, as other libraries are given it."""
        preset = SERVING_PRESETS[self.preset].translator
        return DecodingJob(preset, self.length, self.new_tokens, self.threads, self.seed)

    def generation(self) -> GptGenerationJob:
        """Texts that go on from prompts, as other libraries are given them."""
        preset = SERVING_PRESETS[self.preset].generator
        return GptGenerationJob(preset, self.length + self.new_tokens, self.threads, self.seed)

    def ids(self, batch_size: int) -> np.ndarray:
        """Ids as other libraries' BERTs are given them, int64 [batch_size, length]."""
        length = self.context_length if self.task == "qa" else self.length
        random = np.random.default_rng(self.seed)
        most = self.encoder_sizes.vocab_size
        return random.integers(len(SPECIAL), most, size=(batch_size, length))

    # What a served task is given: texts of as many tokens.

    def inputs(self, signature: str, batch_size: int) -> dict[str, list]:
        """Columns of a request, by the names of the signature's inputs."""
        if self.task.startswith("translate"):
            size = PRESETS[SERVING_PRESETS[self.preset].translator].vocab_size
            return {"text": self._characters(batch_size, self.length - 1, size)}  # and EOS
        if self.task == "generate":
            size = GPT_PRESETS[SERVING_PRESETS[self.preset].generator].vocab_size
            texts = self._characters(batch_size, self.length, size)
            if signature == "score":
                return {"text": texts}
            if signature == "serving_default":
                return {"prompt": texts}
            return {
                "prompt": texts,
                "max_new_tokens": [self.new_tokens] * batch_size,
                "temperature": [1.0] * batch_size,
                "top_k": [TOP_K] * batch_size,
                "top_p": [1.0] * batch_size,
                "seed": list(range(batch_size)),
            }
        if self.task == "qa":
            question = self.context_length // 8
            context = self.context_length - 3 - question
            return {
                "question": self._words(batch_size, question),
                "context": self._words(batch_size, context),
            }
        if signature == "pair":
            first = (self.length - 3) // 2
            return {
                "text": self._words(batch_size, first),
                "text_pair": self._words(batch_size, self.length - 3 - first),
            }
        texts = self._words(batch_size, self.length - 2)
        if self.task == "fill_mask":
            texts = [f"[MASK]{text[text.index(' ') :]}" for text in texts]
        return {"text": texts}

    def vocabulary(self) -> list[str]:
        """WordPiece's, of the encoder's size."""
        return [*SPECIAL, *(_word(i) for i in range(self.encoder_sizes.vocab_size - len(SPECIAL)))]

    def _words(self, rows: int, count: int) -> list[str]:
        random = np.random.default_rng(self.seed)
        most = self.encoder_sizes.vocab_size - len(SPECIAL)
        return [" ".join(map(_word, row)) for row in random.integers(0, most, size=(rows, count))]

    def _characters(self, rows: int, count: int, vocab_size: int) -> list[str]:
        random = np.random.default_rng(self.seed)
        known = characters(vocab_size)
        chosen = random.integers(0, len(known), size=(rows, count))
        return ["".join(known[i] for i in row) for row in chosen]


def _word(index: int) -> str:
    return f"w{index}"


def characters(vocab_size: int) -> str:
    """The characters of a `CharacterTokenizer` of that size, which has four special ids.

    >>> characters(6)
    '一丁'
    """
    return "".join(chr(FIRST_CHARACTER + index) for index in range(vocab_size - 4))


class Requests(ABC):
    """One request after the other; a subclass says what a request is."""

    @abstractmethod
    def request(self, signature: str, batch_size: int) -> Callable[[], Any]:
        """A function that asks and waits for the answer, once it is certain that it is one."""

    def run(self, signature: str, batch_size: int, seconds: float) -> list[float]:
        """Asks for so many seconds, at least twice; the seconds of each request."""
        ask = self.request(signature, batch_size)
        latencies: list[float] = []
        end = time.perf_counter() + seconds
        while len(latencies) < 2 or time.perf_counter() < end:
            start = time.perf_counter()
            ask()
            latencies.append(time.perf_counter() - start)
        return latencies
