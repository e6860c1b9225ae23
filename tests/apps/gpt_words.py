"""Texts and a shape for small GPTs."""

import random

SHAPE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
WORDS = "the sea was calm and a boat came home with fish while wind rose over dark hills".split()


def sentences(count: int, seed: int = 1) -> str:
    """Made-up sentences, a line each."""
    draw = random.Random(seed)
    return "".join(f"{' '.join(draw.choices(WORDS, k=7))}.\n" for _ in range(count))
