"""The sizes and choices of an encoder-decoder Transformer."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from keras_transformer.layers.feed_forward import activation_function
from keras_transformer.layers.normalization import check_normalization


@dataclass(frozen=True)
class TransformerConfig:
    """All that determines an encoder-decoder `Transformer`; the defaults are the 2017 base model.

    >>> TransformerConfig.preset("tiny", vocab_size=6000).hidden_size
    128
    """

    vocab_size: int
    """Number of ids of the source, and of the target unless target_vocab_size is given."""
    target_vocab_size: int | None = None
    """Number of target ids where source and target have vocabularies of their own."""
    hidden_size: int = 512
    """Width of the hidden states."""
    encoder_layers: int = 6
    """Number of encoder layers."""
    decoder_layers: int = 6
    """Number of decoder layers."""
    num_attention_heads: int = 8
    """Number of attention heads; must divide hidden_size."""
    num_key_value_heads: int | None = None
    """Number of key/value heads of self- and cross-attention (GQA, MQA); all heads by default."""
    intermediate_size: int = 2048
    """Inner width of the feed-forward networks."""
    hidden_act: str = "relu"
    """Activation of the feed-forward networks, a name of `layers.feed_forward.ACTIVATIONS`."""
    gated: bool = False
    """Whether the feed-forward networks are gated (GLU)."""
    positions: Literal["sinusoidal", "learned", "rotary", "buckets", "alibi"] = "sinusoidal"
    """How positions enter: added to the embeddings, by rotation, or as a bias on the scores."""
    rope_theta: float = 10000.0
    """Base of the rotary frequencies."""
    max_position_embeddings: int = 512
    """Longest source and target, in tokens, BOS and EOS included."""
    norm_first: bool = False
    """Pre-norm instead of the 2017 paper's post-norm."""
    norm: Literal["layer_norm", "rms_norm"] = "layer_norm"
    """Kind of normalisation."""
    final_norm: bool | None = None
    """Whether a norm ends each stack; as norm_first says when not given."""
    layer_norm_eps: float = 1e-6
    """Epsilon of the norms."""
    use_bias: bool = True
    """Whether attention projections and feed-forward maps have biases."""
    hidden_dropout: float = 0.1
    """Rate of dropout on embeddings and on each sublayer's output."""
    attention_dropout: float = 0.0
    """Rate of dropout on attention weights."""
    activation_dropout: float = 0.0
    """Rate of dropout inside the feed-forward networks."""
    tie_word_embeddings: bool = True
    """Whether the output projection is the target embedding's table."""
    share_embeddings: bool = True
    """Whether source and target use one table; needs one vocabulary."""
    pad_token_id: int = 0
    """Id of padding."""
    bos_token_id: int = 1
    """Id that starts a target."""
    eos_token_id: int = 2
    """Id that ends source and target."""

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "hidden_size",
            "encoder_layers",
            "decoder_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"num_attention_heads={self.num_attention_heads} must divide "
                f"hidden_size={self.hidden_size}."
            )
        if self.num_key_value_heads and self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_key_value_heads={self.num_key_value_heads} must divide "
                f"num_attention_heads={self.num_attention_heads}."
            )
        for name in ("hidden_dropout", "attention_dropout", "activation_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), not {getattr(self, name)}.")
        activation_function(self.hidden_act)
        check_normalization(self.norm)
        kinds = ("sinusoidal", "learned", "rotary", "buckets", "alibi")
        if self.positions not in kinds:
            raise ValueError(
                f"positions must be one of {', '.join(kinds)}, not {self.positions!r}."
            )
        if self.target_vocab_size not in (None, self.vocab_size) and self.share_embeddings:
            raise ValueError(
                f"share_embeddings needs one vocabulary, but vocab_size={self.vocab_size} and "
                f"target_vocab_size={self.target_vocab_size}; set share_embeddings=False."
            )
        largest = max(self.pad_token_id, self.bos_token_id, self.eos_token_id)
        if largest >= min(self.vocab_size, self.output_size):
            raise ValueError(f"the special id {largest} lies outside of the vocabulary.")

    @property
    def output_size(self) -> int:
        """Number of target ids."""
        return self.target_vocab_size or self.vocab_size

    @property
    def ends_with_norm(self) -> bool:
        """Whether a norm ends each stack."""
        return self.norm_first if self.final_norm is None else self.final_norm

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> "TransformerConfig":
        """A configuration by name; any field can be overridden.

        - ``tiny``: width 128, inner 256, 4 heads, 4 + 4 layers.
        - ``small``: width 256, inner 1024, 8 heads, 3 + 3 layers.
        - ``base`` and ``big``: the two models of Vaswani et al. 2017, table 3.

        Raises:
            ValueError: when there is no such preset.
        """
        if name not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, not {name!r}.")
        return cls(**(PRESETS[name] | overrides))

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return dataclasses.asdict(self)


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_attention_heads": 4,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "norm_first": True,
    },
    "small": {
        "hidden_size": 256,
        "intermediate_size": 1024,
        "num_attention_heads": 8,
        "encoder_layers": 3,
        "decoder_layers": 3,
        "norm_first": True,
    },
    "base": {},
    "big": {
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_attention_heads": 16,
        "hidden_dropout": 0.3,
    },
}
