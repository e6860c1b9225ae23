"""KerasHub's TransformerEncoder and TransformerDecoder, stacked as its guides stack them."""

from collections.abc import Callable

import keras
import keras_hub

from benchmarks.peers.jobs import PAD, Sizes, TrainingJob
from benchmarks.peers.keras_fit import KerasFit


def build(sizes: Sizes, max_length: int, dropout: float) -> keras.Model:
    """An encoder-decoder of KerasHub's layers; logits come from the tied token embedding."""
    embed = keras_hub.layers.TokenAndPositionEmbedding(
        sizes.vocab_size, max_length, sizes.hidden_size, tie_weights=True
    )
    block = {
        "intermediate_dim": sizes.intermediate_size,
        "num_heads": sizes.num_attention_heads,
        "dropout": dropout,
        "normalize_first": True,
    }
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    real = keras.ops.not_equal(source, PAD)  # [batch, source_length], True = may be attended
    encoded = keras.layers.Dropout(dropout)(embed(source))
    for _ in range(sizes.encoder_layers):
        encoded = keras_hub.layers.TransformerEncoder(**block)(encoded, padding_mask=real)
    encoded = keras.layers.LayerNormalization()(encoded)
    # No padding mask for the target: padding stands at its end, which causality hides.
    hidden = keras.layers.Dropout(dropout)(embed(target))
    for _ in range(sizes.decoder_layers):
        hidden = keras_hub.layers.TransformerDecoder(**block)(
            hidden, encoded, encoder_padding_mask=real
        )
    hidden = keras.layers.LayerNormalization()(hidden)
    logits = embed.token_embedding(hidden, reverse=True)  # [batch, target_length, vocab]
    return keras.Model({"source": source, "target": target}, logits)


class Training(KerasFit):
    """`fit` with the usual sparse cross-entropy that skips padding, without label smoothing.

    Keras smooths labels only in `CategoricalCrossentropy`, on one-hot labels; the sparse loss is
    the quicker of the two and what KerasHub's guides use, so it is what we compare with.
    """

    def __init__(self, job: TrainingJob):
        keras.utils.set_random_seed(job.seed)
        model = build(job.sizes, job.length, job.dropout)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=PAD)
        super().__init__(model, loss, job)


class SmoothedTraining(KerasFit):
    """`fit` with the loss the others have: label smoothing, here on one-hot labels."""

    def __init__(self, job: TrainingJob):
        keras.utils.set_random_seed(job.seed)
        model = build(job.sizes, job.length, job.dropout)
        super().__init__(model, smoothed_cross_entropy(job.label_smoothing), job)


def smoothed_cross_entropy(label_smoothing: float) -> Callable:
    """Keras' label-smoothed cross-entropy, averaged over real tokens: a loss for `compile`."""
    smoothed = keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=label_smoothing, reduction=None
    )

    def loss(labels, logits):  # [batch, tokens], [batch, tokens, vocab]
        one_hot = keras.ops.one_hot(labels, logits.shape[-1])  # [batch, tokens, vocab]
        real = keras.ops.cast(keras.ops.not_equal(labels, PAD), logits.dtype)  # [batch, tokens]
        return keras.ops.sum(smoothed(one_hot, logits) * real) / keras.ops.sum(real)

    return loss
