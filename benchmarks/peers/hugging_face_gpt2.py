"""Hugging Face's GPT-2: a model with random weights, continued by `generate`."""

import torch
import transformers

from benchmarks.peers.gpt_jobs import GptGenerationJob, count_new
from benchmarks.peers.jobs import BOS, EOS, PAD


class Generation:
    """Greedy `generate`, torch eager with its default attention and its default cache."""

    def __init__(self, job: GptGenerationJob):
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.seed)
        transformers.utils.logging.set_verbosity_error()
        self._job = job
        config = transformers.GPT2Config(
            vocab_size=job.sizes.vocab_size,
            n_embd=job.sizes.hidden_size,
            n_layer=job.sizes.num_hidden_layers,
            n_head=job.sizes.num_attention_heads,
            n_positions=job.length,
            bos_token_id=BOS,
            eos_token_id=EOS,
            pad_token_id=PAD,
        )
        self.model = transformers.GPT2LMHeadModel(config).eval()
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())

    def generate(self, batch_size: int, prompt_length: int, new_tokens: int) -> torch.Tensor:
        """The new ids after the job's first prompts, int64 [batch, new_tokens]."""
        prompts = torch.from_numpy(self._job.prompts(batch_size, prompt_length)).long()
        ids = self.model.generate(
            prompts,
            attention_mask=torch.ones_like(prompts),
            do_sample=False,
            min_new_tokens=new_tokens,
            max_new_tokens=new_tokens,
        )
        return ids[:, prompt_length:]

    def run(self, batch_size: int, prompt_length: int, new_tokens: int, times: int) -> int:
        """Generates `times` times; returns the number of tokens made."""
        made = 0
        for _ in range(times):
            ids = self.generate(batch_size, prompt_length, new_tokens)
            made += count_new([len(row) for row in ids], new_tokens)
        return made
