"""Mean-field variational inference (平均场变分推断): the product of distributions nearest to a posterior."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.special import entr

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.functions import log_sum_exp, softmax
from tercet.core.steps import ConvergenceWarning
from tercet.distributions.probability_tables import check_distributions
from tercet.graphical.markov_random_field import MAX_CELLS, MarkovRandomField
from tercet.graphical.undirected import sorted_nodes


@dataclass(frozen=True, eq=False)
class MeanFieldPosterior:
    """What :func:`mean_field` returns: q(z) = Π q_j(z_j) and the lower bound of the evidence that it reaches.

    Attributes
    ----------
    q : dict of arrays
        The distribution of each variable, by its name.
    elbo : float
        E_q[log p(x, z)] + H(q) at the end; log p(x) = elbo + D(q ‖ p(z | x)).
    elbos : list of float
        The bound after each sweep; it never falls.
    n_iter : int
        How many sweeps there were.
    converged : bool
        Whether q stood still at the end.

    Examples
    --------
    >>> found = mean_field([[0.12, 0.04], [0.02, 0.22]])
    >>> round(found.elbo, 4), round(found.log_evidence(), 4), round(found.kl(), 4)
    (-1.1808, -0.9163, 0.2645)
    """

    q: dict[Any, np.ndarray]
    elbo: float
    elbos: list[float]
    n_iter: int
    converged: bool
    factors: Factors = field(repr=False)

    def log_evidence(self) -> float:
        """log p(x), the exact one, by a sum over all assignments; for small models."""
        return float(log_sum_exp(self.factors.log_table(), axis=None))

    def kl(self) -> float:
        """D(q ‖ p(z | x)) = log p(x) - elbo, by the exact evidence."""
        return max(self.log_evidence() - self.elbo, 0.0)

    def joint(self) -> np.ndarray:
        """q as a table, an axis for each variable."""
        table = np.ones(())
        for distribution in self.q.values():
            table = table[..., None] * distribution
        return table


@method(
    zh="平均场变分推断",
    task="graphical model",
    model="q(z) = Π_j q_j(z_j) in place of p(z | x)",
    strategy="the greatest lower bound of the evidence: log p(x) = ELBO(q) + D(q ‖ p(z | x))",
    algorithms="coordinate ascent: log q_j = E of log p(x, z) over the other q_i, plus a constant",
    traits={
        "principle": "iteration; approximates the posterior",
        "convergence": "to a local optimum",
        "speed": "slower",
        "implementation": "more complex",
        "suited to": "complex models",
    },
    texts=["Li ch. 20, eq. 20.35-20.38", "Li ch. 22, Table 22.2", "watermelon notes ch. 12, eq. 12.23"],
    peers=["bayespy.inference.VB", "pymc.ADVI"],
)
def mean_field(
    model: Any,
    given: Mapping[Hashable, Any] | None = None,
    start: Literal["uniform", "random"] | Mapping[Hashable, Any] = "uniform",
    order: Sequence[Hashable] | None = None,
    log: bool = False,
    n_init: int = 1,
    tol: float = 1e-10,
    max_iter: int = 1000,
    random_state: Any = None,
) -> MeanFieldPosterior:
    """Mean-field approximation of a distribution of finite variables, by coordinate ascent of the ELBO.

    The updates use each factor on its own, so that fields with many variables and small potentials are no problem.
    For mixtures of Gaussians, see `tercet.mixture.BayesianGaussianMixture`; for documents,
    `tercet.topic.LatentDirichletAllocation`.

    Parameters
    ----------
    model : array, mapping of tuples of names to arrays, or MarkovRandomField
        A table p(x, z) of the observed x with an axis for each variable z_j; or factors whose product it is, each
        with an axis for each of its variables. Not negative; it need not sum to 1.
    given : mapping of names to values, optional
        Variables that are observed; the rest is inferred.
    start : {"uniform", "random"} or mapping, default="uniform"
        The first q. In a symmetric model the uniform one may be a saddle point, at which nothing moves.
    order : sequence of names, optional
        In which order the variables are updated; by default that of the axes, or of the sorted names.
    log : bool, default=False
        Whether the table or the factors hold logarithms.
    n_init : int, default=1
        How many starts, the best of which is kept; those after the first are random.
    tol : float, default=1e-10
        Stop when no probability moves by more in a sweep.
    max_iter : int, default=1000
        Most sweeps.
    random_state : int, Generator or None
        Decides the random starts.

    Returns
    -------
    MeanFieldPosterior

    Examples
    --------
    >>> found = mean_field({("A", "B"): [[3, 1], [1, 2]], ("B", "C"): [[2, 1], [1, 4]]})
    >>> {name: q.round(3).tolist() for name, q in found.q.items()}
    {'A': [0.504, 0.496], 'B': [0.396, 0.604], 'C': [0.363, 0.637]}
    """
    for name, value in (("n_init", n_init), ("max_iter", max_iter)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number, at least 1; got {value!r}.")
    factors, rng = Factors(model, given or {}, log), generator(random_state)
    places = factors.free if order is None else [factors.place(name) for name in order]
    if sorted(places) != factors.free:
        raise ValueError(f"order must name each unobserved variable once; got {list(order or ())}.")
    runs = [
        _ascend(factors, factors.initial(start if k == 0 else "random", rng), places, tol, max_iter)
        for k in range(n_init)
    ]
    best = max(runs, key=lambda run: run.elbo)
    if not best.converged:
        warnings.warn(
            f"Mean field did not converge in max_iter={max_iter} sweeps; the bound is {best.elbo:.10g}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return best


@method(
    zh="证据下界",
    task="graphical model",
    model="ELBO(q) = E_q[log p(x, z)] - E_q[log q(z)] <= log p(x)",
    texts=["Li ch. 20, eq. 20.35-20.37", "watermelon notes ch. 12, eq. 12.20-12.22"],
)
def evidence_lower_bound(model: Any, q: Any, log: bool = False) -> float:
    """ELBO of a distribution of the latent variables: E_q[log p(x, z)] + H(q), at most log p(x).

    Parameters
    ----------
    model : array, mapping of tuples of names to arrays, or MarkovRandomField
        p(x, z), as for `mean_field`.
    q : list or mapping of distributions, or array
        A distribution for each variable, whose product q is; or a table of the shape of p(x, z).
    log : bool, default=False
        Whether the table or the factors hold logarithms.

    Examples
    --------
    >>> p = [[0.12, 0.04], [0.02, 0.22]]
    >>> round(evidence_lower_bound(p, [[0.5, 0.5], [0.5, 0.5]]), 4)
    -1.305
    >>> round(evidence_lower_bound(p, np.array(p) / 0.4), 4), round(np.log(0.4), 4)
    (-0.9163, np.float64(-0.9163))
    """
    factors = Factors(model, {}, log)
    if isinstance(q, np.ndarray) and q.shape == factors.shape and q.ndim > 1:
        check_distributions(q.ravel(), "q")
        table, inside = factors.log_table(), q > 0
        return float((q[inside] * table[inside]).sum() + entr(q).sum())
    named = q if isinstance(q, Mapping) else dict(zip(factors.names, q))
    if len(named) != len(factors.names) or len(named) != len(q):
        raise ValueError(
            f"q must have a distribution for each of the variables {factors.names}; got {len(q)}."
        )
    return factors.elbo(factors.initial(named, None))


class Factors:
    """log p(x, z) as a sum of tables, and its expectations under a product of distributions."""

    def __init__(self, model: Any, given: Mapping[Hashable, Any], log: bool) -> None:
        if isinstance(model, MarkovRandomField):
            self.names, tables = list(model.nodes), dict(model.potentials)
            given = _codes(model, given)
        elif isinstance(model, Mapping):
            tables = {tuple(names): np.asarray(table, dtype=float) for names, table in model.items()}
            self.names = sorted_nodes(dict.fromkeys(name for names in tables for name in names))
        else:
            table = np.asarray(model, dtype=float)
            self.names, tables = list(range(table.ndim)), {tuple(range(table.ndim)): table}
        self._code = {name: k for k, name in enumerate(self.names)}
        self.sizes = [0] * len(self.names)
        if isinstance(model, MarkovRandomField):  # a node may have no potential
            self.sizes = [len(model.values[node]) for node in self.names]
        self.tables: list[tuple[tuple[int, ...], np.ndarray, np.ndarray | None]] = []
        for names, table in tables.items():
            self._add(names, table, log and not isinstance(model, MarkovRandomField))
        self.of = [[t for t in self.tables if k in t[0]] for k in range(len(self.names))]
        self.given = {self.place(name): self._value(name, value) for name, value in given.items()}
        self.free = [k for k in range(len(self.names)) if k not in self.given]
        if not self.free:
            raise ValueError("model must have at least one variable that is not given.")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes)

    def place(self, name: Hashable) -> int:
        if name not in self._code:
            raise ValueError(f"{name!r} is not a variable; the variables are {self.names}.")
        return self._code[name]

    def initial(self, start: Any, rng: np.random.Generator | None) -> list[np.ndarray]:
        """q to start from: uniform, random, or given for some of the variables."""
        if isinstance(start, str) and start not in ("uniform", "random"):
            raise ValueError(f"start must be 'uniform', 'random' or a mapping; got {start!r}.")
        if isinstance(start, str) and start == "random" and rng is not None:
            q = [rng.dirichlet(np.ones(size)) for size in self.sizes]
        else:
            q = [np.full(size, 1.0 / size) for size in self.sizes]
        for name, distribution in {} if isinstance(start, str) else dict(start).items():
            k, chosen = self.place(name), np.asarray(distribution, dtype=float)
            if chosen.shape != (self.sizes[k],):
                raise ValueError(
                    f"The distribution of {name!r} must have {self.sizes[k]} probabilities; got the shape "
                    f"{chosen.shape}."
                )
            check_distributions(chosen, f"the distribution of {name!r}")
            q[k] = chosen
        for k, value in self.given.items():
            q[k] = np.eye(self.sizes[k])[value]
        return q

    def expected(self, j: int, q: list[np.ndarray]) -> np.ndarray:
        """E of log p(x, z) over all variables but the j-th, up to a constant; minus infinity where p is 0."""
        logs, zeros = np.zeros(self.sizes[j]), np.zeros(self.sizes[j])
        for axes, table, empty in self.of[j]:
            logs = logs + _contract(axes, table, q, j)
            if empty is not None:
                zeros = zeros + _contract(axes, empty, q, j)
        return np.where(zeros > 0, -np.inf, logs)

    def elbo(self, q: list[np.ndarray]) -> float:
        """E_q[log p(x, z)] + H(q)."""
        total = sum(float(entr(distribution).sum()) for distribution in q)
        for axes, table, empty in self.tables:
            if empty is not None and _contract(axes, empty, q) > 0:
                return -np.inf
            total += float(_contract(axes, table, q))
        return total

    def log_table(self) -> np.ndarray:
        """log p(x, z) of every assignment, minus infinity where it is not that of the given variables."""
        if math.prod(self.sizes) > MAX_CELLS:
            raise ValueError(
                f"The model has {math.prod(self.sizes)} assignments; a table of at most {MAX_CELLS} is made."
            )
        total = np.zeros(self.sizes)
        for axes, table, empty in self.tables:
            whole = table if empty is None else np.where(empty > 0, -np.inf, table)
            shape = [self.sizes[k] if k in axes else 1 for k in range(len(self.sizes))]
            total = total + whole.transpose(np.argsort(axes)).reshape(shape)
        for k, value in self.given.items():
            others = np.arange(self.sizes[k]) != value
            total[(slice(None),) * k + (others,)] = -np.inf
        return total

    def _add(self, names: tuple, table: np.ndarray, log: bool) -> None:
        if table.ndim != len(names) or len(set(names)) != len(names) or not table.size:
            raise ValueError(
                f"The factor of {names} must have an axis for each variable; its shape is {table.shape}."
            )
        if not (table < np.inf).all() or not (log or (table >= 0).all()):
            rule = "logarithms below infinity" if log else "finite numbers, at least 0"
            bad = table[~(table < np.inf)] if log or not (table < 0).any() else table[table < 0]
            raise ValueError(f"The factor of {names} must hold {rule}; got {np.ravel(bad)[0]}.")
        for name, size in zip(names, table.shape):
            k = self._code[name]
            if self.sizes[k] not in (0, size):
                raise ValueError(
                    f"{name!r} has {self.sizes[k]} values; the factor of {names} has room for {size}."
                )
            self.sizes[k] = size
        empty = np.isneginf(table) if log else table == 0
        if empty.all():
            raise ValueError(f"The factor of {names} is 0 everywhere: no assignment is possible.")
        logs = table if log else np.log(np.where(empty, 1.0, table))
        axes = tuple(self._code[name] for name in names)
        mask = empty.astype(float) if empty.any() else None
        self.tables.append((axes, np.where(empty, 0.0, logs), mask))

    def _value(self, name: Hashable, value: Any) -> int:
        size = self.sizes[self.place(name)]
        if not (isinstance(value, int | np.integer) and 0 <= value < size):
            raise ValueError(f"{name!r} must be given as a value from 0 to {size - 1}; got {value!r}.")
        return int(value)


def _ascend(
    factors: Factors, q: list[np.ndarray], places: list[int], tol: float, max_iter: int
) -> MeanFieldPosterior:
    """Sweeps over the variables; each update is the best q_j while the others stand still."""
    elbos, converged = [], False
    for _ in range(max_iter):
        change = 0.0
        for j in places:
            logits = factors.expected(j, q)
            if logits.max() == -np.inf:
                raise ValueError(
                    f"Every value of {factors.names[j]!r} meets assignments of probability 0 under q, so that no "
                    "product of distributions near this start has a bound above minus infinity; give another start."
                )
            following = softmax(logits)
            change = max(change, float(np.abs(following - q[j]).max()))
            q[j] = following
        elbos.append(factors.elbo(q))
        if change <= tol:
            converged = True
            break
    return MeanFieldPosterior(dict(zip(factors.names, q)), elbos[-1], elbos, len(elbos), converged, factors)


def _contract(axes: tuple[int, ...], table: np.ndarray, q: list[np.ndarray], keep: int | None = None) -> Any:
    """The mean of a table over all its variables but one."""
    operands: list[Any] = [table, list(range(len(axes)))]
    for place, k in enumerate(axes):
        if k != keep:
            operands += [q[k], [place]]
    return np.einsum(*operands, [] if keep is None else [axes.index(keep)])


def _codes(field: MarkovRandomField, given: Mapping[Hashable, Any]) -> dict[Any, Any]:
    """Observed values of a field as indices."""
    codes = {}
    for node, value in given.items():
        if node in field.values and value not in field.values[node]:
            raise ValueError(f"{node!r} cannot be {value!r}; its values are {field.values[node]}.")
        codes[node] = field.values[node].index(value) if node in field.values else value
    return codes
