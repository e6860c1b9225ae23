"""The splits of the built-in corpus: what they hold, and what only valid and test hold."""

import hashlib
import random
from collections import Counter

import pytest
from data import grammar_corpus
from data.grammar_corpus import SPLITS, plain, plural, words

from keras_transformer.data.grammar import grammar_pairs, splits
from keras_transformer.data.grammar.choices import Choices

SHOWN = {
    "这是一个苹果。": "This is an apple.",
    "她在吃一个绿苹果。": "She is eating a green apple.",
}


@pytest.fixture(scope="module")
def pairs():
    return grammar_corpus.pairs()


@pytest.fixture(scope="module")
def everything():
    return grammar_corpus.everything()


def test_sizes_of_the_splits(pairs):
    assert 30_000 <= len(pairs["train"]) <= 60_000
    assert len(pairs["valid"]) == 500
    assert len(pairs["test"]) == 1_000


def test_sampling_again_gives_the_same_sentences_and_leaves_global_state_alone():
    state = random.getstate()
    again = splits.sampled_sentences.__wrapped__()
    assert random.getstate() == state
    assert again == splits.sampled_sentences()


def test_corpus_is_the_same_on_every_machine(pairs):
    """The digest changes only when the grammar is changed on purpose."""
    digest = hashlib.sha256(repr([pairs[split] for split in SPLITS]).encode()).hexdigest()
    assert digest == "fde10209ca20e0f9f44b70fbf5e4278023c63c381b1374944242bb4e7c95f444"


def test_result_may_be_changed_without_changing_the_corpus():
    grammar_pairs("valid").clear()
    assert len(grammar_pairs("valid")) == 500


def test_unknown_split_is_refused_with_its_name():
    with pytest.raises(ValueError, match="'train', 'valid' or 'test', not 'dev'"):
        grammar_pairs("dev")


def test_no_sentence_is_doubled_in_either_language(everything):
    assert len({plain(zh) for zh, _ in everything}) == len(everything)
    assert len({en for _, en in everything}) == len(everything)


def test_grammar_is_one_to_one_beyond_the_sampled_sentences():
    choices = Choices(1)
    to_english, to_chinese = {}, {}
    for _ in range(60_000):
        new = splits.sentence(choices)
        assert to_english.setdefault(plain(new.zh), new.en) == new.en
        assert to_chinese.setdefault(new.en, new.zh) == new.zh
    assert len(to_english) > 40_000


def test_valid_and_test_hold_combinations_that_training_never_shows():
    seen = {
        split: {c for new in sentences for c in new.combinations}
        for split, sentences in splits.split_sentences().items()
    }
    held = splits.held_out()
    for split in ("valid", "test"):
        for new in splits.split_sentences()[split]:
            unseen = set(new.combinations) & set(held)
            assert {held[c] for c in unseen} == {split}, new
    assert not set(held) & seen["train"]
    assert not {c for c in seen["valid"] & seen["test"] if c in held}


def test_held_out_adjectives_never_stand_before_their_noun_in_training(pairs):
    """The same, found in the text instead of the grammar's own record."""
    shown = set()
    for _, en in pairs["train"]:
        tokens = words(en.lower())
        shown.update(zip(tokens, tokens[1:], strict=False))
    held = [(left, right) for kind, left, right in splits.held_out() if kind == "quality"]
    assert ("green", "apple") in held and len(held) > 30
    for adjective, noun in held:
        assert (adjective, noun) not in shown
        assert (adjective, plural(noun)) not in shown
    assert not any("绿苹果" in zh for zh, _ in pairs["train"])


def test_every_word_of_valid_and_test_is_common_in_training(pairs):
    english = Counter(word for _, en in pairs["train"] for word in words(en))
    chinese = Counter(character for zh, _ in pairs["train"] for character in zh)
    for split in ("valid", "test"):
        for zh, en in pairs[split]:
            assert min(english[word] for word in words(en)) >= 10, en
            assert min(chinese[character] for character in zh) >= 20, zh


def test_held_out_words_keep_their_role_in_training():
    """Each side of a held-out combination stands in the same relation with others in training."""
    roles = Counter(
        role
        for new in splits.split_sentences()["train"]
        for relation, left, right in new.combinations
        for role in ((relation, left, "left"), (relation, right, "right"))
    )
    for relation, left, right in splits.held_out():
        assert roles[relation, left, "left"] >= 10, (relation, left)
        assert roles[relation, right, "right"] >= 5, (relation, right)


class Guided(Choices):
    """Choices that prefer what the wanted Chinese sentence mentions: a search of the grammar."""

    def __init__(self, seed, wanted):
        super().__init__(seed)
        self.wanted = wanted

    def pick(self, options):
        def mentioned(option):
            return getattr(option, "zh", None) and option.zh in self.wanted

        return super().pick([option for option in options if mentioned(option)] or options)


@pytest.mark.parametrize("chinese", SHOWN)
def test_shown_sentence_is_within_reach_but_not_in_training(pairs, chinese):
    choices = Guided(0, chinese)
    tries = (splits.sentence(choices) for _ in range(50_000))
    found = next(new for new in tries if new.zh == chinese)
    assert found.en == SHOWN[chinese]
    assert set(found.combinations) & set(splits.held_out())
    assert plain(chinese) not in {plain(zh) for zh, _ in pairs["train"]}
