"""Perplexity of a mean loss, without TensorFlow."""

import math


def perplexity(loss: float) -> float:
    """`exp` of the mean loss of a token; infinity where no float holds it.

    >>> perplexity(0.0), perplexity(1000.0)
    (1.0, inf)
    """
    return math.inf if loss > 709 else math.exp(loss)
