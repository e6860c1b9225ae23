"""A GPT-2 in plain torch, eager and compiled, as one who knows torch writes it."""

import torch
from torch import nn
from torch.nn import functional

from benchmarks.peers.gpt_jobs import GptSizes, GptTrainingJob


class Attention(nn.Module):
    """Causal self-attention: one product for queries, keys and values, torch's own attention."""

    def __init__(self, sizes: GptSizes, dropout: float):
        super().__init__()
        self.heads, self.dropout_rate = sizes.num_attention_heads, dropout
        self.c_attn = nn.Linear(sizes.hidden_size, 3 * sizes.hidden_size)
        self.c_proj = nn.Linear(sizes.hidden_size, sizes.hidden_size)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """`[batch, length, hidden]` to the same shape."""
        query, key, value = (
            features.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for features in self.c_attn(hidden).chunk(3, dim=-1)
        )  # [batch, heads, length, head_dim]
        context = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            dropout_p=self.dropout_rate if self.training else 0.0,
            is_causal=True,
        )  # [batch, heads, length, head_dim]
        return self.c_proj(context.transpose(1, 2).flatten(2))  # [batch, length, hidden]


class Block(nn.Module):
    """A pre-norm layer."""

    def __init__(self, sizes: GptSizes, dropout: float):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(sizes.hidden_size), nn.LayerNorm(sizes.hidden_size)
        self.attn = Attention(sizes, dropout)
        self.mlp = nn.ModuleDict(
            {
                "c_fc": nn.Linear(sizes.hidden_size, sizes.intermediate_size),
                "c_proj": nn.Linear(sizes.intermediate_size, sizes.hidden_size),
            }
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """`[batch, length, hidden]` to the same shape."""
        hidden = hidden + self.dropout(self.attn(self.ln_1(hidden)))
        inner = functional.gelu(self.mlp["c_fc"](self.ln_2(hidden)), approximate="tanh")
        return hidden + self.dropout(self.mlp["c_proj"](inner))


class TorchGpt(nn.Module):
    """GPT-2; its parameters have the names they have in GPT-2's checkpoints.

    Call it with ids and the ids after them, int64 `[batch, length]`; it gives the mean loss, so
    that the loss is part of what gets compiled.
    """

    def __init__(self, sizes: GptSizes, length: int, dropout: float):
        super().__init__()
        self.wte = nn.Embedding(sizes.vocab_size, sizes.hidden_size)
        self.wpe = nn.Embedding(length, sizes.hidden_size)
        self.dropout = nn.Dropout(dropout)
        self.h = nn.ModuleList(Block(sizes, dropout) for _ in range(sizes.num_hidden_layers))
        self.ln_f = nn.LayerNorm(sizes.hidden_size)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits `[batch, length, vocab]`."""
        positions = torch.arange(ids.shape[1], device=ids.device)  # [length]
        hidden = self.dropout(self.wte(ids) + self.wpe(positions))  # [batch, length, hidden]
        for block in self.h:
            hidden = block(hidden)
        return functional.linear(self.ln_f(hidden), self.wte.weight)

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        logits = self.logits(ids)
        return functional.cross_entropy(
            logits.flatten(0, 1),  # [batch * length, vocab]
            labels.flatten(),  # [batch * length]
        )


class Training:
    """Eager training steps, with fused AdamW."""

    def __init__(self, job: GptTrainingJob):
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.seed)
        self.model = TorchGpt(job.sizes, job.length, job.dropout).train()
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        # fused: the faster of torch's implementations of the same update
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=job.learning_rate, fused=True
        )
        arrays = (torch.from_numpy(array.copy()).long() for array in job.batches())
        self._batches = list(zip(*arrays, strict=True))
        self._loss = self.model

    def run(self, steps: int) -> float:
        """Does `steps` training steps; returns the last loss."""
        for step in range(steps):
            loss = self._loss(*self._batches[step % len(self._batches)])
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self._optimizer.step()
        return loss.item()


class CompiledTraining(Training):
    """The same with model and loss in `torch.compile`, for the one shape the batches have."""

    def __init__(self, job: GptTrainingJob):
        super().__init__(job)
        self._loss = torch.compile(self.model, dynamic=False)
