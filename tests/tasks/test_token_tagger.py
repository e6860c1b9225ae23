"""A tag for every word, wherever it stands."""

import random

import numpy as np
import pytest
import small_berts
import tensorflow as tf
from numpy.testing import assert_allclose

from keras_transformer.data import TaggedSentence, tagging_windows, tags_of_windows
from keras_transformer.models import BertTagger
from keras_transformer.tasks import TaggedWord, TokenTagger
from keras_transformer.tasks.token_tagger import entities_of
from keras_transformer.tasks.words import split_words

CLS, SEP, UNK = 2, 3, 1
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def make(tokenizer=None, labels=LABELS, **options):
    tokenizer = tokenizer or small_berts.wordpieces()
    model = small_berts.make_model(BertTagger, tokenizer, num_labels=len(labels))
    return TokenTagger(model, tokenizer, labels, **options)


@pytest.fixture(scope="module")
def tagger():
    return make()


@pytest.fixture
def eager():
    with small_berts.eagerly():
        yield


def many_words(count, seed=0):
    """Words of one to eight pieces."""
    choose = random.Random(seed)
    words = [*small_berts.WORDS, "abcdefgh", "xyz", "don't", "我", "é"]
    return [choose.choice(words) for _ in range(count)]


# Words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Jim Henson was a puppeteer", "Jim Henson was a puppeteer"),
        ("He said: “don't!”", "He said : “ don't ! ”"),
        ("AT&T, U.S. and New-York.", "AT&T , U.S . and New-York ."),
        ("1,000.50 at 12:30; a,b a:b", "1,000.50 at 12:30 ; a , b a : b"),
        ("a--b -a b- 'c'", "a - - b - a b - ' c '"),
        ("snake_case @user #tag 50%", "snake_case @ user # tag 50 %"),
        ("我住在北京。abc中文", "我 住 在 北 京 。 abc 中 文"),
        ("हिन्दी 한국어 텍스트 Ünï", "हिन्दी 한국어 텍스트 Ünï"),
        ("e\u0301te\u0301 a\u00adb", "e\u0301te\u0301 a\u00adb"),
        ("👩\u200d👧!🙂\ufe0f", "👩\u200d 👧 ! 🙂\ufe0f"),
        ("  two\tlines\nof \u3000 text\u00a0here ", "two lines of text here"),
        ("a\0b\u200bc", "a b c"),
        ("\u0301 \u200d", ""),
        ("", ""),
    ],
)
def test_words_are_cut_by_the_rule_and_stand_where_it_says(text, words):
    found, starts, ends = (part.to_list()[0] for part in split_words(tf.constant([text])))
    assert [word.decode() for word in found] == (words.split(" ") if words else [])
    assert [text[a:b] for a, b in zip(starts, ends, strict=True)] == [w.decode() for w in found]


def test_words_do_not_depend_on_the_texts_beside_them():
    texts = [*small_berts.TEXTS, *small_berts.GARBAGE, "\u0301 begins with a mark", "don'", "'t"]
    together = [part.to_list() for part in split_words(small_berts.strings(texts))]
    for row, text in enumerate(texts):
        alone = [part.to_list()[0] for part in split_words(small_berts.strings([text]))]
        assert [part[row] for part in together] == alone
    assert split_words(small_berts.strings([])).words.to_list() == []


def test_nothing_but_white_space_lies_between_words():
    choose = random.Random(3)
    letters = "ab'’.-,:;1२_中é\u0301\u200d 🙂\t\n한&\u00a0"
    texts = ["".join(choose.choices(letters, k=choose.randrange(12))) for _ in range(300)]
    words, starts, ends = (part.to_list() for part in split_words(tf.constant(texts)))
    for text, row, first, last in zip(texts, words, starts, ends, strict=True):
        spans = list(zip(first, last, strict=True))
        assert [text[a:b] for a, b in spans] == [word.decode() for word in row]
        for a, b in reversed(spans):
            text = text[:a] + text[b:]
        assert not text.strip(" \t\n\u00a0\u0301\u200d"), text


# Tags --------------------------------------------------------------------------------------------


def test_a_word_has_the_tag_of_its_first_piece(tagger):
    text = "abc don't runs 我!"
    words = ["abc", "don't", "runs", "我", "!"]
    pieces = [tagger.tokenizer.tokenize(word).numpy().tolist() for word in words]
    assert len(pieces[1]) > 3
    ids = [CLS, *sum(pieces, []), SEP]
    scores = tf.nn.softmax(tagger.model({"token_ids": np.array([ids])})[0]).numpy()
    places = 1 + np.cumsum([0, *map(len, pieces)])[:-1]
    (found,) = tagger([text])
    assert [word.word for word in found] == words
    assert [word.tag for word in found] == [LABELS[i] for i in scores[places].argmax(1)]
    assert_allclose([word.score for word in found], scores[places].max(1), atol=1e-5)
    assert [text[word.start : word.end] for word in found] == words
    assert tagger.tag_words([words]) == [[word.tag for word in found]]


@pytest.fixture(scope="module")
def long_sentences():
    """Of words of which many lie across the ends of windows, and of one longer than a window."""
    texts = many_words(150), ["abcdefgh"] * 30, ["dog"], [*many_words(20, seed=2), "x" * 90, "dog"]
    return [TaggedSentence(tuple(words), ("O",) * len(words)) for words in texts]


def test_long_texts_are_read_in_the_windows_of_training(tagger, long_sentences):
    windows = tagging_windows(long_sentences, tagger.tokenizer, LABELS, tagger.max_length)
    assert len(windows) > 15
    scores = [
        tf.nn.softmax(tagger.model({"token_ids": window.example["token_ids"][None]})[0]).numpy()
        for window in windows
    ]
    expected = tags_of_windows(windows, [each.argmax(1) for each in scores], LABELS)
    assert tagger.tag_words([sentence.words for sentence in long_sentences]) == expected
    found = tagger([" ".join(sentence.words) for sentence in long_sentences])
    assert [[word.tag for word in words] for words in found] == expected
    best = [s[w.positions].max(1) for w, s in zip(windows, scores, strict=True)]
    assert_allclose([w.score for words in found for w in words], np.concatenate(best), atol=1e-5)


def test_an_export_reads_long_texts_in_the_same_windows(tagger, long_sentences, tmp_path, c_serve):
    texts = [" ".join(sentence.words) for sentence in long_sentences]
    path = tagger.export(tmp_path)
    small_berts.assert_serves(
        path, "serving_default", tagger.serving_default, c_serve, {"text": texts}
    )


def test_in_a_text_of_many_windows_a_word_is_tagged_as_alone_if_context_does_not_matter(eager):
    task = make()
    small_berts.ignore_context(task.model)
    words = many_words(400, seed=1)
    alone = dict(zip(words, task.tag_words([[word] for word in words]), strict=True))
    assert len({tag for (tag,) in alone.values()}) > 2
    expected = [alone[word][0] for word in words]
    assert task.tag_words([words, ["dog"], words[:50]]) == [expected, alone["dog"], expected[:50]]


def test_words_that_are_cut_already_get_as_many_tags(tagger):
    sentences = [["dog", "", " ", "\u200d", "a b"], [], ["x" * 300, "y" * 90, "dog"], ["é"]]
    tags = tagger.tag_words(sentences)
    assert [len(row) for row in tags] == [5, 0, 3, 1]
    assert {tag for row in tags for tag in row} <= set(LABELS)
    assert tagger.tag_words([]) == []
    assert tagger.tag_words([["[UNK]"], ["\u200d"]])[1] == tagger.tag_words([["\ue000"]])[0]


def test_chinese_by_characters_is_tagged(eager):
    task = make(small_berts.characters())
    (found,) = task(["我住在北京。"])
    assert "".join(word.word for word in found) == "我住在北京。"
    ids = [1, *task.tokenizer.tokenize("我住在北京。").numpy(), 2]  # between BOS and EOS
    expected = task.model({"token_ids": np.array([ids])})[0, 1:-1].numpy().argmax(1)
    assert [word.tag for word in found] == [LABELS[i] for i in expected]


# Entities ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("I-PER I-PER O O", [("Ada Byron", "PER", 0, 9)]),
        ("B-PER I-LOC O O", [("Ada", "PER", 0, 3), ("Byron", "LOC", 4, 9)]),
        ("O I-PER O B-LOC", [("Byron", "PER", 4, 9), ("北", "LOC", 14, 15)]),
        ("B-PER B-PER I-PER O", [("Ada", "PER", 0, 3), ("Byron saw", "PER", 4, 13)]),
        ("O O O O", []),
    ],
)
def test_entities_follow_the_fields_rule(tags, expected):
    text = "Ada Byron saw 北"
    spans = [(0, 3), (4, 9), (10, 13), (14, 15)]
    words = [
        TaggedWord(text[a:b], tag, a, b, score)
        for (a, b), tag, score in zip(spans, tags.split(), [0.9, 0.8, 0.7, 0.6], strict=True)
    ]
    found = entities_of(text, words)
    assert [entity[:4] for entity in found] == expected
    for entity in found:  # an entity is as sure as its least sure word
        inside = [word.score for word in words if entity.start <= word.start < entity.end]
        assert entity.score == min(inside)


def test_entities_are_those_of_the_texts_words(tagger):
    texts = small_berts.TEXTS
    found = tagger.entities(texts)
    assert found == [entities_of(t, words) for t, words in zip(texts, tagger(texts), strict=True)]
    assert any(found)


def test_labels_that_are_no_entities_are_refused():
    with pytest.raises(ValueError, match="'NOUN'"):
        make(labels=["NOUN", "VERB"]).entities(["the dog"])


# Windows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [-1, 0, 1.5])
def test_windows_that_would_not_move_on_are_refused(stride):
    with pytest.raises(ValueError, match=f"stride must be .*not {stride}"):
        make(stride=stride)


def test_windows_may_lie_end_to_end(eager):
    task = make(stride=100, max_length=6)
    assert task.stride == 4
    words = many_words(40)
    assert len(task([" ".join(words)])[0]) == len(task.tag_words([words])[0]) == 40


def test_of_a_text_with_too_many_words_the_first_are_tagged_and_it_is_reported(eager):
    task = make(max_words=30)
    words = many_words(40)
    texts = [" ".join(words[:30]), " ".join(words), ""]
    with pytest.warns(UserWarning, match=r"texts\[1\], have more than max_words=30 words"):
        exact, cut, nothing = task(texts)
    assert [each.word for each in cut] == [each.word for each in exact] == words[:30]
    assert nothing == []
    outputs = task.serving_default(small_berts.strings(texts))
    assert outputs["truncated"].numpy().tolist() == [False, True, False]
    assert outputs["words"].shape == (3, 30)
    assert len(task.tag_words([words])[0]) == 40  # whoever gives words has bounded them
    assert task._options()["max_words"] == 30


@pytest.mark.parametrize("sentences", ["dog", ["dog"], [["dog", 3]]])
def test_anything_but_lists_of_words_is_refused(tagger, sentences):
    with pytest.raises(ValueError, match="must be"):
        tagger.tag_words(sentences)
