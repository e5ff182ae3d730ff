r"""How often to drop and how many runs to make: Section 3.1 and Appendix B of the paper, with explicit constants.

Throughout, :math:`\gamma` is the size of the neighbourhood of interest *without* its centre u, and a *k-dropout* is
one specific set of k dropped nodes out of it while everything else, u included, stays.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy import sparse

from dropgnn.errors import InvalidArgument


def neighborhoods(edge_index: np.ndarray, num_nodes: int, hops: int) -> sparse.csr_array:
    """The closed d-hop neighbourhoods: row u marks every node whose messages reach u within ``hops`` layers, and u.

    >>> path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> neighborhoods(path, num_nodes=4, hops=1).toarray().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 0],
           [0, 0, 0, 1]])
    """
    if hops < 0:
        raise InvalidArgument("hops", "must be at least 0", got=hops)
    sender, receiver = edge_index
    if sender.size and not 0 <= edge_index.min() <= edge_index.max() < num_nodes:
        raise InvalidArgument("edge_index", f"must point at the {num_nodes} nodes", got=int(edge_index.max()))
    ones = np.ones(sender.size, dtype=np.float32)
    step = sparse.csr_array((ones, (receiver, sender)), shape=(num_nodes, num_nodes))
    step = (step + sparse.eye_array(num_nodes, dtype=np.float32, format="csr")).sign()
    reach = sparse.eye_array(num_nodes, dtype=np.float32, format="csr")
    for _ in range(hops):
        reach = (step @ reach).sign()
    reach.sort_indices()
    return reach.astype(bool)


def neighborhood_sizes(edge_index: np.ndarray, num_nodes: int, hops: int) -> np.ndarray:
    """gamma of every node: the size of its d-hop neighbourhood without itself, shape ``[N]``."""
    return np.diff(neighborhoods(edge_index, num_nodes, hops).indptr) - 1


def best_probability(gamma: float) -> float:
    r"""The p that makes 1-dropouts most frequent, :math:`p^* = 1 / (1 + \gamma)`."""
    _check_gamma(gamma)
    return 1.0 / (1.0 + gamma)


def dropout_probability(gamma: int, k: int, p: Fraction | float) -> Fraction | float:
    r"""The probability of one specific k-dropout in a run, :math:`p^k (1 - p)^{\gamma + 1 - k}`.

    >>> dropout_probability(3, 1, Fraction(1, 4))
    Fraction(27, 256)
    """
    return p**k * (1 - p) ** (gamma + 1 - k)


def runs_for_one_dropouts(gamma: float) -> int:
    r"""Runs after which every 1-dropout is expected at least once, :math:`r \ge e (\gamma + 1)`."""
    _check_gamma(gamma)
    return math.ceil(math.e * (gamma + 1))


def runs_to_see(gamma: float, k: int) -> int:
    r"""Runs after which one specific k-dropout is expected once at :math:`p^*`; about :math:`e \gamma^k`."""
    _check_gamma(gamma)
    if not 0 <= k <= gamma:
        raise InvalidArgument("k", f"must lie between 0 and gamma = {gamma:g}", got=k)
    p = best_probability(gamma)
    return math.ceil(1.0 / (p**k * (1.0 - p) ** (gamma + 1 - k))) if gamma > 0 else 1


def runs_theorem1(gamma: float, nodes: int = 1, *, delta: float, t: float) -> int:
    r"""Theorem 1: with probability :math:`1 - 1/t` every 1-dropout occurs within
    :math:`(1 \pm \delta)` times its expectation.

    .. math:: r \ge \frac{3 e}{\delta^2} (\gamma + 1) \ln(2 \gamma n t)

    Args:
        gamma: Size of the neighbourhood without its centre.
        nodes: For how many nodes n the promise must hold at once.
        delta: Allowed relative deviation, in (0, 1].
        t: The failure probability is at most 1/t.
    """
    _check_promise(gamma, delta, t, nodes)
    return math.ceil(math.e * (gamma + 1) * 3.0 / delta**2 * _log(2.0 * gamma * t * nodes)) if gamma > 0 else 1


def runs_theorem2(gamma: float, nodes: int = 1, *, delta: float, t: float) -> int:
    r"""Theorem 2: as Theorem 1, and every k-dropout with :math:`k \ge 2` occurs less than :math:`(1 - \delta) E_1` times.

    .. math::
        r \ge e (\gamma + 1) \max\Big\{ \frac{3}{\delta^2} \ln(4 \gamma n t),\;
        \frac{\gamma (2 + \varepsilon)}{\varepsilon^2} (\gamma \ln 2 + \ln 2 n t) \Big\},
        \qquad \varepsilon = (1 - \delta) \gamma - 1 > 0

    The two conditions fail with probability at most :math:`1/(2t)` each; the second one is a union bound over all
    :math:`2^\gamma` dropped sets, for which pairs (k = 2) are the worst case.
    """
    _check_promise(gamma, delta, t, nodes)
    epsilon = (1.0 - delta) * gamma - 1.0
    if epsilon <= 0:
        raise InvalidArgument(
            "delta",
            f"must leave (1 - delta) * gamma > 1 at gamma = {gamma:g}",
            got=delta,
            hint="take a smaller delta or a larger neighbourhood",
        )
    ones = 3.0 / delta**2 * _log(4.0 * gamma * t * nodes)
    pairs = gamma * (2.0 + epsilon) / epsilon**2 * (gamma * math.log(2.0) + math.log(2.0 * t * nodes))
    return math.ceil(math.e * (gamma + 1) * max(ones, pairs))


def _log(value: float) -> float:
    """The logarithm of a union bound; a mean gamma below one can make the bound less than one event."""
    return math.log(max(value, math.e))


def _check_gamma(gamma: float) -> None:
    if not (gamma >= 0 and math.isfinite(gamma)):
        raise InvalidArgument("gamma", "must be a finite number of at least 0", got=gamma)


def _check_promise(gamma: float, delta: float, t: float, nodes: int) -> None:
    _check_gamma(gamma)
    if not 0 < delta <= 1:
        raise InvalidArgument("delta", "must lie in (0, 1]", got=delta)
    if not 1 < t < math.inf:
        raise InvalidArgument("t", "must exceed 1 and be finite: failures have probability at most 1/t", got=t)
    if nodes < 1:
        raise InvalidArgument("nodes", "must be at least 1", got=nodes)
