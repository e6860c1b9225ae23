"""Vectors of words: in contexts they are what the model computes, of the table what is near."""

import re

import numpy as np
import pytest
import small_berts
import small_generators
import small_translators
from numpy.testing import assert_allclose
from realdata import minilm

from keras_transformer.checkpoints import load_huggingface, load_wordpiece
from keras_transformer.inspection import contexts_topic, neighbours_topic, trace_figures
from keras_transformer.inspection.model_inputs import model_inputs
from keras_transformer.inspection.word_vectors import (
    principal_plane,
    token_table,
    vectors_in_context,
    word_id,
)
from keras_transformer.models import BertEmbedder
from keras_transformer.tasks import TextEmbedder


@pytest.fixture(scope="module")
def embedder():
    return small_berts.make("embedder")


def test_vectors_in_context_are_those_of_the_embedder(embedder):
    text = "the cat runs, the red dog lives in London"
    with small_berts.eagerly():
        (found,) = embedder.token_vectors([text])
    ids, vectors = vectors_in_context(embedder, "London", text)
    covered = [
        i for i, (start, end) in enumerate(found.spans) if start >= text.index("London") and end
    ]
    assert [found.tokens[i] for i in covered] == [embedder.tokenizer.id_to_token(i) for i in ids]
    assert_allclose(vectors[-1], found.vectors[covered].mean(axis=0), atol=1e-5)
    assert vectors.shape == (2, 16)


def test_a_generators_vectors_depend_on_what_came_before_alone():
    generator = small_generators.generator("characters")
    _, before = vectors_in_context(generator, "cat", "a cat sees")
    _, other_end = vectors_in_context(generator, "cat", "a cat runs")
    _, other_start = vectors_in_context(generator, "cat", "i cat sees")
    assert_allclose(other_end, before, atol=1e-5)
    assert np.abs(other_start - before).max() > 0.01
    assert before.shape == (2, 16)


def test_a_translators_vectors_are_those_of_its_encoder():
    tokenizer = small_translators.characters()
    task = small_translators.make_translator(tokenizer)
    ids, vectors = vectors_in_context(task, "dog", "one dog")
    source = model_inputs(task, "one dog", "").inputs["source"]
    assert_allclose(vectors[-1], task.model.encode(source)[0, 4:7].numpy().mean(axis=0), atol=1e-5)
    assert vectors.shape == (2, 32) and len(ids) == 3


def test_a_word_is_found_as_a_whole_one_first_and_within_chinese(embedder):
    ids, _ = vectors_in_context(embedder, "cat", "cats see a cat")
    assert [embedder.tokenizer.id_to_token(i) for i in ids] == ["cat"]
    ids, _ = vectors_in_context(embedder, "北京", "我住在北京。")
    assert [embedder.tokenizer.id_to_token(i) for i in ids] == ["北", "京"]


def test_the_same_word_in_two_contexts(embedder):
    texts = ["我喝茶。", "她住在北京喝茶。", "我喝茶。"]
    topic = contexts_topic(embedder, "茶", texts)
    between = np.array(topic.step("Between the texts").matrix.values)
    assert_allclose(np.diag(between), 1.0, rtol=1e-5)
    assert between[0, 2] == pytest.approx(1.0, abs=1e-5) and between[0, 1] < 0.999
    assert "1 to 3" in topic.step("Between the texts").sentence
    away = np.array(topic.step("Away from the table").matrix.values)
    table, tokenizer = token_table(embedder)
    ids, vectors = vectors_in_context(embedder, "茶", texts[1])
    static = table[ids[0]]
    expected = vectors @ static / np.linalg.norm(vectors, axis=1) / np.linalg.norm(static)
    assert_allclose(away[1], expected, rtol=1e-5)
    assert tokenizer.id_to_token(ids[0]) == "茶"


def test_without_context_a_words_vectors_do_not_part():
    task = small_berts.make("embedder")
    small_berts.ignore_context(task.model)
    topic = contexts_topic(task, "dog", ["the dog runs", "a red dog lives in a house"])
    assert_allclose(topic.step("Between the texts").matrix.values, 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("word", "texts", "message"),
    [
        ("dog", ["the dog"], "two or more texts with the word 'dog', not 1"),
        ("dog", ["the dog", "the cat"], "The word 'dog' is not in the text 'the cat'"),
        ("🙂", ["🙂 a", "a 🙂"], "The vocabulary does not know '🙂'"),
        (" ", ["a b", "a c"], "The word ' ' is not in the text"),
    ],
)
def test_words_that_cannot_be_compared_are_refused(embedder, word, texts, message):
    with pytest.raises(ValueError, match=message):
        contexts_topic(embedder, word, texts)


def planted(embedder):
    """Vectors of which the neighbours and analogies are known."""
    table, tokenizer = token_table(embedder)
    table = np.random.default_rng(0).normal(size=table.shape).astype("float32") * 0.01
    axes = np.eye(table.shape[1], dtype="float32")
    for word, vector in {
        "dog": axes[0],
        "cat": axes[0] + 0.2 * axes[1],
        "house": axes[0] + 0.6 * axes[1],
        "red": axes[2],
        "blue": axes[2] + axes[3],
        "ada": axes[4],
        "london": axes[4] + axes[3],
        "the": -axes[0],
    }.items():
        table[word_id(tokenizer, word)] = vector
    embedder.model.bert.token_embedding.embeddings.assign(table)
    return embedder


def test_neighbours_and_analogies():
    task = planted(small_berts.make("embedder"))
    topic = neighbours_topic(task, ["dog"], ["red", "blue", "ada"], top=3)
    found = topic.step("Neighbours of dog").matrix.values
    assert [token for token, _ in found][:2] == ["cat", "house"]
    assert float(found[0][1]) == pytest.approx(1 / np.sqrt(1.04), abs=1e-3)
    (first, *_) = topic.step("red is to blue as ada is to …").matrix.values
    assert first[0] == "london"
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    everything = neighbours_topic(task, ["dog"], top=10_000).step("Neighbours of dog").matrix.values
    assert not special & {token for token, _ in everything}
    assert len(everything) == task.tokenizer.vocab_size - len(special) - 1
    assert everything[-1][0] == "the"


@pytest.mark.parametrize(
    ("words", "analogy", "message"),
    [
        ([], [], "Give words"),
        (["dog"], ["a", "b"], "three words, not 2"),
        (["redhouse"], [], "'redhouse' is no single token of the vocabulary, but red, ##h, ##o"),
        (["🙂"], [], "'🙂' is no single token"),
    ],
)
def test_words_without_neighbours_are_refused(embedder, words, analogy, message):
    with pytest.raises(ValueError, match=message):
        neighbours_topic(embedder, words, analogy)


def test_neighbours_of_other_tasks_tables():
    generator = small_generators.generator("byte_pairs")
    table, tokenizer = token_table(generator)
    assert table.shape == (tokenizer.vocab_size, 16)
    index = word_id(tokenizer, "the")
    assert tokenizer.id_to_token(index).lstrip("Ġ") == "the"


def test_the_principal_plane_keeps_distances_within_it():
    random = np.random.default_rng(0)
    flat = random.normal(size=(20, 2)) * (3, 1)
    turn, _ = np.linalg.qr(random.normal(size=(9, 9)))
    plane = principal_plane(flat @ turn[:2] + 5)

    def distances(x):
        return np.linalg.norm(x[:, None] - x[None], axis=-1)

    assert_allclose(distances(plane), distances(flat), atol=1e-9)
    assert plane[:, 0].var() > plane[:, 1].var()


def test_dollars_in_names_are_no_formulas():
    pytest.importorskip("matplotlib")
    named = {"$$": (0.0, 1.0), r"$\foo$": (1.0, 0.0)}
    page = trace_figures.as_svg(trace_figures.points({"costs $5 or $6": named, "b": {"c": (2, 2)}}))
    assert {">$$</text>", r">$\foo$</text>", ">costs $5 or $6</text>"} <= set(
        re.findall(r">[^<>]*</text>", page)
    )


def test_names_in_a_picture_do_not_cover_each_other():
    names, places = ["word"] * 6, np.zeros((6, 2))
    lifts = np.sort(trace_figures._lifts(names, places))
    assert np.diff(lifts).min() >= 0.15 - 1e-9


@pytest.mark.slow
def test_real_vectors_tell_two_meanings_of_a_word_apart():
    with pytest.warns(UserWarning, match="also holds"):
        model = load_huggingface(minilm(), BertEmbedder)
    topic = contexts_topic(TextEmbedder(model, load_wordpiece(minilm())), "bank")
    between = np.array(topic.step("Between the texts").matrix.values) - np.eye(6)
    same = np.add.outer(np.arange(6) // 3, np.arange(6) // 3) % 2 == 0
    assert np.where(same, between, -1).max(axis=1).min() > 0.8
    assert np.all(between[~same] < np.where(same, between, -1).max(axis=1).min())
    away = np.array(topic.step("Away from the table").matrix.values)
    assert np.all(np.diff(away, axis=1) < 0)
