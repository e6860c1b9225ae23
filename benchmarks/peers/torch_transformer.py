"""torch `nn.Transformer`, eager, as its users train it."""

import math
import warnings

import torch
from torch import nn
from torch.nn import functional

from benchmarks.peers.jobs import PAD, Sizes, TrainingJob


class TorchTranslator(nn.Module):
    """`nn.Transformer` between tied embeddings and output projection."""

    def __init__(self, sizes: Sizes, max_length: int, dropout: float):
        super().__init__()
        self.scale = math.sqrt(sizes.hidden_size)
        self.embedding = nn.Embedding(sizes.vocab_size, sizes.hidden_size, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            d_model=sizes.hidden_size,
            nhead=sizes.num_attention_heads,
            num_encoder_layers=sizes.encoder_layers,
            num_decoder_layers=sizes.decoder_layers,
            dim_feedforward=sizes.intermediate_size,
            dropout=dropout,
            batch_first=True,
            norm_first=True,  # and a norm at the end of each stack, as in ours
        )
        positions = _sinusoids(max_length, sizes.hidden_size)
        self.register_buffer("positions", positions, persistent=False)
        causal = nn.Transformer.generate_square_subsequent_mask(max_length, dtype=torch.bool)
        self.register_buffer("causal", causal, persistent=False)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Logits [batch, target_length, vocab] of ids [batch, length]."""
        length = target.shape[1]
        padding = source == PAD  # [batch, source_length], torch's sense: True may not be attended
        # No padding mask for the target: padding stands at its end, which causality hides. That
        # is the fastest right way to call nn.Transformer.
        hidden = self.transformer(
            self._embed(source),
            self._embed(target),
            tgt_mask=self.causal[:length, :length],
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )  # [batch, target_length, hidden]
        return functional.linear(hidden, self.embedding.weight)

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])


class Training:
    """Eager training steps: label-smoothed cross-entropy that ignores padding, fused AdamW."""

    def __init__(self, job: TrainingJob):
        # says that a shortcut of inference is off; nothing to do with training
        warnings.filterwarnings("ignore", message="enable_nested_tensor")
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.seed)
        self._smoothing = job.label_smoothing
        self._model = TorchTranslator(job.sizes, job.length, job.dropout).train()
        # fused: the faster of torch's implementations of the same update
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(), lr=job.learning_rate, fused=True
        )
        batches = (torch.from_numpy(array).long() for array in job.batches())
        self._batches = list(zip(*batches, strict=True))
        self.parameters = sum(parameter.numel() for parameter in self._model.parameters())

    def run(self, steps: int) -> float:
        """Does `steps` training steps; returns the last loss."""
        for step in range(steps):
            source, target, labels = self._batches[step % len(self._batches)]
            logits = self._model(source, target)
            loss = functional.cross_entropy(
                logits.flatten(0, 1),  # [batch * target_length, vocab]
                labels.flatten(),  # [batch * target_length]
                ignore_index=PAD,
                label_smoothing=self._smoothing,
            )
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self._optimizer.step()
        return loss.item()


def _sinusoids(length: int, size: int) -> torch.Tensor:
    """Sine and cosine positions [length, size]."""
    rates = torch.exp(-math.log(10000.0) * torch.arange(0, size, 2) / size)
    angles = torch.arange(length)[:, None] * rates[None, :]  # [length, size / 2]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)  # [length, size]
