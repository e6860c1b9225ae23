"""A decoder that has learned prompts and their completions by heart says them."""

import keras
import numpy as np
import pytest

from keras_transformer.data import TextPairs, prompt_batches
from keras_transformer.models import Gpt, GptConfig
from keras_transformer.tasks import GenerationOptions, TextGenerator
from keras_transformer.text import CharacterTokenizer
from keras_transformer.training import TokenCrossEntropy

pytestmark = pytest.mark.slow

# Of unequal lengths, and many completions begin alike.
PAIRS = [(f"{n}+{n}=", f"it is {2 * n}" + "!" * (n % 3)) for n in range(1, 21)]


@pytest.fixture(scope="module")
def learned():
    keras.utils.set_random_seed(0)
    tokenizer = CharacterTokenizer.train([text for pair in PAIRS for text in pair])
    config = GptConfig(
        tokenizer.vocab_size,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=32,
        hidden_dropout=0.0,
        attention_dropout=0.0,
    )
    generator = TextGenerator(Gpt(config), tokenizer, GenerationOptions(temperature=0))
    batches = prompt_batches(
        TextPairs("sums", lambda: iter(PAIRS)),
        tokenizer,
        start_id=generator.start_id,
        batch_size=20,
        max_length=32,
        length_multiple=32,
    )
    generator.model.compile(keras.optimizers.Adam(3e-3), TokenCrossEntropy())
    history = generator.model.fit(batches.dataset, epochs=150, verbose=0, shuffle=False)
    assert history.history["loss"][-1] < 0.05
    return generator


def test_every_completion_comes_back_exactly(learned):
    found = learned.generate([prompt for prompt, _ in PAIRS])
    for (_, completion), generation in zip(PAIRS, found, strict=True):
        assert (generation.text, generation.finish_reason) == (completion, "end")


def test_what_was_learned_by_heart_is_sure(learned):
    scores = learned.score([prompt + completion for prompt, completion in PAIRS])
    prompts = learned.score([prompt for prompt, _ in PAIRS])
    gained = [
        whole.log_probability - prompt.log_probability
        for whole, prompt in zip(scores, prompts, strict=True)
    ]
    assert np.exp(min(gained)) > 0.5
