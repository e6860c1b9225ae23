"""Short reviews that are good or bad."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from keras_transformer.data.grammar.choices import Choices
from keras_transformer.data.grammar.phrases import with_article
from keras_transformer.data.labelled_texts import LabelledTexts
from keras_transformer.data.small_tasks.splits import Split, choices_of, part_of

COUNTS = {"train": 6000, "valid": 400, "test": 800}

# Things, and what is said of them: good and bad.
TOPICS = (
    (
        "food soup coffee breakfast bread fish cake".split(),
        "delicious fresh tasty excellent wonderful hot".split(),
        "awful stale tasteless disgusting terrible cold".split(),
    ),
    (
        "staff waiter driver guide owner doctor teacher".split(),
        "friendly kind helpful polite honest patient".split(),
        "rude unfriendly careless lazy dishonest impatient".split(),
    ),
    (
        "film story music play book song ending".split(),
        "beautiful clever exciting funny moving brilliant".split(),
        "boring stupid dull silly predictable weak".split(),
    ),
    (
        "screen battery camera keyboard phone printer".split(),
        "reliable fast solid handy excellent bright".split(),
        "faulty slow broken fragile terrible dim".split(),
    ),
    (
        "room bed hotel garden bathroom house".split(),
        "clean quiet comfortable lovely spacious cosy".split(),
        "dirty noisy uncomfortable ugly cramped damp".split(),
    ),
)
NEUTRAL = (
    "We were there in May.",
    "I bought it for my brother.",
    "It was our second visit.",
    "My sister had told me about it.",
    "We paid in cash.",
    "It took two hours.",
    "This is my first review.",
    "There were four of us.",
)


class Opinion(NamedTuple):
    """A thing, a word said of it, and the opposite."""

    thing: str
    word: str
    opposite: str
    is_good: bool


def _opinions() -> list[Opinion]:
    return [
        Opinion(thing, *words, is_good)
        for things, good, bad in TOPICS
        for thing in things
        for pair in zip(good, bad, strict=True)
        for words, is_good in ((pair, True), (pair[::-1], False))
    ]


def _clause(choices: Choices, opinion: Opinion) -> str:
    """A clause that gives the opinion, with its word or with the opposite denied."""
    thing, word, opposite, is_good = opinion
    feared = "feared" if is_good else "hoped for"
    return choices.pick(
        (
            f"the {thing} was {word}",
            f"the {thing} was {word}",
            f"the {thing} was really {word}",
            f"I found the {thing} {word}",
            f"I found the {thing} {word}",
            f"the {thing} was not {opposite} at all",
            f"nobody could call the {thing} {opposite}",
            f"we had {feared} {with_article(opposite)} {thing} and got {with_article(word)} one",
        )
    )


def _review(choices: Choices, opinions: dict[bool, list[Opinion]]) -> tuple[str, str]:
    """A review and its label."""
    is_good = choices.chance(0.5)
    clause = _clause(choices, choices.pick(opinions[is_good]))
    kind = choices.pick(("one", "one", "one", "and", "but", "although"))
    if kind != "one":
        first = _clause(choices, choices.pick(opinions[is_good == (kind == "and")]))
        if kind == "although":
            clause = f"although {first}, {clause}"
        else:
            clause = f"{first}, {kind} {clause}"
    text = f"{clause[0].upper()}{clause[1:]}."
    if choices.chance(0.4):
        neutral = choices.pick(NEUTRAL)
        text = f"{neutral} {text}" if choices.chance(0.5) else f"{text} {neutral}"
    return text, "positive" if is_good else "negative"


@cache
def _reviews(split: Split) -> tuple[tuple[str, str, None, str], ...]:
    choices = choices_of(split)
    said = part_of(split, _opinions())
    opinions = {is_good: [o for o in said if o.is_good == is_good] for is_good in (True, False)}
    found: dict[str, str] = {}
    while len(found) < COUNTS[split]:
        text, label = _review(choices, opinions)
        found.setdefault(text, label)
    return tuple(
        (f"review {number}", text, None, label)
        for number, (text, label) in enumerate(found.items(), start=1)
    )


def builtin_reviews(split: Split = "train") -> LabelledTexts:
    """Reviews labelled "positive" or "negative".

    Args:
        split: "train" (6,000 reviews), "valid" (400) or "test" (800).

    Raises:
        ValueError: there is no such split.

    Example:
        >>> builtin_reviews("valid").label_names(), builtin_reviews("valid").report.kept
        (['negative', 'positive'], 400)
    """
    choices_of(split)  # refuses what is no split
    return LabelledTexts(f"builtin:{split}", lambda: iter(_reviews(split)))
