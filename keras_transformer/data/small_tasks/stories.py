"""Short stories, and questions about them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from keras_transformer.data.grammar.choices import Choices
from keras_transformer.data.small_tasks.splits import Split, choices_of, part_of
from keras_transformer.data.squad import Answer, Question, Questions

STORIES = {"train": 2000, "valid": 100, "test": 200}
QUESTIONS_EACH = 3
NO_ANSWER_SHARE = 0.15
TWO_EVENTS_SHARE = 0.3  # of the stories: the question's kind alone does not give their answers

PEOPLE = tuple(
    "Anna Tom Maria Peter Lucy Ben Clara David Emma Frank Grace Henry Julia Leo Nora Oscar".split()
)
COLOURS = ("red", "blue", "green", "black", "white", "yellow", "old", "new")
THINGS = (
    "key", "book", "cup", "letter", "hat", "ring", "ball", "lamp", "box", "coin", "map", "knife",
)  # fmt: skip
ROOMS = (
    "in the drawer", "on the table", "under the bed", "behind the door", "in the kitchen",
    "on the shelf", "in the garden", "under the chair", "behind the sofa", "in the cellar",
)  # fmt: skip
TOWN = (
    "at the market", "at the station", "in the old town", "at the museum", "near the harbour",
    "at the airport",
)  # fmt: skip
TIMES = (
    "on Monday", "on Friday", "on Sunday", "yesterday", "last week", "this morning",
    "two days ago", "at noon",
)  # fmt: skip
PRICES = tuple(f"{number} euros" for number in "two three five seven ten twenty fifty".split())
REASONS = (
    "because it was a birthday present", "because winter was near", "because nobody wanted it",
    "because the house was empty", "because a friend had asked for it", "because it looked useful",
)  # fmt: skip
ASIDES = (
    "It was raining.", "Nobody saw it.", "The house was quiet.", "Dinner was nearly ready.",
    "The cat slept by the fire.", "It was a long day.",
)  # fmt: skip

AT_HOME = (("put", "put"), ("hid", "hide"), ("left", "leave"), ("found", "find"))
IN_TOWN = (("bought", "buy"), ("sold", "sell"), ("lost", "lose"), ("saw", "see"))
PAID = {"buy": "pay", "sell": "get"}  # verb -> "How much did Anna ... for the cup?"
HAPPENINGS = tuple(
    (*verb, thing, place)
    for verbs, places in ((AT_HOME, ROOMS), (IN_TOWN, TOWN))
    for verb in verbs
    for thing in THINGS
    for place in places
)


class Event(NamedTuple):
    """Somebody does something with a thing; all of it may be asked for. "" is not told."""

    verb: str  # past
    base: str
    who: str
    what: str  # with article and colour
    where: str
    when: str
    price: str
    why: str

    def sentence(self, begin_with_time: bool) -> str:
        """What happened."""
        price = f"for {self.price}" if self.price else ""
        told = [self.who, self.verb, self.what, price, self.where]
        told = [self.when, *told] if begin_with_time else [*told, self.when]
        text = " ".join(part for part in (*told, self.why) if part)
        return f"{text[0].upper()}{text[1:]}."

    def asked(self) -> Iterator[tuple[str, str]]:
        """Questions about it, with their answers; "" where it does not tell."""
        did = f"did {self.who} {self.base} {self.what}"
        yield f"Who {self.verb} {self.what} {self.where}?", self.who
        yield f"What did {self.who} {self.base} {self.where}?", self.what
        yield f"Where {did}?", self.where
        yield f"When {did}?", self.when
        yield f"Why {did}?", self.why
        if self.base in PAID:
            yield f"How much did {self.who} {PAID[self.base]} for {self.what}?", self.price


def _event(choices: Choices, happenings: list) -> Event:
    verb, base, thing, where = choices.pick(happenings)

    def sometimes(share: float, options: tuple[str, ...]) -> str:
        return choices.pick(options) if choices.chance(share) else ""

    return Event(
        verb,
        base,
        who=choices.pick(PEOPLE),
        what=f"the {choices.pick(COLOURS)} {thing}",
        where=where,
        when=sometimes(0.7, TIMES),
        price=sometimes(0.7, PRICES) if base in PAID else "",
        why=sometimes(0.4, REASONS),
    )


def _events(choices: Choices, happenings: list, count: int) -> list[Event]:
    """Events that share nothing that is told, so that every question has one answer."""
    events: list[Event] = []
    while len(events) < count:
        new = _event(choices, happenings)
        told = {part for part in new if part} | {new.what.split()[-1]}
        if not any(told & ({*old} | {old.what.split()[-1]}) for old in events):
            events.append(new)
    return events


def _story(choices: Choices, happenings: list, number: int) -> Iterator[Question]:
    """The questions of one story."""
    events = _events(choices, happenings, 1 + choices.chance(TWO_EVENTS_SHARE))
    sentences = [event.sentence(bool(event.when) and choices.chance(0.5)) for event in events]
    if choices.chance(0.7):
        sentences.insert(choices.pick(range(len(events) + 1)), choices.pick(ASIDES))
    context = " ".join(sentences)
    told, untold = [], []
    for event in events:
        for question, text in event.asked():
            (told if text else untold).append((question, text))
    asked: list[str] = []
    while len(asked) < QUESTIONS_EACH:
        has_answer = not untold or not choices.chance(NO_ANSWER_SHARE)
        question, text = choices.pick(told if has_answer else untold)
        if question in asked:
            continue
        asked.append(question)
        # A time that opens the story has a capital letter there.
        text = text if text in context else f"{text[0].upper()}{text[1:]}"
        answers = (Answer(text, context.index(text)),) if has_answer else ()
        yield Question(f"story-{number}-{len(asked)}", question, context, answers)


@cache
def _questions(split: Split) -> tuple[Question, ...]:
    choices = choices_of(split)
    happenings = part_of(split, HAPPENINGS)
    stories: dict[str, list[Question]] = {}
    while len(stories) < STORIES[split]:
        new = list(_story(choices, happenings, len(stories) + 1))
        stories.setdefault(new[0].context, new)
    return tuple(question for story in stories.values() for question in story)


def builtin_questions(split: Split = "train") -> Questions:
    """Questions about short stories; about one in seven has no answer.

    Args:
        split: "train" (2,000 stories), "valid" (100) or "test" (200), three questions each.

    Raises:
        ValueError: there is no such split.

    Example:
        >>> builtin_questions("valid").report.kept
        300
    """
    choices_of(split)  # refuses what is no split
    return Questions(f"builtin:{split}", lambda: iter(_questions(split)))
