"""The shapes at each stage of a model, from a text to logits, as they are while it runs."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.inspection.layer_calls import LayerCall, record_calls
from keras_transformer.inspection.model_inputs import ModelInputs, model_inputs
from keras_transformer.inspection.token_labels import visible
from keras_transformer.inspection.topic import Matrix, Step, Topic
from keras_transformer.layers import (
    AlibiPositionBias,
    BucketedPositionBias,
    Dropout,
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    ResidualConnection,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
)
from keras_transformer.layers.block import TransformerBlock, TransformerStack
from keras_transformer.layers.masked_token_head import MaskedTokenHead
from keras_transformer.layers.segments import SegmentEmbedding
from keras_transformer.tasks import Task

COLUMNS = ("layer", "what it gives", "shape", "axes", "weights", "parameters")
_HIDDEN = "batch, length, hidden_size"
_IN_HEADS = "batch, heads, length, key_dim"

# What a layer gives, by the class that calls it and its name there.
_MEANINGS = {
    (MultiHeadAttention, "query"): ("queries Q = x Wq, in heads", _IN_HEADS),
    (MultiHeadAttention, "key"): ("keys K = x Wk, in heads", _IN_HEADS),
    (MultiHeadAttention, "value"): ("values V = x Wv, in heads", _IN_HEADS),
    (MultiHeadAttention, "dropout"): (
        "weights A = softmax(Q Kᵀ / √d_k)",
        "batch, heads, queries, keys",
    ),
    (MultiHeadAttention, "output"): ("heads A V side by side, times Wo", _HIDDEN),
    (FeedForward, "input_dense"): ("x W1", "batch, length, intermediate_size"),
    (FeedForward, "gate_dense"): ("the gate, x Wg", "batch, length, intermediate_size"),
    (FeedForward, "dropout"): ("act(x W1)", "batch, length, intermediate_size"),
    (FeedForward, "output_dense"): ("act(x W1) W2", _HIDDEN),
    (MaskedTokenHead, "transform"): ("x W + b", _HIDDEN),
    (ResidualConnection, "norm"): ("normalised", _HIDDEN),
    (ResidualConnection, "dropout"): ("to be added to the part's input", _HIDDEN),
}


def shapes_topic(task: Task, text: str, target: str | None = None) -> Topic:
    """What each part of a task's model gives for a text, from its tokens to its logits.

    Nothing is computed here: the model runs, and what its layers give is looked at. Of layers
    that are built alike only the first is shown.

    Args:
        task: a `Translator`, a `TextGenerator`, or a task of BERT.
        text: the text.
        target: the translation that a translator's decoder is given; its own by default. Of a
            task of BERT, the second text, or the context of a question.

    Raises:
        ValueError: as `inspection.model_inputs`.

    >>> from keras_transformer.models import Gpt, GptConfig
    >>> from keras_transformer.tasks import TextGenerator
    >>> from keras_transformer.text import CharacterTokenizer
    >>> tokenizer = CharacterTokenizer.train(["abc"])
    >>> model = Gpt(GptConfig.preset("nano", vocab_size=tokenizer.vocab_size))
    >>> topic = shapes_topic(TextGenerator(model, tokenizer), "abc")
    >>> topic.step("Logits").matrix.cells()[-1][2]
    '[1, 4, 7]'
    """
    read = model_inputs(task, text, target)
    model = task.model
    with record_calls(model) as calls:
        outputs = model(read.inputs, training=False)
    steps = [
        Step(
            f"Tokens: {name}",
            "text → tokens → ids",
            Matrix(
                [
                    [visible(token), str(index)]
                    for token, index in zip(tokens, read.inputs[name][0], strict=True)
                ],
                [str(i) for i in range(len(tokens))],
                ["token", "id"],
            ),
            f"The model is given {name} {_shape(read.inputs[name].shape)}: one row of ids.",
        )
        for name, tokens in read.tokens.items()
    ]
    steps += _layer_steps(model, calls, read)
    logits = outputs.get("masked_tokens") if isinstance(outputs, dict) else outputs
    if logits is not None and logits.shape[-1] == read.tokenizer.vocab_size:
        steps += _probabilities(ops.convert_to_numpy(logits)[0], read)
    return Topic(
        f"Shapes: {type(model).__name__}",
        f"“{text}” on its way through a {type(task).__name__} of {model.count_params():,} "
        "parameters.",
        steps,
    )


def _layer_steps(model: keras.Model, calls: list[LayerCall], read: ModelInputs) -> list[Step]:
    """What the innermost layers give, in groups; of each stack only the first layer."""
    groups: dict[str, list[LayerCall]] = {}
    names = iter(read.tokens)
    title = ""
    for call in filter(_is_telling, calls):
        stack = next((c for c in call.callers if isinstance(c, TransformerStack)), None)
        block = next((c for c in call.callers if isinstance(c, TransformerBlock)), None)
        if block is not None and block is not stack.layers[0]:
            continue
        if block is not None:
            title = f"{stack.name.capitalize()}, layer 0 of {stack.num_layers}"
        elif stack is not None:
            title = f"{stack.name.capitalize()}, after the last layer"
        elif _is_look_up(call):
            title = f"Embedding: {next(names)}"
        elif not title.startswith("Embedding"):
            title = "Logits"
        groups.setdefault(title, []).append(call)
    seen: set[int] = set()
    steps = []
    for title, group in groups.items():
        rows = [_row(model, call, seen) for call in group]
        more = " of " in title and not title.endswith(" of 1")
        sentence = "The other layers are built alike." if more else ""
        steps.append(Step(title, matrix=Matrix(rows, columns=COLUMNS), sentence=sentence))
    return steps


def _is_telling(call: LayerCall) -> bool:
    """Whether a call is shown: it is an innermost one, or its layer has weights of its own."""
    if isinstance(call.layer, Dropout):  # stands where something was computed by no layer
        return bool(call.callers) and (type(call.callers[-1]), "dropout") in _MEANINGS
    return not call.inner or bool(_own_weights(call.layer))


def _is_look_up(call: LayerCall) -> bool:
    return isinstance(call.layer, TokenEmbedding) and not call.options.get("reverse", False)


def _own_weights(layer: keras.layers.Layer) -> list[Any]:
    return [weight for weight in layer.weights if weight.path.rpartition("/")[0] == layer.path]


def _row(model: keras.Model, call: LayerCall, seen: set[int]) -> list[str]:
    layer, shape = call.layer, tuple(call.output.shape)
    caller = call.callers[-1] if call.callers else model
    name = "dropout" if isinstance(layer, Dropout) else layer.name
    meaning, axes = _meaning(call, caller, name, model)
    if axes == _IN_HEADS and len(shape) == 3:  # split by the attention, behind this layer
        heads = caller.num_heads if name == "query" else caller.num_key_value_heads
        shape = (shape[0], heads, shape[1], shape[2] // heads)
    weights = _own_weights(layer)
    parameters = sum(math.prod(weight.shape) for weight in weights)
    if id(layer) in seen and weights:
        sizes, count = "the same as before", ""
    else:
        sizes = " + ".join("×".join(map(str, weight.shape)) for weight in weights)
        count = f"{parameters:,}" if parameters else ""
    seen.add(id(layer))
    block = next((c for c in call.callers if isinstance(c, TransformerBlock)), model)
    path = caller.path if isinstance(layer, Dropout) else layer.path
    place = (path or name).removeprefix(f"{block.path or block.name}/")
    return [place, meaning, _shape(shape), axes, sizes, count]


def _meaning(
    call: LayerCall, caller: keras.layers.Layer, name: str, model: keras.Model
) -> tuple[str, str]:
    layer, shape = call.layer, call.output.shape
    if (type(caller), name) in _MEANINGS:
        return _MEANINGS[type(caller), name]
    if isinstance(layer, TokenEmbedding):
        if not _is_look_up(call):
            return "logits: x times the table, transposed", "batch, length, vocab_size"
        scaled = f", times √{layer.hidden_size}" if layer.scale else ""
        return f"the table's row of each id{scaled}", _HIDDEN
    is_hidden = len(shape) == 3 and shape[-1] == model.config.hidden_size
    meanings = {
        RotaryPositions: ("turned by the position", _IN_HEADS),
        SinusoidalPositions: ("the position's sinusoids added", _HIDDEN),
        LearnedPositions: ("the position's vector added", _HIDDEN),
        SegmentEmbedding: ("the segment's vector added", _HIDDEN),
        AlibiPositionBias: ("added to the scores", "batch, heads, queries, keys"),
        BucketedPositionBias: ("added to the scores", "batch, heads, queries, keys"),
        keras.layers.LayerNormalization: ("normalised", _HIDDEN),
        keras.layers.RMSNormalization: ("normalised", _HIDDEN),
        MaskedTokenHead: ("logits, a bias for each id added", "batch, length, vocab_size"),
    }
    for kind, meaning in meanings.items():
        if isinstance(layer, kind):
            return meaning
    return type(layer).__name__, _HIDDEN if is_hidden else ""


def _probabilities(logits: np.ndarray, read: ModelInputs) -> list[Step]:
    """The best tokens where one is asked for: at a mask, or behind the last token."""
    mask_id = read.tokenizer.mask_id
    ids = list(read.inputs.values())[0 if "token_ids" in read.inputs else -1][0].tolist()
    if "segment_ids" in read.inputs:  # a BERT
        if mask_id not in ids:
            return []
        place, where = ids.index(mask_id), "at the mask"
    else:
        place, where = len(ids) - 1, "after the last token"
    weights = ops.convert_to_numpy(ops.softmax(ops.convert_to_tensor(logits[place])))
    best = np.argsort(-weights, kind="stable")[:5]
    rows = [
        [
            visible(read.tokenizer.id_to_token(int(index))),
            str(index),
            f"{logits[place, index]:.4f}",
            f"{weights[index]:.4f}",
        ]
        for index in best
    ]
    return [
        Step(
            "Probabilities",
            "softmax(logits)",
            Matrix(rows, columns=["token", "id", "logit", "probability"]),
            f"The {len(best)} most probable tokens {where}.",
        )
    ]


def _shape(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"
