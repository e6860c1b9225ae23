"""Vectors of texts and of tokens."""

import numpy as np
import pytest
import small_berts
from numpy.testing import assert_allclose

from keras_transformer.models import BertEmbedder
from keras_transformer.tasks import TextEmbedder

CLS, SEP = 2, 3


def make(**head):
    tokenizer = small_berts.wordpieces()
    return TextEmbedder(small_berts.make_model(BertEmbedder, tokenizer, **head), tokenizer)


@pytest.fixture(autouse=True)
def eager():
    with small_berts.eagerly():
        yield


@pytest.fixture(scope="module")
def embedder():
    return make()


def inputs_of(task, text, most=38):
    ids = task.tokenizer.tokenize(text).numpy().tolist()[:most]
    return {"token_ids": np.array([[CLS, *ids, SEP]])}


@pytest.mark.parametrize("head", [{}, {"pooling": "cls"}, {"normalize": True}], ids=str)
def test_a_text_gets_the_models_vector(head):
    task = make(**head)
    vectors = task(small_berts.TEXTS)
    assert vectors.dtype == np.float32
    for text, vector in zip(small_berts.TEXTS, vectors, strict=True):
        expected = task.model(inputs_of(task, text))[0] if text.strip() else np.zeros(16)
        assert_allclose(vector, expected, atol=1e-5)
    if head == {"normalize": True}:
        lengths = np.linalg.norm(vectors, axis=1)
        assert_allclose(lengths, [bool(text.strip()) for text in small_berts.TEXTS], atol=1e-5)


def test_a_token_gets_its_vector_in_this_context(embedder):
    texts = small_berts.TEXTS
    for text, found in zip(texts, embedder.token_vectors(texts), strict=True):
        ids = embedder.tokenizer.tokenize(text).numpy()[:38]
        assert found.tokens == [small_berts.VOCABULARY[i] for i in ids]
        expected = embedder.model.bert(inputs_of(embedder, text))[0, 1:-1]
        assert_allclose(found.vectors, expected, atol=1e-5)
        for token, (start, end) in zip(found.tokens, found.spans, strict=True):
            if token != "[UNK]":
                assert text[start:end].lower() == token.removeprefix("##")
    twice = embedder.token_vectors(["red dog", "red cat"])
    assert np.abs(twice[0].vectors[0] - twice[1].vectors[0]).max() > 0.01


def test_texts_over_the_limit_are_cut_and_reported(embedder):
    texts = ["dog " * 38, "dog " * 39]
    outputs = embedder.serving_default(small_berts.strings(texts))
    assert outputs["truncated"].numpy().tolist() == [False, True]
    assert_allclose(outputs["embedding"][0], outputs["embedding"][1], atol=1e-5)
    assert [(len(t.tokens), t.truncated) for t in embedder.token_vectors(texts)] == [
        (38, False),
        (38, True),
    ]
    with pytest.warns(
        UserWarning, match=r"1 of the texts, the first of them texts\[1\], are longer"
    ):
        embedder(texts)


def test_texts_without_tokens_have_no_vectors(embedder):
    for found in [*embedder.token_vectors(["", "\n"]), embedder.token_vectors(["", "dog"])[0]]:
        assert (found.tokens, found.spans, found.vectors.shape) == ([], [], (0, 16))
    assert embedder([]).shape == (0, 16)
    assert embedder.token_vectors([]) == []
