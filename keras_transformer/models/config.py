"""What the configurations of all models share: typed fields, presets, plain values, checks."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

from keras_transformer.checks import check_at_least

# Type of a field -> what it takes, and how that is called.
KINDS: dict[type, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
    str: (str, "a string"),
    dict: (dict, "a dictionary"),
    NoneType: (NoneType, "None"),
}


@dataclass(frozen=True)
class ModelConfig:
    """Base of the configurations, which are frozen dataclasses that refuse what cannot work.

    A subclass has fields of the types in `KINDS`, their unions and literals, and `presets`. Its
    `__post_init__` calls this one, which holds every field to its type, and then the checks that
    its fields need.

    >>> @dataclass(frozen=True)
    ... class Sizes(ModelConfig):
    ...     hidden_size: int
    ...     presets = {"tiny": {"hidden_size": 8}}
    >>> Sizes.preset("tiny").to_dict()
    {'hidden_size': 8}
    >>> Sizes.from_dict({"hidden_size": "8"})
    Traceback (most recent call last):
    ValueError: hidden_size must be a whole number, not '8'.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Name -> the fields that differ from the defaults."""

    def __post_init__(self) -> None:
        kinds = get_type_hints(type(self))
        for field in dataclasses.fields(self):
            _check_kind(field.name, getattr(self, field.name), kinds[field.name])

    # Making one.

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> Self:
        """A configuration by the name of one of the `presets`; any field can be overridden.

        Raises:
            ValueError: when there is no such preset.
        """
        if name not in cls.presets:
            raise ValueError(f"preset must be one of {', '.join(cls.presets)}, not {name!r}.")
        return cls(**{**cls.presets[name], **overrides})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; fields with a default may be missing.

        Raises:
            ValueError: for a field that is missing or unknown, or a value that it cannot have.
        """
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for name in values:
            if name not in fields:
                raise ValueError(
                    f"{name} is no field of a {cls.__name__}; it has {', '.join(fields)}."
                )
        for name, field in fields.items():
            if field.default is dataclasses.MISSING and name not in values:
                raise ValueError(f"a {cls.__name__} needs {name}, which is missing.")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return dataclasses.asdict(self)

    # Checks.

    def _check_sizes(self, *names: str) -> None:
        """Sizes are at least 1, or None where that may stand for another one."""
        sizes = {name: getattr(self, name) for name in names}
        check_at_least(1, **{name: size for name, size in sizes.items() if size is not None})

    def _check_divides(self, name: str, other: str) -> None:
        """One size divides the other, unless it is None."""
        size, whole = getattr(self, name), getattr(self, other)
        if size is not None and whole % size:
            raise ValueError(f"{name}={size} must divide {other}={whole}.")

    def _check_rates(self, *names: str) -> None:
        """Rates of dropout leave something over; None stands for another one."""
        for name in names:
            rate = getattr(self, name)
            if rate is not None and not 0 <= rate < 1:
                raise ValueError(f"{name} must be in [0, 1), not {rate}.")

    def _check_positive(self, *names: str) -> None:
        """Numbers are above 0."""
        for name in names:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}.")

    def _check_ids(self, vocab_size: int, *names: str) -> None:
        """Special ids are in the vocabulary."""
        for name in names:
            if not 0 <= getattr(self, name) < vocab_size:
                raise ValueError(
                    f"{name}={getattr(self, name)} lies outside of the vocabulary of {vocab_size}."
                )


def _check_kind(name: str, value: Any, kind: Any) -> None:
    """Refuses a value that is not of a field's type: one of `KINDS`, a union, or a literal."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{name} must be one of {', '.join(get_args(kind))}, not {value!r}.")
        return
    kinds = get_args(kind) or (kind,)
    if not any(_is_of(value, one) for one in kinds):
        wanted = " or ".join(KINDS[one][1] for one in kinds)
        raise ValueError(f"{name} must be {wanted}, not {value!r}.")


def _is_of(value: Any, kind: type) -> bool:
    # Python takes True for a whole number.
    return isinstance(value, KINDS[kind][0]) and isinstance(value, bool) == (kind is bool)
