"""Hugging Face's models for the tasks that are served, torch eager: ids in, ids or numbers out."""

from collections.abc import Callable
from typing import Any

import torch
import transformers

from benchmarks.peers import hugging_face_gpt2, hugging_face_marian
from benchmarks.peers.serving_jobs import LABELS, TOP_K, Requests, ServingJob

HEADS = {
    "classify": transformers.BertForSequenceClassification,
    "tag": transformers.BertForTokenClassification,
    "qa": transformers.BertForQuestionAnswering,
    "fill_mask": transformers.BertForMaskedLM,
    "embed": transformers.BertModel,
}


class Served(Requests):
    """The model of a job, in the process that asks it; texts are ids already, and stay ids."""

    def __init__(self, job: ServingJob):
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.seed)
        transformers.utils.logging.set_verbosity_error()
        self._job = job
        if job.task.startswith("translate"):
            self._peer: Any = hugging_face_marian.Decoding(job.decoding())
            self.parameters = self._peer.parameters
        elif job.task == "generate":
            self._peer = hugging_face_gpt2.Generation(job.generation())
            self.parameters = self._peer.parameters
        else:
            self._peer = _bert(job)
            self.parameters = sum(p.numel() for p in self._peer.parameters())

    def request(self, signature: str, batch_size: int) -> Callable[[], Any]:
        job = self._job
        if job.task.startswith("translate"):
            return lambda: self._peer.translate(batch_size, job.beam_size).numpy()
        if job.task == "generate":
            if signature == "score":
                return lambda: self._scores(batch_size)
            if signature == "generate":
                return lambda: self._sampled(batch_size)
            return lambda: self._peer.generate(batch_size, job.length, job.new_tokens).numpy()
        ids = torch.from_numpy(job.ids(batch_size))
        mask = torch.ones_like(ids)

        def ask() -> Any:
            with torch.inference_mode():
                found = self._peer(ids, attention_mask=mask)
                if job.task == "embed" and signature == "serving_default":
                    return found.last_hidden_state.mean(1).numpy()
                if job.task == "fill_mask":  # of one position, as a mask is one
                    return found.logits[:, 1].softmax(-1).topk(5).indices.numpy()
                return [value.numpy() for value in found.to_tuple()]

        return ask

    def _sampled(self, batch_size: int) -> Any:
        prompts = torch.from_numpy(
            self._job.generation().prompts(batch_size, self._job.length)
        ).long()
        return self._peer.model.generate(
            prompts,
            attention_mask=torch.ones_like(prompts),
            do_sample=True,
            top_k=TOP_K,
            min_new_tokens=self._job.new_tokens,
            max_new_tokens=self._job.new_tokens,
        ).numpy()

    def _scores(self, batch_size: int) -> Any:
        ids = torch.from_numpy(self._job.generation().prompts(batch_size, self._job.length)).long()
        with torch.inference_mode():
            logits = self._peer.model(ids, attention_mask=torch.ones_like(ids)).logits[:, :-1]
            losses = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), ids[:, 1:], reduction="none"
            )  # [batch, length - 1]
            return -losses.sum(1).numpy()


def _bert(job: ServingJob) -> torch.nn.Module:
    sizes = job.encoder_sizes
    config = transformers.BertConfig(
        vocab_size=sizes.vocab_size,
        hidden_size=sizes.hidden_size,
        intermediate_size=sizes.intermediate_size,
        num_attention_heads=sizes.num_attention_heads,
        num_hidden_layers=sizes.num_hidden_layers,
        max_position_embeddings=max(job.length, job.context_length),
        num_labels=2 if job.task == "qa" else LABELS,
    )
    head = HEADS[job.task]
    model = head(config, add_pooling_layer=False) if job.task == "embed" else head(config)
    return model.eval()
