"""Text generators small enough to trace in seconds, and what they should say, the slow way."""

from __future__ import annotations

import codecs
from functools import cache, cached_property
from typing import Any

import numpy as np
import tensorflow as tf
from generation import slow_choice
from generation.fakes import log_softmax
from layers import gallery

from keras_transformer.generation.sampling import gumbel_noise
from keras_transformer.models import Gpt, GptConfig
from keras_transformer.tasks import Generation, GenerationOptions, TextGenerator
from keras_transformer.text import (
    ByteLevelBPETokenizer,
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
)

WINDOW = 12

TEXTS = [
    "the dog sees the cat.",
    "the cat sees a dog and sleeps.",
    "a small red house\nand a big blue one",
    "she drinks tea, he drinks milk",
    "我喝茶。她喝茶。",
    "🙂 ▁▂▃ naïve café",
]

# Empty, blank and short; as characters with a start one more than a window, just one, and longer.
PROMPTS = ["", " ", "the ", "a", "the dog sees", "\n", "a cat sees ", "we drink tea " * 3, "ab茶"]

SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": WINDOW,
}

LLAMA = {
    "positions": "rotary",
    "norm": "rms_norm",
    "hidden_act": "silu",
    "gated": True,
    "use_bias": False,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
}


def characters() -> CharacterTokenizer:
    return CharacterTokenizer.train(TEXTS[:5])


def subwords(**options: Any) -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train(TEXTS * 4, 340, hard_vocab_limit=False, **options)


def byte_pairs() -> ByteLevelBPETokenizer:
    """As GPT-2's: one control token, which begins and ends texts, and no padding."""
    return ByteLevelBPETokenizer.train(TEXTS * 4, 290, pad_token=None)


def make_generator(
    tokenizer: Tokenizer,
    options: GenerationOptions | None = None,
    seed: int = 1,
    start_id: Any = "eos",
    **config: Any,
) -> TextGenerator:
    """A generator with random weights that matter, a model like GPT-2 by default."""
    ids = {
        "pad_token_id": tokenizer.pad_id,
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": tokenizer.eos_id,
    }
    model = Gpt(GptConfig(vocab_size=tokenizer.vocab_size, **SIZES | ids | config))
    model.build()
    gallery.randomise(model, seed)
    # Sharper than chance: else all tokens are nearly as likely.
    model.token_embedding.weights[0].assign(2.5 * model.token_embedding.weights[0])
    return TextGenerator(model, tokenizer, options, start_id)


KINDS = ("characters", "subwords", "byte_pairs")


@cache
def generator(kind: str) -> TextGenerator:
    """The same for all tests: one for each kind of tokenizer, of the shapes of GPT-2 and Llama."""
    options = GenerationOptions(max_new_tokens=3 * WINDOW)
    if kind == "characters":  # text and ids say the same
        return make_generator(characters(), options, num_hidden_layers=2)
    if kind == "subwords":
        return make_generator(subwords(), options, seed=2, **LLAMA)
    return make_generator(byte_pairs(), options, seed=3)


class SlowGenerator:
    """What a generator should say, by full passes of the model for one token after the other."""

    def __init__(self, generator: TextGenerator):
        self.generator = generator
        model, tokenizer = generator.model, generator.tokenizer
        self.window = model.config.max_position_embeddings
        self.kept = max(1, self.window // 2)
        self.eos = tokenizer.eos_id
        control = {*tokenizer.special_ids, tokenizer.unk_id, -1}
        self.forbidden = control - {self.eos}

    @cached_property
    def _last_logits(self):
        ids = tf.TensorSpec([1, None], tf.int32)
        model = self.generator.model
        return tf.function(lambda ids: model({"token_ids": ids})[0, -1], input_signature=[ids])

    def logits(self, tokens: list[int]) -> np.ndarray:
        return self._last_logits(tf.constant([tokens])).numpy()

    def prompt(self, text: str) -> list[int]:
        tokens = self.generator.tokenizer.tokenize(text).numpy().tolist()
        if self.generator.start_id is not None:
            return [self.generator.start_id, *tokens]
        return tokens or [self.eos]

    def generate(self, text: str, **changes: Any) -> Generation:
        options = self.generator.options.changed(**changes)
        tokens = self.prompt(text)
        truncated = len(tokens) > self.window
        if truncated:
            tokens = tokens[-self.kept :]
        read, new, spelled, score = list(tokens), [], b"", 0.0
        reason = "length"
        while len(new) < options.max_new_tokens:
            if len(read) > self.window:
                read = read[-self.kept :]
            logits = self.logits(read)
            token = self._choose(logits, {*tokens, *new} - {self.eos}, len(new), options)
            score += log_softmax(logits)[token]
            read.append(token)
            new.append(token)
            if token == self.eos:
                reason = "end"
                break
            spelled += self.spell(token)
            place = first_stop(spelled, [stop.encode() for stop in options.stop])
            if place is not None:
                spelled, reason = spelled[:place], "stop"
                break
        new_text = decode(spelled)
        if isinstance(self.generator.tokenizer, SentencePieceTokenizer):  # trained here: escapes
            new_text = new_text.replace("\x101", "▁").replace("\x100", "\x10")
        return Generation(new_text, text + new_text, score, len(new), reason, truncated)

    def _choose(self, logits, used, number, options: GenerationOptions) -> int:
        too_soon = {self.eos} if number < options.min_new_tokens else set()
        allowed = slow_choice.probabilities(
            logits,
            used,
            self.forbidden | too_soon,
            options.temperature,
            options.top_k,
            options.top_p,
            options.min_p,
            options.repetition_penalty,
        )
        if len(allowed) == 1:
            return next(iter(allowed))
        noise = gumbel_noise(tf.constant([options.seed]), number, len(logits))[0].numpy()
        return slow_choice.draw(allowed, noise)

    def spell(self, token: int) -> bytes:
        """The bytes of a token, by its name."""
        tokenizer, name = self.generator.tokenizer, self.generator.tokenizer.id_to_token(token)
        if isinstance(tokenizer, SentencePieceTokenizer):
            if name.startswith("<0x"):
                return bytes([int(name[3:5], 16)])
            return name.replace("▁", " ").encode()
        if isinstance(tokenizer, ByteLevelBPETokenizer):
            return bytes(byte_letters().index(letter) for letter in name)
        return name.encode()

    def log_probabilities(self, text: str) -> list[float]:
        """Of each token of a text, read in windows."""
        tokens, found = self.prompt(text), []
        if self.generator.start_id is None and not text:
            return []
        read = tokens[:1]
        for token in tokens[1:]:
            if len(read) > self.window:
                read = read[-self.kept :]
            found.append(log_softmax(self.logits(read))[token])
            read.append(token)
        return found


@cache
def slow_generator(kind: str) -> SlowGenerator:
    """What `generator` of this kind should say; one for all tests, so that it is traced once."""
    return SlowGenerator(generator(kind))


def byte_letters() -> list[str]:
    """GPT-2's letters for bytes, as its own code makes them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, others = {}, 0
    for byte in range(256):
        if byte in plain:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(256 + others)
            others += 1
    return [letters[byte] for byte in range(256)]


def decode(spelled: bytes) -> str:
    """What bytes say, without a last character that lacks some."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(spelled)


def first_stop(spelled: bytes, stops: list[bytes]) -> int | None:
    """Where the stop string begins that is complete first, the longest of several."""
    for end in range(len(spelled) + 1):
        found = [len(stop) for stop in stops if spelled[:end].endswith(stop)]
        if found:
            return end - max(found)
    return None


def assert_same(found: Generation, expected: Generation) -> None:
    assert found._replace(score=0.0) == expected._replace(score=0.0), (found, expected)
    np.testing.assert_allclose(found.score, expected.score, atol=1e-3)
