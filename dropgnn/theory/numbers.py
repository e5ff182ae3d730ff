r"""How often to drop and how many runs to make: Section 3.1 and Appendix B of the paper, with explicit constants.

Throughout, :math:`\gamma` is the size of the neighbourhood of interest *without* its centre u, and a *k-dropout* is
one specific set of k dropped nodes out of it while everything else, u included, stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra

from dropgnn.errors import InvalidArgument, whole_number
from dropgnn.theory.checks import number_of_nodes, real, shown, whole_numbers

MOST_ENTRIES = 50_000_000
"""The largest number of entries of a sparse matrix: half a gigabyte."""

MANY_HOPS = 8
"""With more it pays to look first whether so many hops reach everybody."""

LONGEST_POWER = 10_000_000
"""The largest number of digits, in base 2, of an exact probability."""


def neighborhoods(edge_index: np.ndarray, num_nodes: int, hops: int) -> sparse.csr_array:
    """The closed d-hop neighbourhoods: row u marks every node whose messages reach u within ``hops`` layers, and u.

    >>> path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> neighborhoods(path, num_nodes=4, hops=1).toarray().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 0],
           [0, 0, 0, 1]])
    """
    step, hops = _step(edge_index, num_nodes, hops)
    reach = _components(step, hops) if hops > MANY_HOPS else _reach(step, np.arange(step.shape[0]), hops)
    if reach is None:
        rule = f"must keep the neighbourhoods within {MOST_ENTRIES:,} nodes in all"
        raise InvalidArgument("hops", rule, got=hops, hint="reduce it")
    reach.sort_indices()
    return reach.astype(bool)


def _components(step: sparse.csr_array, hops: int) -> sparse.csr_array | None:
    """As ``_reach``, without a step for every hop where all nodes of each component hear each other."""
    everybody = np.arange(step.shape[0])
    count, component = connected_components(step, directed=False)
    if not _hears_all(step, component, hops).all():
        return _reach(step, everybody, hops)
    if (np.bincount(component).astype(float) ** 2).sum() > MOST_ENTRIES:
        return None
    ones = np.ones(everybody.size, dtype=np.float32)
    member = sparse.csr_array((ones, (everybody, component)), shape=(everybody.size, count))
    return member @ member.T.tocsr()


def neighborhood_sizes(edge_index: np.ndarray, num_nodes: int, hops: int) -> np.ndarray:
    """gamma of every node: the size of its d-hop neighbourhood without itself, shape ``[N]``."""
    step, hops = _step(edge_index, num_nodes, hops)
    if not step.shape[0]:
        return np.zeros(0, dtype=np.int64)
    _, component = connected_components(step, directed=False)
    sizes = np.bincount(component)[component] - 1  # of those who hear all of their component
    rest = np.flatnonzero(~_hears_all(step, component, hops))
    if rest.size:
        sizes[rest] = _sizes(step, rest, hops)
    return sizes


def _hears_all(step: sparse.csr_array, component: np.ndarray, hops: int) -> np.ndarray:
    """Whether all nodes of a node's component surely hear each other: by way of its node with the most neighbours."""
    by_degree = np.argsort(-np.diff(step.indptr))
    hubs = by_degree[np.unique(component[by_degree], return_index=True)[1]]
    farthest = np.zeros(hubs.size)
    for edges in (step, step.T.tocsr()):  # to the hub, and from it
        distance = dijkstra(edges, indices=hubs, unweighted=True, min_only=True, limit=hops)
        far = np.zeros(hubs.size)
        np.maximum.at(far, component, distance)
        farthest += far
    return (farthest <= hops)[component]


def _step(edge_index: np.ndarray, num_nodes: int, hops: int) -> tuple[sparse.csr_array, int]:
    """Row u marks u and every node that u hears; and as many hops as can make a difference."""
    num_nodes, hops = number_of_nodes(num_nodes), whole_number("hops", hops, least=0)
    rule = "must be whole numbers of shape [2, E], senders and receivers"
    edges = whole_numbers("edge_index", edge_index, rule, ndim=2)
    if len(edges) != 2:
        raise InvalidArgument("edge_index", rule, got=f"shape {list(edges.shape)}")
    sender, receiver = edges
    if sender.size and not 0 <= edges.min() <= edges.max() < num_nodes:
        raise InvalidArgument("edge_index", f"must point at the {num_nodes} nodes", got=int(edges.max()))
    ones = np.ones(sender.size, dtype=np.float32)
    step = sparse.csr_array((ones, (receiver, sender)), shape=(num_nodes, num_nodes))
    return (step + _identity(num_nodes)).sign(), min(hops, 2 * num_nodes)  # to a hub and on, wherever it is


def _identity(num_nodes: int) -> sparse.csr_array:
    return sparse.csr_array(sparse.identity(num_nodes, dtype=np.float32, format="csr"))


def _reach(step: sparse.csr_array, rows: np.ndarray, hops: int) -> sparse.csr_array | None:
    """Whom the nodes ``rows`` hear within so many hops; ``None`` where those are too many to hold at once."""
    reach, degree = _identity(step.shape[0])[rows], np.diff(step.indptr)
    for _ in range(hops):
        most = min(int(degree[reach.indices].sum()), rows.size * step.shape[0])
        if most > MOST_ENTRIES:
            return None
        known, reach = reach.nnz, (reach @ step).sign()
        if reach.nnz == known:
            break
    return reach


def _sizes(step: sparse.csr_array, rows: np.ndarray, hops: int) -> np.ndarray:
    reach = _reach(step, rows, hops)
    if reach is None:
        return np.concatenate([_sizes(step, half, hops) for half in np.array_split(rows, 2)])
    return np.diff(reach.indptr) - 1


def best_probability(gamma: float) -> float:
    r"""The p that makes 1-dropouts most frequent, :math:`p^* = 1 / (1 + \gamma)`."""
    gamma = _check_gamma(gamma)
    return 1.0 / (1.0 + gamma)


def dropout_probability(gamma: int, k: int, p: Fraction | float) -> Fraction | float:
    r"""The probability of one specific k-dropout in a run, :math:`p^k (1 - p)^{\gamma + 1 - k}`.

    >>> dropout_probability(3, 1, Fraction(1, 4))
    Fraction(27, 256)
    """
    gamma = _check_gamma(gamma)
    real(
        "k",
        k,
        f"must be a whole number between 0 and gamma = {float(gamma):g}",
        lambda k: k == int(k) and 0 <= k <= gamma,
    )
    real("p", p, "must lie in [0, 1]", lambda p: 0 <= p <= 1)
    if isinstance(p, Fraction) and p.denominator.bit_length() * (gamma + 1) > LONGEST_POWER:
        raise InvalidArgument(
            "p", f"must be a float at gamma = {float(gamma):g}", got=shown(p), hint="exactly it is too long"
        )
    return p ** int(k) * (1 - p) ** (int(gamma) + 1 - int(k))


def runs_for_one_dropouts(gamma: float) -> int:
    r"""Runs after which every 1-dropout is expected at least once, :math:`r \ge e (\gamma + 1)`."""
    gamma = _check_gamma(gamma)
    return _whole(lambda: math.e * (gamma + 1))


def runs_to_see(gamma: float, k: float) -> int:
    r"""Runs after which one specific k-dropout is expected once at :math:`p^*`; about :math:`e \gamma^k`."""
    gamma = _check_gamma(gamma)
    real("k", k, f"must lie between 0 and gamma = {float(gamma):g}", lambda k: 0 <= k <= gamma)
    gamma, k = float(gamma), float(k)
    p = best_probability(gamma)
    return _whole(lambda: 1.0 / (p**k * (1.0 - p) ** (gamma + 1 - k))) if gamma > 0 else 1


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
    if gamma == 0:
        return 1
    return _whole(lambda: math.e * (gamma + 1) * 3.0 / delta**2 * _log(2.0 * gamma * t * nodes))


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
    gamma, delta, t = float(gamma), float(delta), float(t)
    epsilon = (1.0 - delta) * gamma - 1.0
    if epsilon <= 0:
        raise InvalidArgument(
            "delta",
            f"must leave (1 - delta) * gamma > 1 at gamma = {float(gamma):g}",
            got=delta,
            hint="take a smaller delta or a larger neighbourhood",
        )

    def ones() -> float:
        return 3.0 / delta**2 * _log(4.0 * gamma * t * nodes)

    def pairs() -> float:
        return gamma * (2.0 + epsilon) / epsilon**2 * (gamma * math.log(2.0) + math.log(2.0 * t * nodes))

    return _whole(lambda: math.e * (gamma + 1) * max(ones(), pairs()))


def _log(value: float) -> float:
    """The logarithm of a union bound; a mean gamma below one can make the bound less than one event."""
    return math.log(max(value, math.e))


def _whole(runs: Callable[[], float]) -> int:
    """A number of runs, rounded up; beyond all floats it is no advice any more."""
    try:
        return math.ceil(runs())
    except (OverflowError, ZeroDivisionError, ValueError):
        rule = "must leave a number of runs that can be written down"
        raise InvalidArgument(
            "gamma", rule, got="more than 1e308 runs", hint="the neighbourhood is too large"
        ) from None


def _check_gamma(gamma: float) -> Any:
    """``gamma`` as a plain number: numpy warns where Python compares."""
    real("gamma", gamma, "must be a finite number of at least 0", lambda gamma: gamma >= 0)
    return gamma.item() if isinstance(gamma, np.generic) else gamma


def _check_promise(gamma: float, delta: float, t: float, nodes: int) -> None:
    gamma = _check_gamma(gamma)
    check_delta_and_t(delta, t)
    real("nodes", nodes, "must be at least 1", lambda nodes: nodes >= 1)


def check_delta_and_t(delta: float, t: float) -> None:
    """The two numbers of Theorems 1 and 2."""
    real("delta", delta, "must lie in (0, 1]", lambda delta: 0 < delta <= 1)
    rule = "must exceed 1 and be finite: failures have probability at most 1/t"
    real("t", t, rule, lambda t: 1 < t < math.inf)
