"""Checks of arguments, each with one sentence for the user."""

from dataclasses import fields
from numbers import Integral, Real
from typing import Any


def check_whole(**values: int) -> None:
    """Refuses a value that is no whole number, by its name.

    >>> check_whole(beam_size=2.5)
    Traceback (most recent call last):
    ValueError: beam_size must be a whole number, not 2.5.
    """
    for name, value in values.items():
        if not isinstance(value, Integral):
            raise ValueError(f"{name} must be a whole number, not {value!r}.")


def check_at_least(least: float, **values: float) -> None:
    """Refuses a value below the least that makes sense, by its name.

    >>> check_at_least(1, num_heads=8, key_dim=0)
    Traceback (most recent call last):
    ValueError: key_dim must be at least 1, not 0.
    """
    for name, value in values.items():
        if value < least:
            raise ValueError(f"{name} must be at least {least}, not {value}.")


def check_number_fields(options: Any) -> None:
    """Refuses a value that is no whole number, or no number, in a dataclass' field of that type.

    The types must be written as text, as `from __future__ import annotations` has it.
    """
    for field in fields(options):
        value = getattr(options, field.name)
        if field.type == "int":
            check_whole(**{field.name: value})
        elif field.type == "float" and not isinstance(value, Real):
            raise ValueError(f"{field.name} must be a number, not {value!r}.")
