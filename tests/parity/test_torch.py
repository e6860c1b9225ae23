"""Equality with torch's Transformer modules, forward and backward, with copied weights."""

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from parity import torch_weights  # noqa: E402

from keras_transformer import layers  # noqa: E402

pytestmark = pytest.mark.parity

ROWS, SOURCE, TARGET, WIDTH, HEADS, INNER = 3, 7, 5, 16, 4, 24
TOLERANCE = 1e-5


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def batch():
    """Source and target of different lengths, both padded."""
    random = np.random.default_rng(0)
    source = random.normal(size=(ROWS, SOURCE, WIDTH)).astype("float32")
    target = random.normal(size=(ROWS, TARGET, WIDTH)).astype("float32")
    source_mask = np.arange(SOURCE)[None] < np.array([7, 4, 1])[:, None]
    target_mask = np.arange(TARGET)[None] < np.array([4, 5, 2])[:, None]
    return source, target, source_mask, target_mask


def hidden(mask):
    """Torch's masks say what is hidden."""
    return torch.from_numpy(~mask)


def causal(length):
    return torch.from_numpy(np.triu(np.ones((length, length), bool), 1))


def compare(ours, theirs, inputs, pairs, real=None):
    """Compares outputs, and the gradients of a loss on the real positions."""
    variables = [tf.Variable(x) for x in inputs]
    ours(*variables)  # builds
    pairs = list(pairs())
    torch_weights.copy(pairs)
    tensors = [torch.from_numpy(x).requires_grad_() for x in inputs]
    expected = theirs(*tensors)
    real = np.ones(expected.shape[:2], bool) if real is None else real
    weights = np.random.default_rng(9).normal(size=expected.shape) * real[..., None] / real.sum()
    weights = weights.astype("float32")
    (expected * torch.from_numpy(weights)).sum().backward()
    with tf.GradientTape() as tape:
        output = ours(*variables)
        loss = tf.reduce_sum(output * weights)
    gradients = tape.gradient(loss, [*variables, *(v.value for v, _ in pairs)])
    assert_allclose(output.numpy()[real], expected.detach().numpy()[real], atol=TOLERANCE)
    expected_gradients = [t.grad.numpy() for t in tensors]
    expected_gradients += [torch_weights.as_ours(t.grad, third) for _, (t, third) in pairs]
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        assert_allclose(gradient, expected_gradient, atol=TOLERANCE)
    return pairs


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("masked", ["not", "padding", "causal", "both"])
def test_multi_head_attention(use_bias, masked):
    x, _, mask, _ = batch()
    padding = masked in ("padding", "both")
    look_ahead = masked in ("causal", "both")
    ours = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, use_bias=use_bias)
    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, bias=use_bias, batch_first=True)
    pairs = compare(
        lambda q: ours(q, attention_mask=mask if padding else None, use_causal_mask=look_ahead),
        lambda q: theirs(
            q,
            q,
            q,
            key_padding_mask=hidden(mask) if padding else None,
            attn_mask=causal(SOURCE) if look_ahead else None,
        )[0],
        [x],
        lambda: torch_weights.attention(ours, theirs),
    )
    assert len(pairs) == len(ours.weights)


def test_cross_attention_and_its_weights():
    source, target, source_mask, _ = batch()
    ours = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    compare(
        lambda q, v: ours(q, v, attention_mask=source_mask),
        lambda q, v: theirs(q, v, v, key_padding_mask=hidden(source_mask))[0],
        [target, source],
        lambda: torch_weights.attention(ours, theirs),
    )
    arguments = {"attention_mask": source_mask, "return_attention_scores": True}
    _, weights = ours(target, source, **arguments)
    q, v = torch.from_numpy(target), torch.from_numpy(source)
    _, expected = theirs(q, v, v, key_padding_mask=hidden(source_mask), average_attn_weights=False)
    assert_allclose(weights, expected.detach(), atol=TOLERANCE)


OPTIONS = [
    (False, False, "relu"),
    (False, True, "gelu"),
    (True, True, "relu"),
    (True, False, "gelu"),
]


def our_options(norm_first, final_norm, act):
    return {
        "num_heads": HEADS,
        "intermediate_size": INNER,
        "norm_first": norm_first,
        "final_norm": final_norm,
        "hidden_act": act,
        "layer_norm_eps": 1e-5,
    }


def their_options(norm_first, act):
    return {
        "dim_feedforward": INNER,
        "dropout": 0.0,
        "activation": act,
        "norm_first": norm_first,
        "batch_first": True,
    }


@pytest.mark.parametrize(("norm_first", "final_norm", "act"), OPTIONS)
def test_encoder(norm_first, final_norm, act):
    source, _, mask, _ = batch()
    ours = layers.Encoder(2, **our_options(norm_first, final_norm, act))
    theirs = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(WIDTH, HEADS, **their_options(norm_first, act)),
        num_layers=2,
        norm=torch.nn.LayerNorm(WIDTH) if final_norm else None,
        enable_nested_tensor=False,
    )
    pairs = compare(
        lambda x: ours(x, attention_mask=mask),
        lambda x: theirs(x, src_key_padding_mask=hidden(mask)),
        [source],
        lambda: torch_weights.stack(ours, theirs),
        real=mask,
    )
    assert len(pairs) == len(ours.weights)


@pytest.mark.parametrize(("norm_first", "final_norm", "act"), OPTIONS)
def test_decoder(norm_first, final_norm, act):
    source, target, source_mask, target_mask = batch()
    ours = layers.Decoder(2, **our_options(norm_first, final_norm, act))
    theirs = torch.nn.TransformerDecoder(
        torch.nn.TransformerDecoderLayer(WIDTH, HEADS, **their_options(norm_first, act)),
        num_layers=2,
        norm=torch.nn.LayerNorm(WIDTH) if final_norm else None,
    )
    pairs = compare(
        lambda t, s: ours(t, s, attention_mask=target_mask, memory_mask=source_mask),
        lambda t, s: theirs(
            t,
            s,
            tgt_mask=causal(TARGET),
            tgt_key_padding_mask=hidden(target_mask),
            memory_key_padding_mask=hidden(source_mask),
        ),
        [target, source],
        lambda: torch_weights.stack(ours, theirs),
        real=target_mask,
    )
    assert len(pairs) == len(ours.weights)


@pytest.mark.parametrize("norm_first", [False, True])
def test_whole_transformer(norm_first):
    """torch's nn.Transformer ends both stacks with a norm, whatever the order inside."""
    source, target, source_mask, target_mask = batch()
    encoder = layers.Encoder(2, **our_options(norm_first, True, "relu"))
    decoder = layers.Decoder(2, **our_options(norm_first, True, "relu"))
    theirs = torch.nn.Transformer(WIDTH, HEADS, 2, 2, **their_options(norm_first, "relu"))

    def ours(s, t):
        memory = encoder(s, attention_mask=source_mask)
        return decoder(t, memory, attention_mask=target_mask, memory_mask=source_mask)

    def pairs():
        yield from torch_weights.stack(encoder, theirs.encoder)
        yield from torch_weights.stack(decoder, theirs.decoder)

    compare(
        ours,
        lambda s, t: theirs(
            s,
            t,
            tgt_mask=causal(TARGET),
            src_key_padding_mask=hidden(source_mask),
            tgt_key_padding_mask=hidden(target_mask),
            memory_key_padding_mask=hidden(source_mask),
        ),
        [source, target],
        pairs,
        real=target_mask,
    )
