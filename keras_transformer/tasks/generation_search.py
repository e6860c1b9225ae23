"""The graph of text generation: prompts to ids, search in a sliding window, ids to texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.generation import Hypotheses, Stops, beam_search
from keras_transformer.generation.constraints import Constraints
from keras_transformer.generation.loop import TokenLoop
from keras_transformer.generation.sampling import Draw
from keras_transformer.models import Gpt
from keras_transformer.tasks.bert_inputs import slices
from keras_transformer.tasks.chunks import map_in_chunks
from keras_transformer.tasks.graph_function import graph_function
from keras_transformer.tasks.row_options import RowOptions
from keras_transformer.tasks.text_bounds import endings, most_bytes
from keras_transformer.tasks.text_window import Window, started
from keras_transformer.tasks.texts import valid_unicode
from keras_transformer.tasks.token_spelling import TokenSpelling
from keras_transformer.text import Tokenizer

# What the model holds of a chunk at most: its memory needs room for that many tokens.
ROWS_AT_A_TIME = 64
TOKENS_AT_A_TIME = 8192

FINISH_REASONS = ("length", "end", "stop")


class Found(NamedTuple):
    """What was generated for a batch of prompts."""

    texts: tf.Tensor  # string [batch]: the new texts
    full_texts: tf.Tensor  # string [batch]: prompts and new texts
    scores: tf.Tensor  # float32 [batch]: sum of the new tokens' log-probabilities
    tokens: tf.Tensor  # int32 [batch]: number of new tokens, an end marker counted
    reasons: tf.Tensor  # int32 [batch]: which of FINISH_REASONS
    truncated: tf.Tensor  # bool [batch]: the prompt was longer than the window


class Progress(NamedTuple):
    """Texts between two rounds."""

    tokens: tf.Tensor  # int32 [rows, width]: prompts and new tokens, then only PAD
    lengths: tf.Tensor  # int32 [rows]
    prompt_lengths: tf.Tensor  # int32 [rows]
    log_probs: tf.Tensor  # float32 [rows]: of the new tokens
    stop_states: tf.Tensor  # int32 [rows]
    done: tf.Tensor  # bool [rows]

    @property
    def new(self) -> tf.Tensor:
        """The number of new tokens: int32 [rows]."""
        return self.lengths - self.prompt_lengths


@dataclass(frozen=True)
class GenerationSearch:
    """Prompts in, texts out, all in the graph.

    Texts grow in rounds. In a round every text is read, as far as the window reaches, and grows
    until it ends or its window is full; those whose window is full sooner wait for the others. A
    round of beam search gives its best text to the next one. What becomes of a text so depends on
    its own tokens and options alone.

    Attributes:
        start_id: stands before every text; None for nothing. A text without a token starts from
            the end marker in any case.
        beam_size: 1 samples (temperature 0: greedily), more is beam search.
        jit_compile: whether XLA compiles the rounds. They are then faster, but for some seconds of
            compilation for each new shape; shapes are rounded up, so that there are few.
    """

    model: Gpt
    tokenizer: Tokenizer
    spelling: TokenSpelling
    start_id: int | None
    beam_size: int = 1
    jit_compile: bool = False

    @property
    def window(self) -> Window:
        return Window(self.model.config.max_position_embeddings)

    def __call__(self, prompts: tf.Tensor, options: RowOptions, transitions: tf.Tensor) -> Found:
        """Goes on from prompts `[batch]`.

        Args:
            prompts: string `[batch]`.
            options: of each row; what is out of range is taken for what is nearest.
            transitions: of `StopStrings`, int32 `[states, vocab]`.
        """
        options = options.within_range()
        tokens, lengths, truncated = self.prompt_tokens(prompts)
        longest = tf.reduce_max(lengths + options.max_new_tokens)
        held = self.beam_size * tf.clip_by_value(longest, 1, self.window.size)

        def go_on(tokens: tf.Tensor, lengths: tf.Tensor, *values: tf.Tensor) -> tuple:
            options = RowOptions(*values)
            stops = Stops(transitions)
            tokens = tokens[:, : tf.reduce_max(lengths)]
            progress = self.finish(self.begin(tokens, lengths, options), options, stops)
            return self._outcome(progress, stops)

        texts, scores, new, reasons = map_in_chunks(
            go_on,
            (tokens, lengths, *options),
            lengths + options.max_new_tokens,
            tf.clip_by_value(TOKENS_AT_A_TIME // held, 1, ROWS_AT_A_TIME),
            tuple(tf.TensorSpec([None], t) for t in (tf.string, tf.float32, tf.int32, tf.int32)),
        )
        full_texts = tf.strings.join([valid_unicode(prompts), texts])
        return Found(texts, full_texts, scores, new, reasons, truncated)

    def finish(self, progress: Progress, options: RowOptions, stops: Stops) -> Progress:
        """The texts as they are when all of them have ended."""
        (progress,) = tf.while_loop(
            lambda progress: ~tf.reduce_all(progress.done),
            lambda progress: (self._round(progress, options, stops),),
            (progress,),
        )
        return progress

    def prompt_tokens(self, prompts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """What is read of prompts: ids `[batch, width]`, lengths, and which are cut (`[batch]`)."""
        # The end of a prompt is what is read.
        prompts, too_long = endings(prompts, most_bytes(self.window.size))
        tokens = started(self.tokenizer.tokenize(prompts), self.start_id, self._eos_id)
        lengths = tokens.row_lengths()  # [batch]
        starts = lengths - tf.cast(self.window.read(tf.cast(lengths, tf.int32)), tf.int64)
        tokens = slices(tokens, tf.range(tokens.nrows()), starts, lengths)
        lengths = tf.cast(tokens.row_lengths(), tf.int32)
        return tokens.to_tensor(self._pad_id), lengths, too_long | (starts > 0)

    def begin(self, prompts: tf.Tensor, lengths: tf.Tensor, options: RowOptions) -> Progress:
        """Texts without a new token, for prompts `[rows, width]` of so many tokens each."""
        most = tf.maximum(tf.reduce_max(options.max_new_tokens), 0)
        return Progress(
            tokens=tf.pad(prompts, [[0, 0], [0, most]], constant_values=self._pad_id),
            lengths=lengths,
            prompt_lengths=lengths,
            log_probs=tf.zeros_like(lengths, tf.float32),
            stop_states=tf.zeros_like(lengths),
            done=options.max_new_tokens <= 0,
        )

    def context(self, progress: Progress, options: RowOptions) -> tuple[tf.Tensor, tf.Tensor]:
        """What a round reads, int32 `[rows, width]`, and how long texts may get in it `[rows]`."""
        read = tf.where(progress.done, 1, self.window.read(progress.lengths))  # [rows]
        places = tf.range(tf.reduce_max(read))  # [width]
        start = progress.lengths - read
        inside = places < read[:, None]  # [rows, width]
        places = tf.where(inside, start[:, None] + places, 0)
        ids = tf.gather(progress.tokens, places, batch_dims=1)  # [rows, width]
        limits = tf.minimum(self.window.room(read), options.max_new_tokens - progress.new)
        return tf.where(inside, ids, self._pad_id), tf.where(progress.done, 0, limits)

    def token_loop(
        self, progress: Progress, limits: tf.Tensor, options: RowOptions, stops: Stops
    ) -> TokenLoop:
        """What samples the tokens of a round."""
        used = progress.tokens
        if not self.jit_compile:
            used = used[:, : tf.reduce_max(progress.lengths)]  # not the room for more
        # The end marker before a text is no token of it that could be repeated.
        used = tf.where(used == self._eos_id, self._pad_id, used)
        draw = Draw(
            pad_id=self._pad_id,
            seeds=options.seed,
            first_number=progress.new,
            context_ids=used,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            min_p=options.min_p,
            repetition_penalty=options.repetition_penalty,
        )
        constraints = Constraints.create(
            max_length=tf.reduce_max(limits), **self._rules(progress, limits, options, stops)
        )
        return TokenLoop(self.model, draw, constraints)

    def after_round(
        self, progress: Progress, found: Hypotheses, options: RowOptions, stops: Stops
    ) -> Progress:
        """The texts with what a round found, `n_best` = 1."""
        ids, stop_states = found.ids[:, 0], found.stop_states[:, 0]
        added = found.lengths[:, 0]  # [rows]
        places = tf.range(tf.shape(progress.tokens)[1]) - progress.lengths[:, None]  # [rows, width]
        inside = (places >= 0) & (places < added[:, None])
        new = tf.gather(ids, tf.where(inside, places, 0), batch_dims=1)  # [rows, width]
        last = tf.gather(ids, tf.maximum(added - 1, 0), batch_dims=1)  # [rows]
        lengths = progress.lengths + added
        over = (last == self._eos_id) | stops.final(stop_states) | (added == 0)
        return progress._replace(
            tokens=tf.where(inside, new, progress.tokens),
            lengths=lengths,
            log_probs=progress.log_probs + tf.where(added > 0, found.log_probs[:, 0], 0.0),
            stop_states=tf.where(added > 0, stop_states, progress.stop_states),
            done=over | (lengths - progress.prompt_lengths >= options.max_new_tokens),
        )

    def nothing_before(self, progress: Progress) -> tf.Tensor:
        """Which prompts had no token of their own: bool [rows]."""
        first = progress.tokens[:, 0]
        alone = first == (self._eos_id if self.start_id is None else self.start_id)
        return alone & (progress.prompt_lengths == 1)

    def _round(self, progress: Progress, options: RowOptions, stops: Stops) -> Progress:
        context, limits = self.context(progress, options)
        stops = stops._replace(start=progress.stop_states)
        search = self._compiled_search if self.jit_compile else self._search
        found = search(context, limits, progress, options, stops)
        return self.after_round(progress, found, options, stops)

    def _search(
        self,
        context: tf.Tensor,
        limits: tf.Tensor,
        progress: Progress,
        options: RowOptions,
        stops: Stops,
        room: tf.Tensor | None = None,
    ) -> Hypotheses:
        """What goes on from `context [rows, width]`, at most `limits [rows]` tokens.

        With `room` the model's memory has that many places from the start; else it grows.
        """
        shared = {
            "batch_size": tf.shape(context)[0],
            "bos_id": self.model.last_ids(context),
            "max_length": tf.reduce_max(limits) if room is None else room,
            "grow": self.model.grow if room is None else None,
        }
        first_room = tf.constant(0) if room is None else room
        state = self.model.start(context, first_room, beams=self.beam_size)
        if self.beam_size == 1:
            return self.token_loop(progress, limits, options, stops).run(state, **shared)
        return beam_search(
            self.model,
            state,
            beam_size=self.beam_size,
            length_penalty=options.length_penalty,
            **shared,
            **self._rules(progress, limits, options, stops),
        )

    def _compiled_search(
        self,
        context: tf.Tensor,
        limits: tf.Tensor,
        progress: Progress,
        options: RowOptions,
        stops: Stops,
    ) -> Hypotheses:
        """The same by XLA: with 1, 2, 4, ... rows of 16, 32, 48, ... tokens and room for 16, 32,
        64, ... new ones."""

        @graph_function(jit_compile=True)
        def search(places: tf.Tensor, *texts: Any) -> Hypotheses:
            return self._search(*texts, room=tf.shape(places)[0])  # sizes come from shapes alone

        rows = tf.shape(context)[0]
        more = _power_of_two(rows) - rows
        copied = tf.minimum(tf.range(rows + more), rows - 1)  # the last row again and again

        def wider(ids: tf.Tensor, multiple: int) -> tf.Tensor:
            padding = [[0, 0], [0, -tf.shape(ids)[1] % multiple]]
            return tf.pad(ids, padding, constant_values=self._pad_id)

        # A table of learned positions has no more places than the window.
        context = wider(context, 16)[:, : self.window.size]
        progress = progress._replace(tokens=wider(progress.tokens, 64))
        context, progress, options, start = tf.nest.map_structure(
            lambda tensor: tf.gather(tensor, copied), (context, progress, options, stops.start)
        )
        found = search(
            tf.zeros([tf.maximum(_power_of_two(tf.reduce_max(limits)), 16)]),
            context,
            tf.pad(limits, [[0, more]]),
            progress,
            options,
            stops._replace(start=start),
        )
        return Hypotheses(*(tensor[:rows] for tensor in found))

    def _rules(
        self, progress: Progress, limits: tf.Tensor, options: RowOptions, stops: Stops
    ) -> dict:
        """What ends the texts of a round, as all searches take it."""
        return {
            "eos_id": self._eos_id,
            "pad_id": self._pad_id,
            "max_lengths": limits,
            "min_lengths": options.min_new_tokens - progress.new,
            "forbidden_ids": self._forbidden_ids(),
            "must_end": False,
            "stops": stops,
        }

    def _outcome(self, progress: Progress, stops: Stops) -> tuple[tf.Tensor, ...]:
        """Texts, scores, numbers of new tokens and reasons to finish, all `[rows]`."""
        new, width = progress.new, tf.shape(progress.tokens)[1]
        places = progress.prompt_lengths[:, None] + tf.range(tf.reduce_max(new))
        ids = tf.gather(progress.tokens, tf.minimum(places, width - 1), batch_dims=1)
        last = tf.gather(progress.tokens, progress.lengths - 1, batch_dims=1)  # [rows]
        stopped = stops.final(progress.stop_states)
        states = tf.shape(stops.transitions)[0]
        cut = tf.where(stopped, progress.stop_states - states, 0)  # see StopStrings
        texts = self.spelling.texts(ids, new, cut, self.nothing_before(progress))
        ended = (new > 0) & (last == self._eos_id)
        reasons = tf.where(
            stopped,
            FINISH_REASONS.index("stop"),
            tf.where(ended, FINISH_REASONS.index("end"), FINISH_REASONS.index("length")),
        )
        return texts, progress.log_probs, new, reasons

    @property
    def _eos_id(self) -> int:
        return self.model.config.eos_token_id

    @property
    def _pad_id(self) -> int:
        return self.model.config.pad_token_id

    def _forbidden_ids(self) -> tuple[int, ...]:
        """Ids that stand for no text: all control ids but the end marker, and the unknown id."""
        ids = {*self.tokenizer.special_ids, self.tokenizer.unk_id}
        return tuple(sorted(ids - {self._eos_id, self._pad_id, -1}))


def _power_of_two(least: tf.Tensor) -> tf.Tensor:
    """The smallest one that is as large as `least`, an int32 scalar."""
    powers = tf.constant([2**i for i in range(31)])
    return tf.reduce_min(tf.boolean_mask(powers, powers >= least))
