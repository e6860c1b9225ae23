"""Hugging Face's Marian: a model with random weights, decoded by `generate`."""

import torch
import transformers

from benchmarks.peers.jobs import DecodingJob, Sizes

EOS, UNK = 0, 1  # Marian's own ids; padding is the last id of the vocabulary


def build(sizes: Sizes, max_length: int, seed: int) -> transformers.MarianMTModel:
    """A Marian translation model with random weights, tied embeddings and relu."""
    torch.manual_seed(seed)
    config = transformers.MarianConfig(
        vocab_size=sizes.vocab_size,
        d_model=sizes.hidden_size,
        encoder_layers=sizes.encoder_layers,
        decoder_layers=sizes.decoder_layers,
        encoder_attention_heads=sizes.num_attention_heads,
        decoder_attention_heads=sizes.num_attention_heads,
        encoder_ffn_dim=sizes.intermediate_size,
        decoder_ffn_dim=sizes.intermediate_size,
        activation_function="relu",
        max_position_embeddings=max_length,
        scale_embedding=True,
        pad_token_id=sizes.vocab_size - 1,
        decoder_start_token_id=sizes.vocab_size - 1,
        eos_token_id=EOS,
        forced_eos_token_id=None,
    )
    return transformers.MarianMTModel(config).eval()


def count(model: transformers.MarianMTModel) -> int:
    """Number of trainable parameters (Marian keeps its sinusoids as frozen ones)."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


class Decoding:
    """`generate`, greedy or with beams, to exactly the wanted number of tokens."""

    def __init__(self, job: DecodingJob):
        torch.set_num_threads(job.threads)
        transformers.utils.logging.set_verbosity_error()
        self._job = job
        self._model = build(job.sizes, job.source_length + job.new_tokens + 1, job.seed)
        self.parameters = count(self._model)

    def translate(self, batch_size: int, beam_size: int) -> torch.Tensor:
        """The ids made for the job's first `batch_size` sentences, int64 [batch, new_tokens]."""
        source = torch.from_numpy(self._job.source(batch_size)).long()
        source[:, -1] = EOS
        ids = self._model.generate(
            source,
            attention_mask=torch.ones_like(source),
            num_beams=beam_size,
            do_sample=False,
            min_new_tokens=self._job.new_tokens,
            max_new_tokens=self._job.new_tokens,
        )
        return ids[:, 1:]  # without the start token

    def run(self, batch_size: int, beam_size: int, times: int) -> int:
        """Decodes the batch `times` times; returns the number of tokens made."""
        made = 0
        for _ in range(times):
            ids = self.translate(batch_size, beam_size)
            made += self._job.check([len(row) for row in ids])
        return made
