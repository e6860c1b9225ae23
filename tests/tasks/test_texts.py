"""Texts that a task is given."""

import pytest

from keras_transformer.tasks.texts import as_texts


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("abc", r"^lines must be a list of strings, such as \[text\], not one string\.$"),
        (None, r"^lines must be a list of strings, not None\.$"),
        (5, r"^lines must be a list of strings, not 5\.$"),
        ({"a": 1}, r"^lines must be a list of strings, not {'a': 1}\.$"),
        (["a", None], r"^lines\[1\] must be a string, not None\.$"),
        (["\ud800"], r"^lines\[0\] holds half a character \(a lone surrogate\), .*: '\\ud800'\.$"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        as_texts(texts, "lines")


def test_texts_may_come_from_anything_that_gives_them():
    assert as_texts(text for text in ("a", b"\xff")).numpy().tolist() == [b"a", b"\xff"]
