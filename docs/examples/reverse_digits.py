"""A Transformer from the package's layers, trained with `model.fit` to reverse rows of digits."""

import keras
import numpy as np

from keras_transformer.layers import Decoder, Encoder, SinusoidalPositions, TokenEmbedding
from keras_transformer.layers.masks import padding_mask
from keras_transformer.training import TokenCrossEntropy

PAD, BOS, EOS, VOCAB, WIDTH = 0, 1, 2, 13, 64


def make_data(rows, rng):
    """Digits 3..12 in rows of 3 to 7; the target is the row backwards, then EOS."""
    source, target = np.zeros((rows, 7), "int32"), np.zeros((rows, 9), "int32")
    for i, length in enumerate(rng.integers(3, 8, rows)):
        source[i, :length] = rng.integers(3, VOCAB, length)
        target[i, : length + 2] = [BOS, *source[i, :length][::-1], EOS]
    return {"source": source, "target": target[:, :-1]}, target[:, 1:]


def build_model():
    """Two encoder and two decoder layers, post-norm as in the 2017 paper."""
    sizes = {"num_layers": 2, "num_heads": 4, "intermediate_size": 128}
    embed, positions = TokenEmbedding(VOCAB, WIDTH), SinusoidalPositions()
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    mask = padding_mask(source)
    memory = Encoder(**sizes)(positions(embed(source)), attention_mask=mask)
    hidden = Decoder(**sizes)(positions(embed(target)), memory, memory_mask=mask)
    return keras.Model({"source": source, "target": target}, embed(hidden, reverse=True))


def reverse(model, source):
    """Greedy decoding: the likeliest token again and again."""
    target = np.full((len(source), 1), BOS, "int32")
    for _ in range(8):
        logits = model.predict({"source": source, "target": target}, verbose=0, batch_size=1000)
        target = np.concatenate([target, logits[:, -1:].argmax(-1)], axis=1)
    return target[:, 1:]


if __name__ == "__main__":
    model = build_model()
    model.compile(keras.optimizers.AdamW(1e-3), loss=TokenCrossEntropy())
    model.fit(*make_data(64 * 2000, np.random.default_rng(1)), batch_size=64, epochs=1)
    inputs, labels = make_data(2000, np.random.default_rng(2))
    found = reverse(model, inputs["source"])
    exact = [(f * (y > 0) == y).all() for f, y in zip(found, labels, strict=True)]
    print(f"exactly reversed: {np.mean(exact):.1%}")
    print(reverse(model, np.array([[3, 7, 5, 9, 0, 0, 0], [4, 8, 6, 3, 7, 0, 0]])))
