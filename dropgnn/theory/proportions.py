r"""How many runs tell two probabilities apart."""

from __future__ import annotations

import math
from fractions import Fraction

from scipy.stats import norm

from dropgnn.errors import InvalidArgument


def runs_to_tell(a: Fraction | float, b: Fraction | float, *, error: float = 0.01) -> int:
    r"""The number of runs after which a two-sided test of two proportions tells a from b, both errors at most ``error``.

    .. math:: r = \left( \frac{z_{1 - \alpha / 2} \sqrt{2 \bar q (1 - \bar q)} +
        z_{1 - \beta} \sqrt{a (1 - a) + b (1 - b)}}{a - b} \right)^2, \qquad \bar q = \frac{a + b}{2}

    The same number of runs is made of each graph. The normal approximation is that of every textbook.

    >>> runs_to_tell(0.5, 0.6), runs_to_tell(0.19, 0.06)
    (1184, 306)
    """
    a, b = float(a), float(b)
    if not (0 <= a <= 1 and 0 <= b <= 1) or a == b:
        raise InvalidArgument("a, b", "must be two different probabilities", got=(a, b))
    middle = (a + b) / 2
    apart = norm.ppf(1 - error / 2) * math.sqrt(2 * middle * (1 - middle))
    apart += norm.ppf(1 - error) * math.sqrt(a * (1 - a) + b * (1 - b))
    return math.ceil((apart / (a - b)) ** 2)
