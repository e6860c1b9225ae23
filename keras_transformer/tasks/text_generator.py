"""Text that goes on from prompts, with a decoder-only model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, Self

import tensorflow as tf

from keras_transformer.checks import check_whole
from keras_transformer.models import Gpt, GptConfig
from keras_transformer.tasks.answer_rows import text_scores
from keras_transformer.tasks.answers import Generation, TextScore, WrittenIds
from keras_transformer.tasks.generation_options import (
    SERVED_OPTIONS,
    GenerationOptions,
    seed_of_row,
)
from keras_transformer.tasks.generation_search import (
    FINISH_REASONS,
    Found,
    GenerationSearch,
)
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.requests import plain, same_rows
from keras_transformer.tasks.row_options import RowOptions
from keras_transformer.tasks.stop_strings import StopStrings
from keras_transformer.tasks.task import Task
from keras_transformer.tasks.text_scoring import TextScoring
from keras_transformer.tasks.text_stream import TextStream
from keras_transformer.tasks.texts import as_texts
from keras_transformer.tasks.token_spelling import TokenSpelling
from keras_transformer.tasks.token_writer import TokenWriter
from keras_transformer.text import Tokenizer, load_tokenizer


class TextGenerator(Task):
    """Goes on from prompts, and scores texts; served by the very graphs that run in Python.

    A text may become longer than the model's window, `max_position_embeddings`: whenever the window
    is full, its last half is read anew. Of a prompt that is longer than the window from the start
    only the last half window is read, which is reported (`truncated`).

    Control ids and the unknown id are never generated. Tokens may spell parts of characters: bytes
    that are no UTF-8 become U+FFFD, and a last character that lacks bytes is left out.

    Args:
        model: the language model.
        tokenizer: of the same ids: characters, SentencePiece or byte-level BPE.
        options: how texts are generated.
        start_id: what stands before every prompt and scored text, as it did in training: the end
            marker, by which streams of documents are joined, by default; `bos_id`, say, or None
            for nothing. An empty prompt then starts from the end marker all the same.

    Raises:
        ValueError: when tokenizer and model do not have the same ids; for a tokenizer of another
            kind; for a `start_id` that is no id.

    >>> generator = TextGenerator.load("runs/gpt")  # doctest: +SKIP
    >>> generator(["ROMEO:"])  # doctest: +SKIP
    ['\\nWhat, is it so?']
    >>> generator.generate(["1, 2, 3,"], temperature=0, stop=["\\n"])[0].text  # doctest: +SKIP
    ' 4, 5, 6'
    """

    def __init__(
        self,
        model: Gpt,
        tokenizer: Tokenizer,
        options: GenerationOptions | None = None,
        start_id: int | None | Literal["eos"] = "eos",
    ):
        if not isinstance(model, Gpt):
            raise ValueError(f"model must be a Gpt, not a {type(model).__name__}.")
        super().__init__(model, name="text_generator")
        self.tokenizer = tokenizer
        self.options = options or GenerationOptions()
        self.start_id = model.config.eos_token_id if start_id == "eos" else start_id
        self._check_fit()
        if not model.built:
            model.build()
        self._spelling = TokenSpelling.of(tokenizer)
        self._scoring = TextScoring(model, tokenizer, self.start_id)
        self._jit_compile = False  # of the signatures
        self._functions: dict[tuple[int, bool], tf.types.experimental.PolymorphicFunction] = {}
        prompt = tf.TensorSpec([None], tf.string, name="prompt")
        specs = [getattr(RowOptions.specs(), name) for name in SERVED_OPTIONS]
        self.serving_default = graph_function(self._serve, input_signature=[prompt])
        self.serving_generate = graph_function(
            self._serve_options, input_signature=[prompt, *specs]
        )
        self.serving_score = graph_function(
            self._serve_score, input_signature=[tf.TensorSpec([None], tf.string, name="text")]
        )

    def _check_fit(self) -> None:
        config, tokenizer, start_id = self.model.config, self.tokenizer, self.start_id
        if tokenizer.vocab_size != config.vocab_size:
            raise ValueError(
                f"The tokenizer has {tokenizer.vocab_size} ids, the model {config.vocab_size}. "
                "Build the model with vocab_size=tokenizer.vocab_size, or take its own tokenizer."
            )
        if tokenizer.eos_id != config.eos_token_id:
            raise ValueError(
                f"EOS is {tokenizer.eos_id} for the tokenizer, {config.eos_token_id} for the model."
            )
        if start_id is not None:
            check_whole(start_id=start_id)
            if not 0 <= start_id < config.vocab_size:
                raise ValueError(
                    f"start_id must be from 0 to {config.vocab_size - 1}, or None, not {start_id}."
                )
        # What the model takes for padding must be no token that it is to read.
        pad_id = config.pad_token_id
        if pad_id in (config.eos_token_id, start_id):
            raise ValueError(
                f"The model's pad_token_id, {pad_id}, is the id of the end marker or start_id, "
                "which it would not see: use -1 for a vocabulary without padding."
            )
        if pad_id not in (-1, *tokenizer.special_ids):
            raise ValueError(
                f"The model's pad_token_id, {pad_id}, is no control id of the tokenizer but a "
                "token of text: use -1 for a vocabulary without padding."
            )

    # In Python.

    def __call__(self, prompts: Sequence[str]) -> list[str]:
        """The new texts, with the options of the generator.

        Raises:
            ValueError: when ``prompts`` is one string instead of a list of them, or holds anything
                but strings.
        """
        return [generation.text for generation in self.generate(prompts)]

    def generate(
        self, prompts: Sequence[str], *, jit_compile: bool = False, **changes: Any
    ) -> list[Generation]:
        """Goes on from prompts with options of one's own.

        Args:
            prompts: the prompts; an empty one starts a text.
            jit_compile: whether XLA compiles the search: faster, after some seconds of compilation
                for every new shape. (Shapes are rounded up: 1, 2, 4, ... prompts of 16, 32, 48, ...
                tokens with room for 16, 32, 64, ... new ones.)
            **changes: of `GenerationOptions`. Prompt i draws with seed + i.

        Raises:
            ValueError: for options out of range or unknown.
        """
        options = self.options.changed(**changes)
        texts = as_texts(prompts, "prompts")
        rows = _row_options(options, int(tf.size(texts)))
        function = self._search_function(options.beam_size, jit_compile)
        found = function(texts, rows, self._stops(options.stop).transitions)
        columns = [
            [text.decode("utf-8") for text in found.texts.numpy()],
            [text.decode("utf-8") for text in found.full_texts.numpy()],
            found.scores.numpy().tolist(),
            found.tokens.numpy().tolist(),
            [FINISH_REASONS[reason] for reason in found.reasons.numpy()],
            found.truncated.numpy().tolist(),
        ]
        return [Generation(*row) for row in zip(*columns, strict=True)]

    def stream(self, prompt: str, **changes: Any) -> Iterator[str]:
        """Yields the new text in pieces as it is generated; joined they are `generate`'s text.

        A piece holds whole characters, and nothing that may become a stop string. Beam search
        does not know its text before its end, and yields it in one piece.

        Args:
            prompt: one prompt.
            **changes: of `GenerationOptions`.

        Raises:
            ValueError: at once, for options out of range or a prompt that is no string.
        """
        options = self.options.changed(**changes)
        if not isinstance(prompt, str | bytes):
            raise ValueError(f"prompt must be a string, not {prompt!r:.80}.")
        texts = as_texts([prompt])
        if options.beam_size > 1:
            found = self.generate([prompt], **changes)
            return (generation.text for generation in found if generation.text)
        return self._text_stream(texts, _row_options(options, 1), self._stops(options.stop))

    def score(self, texts: Sequence[str]) -> list[TextScore]:
        """How likely the model finds texts, each on its own.

        A text is scored after `start_id`; without one, its first token has nothing that it could
        be guessed from and is not counted. The end of a text is not scored, since it may go on.
        Longer texts than the model takes are scored in windows, of which each begins with the
        last half of the one before.

        Raises:
            ValueError: when ``texts`` is anything but a list of strings.
        """
        return text_scores(plain(self.serving_score(as_texts(texts))))

    def truncated(self, prompts: Sequence[str]) -> list[bool]:
        """Which prompts are longer than the model takes: only their last tokens are read.

        Raises:
            ValueError: when ``prompts`` is anything but a list of strings.
        """
        _, _, truncated = self._search(1).prompt_tokens(as_texts(prompts, "prompts"))
        return truncated.numpy().tolist()

    def written_ids(self, prompt: str, **changes: Any) -> WrittenIds:
        """The tokens of a prompt as the model reads them, and those that follow, as far as both
        fit into the model's window.

        Args:
            prompt: one prompt.
            **changes: of `GenerationOptions`.

        Raises:
            ValueError: for options out of range or unknown.
        """
        options = self.options.changed(**changes)
        texts = as_texts([prompt], "prompts")
        write = self._token_writer(options.beam_size)
        return write(texts, _row_options(options, 1), self._stops(options.stop).transitions)

    @cached_property
    def _text_stream(self) -> TextStream:
        return TextStream(self._search(1))

    @cached_property
    def _token_writer(self) -> Callable[[int], TokenWriter]:
        return lru_cache(lambda beam_size: TokenWriter(self._search(beam_size)))

    def _search(self, beam_size: int, jit_compile: bool | None = None) -> GenerationSearch:
        jit_compile = self._jit_compile if jit_compile is None else jit_compile
        return GenerationSearch(
            self.model, self.tokenizer, self._spelling, self.start_id, beam_size, jit_compile
        )

    def _search_function(
        self, beam_size: int, jit_compile: bool
    ) -> tf.types.experimental.PolymorphicFunction:
        """Prompts, options and stop strings to what is found; traced once for all of them."""
        if (beam_size, jit_compile) not in self._functions:
            search = self._search(beam_size, jit_compile)
            self._functions[beam_size, jit_compile] = graph_function(
                lambda prompts, options, transitions: search(prompts, options, transitions),
                input_signature=[
                    tf.TensorSpec([None], tf.string),
                    RowOptions.specs(),
                    tf.TensorSpec([None, None], tf.int32),
                ],
            )
        return self._functions[beam_size, jit_compile]

    @cached_property
    def _stops(self) -> Callable[[tuple[str, ...]], StopStrings]:
        """Stop strings to their table; the last ones are kept, as a vocabulary's takes time."""

        @lru_cache(maxsize=4)
        def table(strings: tuple[str, ...]) -> StopStrings:
            stops = [self._spelling.encode(string) for string in strings]
            return StopStrings(stops, self._spelling.tokens)

        return table

    # In the graph.

    def signatures(self) -> dict[str, Any]:
        """`serving_default`: prompts, with the generator's options; `generate`: sampling
        (temperature 0: greedily) with options of each row's own, the others being the generator's;
        `score`: log-probabilities of texts.

        In `serving_default` every row has the generator's seed, as a server puts rows of several
        requests together: a prompt gets the same text whenever it is asked, and whatever stands
        beside it. Several texts of one prompt are had from `generate`, by several seeds."""
        return {
            "serving_default": self.serving_default,
            "generate": self.serving_generate,
            "score": self.serving_score,
        }

    def compiled(self) -> Self:
        """The same generator, whose signatures search by XLA."""
        twin = type(self)(self.model, self.tokenizer, self.options, self.start_id)
        twin._jit_compile = True
        return twin

    def _serve(self, prompt: tf.Tensor) -> dict[str, tf.Tensor]:
        rows = RowOptions.alike(self.options, tf.shape(prompt)[0])
        search = self._search(self.options.beam_size)
        return _outputs(search(prompt, rows, self._stops(self.options.stop).transitions))

    def _serve_options(
        self,
        prompt: tf.Tensor,
        max_new_tokens: tf.Tensor,
        temperature: tf.Tensor,
        top_k: tf.Tensor,
        top_p: tf.Tensor,
        seed: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        prompt, *given = same_rows(
            prompt=prompt,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
        )
        rows = RowOptions.alike(self.options, tf.shape(prompt)[0])
        rows = rows._replace(**dict(zip(SERVED_OPTIONS, given, strict=True)))
        return _outputs(self._search(1)(prompt, rows, self._stops(self.options.stop).transitions))

    def _serve_score(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        log_probability, tokens, truncated = self._scoring(text)
        return {"log_probability": log_probability, "tokens": tokens, "truncated": truncated}

    # Saving.

    def _config(self) -> dict[str, Any]:
        return {
            "model": self.model.config.to_dict(),
            "dtype": self.model.dtype_policy.name,
            "options": dataclasses.asdict(self.options),
            "start_id": self.start_id,
        }

    def _parts(self) -> dict[str, Any]:
        return {"tokenizer": self.tokenizer}

    @classmethod
    def _restore(cls, config: dict[str, Any], directory: Path) -> TextGenerator:
        model = Gpt(cls._model_config(GptConfig, config, directory), dtype=config["dtype"])
        options = GenerationOptions(**config["options"])
        return cls(model, load_tokenizer(directory / "tokenizer"), options, config["start_id"])


def _row_options(options: GenerationOptions, rows: int) -> RowOptions:
    """The options of each row; the seeds count up."""
    seeds = [seed_of_row(options.seed, row) for row in range(rows)]
    return RowOptions.alike(options, rows)._replace(seed=tf.constant(seeds, tf.int32))


def _outputs(found: Found) -> dict[str, tf.Tensor]:
    return {
        "text": found.texts,
        "full_text": found.full_texts,
        "score": found.scores,
        "truncated": found.truncated,
    }
