"""Training of models whose layers are computed twice, so that they need less memory."""

import keras

from keras_transformer.layers.block import TransformerStack


def recompute_layers(model: keras.Model, on: bool = True) -> None:
    """Has training keep nothing of a model's Transformer layers but their inputs.

    Each layer is computed once more when its gradient is wanted (gradient checkpointing; Chen et
    al. 2016): the memory of all layers becomes that of one, for about a third more time. Losses,
    gradients and what dropout drops stay the same. It is a choice of the training and no part of
    the model: it is saved with no weights, and prediction is as ever. Call it before `compile`.

    Args:
        model: one of ours, or any that has an `Encoder` or `Decoder` among its layers.
        on: whether to do so from now on.

    Raises:
        ValueError: when the model has no such layers.

    >>> from keras_transformer.models import Gpt, GptConfig
    >>> model = Gpt(GptConfig.preset("nano", vocab_size=50))
    >>> recompute_layers(model)
    >>> model.decoder.recompute
    True
    """
    stacks = _stacks(model)
    if not stacks:
        raise ValueError(
            f"{model.name} has no Encoder or Decoder whose layers could be recomputed."
        )
    for stack in stacks:
        stack.recompute = on


def _stacks(model: keras.Model) -> list[TransformerStack]:
    found = []
    for layer in model.layers:
        if isinstance(layer, TransformerStack):
            found.append(layer)
        elif isinstance(layer, keras.Model):
            found += _stacks(layer)
    return found
