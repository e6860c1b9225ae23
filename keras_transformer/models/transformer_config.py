"""The sizes and choices of an encoder-decoder Transformer."""

from dataclasses import dataclass
from typing import Literal

from keras_transformer.layers.feed_forward import activation_function
from keras_transformer.models.config import ModelConfig


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """All that determines an encoder-decoder `Transformer`; the defaults are the 2017 base model.

    Presets:

    - ``tiny``: width 128, inner 256, 4 heads, 4 + 4 layers.
    - ``small``: width 256, inner 1024, 8 heads, 3 + 3 layers.
    - ``base`` and ``big``: the two models of Vaswani et al. 2017, table 3.

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

    presets = {
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

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_sizes(
            "vocab_size",
            "target_vocab_size",
            "hidden_size",
            "encoder_layers",
            "decoder_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "intermediate_size",
            "max_position_embeddings",
        )
        self._check_divides("num_attention_heads", "hidden_size")
        self._check_divides("num_key_value_heads", "num_attention_heads")
        self._check_rates("hidden_dropout", "attention_dropout", "activation_dropout")
        self._check_ids(
            min(self.vocab_size, self.output_size), "pad_token_id", "bos_token_id", "eos_token_id"
        )
        activation_function(self.hidden_act)
        if self.target_vocab_size not in (None, self.vocab_size) and self.share_embeddings:
            raise ValueError(
                f"share_embeddings needs one vocabulary, but vocab_size={self.vocab_size} and "
                f"target_vocab_size={self.target_vocab_size}; set share_embeddings=False."
            )

    @property
    def output_size(self) -> int:
        """Number of target ids."""
        return self.target_vocab_size or self.vocab_size

    @property
    def ends_with_norm(self) -> bool:
        """Whether a norm ends each stack."""
        return self.norm_first if self.final_norm is None else self.final_norm
