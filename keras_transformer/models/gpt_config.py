"""The sizes and choices of a decoder-only model."""

from dataclasses import dataclass
from typing import Any, Literal

from keras_transformer.layers.feed_forward import activation_function
from keras_transformer.layers.rotary_scaling import check_scaling
from keras_transformer.models.config import ModelConfig

_LLAMA: dict[str, Any] = {
    "hidden_act": "silu",
    "gated": True,
    "positions": "rotary",
    "norm": "rms_norm",
    "use_bias": False,
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
    "tie_word_embeddings": False,
}


@dataclass(frozen=True)
class GptConfig(ModelConfig):
    """All that determines a `Gpt`; the defaults are the smallest GPT-2 (Radford et al. 2019).

    Presets:

    - ``nano``: 4 layers, 4 heads, width 128, texts of 64 tokens; no dropout.
    - ``mini``: 6 layers, 6 heads, width 384, texts of 256 tokens.
    - ``gpt2`` and ``gpt2-medium``: 12 layers of width 768, 24 of 1024 (Radford et al. 2019,
      table 2).
    - ``llama-small``: the shape of Llama (Touvron et al. 2023, 2.2): rotary positions, RMSNorm, a
      gated network, no biases, here with 8 layers of width 512 and two query heads for each
      key/value head.

    >>> GptConfig.preset("nano", vocab_size=65).hidden_size
    128
    """

    vocab_size: int
    """Number of ids."""
    hidden_size: int = 768
    """Width of the hidden states."""
    num_hidden_layers: int = 12
    """Number of layers."""
    num_attention_heads: int = 12
    """Number of attention heads; must divide hidden_size."""
    num_key_value_heads: int | None = None
    """Number of key/value heads (GQA, MQA); all heads by default."""
    intermediate_size: int | None = None
    """Inner width of the feed-forward networks; four times hidden_size by default."""
    hidden_act: str = "gelu_tanh"
    """Activation of the feed-forward networks, a name of `layers.feed_forward.ACTIVATIONS`."""
    gated: bool = False
    """Whether the feed-forward networks are gated (SwiGLU with hidden_act="silu")."""
    positions: Literal["learned", "rotary", "sinusoidal"] = "learned"
    """How positions enter: a learned or sinusoidal vector added, or by rotation."""
    rope_theta: float = 10000.0
    """Base of the rotary frequencies."""
    rope_scaling: dict | None = None
    """Rule by which rotary frequencies are stretched; see `layers.rotary_scaling`."""
    max_position_embeddings: int = 1024
    """Longest text that the model is made for, in tokens; learned positions end there."""
    norm: Literal["layer_norm", "rms_norm"] = "layer_norm"
    """Kind of normalisation, which stands before each sublayer and at the end."""
    layer_norm_eps: float = 1e-5
    """Epsilon of the norms."""
    use_bias: bool = True
    """Whether attention projections and feed-forward maps have biases."""
    embedding_dropout: float | None = None
    """Rate of dropout on the embeddings; hidden_dropout by default."""
    hidden_dropout: float = 0.1
    """Rate of dropout on each sublayer's output."""
    attention_dropout: float = 0.1
    """Rate of dropout on attention weights."""
    tie_word_embeddings: bool = True
    """Whether the output projection is the table of the token embedding."""
    initializer_range: float = 0.02
    """Standard deviation of the initial weights."""
    pad_token_id: int = 0
    """Id of padding; -1 where the vocabulary has none, as GPT-2's and Llama's."""
    bos_token_id: int = 1
    """Id that starts a text."""
    eos_token_id: int = 2
    """Id that ends a text."""

    presets = {
        "nano": {
            "hidden_size": 128,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "max_position_embeddings": 64,
            "hidden_dropout": 0.0,
            "attention_dropout": 0.0,
        },
        "mini": {
            "hidden_size": 384,
            "num_hidden_layers": 6,
            "num_attention_heads": 6,
            "max_position_embeddings": 256,
        },
        "gpt2": {},
        "gpt2-medium": {
            "hidden_size": 1024,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
        },
        "llama-small": {
            **_LLAMA,
            "hidden_size": 512,
            "num_hidden_layers": 8,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "intermediate_size": 1376,
        },
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_sizes(
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "intermediate_size",
            "max_position_embeddings",
        )
        self._check_divides("num_attention_heads", "hidden_size")
        self._check_divides("num_key_value_heads", "num_attention_heads")
        self._check_rates("embedding_dropout", "hidden_dropout", "attention_dropout")
        self._check_positive("rope_theta", "layer_norm_eps", "initializer_range")
        self._check_ids(self.vocab_size, "bos_token_id", "eos_token_id")
        if self.pad_token_id != -1:
            self._check_ids(self.vocab_size, "pad_token_id")
        activation_function(self.hidden_act)
        check_scaling(self.rope_scaling)
        if self.positions == "rotary":
            if (self.hidden_size // self.num_attention_heads) % 2:
                raise ValueError(
                    "rotary positions turn pairs of features: hidden_size / num_attention_heads "
                    f"must be even, not {self.hidden_size // self.num_attention_heads}."
                )
        elif self.rope_scaling is not None:
            raise ValueError(
                f"rope_scaling is for positions='rotary', not for {self.positions!r} ones."
            )

    @property
    def inner_size(self) -> int:
        """Inner width of the feed-forward networks."""
        return self.intermediate_size or 4 * self.hidden_size
