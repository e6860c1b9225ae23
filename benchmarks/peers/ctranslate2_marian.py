"""CTranslate2, running the very Marian model that Hugging Face runs, converted."""

import tempfile
from pathlib import Path

import ctranslate2
import torch

from benchmarks.peers import hugging_face_marian
from benchmarks.peers.jobs import DecodingJob

_EOS_TOKEN, _UNK_TOKEN = "</s>", "<unk>"


class _NumberTokenizer:
    """Stands in for the tokenizer that a converter asks for: an id's token is its number."""

    eos_token, unk_token = _EOS_TOKEN, _UNK_TOKEN

    def __init__(self, vocab_size: int):
        self._vocab = {str(i): i for i in range(vocab_size)}
        del self._vocab[str(hugging_face_marian.EOS)], self._vocab[str(hugging_face_marian.UNK)]
        del self._vocab[str(vocab_size - 1)]
        self._vocab[_EOS_TOKEN] = hugging_face_marian.EOS
        self._vocab[_UNK_TOKEN] = hugging_face_marian.UNK
        self._vocab["<pad>"] = vocab_size - 1

    def get_vocab(self) -> dict[str, int]:
        return self._vocab


class _Converter(ctranslate2.converters.TransformersConverter):
    """CTranslate2's converter for a model that has no tokenizer files."""

    def __init__(self, directory: str, vocab_size: int):
        super().__init__(directory)
        self._vocab_size = vocab_size

    def load_tokenizer(self, tokenizer_class, model_name_or_path, **kwargs) -> _NumberTokenizer:
        return _NumberTokenizer(self._vocab_size)


class Decoding:
    """`translate_batch` to exactly the wanted number of tokens.

    Args:
        job: what is measured.
        compute_type: precision of weights and products.
    """

    def __init__(self, job: DecodingJob, compute_type: str = "float32"):
        torch.set_num_threads(job.threads)
        self._job = job
        model = hugging_face_marian.build(
            job.sizes, job.source_length + job.new_tokens + 1, job.seed
        )
        self.parameters = hugging_face_marian.count(model)
        with tempfile.TemporaryDirectory() as directory:
            saved, converted = Path(directory, "marian"), Path(directory, "ctranslate2")
            model.save_pretrained(saved)
            _Converter(str(saved), job.sizes.vocab_size).convert(str(converted))
            self._translator = ctranslate2.Translator(
                str(converted),
                device="cpu",
                compute_type=compute_type,
                inter_threads=1,
                intra_threads=job.threads,
            )

    def translate(self, batch_size: int, beam_size: int) -> list[list[str]]:
        """The tokens made for the job's first `batch_size` sentences."""
        words = self._job.source(batch_size)[:, :-1].tolist()
        source = [[str(word) for word in sentence] + [_EOS_TOKEN] for sentence in words]
        results = self._translator.translate_batch(
            source,
            beam_size=beam_size,
            min_decoding_length=self._job.new_tokens,
            max_decoding_length=self._job.new_tokens,
        )
        return [result.hypotheses[0] for result in results]

    def run(self, batch_size: int, beam_size: int, times: int) -> int:
        """Decodes the batch `times` times; returns the number of tokens made."""
        made = 0
        for _ in range(times):
            made += self._job.check([len(row) for row in self.translate(batch_size, beam_size)])
        return made
