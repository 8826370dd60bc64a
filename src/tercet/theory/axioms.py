"""Axioms of norms, inner products and metrics, checked on samples, and bases of plane waves (数学中的空间)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.theory.checks import checked_count

SCALARS = (-2.0, -1.0, 0.0, 0.5, 3.0)  # that the vectors are multiplied by


class NormViolations(NamedTuple):
    """The largest violation of each axiom of a norm, and of the parallelogram law, relative to the largest norm."""

    definite: float
    homogeneous: float
    triangle: float
    parallelogram: float

    def is_norm(self, tol: float = 1e-9) -> bool:
        """Whether no axiom of a norm is violated by more than tol."""
        return max(self[:3]) <= tol

    def from_inner_product(self, tol: float = 1e-9) -> bool:
        """Whether the parallelogram law holds, too: then the norm belongs to an inner product."""
        return max(self) <= tol


class InnerProductViolations(NamedTuple):
    """The largest violation of each axiom of an inner product, and of the Cauchy-Schwarz inequality, relative to
    the largest product."""

    symmetric: float
    linear: float
    positive: float
    cauchy_schwarz: float

    def is_inner_product(self, tol: float = 1e-9) -> bool:
        """Whether no axiom of an inner product is violated by more than tol."""
        return max(self[:3]) <= tol


class MetricViolations(NamedTuple):
    """The largest violation of each axiom of a metric, relative to the largest distance."""

    non_negative: float
    identity: float
    symmetric: float
    triangle: float

    def is_metric(self, tol: float = 1e-9) -> bool:
        """Whether no axiom is violated by more than tol."""
        return max(self) <= tol


@method(
    zh="范数公理",
    task="theory",
    model="‖x‖ > 0 for x ≠ 0, ‖αx‖ = |α|‖x‖, ‖x + y‖ ≤ ‖x‖ + ‖y‖",
    strategy="with the parallelogram law ‖x+y‖² + ‖x−y‖² = 2‖x‖² + 2‖y‖², a norm of an inner product",
    texts=["Machine Learning in Depth ch. 24, 24.1.1"],
)
def norm_violations(norm: Callable[[np.ndarray], Any], X: Any, scalars: Any = SCALARS) -> NormViolations:
    """The largest violations of the axioms of a norm among vectors.

    A sample can refute an axiom, not prove it.

    Parameters
    ----------
    norm : callable
        The norm of a vector of shape (n_features,).
    X : array of shape (n_samples, n_features)
        Vectors, real or complex; all pairs are tried.
    scalars : sequence of numbers, default=(-2, -1, 0, 0.5, 3)
        Factors that the vectors are multiplied by.

    Returns
    -------
    NormViolations
        `definite`, `homogeneous`, `triangle` and `parallelogram`: 0 where nothing is violated.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [3.0, -4.0]]
    >>> norm_violations(lambda x: abs(x).sum(), X)
    NormViolations(definite=0.0, homogeneous=0.0, triangle=0.0, parallelogram=0.08163265306122448)
    >>> norm_violations(np.linalg.norm, X).from_inner_product()
    True
    """
    X = _vectors(X)
    sizes = _values(norm, X, "norm")
    unit = float(np.abs(sizes).max()) or 1.0
    is_zero = ~X.any(axis=1)
    # a non-zero vector of norm 0 or less violates definiteness by as much as any can: by the largest norm
    definite = max(
        float(np.abs(sizes[is_zero]).max(initial=0.0)),
        unit if (sizes[~is_zero] <= 0).any() else 0.0,
        abs(float(norm(np.zeros_like(X[0])))),
    )
    homogeneous = max(
        float(np.abs(_values(norm, a * X, "norm") - abs(a) * sizes).max()) / max(1.0, abs(a)) for a in scalars
    )
    triangle = parallelogram = 0.0
    for x, size in zip(X, sizes):
        sums, differences = _values(norm, X + x, "norm"), _values(norm, X - x, "norm")
        triangle = max(triangle, float((sums - sizes - size).max()))
        law = sums**2 + differences**2 - 2 * sizes**2 - 2 * size**2
        parallelogram = max(parallelogram, float(np.abs(law).max()))
    return NormViolations(definite / unit, homogeneous / unit, triangle / unit, parallelogram / unit**2)


@method(
    zh="内积公理",
    task="theory",
    model="⟨x, y⟩ = conj⟨y, x⟩, ⟨αx + y, z⟩ = α⟨x, z⟩ + ⟨y, z⟩, ⟨x, x⟩ > 0 for x ≠ 0",
    strategy="they imply the Cauchy-Schwarz inequality |⟨x, y⟩|² ≤ ⟨x, x⟩⟨y, y⟩",
    texts=["Machine Learning in Depth ch. 24, 24.1.1"],
)
def inner_product_violations(
    inner: Callable[[np.ndarray, np.ndarray], Any], X: Any, scalars: Any = SCALARS
) -> InnerProductViolations:
    """The largest violations of the axioms of an inner product among vectors.

    Linear in the first argument; in the second one a complex product is conjugate linear.

    Parameters
    ----------
    inner : callable
        The inner product of two vectors of shape (n_features,).
    X : array of shape (n_samples, n_features)
        Vectors, real or complex; all pairs are tried, and sums of neighbours.
    scalars : sequence of numbers, default=(-2, -1, 0, 0.5, 3)
        Factors that the vectors are multiplied by.

    Returns
    -------
    InnerProductViolations
        `symmetric`, `linear`, `positive` and `cauchy_schwarz`: 0 where nothing is violated.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 1.0], [3.0, -4.0]]
    >>> inner_product_violations(np.dot, X).is_inner_product()
    True
    >>> inner_product_violations(lambda x, y: x[0] * y[0] - x[1] * y[1], X).positive  # as in relativity
    1.0
    """
    X = _vectors(X)
    G = _gram(inner, X, X)
    unit = float(np.abs(G).max()) or 1.0
    squares, next_one = G.diagonal().real, np.roll(X, 1, axis=0)
    linear = 0.0
    for a in scalars:
        combined = _gram(inner, a * X + next_one, X)
        gap = np.abs(combined - a * G - np.roll(G, 1, axis=0)).max()
        linear = max(linear, float(gap) / max(1.0, abs(a)))
    nothing = X.any(axis=1) & (squares == 0)
    positive = max(
        float((-squares).max()),
        float(np.abs(G.diagonal().imag).max()),
        unit if nothing.any() else 0.0,
    )
    schwarz = np.abs(G) ** 2 - np.outer(squares, squares)
    return InnerProductViolations(
        float(np.abs(G - G.conj().T).max()) / unit,
        linear / unit,
        max(positive, 0.0) / unit,
        max(float(schwarz.max()), 0.0) / unit**2,
    )


@method(
    zh="度量公理",
    task="theory",
    model="d(x, y) ≥ 0, d(x, y) = 0 only for x = y, d(x, y) = d(y, x), d(x, z) ≤ d(x, y) + d(y, z)",
    strategy="every norm gives a metric, d(x, y) = ‖x − y‖",
    texts=["Machine Learning in Depth ch. 24, 24.1.1"],
)
def metric_violations(metric: Callable[[np.ndarray, np.ndarray], Any], X: Any) -> MetricViolations:
    """The largest violations of the axioms of a metric among points (for a table of distances: `metric_axioms`).

    Parameters
    ----------
    metric : callable
        The distance of two points of shape (n_features,).
    X : array of shape (n_samples, n_features)
        Points; all triples are tried.

    Returns
    -------
    MetricViolations
        `non_negative`, `identity`, `symmetric` and `triangle`: 0 where nothing is violated.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0]]
    >>> metric_violations(lambda x, y: ((x - y) ** 2).sum(), X)  # the squared distance is none
    MetricViolations(non_negative=0.0, identity=0.0, symmetric=0.0, triangle=0.5)
    """
    X = _vectors(X)
    D = _gram(metric, X, X).real
    unit = float(np.abs(D).max()) or 1.0
    same = (X[:, None] == X).all(axis=2)
    longest = max(float((D - (D[:, [k]] + D[k])).max()) for k in range(len(D)))
    return MetricViolations(
        max(0.0, -float(D.min())) / unit,
        max(float(np.abs(D[same]).max()), unit if (D[~same] == 0).any() else 0.0) / unit,
        float(np.abs(D - D.T).max()) / unit,
        max(longest, 0.0) / unit,
    )


@method(
    zh="傅里叶基的正交性",
    task="theory",
    model="e_k(t) = exp(ikt) on [0, 2π), ⟨f, g⟩ = 1/2π ∫ f conj(g) dt",
    strategy="⟨e_k, e_l⟩ = 1 for k = l, else 0",
    texts=["Machine Learning in Depth ch. 24, 24.1.2"],
)
def plane_wave_products(frequencies: Any, n_points: int | None = None) -> np.ndarray:
    """Inner products of the plane waves exp(ikt), which are an orthonormal basis of a Hilbert space.

    The integral is a mean over equally spaced points. It is exact if there are more points than the largest
    difference of two frequencies. With n points, frequencies that differ by n are the same wave (aliasing).

    Parameters
    ----------
    frequencies : array of int of shape (n_waves,)
        The k.
    n_points : int, optional
        Number of points; by default one more than the largest difference of frequencies.

    Returns
    -------
    products : complex array of shape (n_waves, n_waves)

    Examples
    --------
    >>> np.abs(plane_wave_products([-1, 0, 2])).round(12)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    >>> np.abs(plane_wave_products([0, 1, 4], n_points=4)).round(12)
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """
    k = np.asarray(frequencies)
    if k.ndim != 1 or not k.size or k.dtype.kind not in "iu":
        raise ValueError(
            f"frequencies must be an array of whole numbers of shape (n_waves,); got {frequencies!r}."
        )
    n = int(k.max()) - int(k.min()) + 1 if n_points is None else int(checked_count("n_points", n_points))
    turns = np.outer(k, np.arange(n)) % n  # exp(2πi m) = 1 for whole m: small angles keep all their digits
    waves = np.exp(2j * np.pi * turns / n)
    return waves @ waves.conj().T / n


@method(
    zh="保长变换（正交与酉变换）",
    task="theory",
    model="FᵀF = I for real vectors, GᴴG = I for complex ones",
    strategy="such operators leave the length of every vector as it is: ⟨Fx, Fx⟩ = ⟨x, x⟩",
    texts=["Machine Learning in Depth ch. 24, 24.1.2"],
)
def isometry_violation(F: Any) -> float:
    """The largest entry of GᴴG - I in size: 0 for a matrix that leaves all lengths as they are.

    The text has F² = 1 in the place of FᵀF = I: a rotation by 90° has F² = -1, and some matrices whose square is
    the identity change lengths.

    Parameters
    ----------
    F : array of shape (m, n)
        A real or complex matrix.

    Returns
    -------
    float

    Examples
    --------
    >>> isometry_violation([[0.0, -1.0], [1.0, 0.0]])
    0.0
    >>> isometry_violation([[1.0, 1.0], [0.0, -1.0]])  # its square is the identity
    1.0
    """
    F = np.asarray(F)
    if F.ndim != 2 or F.dtype.kind not in "biufc" or not np.isfinite(F).all():
        raise ValueError(f"F must be a matrix of finite numbers; its shape is {F.shape}.")
    return float(np.abs(F.conj().T @ F - np.eye(F.shape[1])).max())


def _vectors(X: Any) -> np.ndarray:
    X = np.asarray(X)
    X = X.astype(np.float64) if X.dtype.kind in "biu" else X
    if X.ndim != 2 or not X.size or X.dtype.kind not in "fc" or not np.isfinite(X).all():
        raise ValueError(
            f"X must hold finite vectors, in an array of shape (n_samples, n_features); got {X.shape}."
        )
    return X


def _values(function: Callable[..., Any], X: np.ndarray, name: str) -> np.ndarray:
    """The values of a function for each row, which must be real numbers."""
    values = np.array([function(x) for x in X])
    if values.shape != (len(X),) or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise ValueError(f"{name} must return a finite real number for a vector.")
    return values.astype(np.float64)


def _gram(function: Callable[..., Any], X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """The values of a function of two vectors, for all pairs."""
    values = np.array([[function(x, z) for z in Z] for x in X])
    if values.shape != (len(X), len(Z)) or values.dtype.kind not in "biufc" or not np.isfinite(values).all():
        raise ValueError("The function of two vectors must return a finite number.")
    return values.astype(np.result_type(values, np.float64))
