"""Rotary frequencies, and the rules that stretch them for texts longer than those of training."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

RULES: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "llama3": (
        "factor",
        "low_freq_factor",
        "high_freq_factor",
        "original_max_position_embeddings",
    ),
}
"""Values of ``rope_type``, and the numbers that each rule needs."""


def rotary_frequencies(
    dim: int, theta: float, scaling: Mapping[str, Any] | None = None
) -> np.ndarray:
    """The angle by which each pair of features turns from one position to the next.

    Unscaled: ``theta ** (-2i / dim)`` (Su et al. 2021, 3.2.2). The rule "linear" divides all by
    ``factor`` (Chen et al. 2023). "llama3" divides by it only what turns slowly: pairs with fewer
    than ``low_freq_factor`` turns in the original length are scaled, those with more than
    ``high_freq_factor`` are kept, and between the two the frequency is mixed (Grattafiori et al.
    2024, 3.4.2 and their code).

    Args:
        dim: width of a head, even.
        theta: base of the frequencies.
        scaling: ``{"rope_type": ..., "factor": ..., ...}`` as `check_scaling` has it.

    Returns:
        float64 ``[dim / 2]``.

    >>> rotary_frequencies(4, 10000.0, {"rope_type": "linear", "factor": 2.0}).tolist()
    [0.5, 0.005]
    """
    frequencies = theta ** (-2.0 * np.arange(dim // 2) / dim)  # [dim / 2]
    rule = (scaling or {}).get("rope_type", "default")
    if rule == "default":
        return frequencies
    if rule == "linear":
        return frequencies / scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = frequencies * scaling["original_max_position_embeddings"] / (2 * np.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)  # [dim / 2]
    return frequencies * (kept + (1 - kept) / scaling["factor"])


def check_scaling(scaling: Mapping[str, Any] | None) -> None:
    """Refuses a rule that there is not, or one without its numbers.

    Raises:
        ValueError: naming the field that is wrong.

    >>> check_scaling({"rope_type": "linear"})
    Traceback (most recent call last):
    ValueError: rope_scaling of rope_type 'linear' needs factor, a positive number, not None.
    """
    if scaling is None:
        return
    rule = scaling.get("rope_type")
    if rule not in RULES:
        raise ValueError(
            f"rope_scaling: rope_type must be one of {', '.join(RULES)}, not {rule!r}."
        )
    for name in RULES[rule]:
        value = scaling.get(name)
        if not isinstance(value, Real) or not 0 < value < np.inf:
            raise ValueError(
                f"rope_scaling of rope_type {rule!r} needs {name}, a positive number, "
                f"not {value!r}."
            )
    if unknown := sorted(set(scaling) - {"rope_type", *RULES[rule]}):
        raise ValueError(
            f"rope_scaling of rope_type {rule!r} has no {unknown[0]}; it has "
            f"{', '.join(('rope_type', *RULES[rule]))}."
        )
    if rule == "llama3" and scaling["low_freq_factor"] >= scaling["high_freq_factor"]:
        raise ValueError(
            f"rope_scaling: low_freq_factor={scaling['low_freq_factor']} must be below "
            f"high_freq_factor={scaling['high_freq_factor']}."
        )
