"""Values as kernel expansions over a dictionary of observations that grows with what is new."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from tercet.core.fitted_checks import Declarations, Floats, Having
from tercet.core.parameters import Range
from tercet.kernels import Kernel, as_kernel
from tercet.rl._engine.linear import BLOCKS
from tercet.rl.approximation.course import Course, masked_values
from tercet.rl.approximation.observations import (
    Slots,
    feature_rows,
    fitted_features,
    sample_observations,
    state_table,
)

Novelty = Annotated[float, Range(0, 1, "[)")]
KERNEL_SHAPES: Declarations = {
    "kernel_": Having({}, ("times",)),
    "dictionary_": Floats("centers* inputs", finite=True),
    "coef_": None,
}
DEPENDENT = 1e-10  # part of K(x, x) below which a distance is rounding


class KernelDictionary:
    """Centres c_1 ... c_m, and coordinates of any K(x, ·) in the space that theirs span.

    With the Cholesky factor L of the Gram matrix K(c_i, c_j), the coordinates are ψ(x) = L⁻¹ K(c, x), and
    K(x, x) - |ψ(x)|² is the squared distance of K(x, ·) from the space. An observation that is further away
    than `novelty` · K(x, x) becomes a centre (approximate linear dependence, Engel et al.). Centres that come
    later leave the earlier coordinates as they are, so that a function w·ψ(x) can be learned meanwhile.

    Parameters
    ----------
    kernel : Kernel
    n_inputs : int
    novelty : float
    most : int
        The most centres.
    """

    def __init__(self, kernel: Kernel, n_inputs: int, novelty: float, most: int) -> None:
        self.kernel, self.novelty, self.most = kernel, novelty, most
        self.centers = np.zeros((most, n_inputs))
        self.inverse = np.zeros((most, most))  # L⁻¹
        self.size = 0
        self.is_full = False  # whether something new was left out

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """ψ of rows X, shape (n, size)."""
        m = self.size
        if m == 0:
            return np.zeros((len(X), 0))
        return self.kernel.gram(X, self.centers[:m]) @ self.inverse[:m, :m].T

    def take(self, x: np.ndarray) -> np.ndarray:
        """ψ(x), where x becomes a centre if it is new."""
        psi = self.coordinates(x[None])[0]
        square = float(self.kernel.diag(x[None])[0])
        rest = square - float(psi @ psi)
        if rest <= max(self.novelty, DEPENDENT) * square:
            return psi
        if self.size == self.most:
            self.is_full = True
            return psi
        m, pivot = self.size, math.sqrt(rest)  # L gets the row (ψ, pivot)
        self.centers[m] = x
        self.inverse[m, :m] = -(psi @ self.inverse[:m, :m]) / pivot
        self.inverse[m, m] = 1.0 / pivot
        self.size += 1
        return np.append(psi, pivot)

    def dual(self, weights: np.ndarray) -> np.ndarray:
        """α with Σ_i α_i K(c_i, x) = w·ψ(x), for weights w of shape (size, n_heads)."""
        return self.inverse[: self.size, : self.size].T @ weights


class KernelExpansion:
    """Part of agents whose values are kernel expansions, Σ_i α_i K(x, c_i)."""

    def new_dictionary(self, agent: Any, X: np.ndarray) -> KernelDictionary:
        """An empty dictionary for inputs like the rows X."""
        parameters = {"gamma": agent.gamma, "degree": agent.degree, "coef0": agent.coef0}
        kernel = as_kernel(agent.kernel, X=X, **parameters)
        if kernel.takes != "vectors":
            raise ValueError(f"{type(agent).__name__}: kernel must be one of vectors; got {agent.kernel!r}.")
        return KernelDictionary(kernel, X.shape[1], float(agent.novelty), agent.max_centers)

    def state_table(self, agent: Any, course: Course) -> Any:
        X = state_table(agent.features, course.world, joint=False, one_hot=False).toarray()
        course.dictionary = self.new_dictionary(agent, X)
        for x in X:
            course.dictionary.take(x)
        return sparse.csr_array(course.dictionary.coordinates(X))

    def slots(self, agent: Any, course: Course, rng: np.random.Generator, n_heads: int) -> Slots:
        world: Any = course.world
        agent.features_ = fitted_features(agent.features, world, joint=False, rng=rng)
        sample = self.inputs(agent, sample_observations(world, rng))
        dictionary = course.dictionary = self.new_dictionary(agent, sample)

        def write(x: np.ndarray, columns: np.ndarray, values: np.ndarray) -> int:
            psi = dictionary.take(self.inputs(agent, x[None])[0])
            columns[: psi.size], values[: psi.size] = np.arange(psi.size), psi
            return int(psi.size)

        return Slots([write], agent.max_centers, agent.max_centers, world.n_streams, n_heads, BLOCKS)

    def inputs(self, agent: Any, X: np.ndarray) -> np.ndarray:
        """What the kernel gets, of rows X of observations."""
        rows = feature_rows(agent.features_, X, agent.observation_shape_)
        return np.ascontiguousarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)

    def state(self, course: Course) -> Any:
        dictionary, n_heads = course.dictionary, course.phi.allowed.shape[1]
        weights = course.learner.weights.reshape(-1, n_heads)[: dictionary.size].copy()
        return weights, dictionary.dual(weights), dictionary.centers[: dictionary.size].copy()

    def unpack(self, agent: Any, course: Course, state: Any) -> dict[str, Any]:
        weights, dual, centers = state
        dual = np.ascontiguousarray(dual.T)  # (n_heads, n_centers)
        found = {
            "dual_coef_": agent._shown(dual),
            "dictionary_": centers,
            "kernel_": course.dictionary.kernel,
        }
        if course.table is None:
            return found
        return {**found, **agent._tables(masked_values(np.asarray(course.table @ weights), course.world))}

    def values(self, agent: Any, X: np.ndarray) -> np.ndarray:
        dual = np.atleast_2d(agent.dual_coef_).T
        return np.asarray(agent.kernel_.times(self.inputs(agent, X), agent.dictionary_, dual))
