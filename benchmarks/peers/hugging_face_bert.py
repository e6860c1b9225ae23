"""Hugging Face's BertForSequenceClassification, torch eager."""

import torch
import transformers

from benchmarks.peers.jobs import PAD, EncoderJob


class Classifier:
    """Eager training steps with fused AdamW, and inference without gradients."""

    def __init__(self, job: EncoderJob):
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.seed)
        transformers.utils.logging.set_verbosity_error()
        sizes = job.sizes
        config = transformers.BertConfig(
            vocab_size=sizes.vocab_size,
            hidden_size=sizes.hidden_size,
            intermediate_size=sizes.intermediate_size,
            num_attention_heads=sizes.num_attention_heads,
            num_hidden_layers=sizes.num_hidden_layers,
            max_position_embeddings=max(job.length, 8),
            hidden_dropout_prob=job.dropout,
            attention_probs_dropout_prob=job.dropout,
            num_labels=2,
        )
        self._model = transformers.BertForSequenceClassification(config)
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(), lr=job.learning_rate, fused=True
        )
        ids, labels = (torch.from_numpy(array).long() for array in job.batches())
        self._batches = list(zip(ids, labels, strict=True))
        self.parameters = sum(parameter.numel() for parameter in self._model.parameters())

    def run(self, steps: int, training: bool) -> float:
        """Does `steps` training steps, or answers as many batches; a number that must be finite."""
        self._model.train(training)
        for step in range(steps):
            ids, labels = self._batches[step % len(self._batches) if training else 0]
            if training:
                loss = self._model(ids, attention_mask=ids != PAD, labels=labels).loss
                self._optimizer.zero_grad(set_to_none=True)
                loss.backward()
                self._optimizer.step()
                result = loss.item()
            else:
                with torch.inference_mode():
                    result = float(self._model(ids, attention_mask=ids != PAD).logits.sum())
        return result
