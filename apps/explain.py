"""Explains the Transformer by numbers that can be checked by hand, and by looking into a model.

Without a topic it lists them. Each prints its steps; --page writes them as one HTML page, with
pictures, too.
"""

import difflib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import command_line
import explain_models
from command_parser import flag
from waiting import waiting

from keras_transformer.inspection import (
    ATTENTION_EXAMPLES,
    Topic,
    activations_topic,
    attention_topic,
    contexts_topic,
    gradient_topic,
    look_up_topic,
    mask_topic,
    neighbours_topic,
    positions_topic,
    print_topic,
    scaling_topic,
    schedules_topic,
    sizes_topic,
    softmax_topic,
    variance_topic,
    write_topics_page,
)
from keras_transformer.text.files import check_can_be_written


@dataclass
class Topics:
    """What is explained, and where it goes."""

    topics: list[str] = field(default_factory=list, metadata={"nargs": "*"})
    """What to explain; "all" is all that needs no model."""
    page: str | None = None
    """HTML file to write too, which needs nothing else."""


@dataclass
class HandOptions:
    """Computations by hand."""

    numbers: dict[str, Any] | None = None
    """attention: a JSON object with x, a vector for each word, and perhaps the projections wq, wk,
    wv and the words, such as '{"x": [[1, 0], [0, 1]], "words": ["a", "dog"]}'."""
    causal: bool = False
    """attention: let each word see only itself and what came before."""
    scores: list[str] = field(default_factory=list, metadata={"nargs": "+"})
    """softmax, lookup, scaling, gradient: the scores (logits), instead of those of the example."""
    values: list[str] = field(default_factory=list, metadata={"nargs": "+"})
    """lookup: the values, one for each of the scores, which count only with them."""
    temperature: float = 10.0
    """softmax: what scores are divided by."""
    key_dim: int = 64
    """scaling: width of the keys."""
    true_class: int = 1
    """gradient: the true class, from 1."""
    length: int | None = None
    """positions, mask: number of positions; 8 and 4 by default."""
    hidden_size: int = 4
    """positions: width of a vector."""
    position: int = 2
    """positions: the one that is added to a vector."""
    peak: float = 1e-3
    """schedules: the highest rate."""
    warmup_steps: int = 400
    """schedules: updates until it."""
    total_steps: int = 4000
    """schedules: updates of the whole training."""
    seed: int = 0
    """variance, and shapes with random weights: of the random numbers."""


@dataclass
class ExplainOptions(explain_models.ModelOptions, HandOptions, Topics):
    """Explain parts of the Transformer, step by step."""


def main() -> None:
    options = command_line.parse(ExplainOptions, __doc__, positional="topics")
    if not options.topics:
        print(overview())
        return
    refuse_unused(options)
    if options.page is not None:
        check_can_be_written(options.page, "--page")
    with waiting("Working it out"):
        topics = [topic for name in chosen(options.topics) for topic in TOPICS[name][1](options)]
    for number, topic in enumerate(topics):
        print("\n" * (number > 0), end="")
        print_topic(topic)
    if options.page is not None:
        title = topics[0].title if len(topics) == 1 else "The Transformer, step by step"
        write_topics_page(options.page, topics, title)
        print(f"\nWritten: {Path(options.page)}")


def overview() -> str:
    """The topics, one a line."""
    lines = [f"  {name:<13}{sentence}" for name, (sentence, _) in TOPICS.items()]
    lines.append(f"  {'all':<13}all of these that need no model")
    return "\n".join(["Topics:", *lines])


def chosen(names: list[str]) -> list[str]:
    """The topics of these names, in the order in which they were given.

    Raises:
        ValueError: when there is no topic of a name.
    """
    found: list[str] = []
    for name in names:
        if name != "all" and name not in TOPICS:
            close = difflib.get_close_matches(name, [*TOPICS, "all"], n=1)
            meant = f" Did you mean {close[0]}?" if close else ""
            raise ValueError(f"topics are {', '.join(TOPICS)} and all, not {name!r}.{meant}")
        found += [n for n in TOPICS if n not in OF_MODELS] if name == "all" else [name]
    return list(dict.fromkeys(found))


def refuse_unused(options: ExplainOptions) -> None:
    """Refuses an option that none of the topics asked for has a use for."""
    names = chosen(options.topics)
    of_scores = set(TAKEN_BY["scores"]) & set(names)
    if options.scores and not options.values and of_scores == {"lookup"}:
        raise ValueError("lookup takes --scores together with --values, one for each of them.")
    for option in fields(options):
        takers = TAKEN_BY.get(option.name)
        default = option.default_factory() if option.default is MISSING else option.default
        if takers and getattr(options, option.name) != default and not set(takers) & set(names):
            raise ValueError(
                f"{flag(option.name)} belongs to {', '.join(takers)}; "
                f"nothing in {', '.join(names)} takes it."
            )


def attention(options: ExplainOptions) -> list[Topic]:
    """The numbers that were given, or the examples."""
    if options.numbers is None:
        return [attention_topic(**x, causal=options.causal) for x in ATTENTION_EXAMPLES]
    known = ("x", "wq", "wk", "wv", "words")
    if unknown := [name for name in options.numbers if name not in known]:
        raise ValueError(f"--numbers knows {', '.join(known)}, not {unknown[0]!r}.")
    if "x" not in options.numbers:
        raise ValueError("--numbers needs x, one vector for each word.")
    return [attention_topic(**options.numbers, causal=options.causal)]


def softmax(options: ExplainOptions) -> list[Topic]:
    scores = {"scores": numbers(options.scores, "--scores")} if options.scores else {}
    return [softmax_topic(**scores, temperature=options.temperature)]


def look_up(options: ExplainOptions) -> list[Topic]:
    """The scores stand for this topic where there are values for them."""
    if not options.values:
        return [look_up_topic()]
    if not options.scores:
        raise ValueError("lookup takes --values together with --scores, one for each of them.")
    scores, values = numbers(options.scores, "--scores"), numbers(options.values, "--values")
    return [look_up_topic(scores, values)]


def scaling(options: ExplainOptions) -> list[Topic]:
    scores = {"scores": numbers(options.scores, "--scores")} if options.scores else {}
    return [scaling_topic(**scores, key_dim=options.key_dim)]


def gradient(options: ExplainOptions) -> list[Topic]:
    logits = {"logits": numbers(options.scores, "--scores")} if options.scores else {}
    return [gradient_topic(**logits, true=options.true_class)]


def positions(options: ExplainOptions) -> list[Topic]:
    length = 8 if options.length is None else options.length
    return [positions_topic(length, options.hidden_size, options.position)]


def numbers(given: list[str], flag: str) -> list[float]:
    """Numbers out of the command line.

    Raises:
        ValueError: for what is no number.
    """
    try:
        return [float(number) for number in given]
    except ValueError:
        raise ValueError(f"{flag} takes numbers, not {' '.join(given)!r}.") from None


TOPICS: dict[str, tuple[str, Callable[[ExplainOptions], list[Topic]]]] = {
    "attention": ("one head, from vectors to output", attention),
    "softmax": ("scores to weights, and a temperature", softmax),
    "lookup": ("attention as a soft look-up", look_up),
    "scaling": ("what the division by √d_k does to weights", scaling),
    "variance": (
        "why it is √d_k: the variance of q · k",
        lambda options: [variance_topic(seed=options.seed)],
    ),
    "gradient": ("of softmax and cross-entropy", gradient),
    "positions": ("the sinusoidal table, added and shifted", positions),
    "mask": (
        "what a causal mask allows",
        lambda options: [mask_topic(4 if options.length is None else options.length)],
    ),
    "sizes": ("heads, and the feed-forward network's shapes", lambda options: [sizes_topic()]),
    "activations": ("relu, gelu, silu and others", lambda options: [activations_topic()]),
    "schedules": (
        "learning rates over a training",
        lambda options: [schedules_topic(options.peak, options.warmup_steps, options.total_steps)],
    ),
    "shapes": (
        "what each part of a model gives for a text (--model, or random weights)",
        lambda options: [explain_models.shapes(options)],
    ),
    "contexts": (
        "a word's vectors in several texts (needs --model)",
        lambda options: [
            contexts_topic(explain_models.open_task(options.model), options.word, options.text)
        ],
    ),
    "neighbours": (
        "near words and analogies in a table of embeddings (needs --model)",
        lambda options: [
            neighbours_topic(
                explain_models.open_task(options.model),
                options.words,
                options.analogy,
                options.top,
            )
        ],
    ),
}
OF_MODELS = ("shapes", "contexts", "neighbours")
TAKEN_BY: dict[str, tuple[str, ...]] = {
    "numbers": ("attention",),
    "causal": ("attention",),
    "scores": ("softmax", "lookup", "scaling", "gradient"),
    "values": ("lookup",),
    "temperature": ("softmax",),
    "key_dim": ("scaling",),
    "true_class": ("gradient",),
    "length": ("positions", "mask"),
    "hidden_size": ("positions",),
    "position": ("positions",),
    "peak": ("schedules",),
    "warmup_steps": ("schedules",),
    "total_steps": ("schedules",),
    "seed": ("variance", "shapes"),
    "model": OF_MODELS,
    "family": ("shapes",),
    "preset": ("shapes",),
    "vocab_size": ("shapes",),
    "text": ("shapes", "contexts"),
    "target": ("shapes",),
    "word": ("contexts",),
    "words": ("neighbours",),
    "analogy": ("neighbours",),
    "top": ("neighbours",),
}
"""The topics that have a use for an option; every topic can be written to a page."""


if __name__ == "__main__":
    command_line.run(main)
