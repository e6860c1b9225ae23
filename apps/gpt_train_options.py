"""Options of `gpt_train.py`."""

from dataclasses import dataclass, field
from typing import Any, Literal

from kept_apart import check_kept_apart
from training_options import (
    DeviceOptions,
    TrainingOptions,
    check_amounts,
    check_finite,
    check_limits,
    check_model_fields,
    export_folder,
    flag,
)

from keras_transformer.data.json_lines import JSON_LINES_ENDINGS
from keras_transformer.models import GptConfig
from keras_transformer.tasks import GenerationOptions
from keras_transformer.tasks.generation_options import LARGEST, MOST_NEW_TOKENS

BUILTIN_TEXT = {
    "tokenizer": "sentencepiece",
    "vocab_size": 1000,
    "preset": "nano",
    "model": {"hidden_dropout": 0.2, "attention_dropout": 0.2},
    "block_size": 128,
    "batch_size": 16,
    "max_steps": 1300,
}
"""What options are that are not given, where the text is that of Python's help."""

BUILTIN_PROMPTS = {
    "tokenizer": "char",
    "preset": "nano",
    "model": {"hidden_dropout": 0.1, "attention_dropout": 0.1},
    "block_size": 96,
    "batch_size": 32,
    "max_steps": 3000,
}
"""The same for the built-in pairs."""

RATES = {"nano": 3e-3, "mini": 1e-3, "gpt2": 6e-4, "gpt2-medium": 3e-4, "llama-small": 1e-3}
"""Peak learning rates of new models, by preset: larger ones bear less."""

RATE_OF_TUNING = 5e-5
"""The same for models that were trained before."""

USUAL = {
    "held_out": 0.1,
    "document": "file",
    "packing": "stream",
    "prompt_field": "prompt",
    "completion_field": "completion",
    "end_share": 0.1,
}
"""What options are that have an effect and are not given; those without one stay None."""

MOST = {
    "batch_size": 2**20,
    "batch_tokens": 2**30,
    "block_size": 2**20,
    "vocab_size": LARGEST,
    "score_every": LARGEST,
    "patience": LARGEST,
    "valid_characters": LARGEST,
}
"""The largest values of options."""

OF_TOKENIZER = ("vocab_size", "pad_token_id", "bos_token_id", "eos_token_id")
"""Fields of a model that its tokenizer sets."""

SHORTEST_PROMPT = 3  # tokens of a row: the start, one of the prompt, one of the completion

SEVERAL = {"nargs": "+"}  # a flag that takes one value or more


@dataclass
class GptTexts:
    """What to learn from."""

    text: list[str] | None = field(default=None, metadata=SEVERAL)
    """Files of text, folders of *.txt, *.jsonl, tfds:NAME, or builtin: English that comes with
    Python, the default. {split} in a path becomes train and valid."""
    valid_text: list[str] | None = field(default=None, metadata=SEVERAL)
    """The same for validation; by default what {split} or the data set gives, or the end of
    --text."""
    prompts: list[str] | None = field(default=None, metadata=SEVERAL)
    """Instead of --text: JSON lines of prompts and completions, of which only the completions are
    learned; or builtin, Chinese sentences and their English."""
    valid_prompts: list[str] | None = field(default=None, metadata=SEVERAL)
    """The same for validation; by default what {split} gives, or the last of --prompts."""
    held_out: float | None = None
    """Share of the characters (of the prompts) at the end that is held out for validation, where
    nothing else gives it; 0.1 by default."""
    valid_characters: int | None = None
    """Most characters of the validation text that are scored, from its beginning; all of them by
    default. Of a large corpus the held-out tenth takes longer than the updates between two
    scores."""
    document: Literal["file", "paragraph"] | None = None
    """What a document is in a file of text: all of it, the default, or the lines between two blank
    ones."""
    text_field: str | None = None
    """Field of the text in JSON lines and data sets; text by default."""
    prompt_field: str | None = None
    """Field of the prompt in JSON lines; prompt by default."""
    completion_field: str | None = None
    """Field of the completion; completion by default."""
    data_dir: str | None = None
    """Folder of prepared TFDS data, for use without a network."""
    packing: Literal["stream", "documents"] | None = None
    """Join the documents and cut them to blocks, the default, or put whole documents side by side
    that do not see each other."""


@dataclass
class GptModel:
    """The model, and how it reads."""

    init: str | None = None
    """Folder of a run or Hugging Face directory (GPT-2, Llama) to go on from, with its
    tokenizer."""
    tokenizer: Literal["char", "sentencepiece", "bpe"] | None = None
    """Characters, subwords by SentencePiece, or GPT-2's byte-level BPE; sentencepiece by
    default."""
    vocab_size: int | None = None
    """Most ids of a new tokenizer; all characters there are, or 8000 subwords by default."""
    preset: Literal["nano", "mini", "gpt2", "gpt2-medium", "llama-small"] | None = None
    """Size of the model; nano by default."""
    model: dict[str, Any] | None = None
    """Fields of GptConfig that differ from the preset, for instance '{"hidden_dropout": 0.2}'."""
    block_size: int | None = None
    """Tokens of a row, the longest text that the model sees at once; as many as it is made for by
    default, at most 1024."""


@dataclass
class GptSamples:
    """What is shown of the texts that the model makes, and what it does when it is exported."""

    sample_prompt: str | None = None
    """How the samples begin that are printed after each score; by default with nothing, or with
    the first validation prompt."""
    sample_tokens: int = 60
    """Most tokens of such a sample; 0 for none, at the end of the training too."""
    max_new_tokens: int = 128
    """Most tokens that the saved model adds to a prompt, if it is not asked for another number."""
    temperature: float | None = None
    """Of samples, and of the saved model if not asked for another: 0.8 by default, with --prompts
    0, always the likeliest token."""
    top_k: int = 0
    """Sample from so many of the likeliest tokens; 0 for all."""
    top_p: float = 1.0
    """Sample from the likeliest tokens that together have this probability."""


@dataclass
class GptTraining(TrainingOptions):
    """How to train a GPT."""

    batch_size: int | None = None
    """Rows of a batch; 12 by default."""
    batch_tokens: int | None = None
    """Instead of --batch-size: tokens of a batch, as many rows as they fill."""
    schedule: Literal["inverse_sqrt", "linear", "cosine"] | None = None
    """Course of the learning rate after the warm-up; cosine by default, or inverse_sqrt where
    nothing but --max-minutes says when training ends."""
    learning_rate: float | None = None
    """Peak rate, reached after the warm-up; by default 0.003 for nano, 0.001 for mini and
    llama-small, 0.0006 for gpt2, 0.0003 for gpt2-medium, and 0.00005 with --init."""
    end_share: float | None = None
    """Share of the peak rate at which linear and cosine end; 0.1 by default."""
    warmup_share: float = 0.05
    """Share of the updates until the peak rate; 200 updates where their number is not known."""
    weight_decay: float = 0.1
    """AdamW's weight decay, not applied to biases, norms and positions."""
    beta_2: float = 0.99
    """AdamW's decay of the squared gradients."""
    epochs: int | None = None
    """Passes over the data; as many as --max-steps or --max-minutes allow by default, without
    these 10, or 3 with --init."""
    score_every: int = 250
    """Updates between two scores of the validation text, an epoch of the progress that is shown;
    the best weights stay."""
    patience: int | None = None
    """Training ends after so many scores in a row without a new best."""
    output: str = "runs/gpt"


@dataclass
class GptTrainOptions(DeviceOptions, GptTraining, GptSamples, GptModel, GptTexts):
    """Trains a GPT on texts, scores it on those it has not seen, and exports it."""

    def __post_init__(self) -> None:
        self._check_sources()
        if self.text is None and self.prompts is None:
            self.text = ["builtin"]
        fresh = self.init is None
        for name in () if fresh else ("tokenizer", "vocab_size", "preset", "model"):
            if getattr(self, name) is not None:
                raise ValueError(f"{flag(name)} is for a new model: leave it out with --init.")
        if self.batch_size is not None and self.batch_tokens is not None:
            raise ValueError("Give --batch-size or --batch-tokens, not both.")
        if fresh and self.text == ["builtin"]:
            self._set_defaults(BUILTIN_TEXT)
        if fresh and self.prompts == ["builtin"]:
            self._set_defaults(BUILTIN_PROMPTS)
        if fresh:
            self._set_defaults({"tokenizer": "sentencepiece", "preset": "nano", "model": {}})
        self._set_defaults(
            {
                "learning_rate": RATES[self.preset] if fresh else RATE_OF_TUNING,
                "temperature": 0.8 if self.prompts is None else 0.0,
                "export": export_folder(self.output),
            }
        )
        if self.max_steps is None and self.max_minutes is None:
            self._set_defaults({"epochs": 10 if fresh else 3})
        has_end = self.max_steps is not None or self.epochs is not None
        self._set_defaults({"schedule": "cosine" if has_end else "inverse_sqrt"})
        if not has_end and self.schedule != "inverse_sqrt":
            raise ValueError(
                f"--schedule {self.schedule} falls until the last update: give --max-steps or "
                "--epochs."
            )
        self._set_what_has_an_effect()
        self._check_numbers()
        if fresh:
            self._check_model()

    def _set_defaults(self, defaults: dict[str, Any]) -> None:
        for name, value in defaults.items():
            # One of the two says how large a batch is, one of the three when training ends.
            if name == "batch_size" and self.batch_tokens is not None:
                continue
            if name == "max_steps" and (self.epochs or self.max_minutes):
                continue
            if getattr(self, name) is None:
                setattr(self, name, value)

    def _set_what_has_an_effect(self) -> None:
        """Sets options that have an effect, and refuses to be given others."""
        idle = self._idle()
        for name, reason in idle.items():
            value = getattr(self, name)
            # Runs of older versions wrote down what was usual, whether it had an effect or not.
            written = self.resume and value == USUAL.get(name)
            if value is not None and not written:
                raise ValueError(f"{flag(name)} is for {reason}")
        self._set_defaults({name: USUAL[name] for name in USUAL if name not in idle})

    def _idle(self) -> dict[str, str]:
        """Options without an effect, and what they are for."""
        idle = {}
        texts = [*(self.text or ()), *(self.valid_text or ())]
        kinds = {kind_of(source) for source in texts}
        if "tfds" not in kinds:
            idle["data_dir"] = "TFDS data: give a --text of tfds:NAME, too."
        if self.prompts is None:
            for name in ("prompt_field", "completion_field"):
                idle[name] = "--prompts: give that, too."
            if not kinds & {"json", "tfds"}:
                idle["text_field"] = "JSON lines and TFDS data, and --text has neither."
            if "file" not in kinds:
                idle["document"] = "files of text, and --text has none."
        else:
            for name in ("packing", "document", "text_field", "valid_characters"):
                idle[name] = "--text: leave it out with --prompts."
            if self.prompts == ["builtin"] and self.valid_prompts is None:
                for name in ("prompt_field", "completion_field"):
                    idle[name] = "JSON lines: leave it out with --prompts builtin."
        for name in ("valid_text", "valid_prompts"):
            if getattr(self, name) is not None:
                idle["held_out"] = f"data without validation: leave it out with {flag(name)}."
        if self.schedule == "inverse_sqrt":
            idle["end_share"] = "linear and cosine: leave it out with --schedule inverse_sqrt."
        return idle

    def _check_model(self) -> None:
        """Refuses what no model can be, whatever its vocabulary."""
        check_model_fields(GptConfig, self.model)
        for name in OF_TOKENIZER:
            if name in self.model:
                raise ValueError(f"--model has {name}, which the tokenizer sets: leave it out.")
        try:
            GptConfig.preset(self.preset, **{"vocab_size": LARGEST} | self.model)
        except ValueError as error:
            raise ValueError(f"--model: {error}") from None

    def _check_sources(self) -> None:
        if self.text is not None and self.prompts is not None:
            raise ValueError("Give --text or --prompts, not both.")
        for name in ("text", "valid_text", "prompts", "valid_prompts"):
            if not all(source.strip() for source in getattr(self, name) or ()):
                raise ValueError(f"{flag(name)} has a blank name in it, which no file has.")
        for kind in ("text", "prompts"):
            sources, others = getattr(self, kind), getattr(self, f"valid_{kind}")
            if others is not None and sources is None:
                raise ValueError(f"--valid-{kind} is for --{kind}: give that, too.")
            for source in sources or ():
                for other in others or ():
                    check_kept_apart(f"--{kind}", source, {f"--valid-{kind}": other})

    def _check_numbers(self) -> None:
        check_limits(self)
        check_amounts(self, MOST)
        if not 0 <= self.seed <= LARGEST:
            raise ValueError(f"--seed is {self.seed}; it must be from 0 to {LARGEST}.")
        if self.prompts is not None and self.block_size is not None:
            if self.block_size < SHORTEST_PROMPT:
                raise ValueError(
                    f"--block-size is {self.block_size}; with --prompts it must be at least "
                    f"{SHORTEST_PROMPT}: for a start, a prompt and a completion."
                )
        if not self.learning_rate > 0:
            raise ValueError(f"--learning-rate is {self.learning_rate:g}; it must be more than 0.")
        for name in ("clip_norm", "weight_decay"):  # 0 is off
            if not getattr(self, name) >= 0:
                raise ValueError(f"{flag(name)} is {getattr(self, name):g}; it must be at least 0.")
        check_finite(self, ("learning_rate", "clip_norm", "weight_decay"))
        if not 0 <= self.beta_2 < 1:
            raise ValueError(f"--beta-2 is {self.beta_2:g}; it must be from 0 to less than 1.")
        if not 0 <= self.sample_tokens <= MOST_NEW_TOKENS:
            raise ValueError(
                f"--sample-tokens is {self.sample_tokens}; it must be from 0 to {MOST_NEW_TOKENS}."
            )
        self.generation()  # refuses what is out of range
        if self.held_out is not None and not 0 < self.held_out < 1:
            raise ValueError(
                f"--held-out is {self.held_out:g}; it must be more than 0 and less than 1."
            )
        if self.end_share is not None and not 0 <= self.end_share <= 1:
            raise ValueError(f"--end-share is {self.end_share:g}; it must be from 0 to 1.")

    def generation(self) -> GenerationOptions:
        """How the model makes texts that is not asked for them in another way."""
        return GenerationOptions(
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
        )

    def rows(self, block_size: int) -> int:
        """Rows of a batch."""
        if self.batch_tokens is not None:
            return max(1, self.batch_tokens // block_size)
        return 12 if self.batch_size is None else self.batch_size


def kind_of(source: str) -> str:
    """What a source of texts is: "builtin", "tfds", "json", or "file", a file or folder of text.

    >>> [kind_of(source) for source in ("builtin", "tfds:lm1b", "a.jsonl.gz", "jsonl:a", "a.txt")]
    ['builtin', 'tfds', 'json', 'json', 'file']
    """
    if source == "builtin":
        return "builtin"
    if source.startswith("tfds:"):
        return "tfds"
    is_json = source.startswith("jsonl:") or (
        source.removesuffix(".gz").endswith(JSON_LINES_ENDINGS)
    )
    return "json" if is_json else "file"
