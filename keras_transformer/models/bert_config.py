"""The sizes and choices of a BERT."""

from dataclasses import dataclass

from keras_transformer.layers.feed_forward import activation_function
from keras_transformer.models.config import ModelConfig


def _preset(layers: int, width: int) -> dict[str, int]:
    """Heads are 64 wide, and the feed-forward networks four times the width."""
    return {
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": width // 64,
        "intermediate_size": 4 * width,
    }


@dataclass(frozen=True)
class BertConfig(ModelConfig):
    """All that determines a `Bert`; the defaults are the base model of Devlin et al. 2019.

    Presets:

    - ``base``: 12 layers of width 768 (Devlin et al. 2019, 3).
    - ``tiny``, ``mini``, ``small``: 2 layers of 128, 4 of 256, 4 of 512 (Turc et al. 2019).

    >>> BertConfig.preset("mini", vocab_size=8000).hidden_size
    256
    """

    vocab_size: int
    """Number of ids."""
    hidden_size: int = 768
    """Width of the hidden states."""
    num_hidden_layers: int = 12
    """Number of encoder layers."""
    num_attention_heads: int = 12
    """Number of attention heads; must divide hidden_size."""
    intermediate_size: int = 3072
    """Inner width of the feed-forward networks."""
    hidden_act: str = "gelu"
    """Activation of feed-forward networks and MLM head, a name of `layers.feed_forward`."""
    max_position_embeddings: int = 512
    """Longest input, in tokens, special ones included."""
    type_vocab_size: int = 2
    """Number of segments: the first and the second text of a pair."""
    layer_norm_eps: float = 1e-12
    """Epsilon of the norms."""
    hidden_dropout: float = 0.1
    """Rate of dropout on embeddings and on each sublayer's output."""
    attention_dropout: float = 0.1
    """Rate of dropout on attention weights."""
    classifier_dropout: float | None = None
    """Rate of dropout before a classifier or tagger; hidden_dropout when not given."""
    initializer_range: float = 0.02
    """Standard deviation of the initial weights."""
    pad_token_id: int = 0
    """Id of padding."""

    presets = {
        "tiny": _preset(2, 128),
        "mini": _preset(4, 256),
        "small": _preset(4, 512),
        "base": _preset(12, 768),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_sizes(
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
        )
        self._check_divides("num_attention_heads", "hidden_size")
        self._check_rates("hidden_dropout", "attention_dropout", "classifier_dropout")
        self._check_positive("layer_norm_eps", "initializer_range")
        self._check_ids(self.vocab_size, "pad_token_id")
        activation_function(self.hidden_act)

    @property
    def head_dropout(self) -> float:
        """Rate of dropout before a classifier or tagger."""
        return self.hidden_dropout if self.classifier_dropout is None else self.classifier_dropout
