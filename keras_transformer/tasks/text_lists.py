"""Checks of the texts that a task is given, in Python or by a client. No TensorFlow is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def text_list(texts: Iterable[str | bytes], argument: str = "texts") -> list[str | bytes]:
    """A list of the texts, all of which UTF-8 can write.

    Args:
        texts: strings, or bytes, which need not be UTF-8.
        argument: what an error calls them.

    Raises:
        ValueError: when ``texts`` is one string instead of a list of them, or holds anything but
            strings.

    >>> text_list("abc")
    Traceback (most recent call last):
    ValueError: texts must be a list of strings, such as [text], not one string.
    """
    if isinstance(texts, str | bytes):
        raise ValueError(f"{argument} must be a list of strings, such as [text], not one string.")
    if texts is None or isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise ValueError(f"{argument} must be a list of strings, not {texts!r:.80}.")
    texts = list(texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str | bytes):
            raise ValueError(f"{argument}[{index}] must be a string, not {text!r:.80}.")
        if isinstance(text, str) and not _is_encodable(text):
            raise ValueError(
                f"{argument}[{index}] holds half a character (a lone surrogate), which UTF-8 "
                f"cannot write: {text!r:.80}."
            )
    return texts


def text_list_pair(
    first: Iterable[str | bytes], second: Iterable[str | bytes], arguments: tuple[str, str]
) -> tuple[list[str | bytes], list[str | bytes]]:
    """Two lists of as many texts.

    >>> text_list_pair(["a"], [], ("questions", "contexts"))
    Traceback (most recent call last):
    ValueError: questions and contexts must be of one length, not 1 and 0.
    """
    one, other = text_list(first, arguments[0]), text_list(second, arguments[1])
    if len(one) != len(other):
        raise ValueError(
            f"{arguments[0]} and {arguments[1]} must be of one length, not {len(one)} and "
            f"{len(other)}."
        )
    return one, other


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
