"""The built-in corpus, and the words of its sentences."""

import functools
import re

from keras_transformer.data.grammar import grammar_pairs

SPLITS = ("train", "valid", "test")
IRREGULAR = {
    "mouse": "mice",
    "goose": "geese",
    "sheep": "sheep",
    "fish": "fish",
    "knife": "knives",
    "leaf": "leaves",
    "scarf": "scarves",
    "bookshelf": "bookshelves",
    "man": "men",
    "woman": "women",
    "child": "children",
    "tomato": "tomatoes",
    "potato": "potatoes",
    "strawberry": "strawberries",
    "dictionary": "dictionaries",
    "story": "stories",
    "university": "universities",
    "sandwich": "sandwiches",
    "box": "boxes",
    "watch": "watches",
    "bus": "buses",
}


@functools.cache
def pairs():
    """The pairs of every split."""
    return {split: grammar_pairs(split) for split in SPLITS}


def everything():
    """All pairs together."""
    return [pair for split in SPLITS for pair in pairs()[split]]


def words(english):
    return re.findall(r"[A-Za-z']+", english)


def plain(chinese):
    return chinese.rstrip("。？")


def plural(noun):
    return IRREGULAR.get(noun, noun + "s")
