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

PEOPLE = tuple(
    "Anna Tom Maria Peter Lucy Ben Clara David Emma Frank Grace Henry Julia Leo Nora Oscar".split()
)
COLOURS = ("red", "blue", "green", "black", "white", "yellow", "old", "new")
THINGS = (
    "key", "book", "cup", "letter", "hat", "ring", "ball", "lamp", "box", "coin", "map", "knife",
)  # fmt: skip
PLACES = (
    "in the drawer", "on the table", "under the bed", "behind the door", "in the kitchen",
    "on the shelf", "in the garden", "under the chair", "behind the sofa", "in the cellar",
)  # fmt: skip
SHOPS = (
    "at the market", "at the station", "in the old town", "at the museum", "near the harbour",
    "at the airport",
)  # fmt: skip
TIMES = ("on Monday", "on Friday", "yesterday", "last week", "this morning", "two days ago")
ASIDES = (
    "It was raining.", "Nobody saw it.", "The house was quiet.", "Dinner was ready at seven.",
    "The cat slept by the fire.", "It was a long day.",
)  # fmt: skip


class Event(NamedTuple):
    """Somebody does something with a thing; all words of it may be asked for."""

    verb: str  # past
    base: str
    who: str
    what: str  # with article and colour
    where: str

    def sentence(self, time: str) -> str:
        """What happened."""
        if time:
            return f"{time[0].upper()}{time[1:]} {self.who} {self.verb} {self.what} {self.where}."
        return f"{self.who} {self.verb} {self.what} {self.where}."

    def asked(self) -> Iterator[tuple[str, str]]:
        """Questions about it, with their answers."""
        yield f"Where did {self.who} {self.base} {self.what}?", self.where
        yield f"Who {self.verb} {self.what} {self.where}?", self.who
        yield f"What did {self.who} {self.base} {self.where}?", self.what


VERBS = (
    (("put", "put"), ("hid", "hide"), ("left", "leave"), ("found", "find")),
    (("bought", "buy"), ("lost", "lose"), ("sold", "sell"), ("saw", "see")),
)
HAPPENINGS = tuple(
    (*verb, thing, place)
    for verbs, places in zip(VERBS, (PLACES, SHOPS), strict=True)
    for verb in verbs
    for thing in THINGS
    for place in places
)


def _events(choices: Choices, happenings: list, count: int) -> list[Event]:
    """Events that differ in verb, who, what and where, so that every question has one answer."""
    events: list[Event] = []
    while len(events) < count:
        verb, base, thing, where = choices.pick(happenings)
        what = f"the {choices.pick(COLOURS)} {thing}"
        new = Event(verb, base, choices.pick(PEOPLE), what, where)
        if not any(
            verb == old.verb
            or new.who == old.who
            or where == old.where
            or thing == old.what.split()[-1]
            for old in events
        ):
            events.append(new)
    return events


def _story(choices: Choices, happenings: list, number: int) -> Iterator[Question]:
    """The questions of one story."""
    *told, untold = _events(choices, happenings, 2 + choices.chance(0.5) + 1)
    sentences = [
        event.sentence(choices.pick(TIMES) if choices.chance(0.3) else "") for event in told
    ]
    if choices.chance(0.5):
        sentences.insert(int(choices.pick(range(len(told) + 1))), choices.pick(ASIDES))
    context = " ".join(sentences)
    asked: list[str] = []
    while len(asked) < QUESTIONS_EACH:
        has_answer = not choices.chance(NO_ANSWER_SHARE)
        question, text = choices.pick(list((choices.pick(told) if has_answer else untold).asked()))
        if question in asked:
            continue
        asked.append(question)
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
    """Questions about short stories; one in seven has no answer.

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
