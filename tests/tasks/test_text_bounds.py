"""Texts are bounded before they are tokenised: at characters, and short ones not at all."""

import numpy as np
import pytest
import small_berts
import small_generators
import small_translators
import tensorflow as tf

from keras_transformer.tasks import text_bounds
from keras_transformer.tasks.text_bounds import beginnings, endings

# Characters of one, two, three and four bytes.
TEXTS = ["abcdefgh", "ééééé", "a北京北京", "🙂🙂🙂", "ab🙂é北c", "a\u0301e\u0301" * 3, "", "abc"]


@pytest.mark.parametrize("most", range(4, 20))
def test_what_stays_is_the_most_whole_characters_that_fit(most):
    for bounded, join in ((beginnings, lambda a, b: a + b), (endings, lambda a, b: b + a)):
        found, cut = bounded(tf.constant(TEXTS), most)
        for text, kept, is_cut in zip(TEXTS, found.numpy(), cut.numpy(), strict=True):
            whole = text.encode()
            assert is_cut == (len(whole) > most)
            characters = text if bounded is beginnings else text[::-1]
            kept = kept.decode()  # no half character
            assert len(kept.encode()) <= most
            rest = characters[len(kept) :]
            assert characters.startswith(kept if bounded is beginnings else kept[::-1])
            assert not rest or len(kept.encode()) + len(rest[0].encode()) > most
            assert join(kept, rest if bounded is beginnings else rest[::-1]) == text


@pytest.mark.parametrize("text", [b"\x80" * 12, b"abc\xff\xfe\xfd\xfc\xfb", b"\xf0\x9f" * 6])
def test_of_damaged_texts_no_more_than_three_bytes_more_go(text):
    for bounded in (beginnings, endings):
        for most in range(4, len(text)):
            (kept,), _ = bounded(tf.constant([text]), most)
            kept = kept.numpy()
            assert most - 3 <= len(kept) <= most
            assert text.startswith(kept) if bounded is beginnings else text.endswith(kept)


def test_no_text_and_no_rows_are_fine():
    for bounded in (beginnings, endings):
        found, cut = bounded(tf.constant([], tf.string), 4)
        assert found.shape == [0] and cut.shape == [0]


def test_texts_of_a_mebibyte_are_never_cut():
    assert text_bounds.most_bytes(1) == 2**20


# In the tasks ------------------------------------------------------------------------------------

TEXT, MASKED = "the dog sees a cat and a bird.", "[MASK] sees the dog and a cat."
BOUND = len(TEXT)  # fewer tokens than any of the models takes


def make(kind):
    if kind == "translator":
        return small_translators.make_translator(small_translators.characters())
    if kind == "generator":
        # Not the one that all tests share: its graphs would keep the bound.
        return small_generators.make_generator(small_generators.characters())
    return small_berts.make(kind)


@pytest.mark.parametrize(
    ("kind", "signature"),
    [
        ("classifier", "serving_default"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("translator", "serving_default"),
                ("generator", "serving_default"),
                ("generator", "score"),
                ("classifier", "pair"),
                ("tagger", "serving_default"),
                ("answerer", "serving_default"),
                ("fill_mask", "serving_default"),
                ("embedder", "serving_default"),
                ("embedder", "tokens"),
            ]
        ),
    ],
)
def test_what_is_beyond_the_bound_is_not_looked_at(kind, signature, monkeypatch):
    monkeypatch.setattr(text_bounds, "LEAST_BYTES", BOUND)
    monkeypatch.setattr(text_bounds, "BYTES_OF_A_TOKEN", 0)
    function = make(kind).signatures()[signature]
    inputs = len(function.input_signature)
    text = MASKED if kind == "fill_mask" else TEXT

    def ask(texts):
        outputs = function(*[tf.constant(texts)] * inputs)
        return {name: value.numpy() for name, value in outputs.items()}

    long = [text + " red", text + " 京!"]
    if (kind, signature) == ("generator", "serving_default"):  # of a prompt the end is read
        long = ["red " + text, "京! " + text]
    found = ask([text, *long])
    assert found.pop("truncated")[1:].tolist() == [True, True]
    found.pop("full_text", None)
    for name, (one, *others) in found.items():
        for other in others:
            if np.asarray(one).dtype == np.float32:
                np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(other, one, name)
    assert ask([text])["truncated"] == ask([text[:-1]])["truncated"]
