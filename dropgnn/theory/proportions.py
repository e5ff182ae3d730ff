r"""How many runs tell two probabilities apart."""

from __future__ import annotations

import math
from fractions import Fraction

from dropgnn.errors import InvalidArgument
from dropgnn.theory.checks import real


def runs_to_tell(a: Fraction | float, b: Fraction | float, *, error: float = 0.01) -> int:
    r"""The number of runs after which a two-sided test of two proportions tells a from b, both errors at most ``error``.

    .. math:: r = \left( \frac{z_{1 - \alpha / 2} \sqrt{2 \bar q (1 - \bar q)} +
        z_{1 - \beta} \sqrt{a (1 - a) + b (1 - b)}}{a - b} \right)^2, \qquad \bar q = \frac{a + b}{2}

    The same number of runs is made of each graph. The normal approximation is that of every textbook.

    >>> runs_to_tell(0.5, 0.6), runs_to_tell(0.19, 0.06)
    (1184, 306)
    """
    for value in (a, b):
        real("a, b", value, "must be two different probabilities", lambda value: 0 <= value <= 1)
    real("error", error, "must lie between 0 and 1", lambda error: 0 < error < 1)
    from scipy.stats import norm  # takes a second to import

    a, b, error = float(a), float(b), float(error)
    if a == b:
        raise InvalidArgument("a, b", "must be two different probabilities", got=(a, b))
    middle = (a + b) / 2
    apart = float(norm.ppf(1 - error / 2)) * math.sqrt(2 * middle * (1 - middle))
    apart += float(norm.ppf(1 - error)) * math.sqrt(a * (1 - a) + b * (1 - b))
    try:
        return math.ceil((apart / (a - b)) ** 2)
    except OverflowError:
        raise InvalidArgument("a, b", "must lie further apart", got=(a, b), hint="more than 1e308 runs") from None
