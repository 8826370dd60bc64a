"""Principal components of a covariance matrix, and the quantities that the texts read off them (Li ch. 16)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.validation import check_array
from tercet.decomposition._engine.lapack import eigenpairs
from tercet.decomposition._engine.signs import fix_signs
from tercet.decomposition.matrix_input import power_scaled, refuse_overflow, scaled_matrix


class SampleMoments(NamedTuple):
    """Mean, covariance matrix S and correlation matrix R of rows."""

    mean: np.ndarray
    covariance: np.ndarray
    correlation: np.ndarray


def sample_moments(X: Any) -> SampleMoments:
    """The mean, the covariance matrix S and the correlation matrix R of rows, with n - 1 (Li eq. 16.40-16.42).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows, two at least.

    Returns
    -------
    mean : array of shape (n_features,)
    covariance, correlation : arrays of shape (n_features, n_features)
        A constant feature is correlated with nothing, itself included.

    Examples
    --------
    >>> found = sample_moments([[0.0, 1.0], [2.0, 3.0], [4.0, 2.0]])
    >>> found.mean, found.covariance, found.correlation
    (array([2., 2.]), array([[4., 1.],
           [1., 1.]]), array([[1. , 0.5],
           [0.5, 1. ]]))
    """
    Z, mean, exponent = _centred_rows(X, "sample_moments")
    S = Z.T @ Z / (len(Z) - 1)
    covariance = refuse_overflow(S, 2 * exponent, "The largest covariance")
    return SampleMoments(power_scaled(mean, exponent), covariance, correlation_matrix(S))


def standardize(X: Any) -> np.ndarray:
    """Standardised rows, whose features have mean 0 and variance 1: x* = (x - mean) / sqrt(s) (Li eq. 16.48).

    The variances s are with the divisor n - 1. The covariance matrix of these rows is the correlation matrix of X,
    whose components `PCA(scale=True)` finds.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows, two at least.

    Returns
    -------
    Z : array of shape (n_samples, n_features)
        A constant feature becomes 0.

    Examples
    --------
    >>> standardize([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 1.,  0.]])
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    top = np.abs(X).max(axis=0)
    Z, _, _ = _centred_rows(
        X / np.where(top > 0, top, 1.0), "standardize"
    )  # each feature in a unit of its own
    width = np.sqrt((Z**2).sum(axis=0) / (len(Z) - 1))
    return Z / np.where(width > 0, width, 1.0)


def _centred_rows(X: Any, name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows less their mean, which is exactly 0 for a constant feature, the mean, and the exponent of their unit."""
    X, exponent = scaled_matrix(X, name="X")
    if len(X) < 2 or np.iscomplexobj(X):
        raise ValueError(f"{name}: X must have two rows or more of real numbers; its shape is {X.shape}.")
    mean = np.where(X.max(axis=0) == X.min(axis=0), X[0], X.mean(axis=0))
    return X - mean, mean, exponent


class PrincipalComponents(NamedTuple):
    """Variances λ_k of the components, the largest first, and the unit vectors α_k as rows."""

    variances: np.ndarray
    components: np.ndarray


def principal_components(
    covariance: Any, k: int | None = None, *, correlation: bool = False
) -> PrincipalComponents:
    """The principal components y_k = α_k'x of a random vector x with this covariance matrix (Li Thm 16.1).

    α_1 is the unit vector for which α'Σα is largest, α_2 that among those for which y is not correlated with y_1,
    and so on: the eigenvectors of Σ. E y_k is α_k'μ, which is not zero unless μ is.

    Parameters
    ----------
    covariance : array of shape (m, m)
        The covariance matrix Σ, or a correlation matrix.
    k : int, optional
        How many components; by default all.
    correlation : bool, default=False
        Components of the standardised variables: of the correlation matrix that belongs to Σ (Li eq. 16.33).

    Returns
    -------
    variances : array of shape (k,)
    components : array of shape (k, m)
        The largest entry of each row is positive.

    Examples
    --------
    >>> principal_components([[2.0, 0.0], [0.0, 3.0]]).variances
    array([3., 2.])
    """
    S = correlation_matrix(covariance) if correlation else covariance
    S, exponent = _symmetric(S)
    m = len(S)
    if k is not None and (not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= m):
        raise ValueError(f"principal_components: k must be an integer from 1 to {m}; got {k!r}.")
    values, vectors = eigenpairs(S)
    if values[-1] < -1e-8 * max(np.abs(values).max(), 1e-300) * m:
        raise ValueError(
            f"principal_components: covariance has the eigenvalue {np.ldexp(values[-1], exponent):.3g}; there "
            "must be none below 0."
        )
    variances = refuse_overflow(np.maximum(values, 0.0), exponent, "The largest variance")
    return PrincipalComponents(variances[:k], fix_signs(None, vectors.T)[1][:k])


def correlation_matrix(covariance: Any) -> np.ndarray:
    """The correlation matrix r_ij = s_ij / sqrt(s_ii s_jj) of a covariance matrix (Li eq. 16.42).

    Parameters
    ----------
    covariance : array of shape (m, m)
        The covariance matrix. A variable without variance is correlated with nothing, itself included.

    Returns
    -------
    correlation : array of shape (m, m)

    Examples
    --------
    >>> correlation_matrix([[4.0, 1.0], [1.0, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    S, _ = _symmetric(covariance)
    width = np.sqrt(np.maximum(np.diag(S), 0.0))
    inverse = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
    return S * inverse * inverse[:, None]


def factor_loadings(variances: Any, components: Any, covariance: Any = None) -> np.ndarray:
    """The correlations ρ(y_k, x_i) = sqrt(λ_k) α_ik / sqrt(σ_ii) of components and variables (Li eq. 16.20).

    Parameters
    ----------
    variances : array of shape (k,)
        The variances λ_k of the components.
    components : array of shape (k, m)
        Their unit vectors, as rows.
    covariance : array of shape (m, m) or (m,), optional
        The covariance matrix or its diagonal; by default the variables are standardised, with σ_ii = 1.

    Returns
    -------
    loadings : array of shape (k, m)
        0 for components and variables without variance.

    Examples
    --------
    >>> factor_loadings([3.0, 1.0], np.eye(2), [3.0, 1.0])
    array([[1., 0.],
           [0., 1.]])
    """
    variances, components = np.asarray(variances, dtype=float), np.asarray(components, dtype=float)
    if components.ndim != 2 or variances.shape != components.shape[:1]:
        raise ValueError(
            f"factor_loadings: components must have one row for each of the {variances.size} variances; the shape "
            f"is {components.shape}."
        )
    width = _widths(covariance, components.shape[1])
    inverse = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
    return np.sqrt(np.maximum(variances, 0.0))[:, None] * components * inverse


def contribution_rates(variances: Any, total: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The share η_k = λ_k / Σλ of each component in the variance, and their running sums (Li eq. 16.30, 16.31).

    Parameters
    ----------
    variances : array of shape (k,)
        The variances λ_k.
    total : float, optional
        The sum of all of them; by default of those given.

    Returns
    -------
    rates, cumulative : arrays of shape (k,)

    Examples
    --------
    >>> contribution_rates([3.0, 1.0])
    (array([0.75, 0.25]), array([0.75, 1.  ]))
    """
    variances = np.asarray(variances, dtype=float)
    whole = variances.sum() if total is None else total
    rates = variances / whole if whole > 0 else np.zeros_like(variances)
    return rates, np.minimum(np.cumsum(rates), 1.0)


def variable_contributions(variances: Any, components: Any, covariance: Any = None) -> np.ndarray:
    """The share ν_i = Σ_k λ_k α_ik² / σ_ii of each variable's variance that the components have (Li eq. 16.32).

    Parameters
    ----------
    variances, components, covariance
        As in `factor_loadings`.

    Returns
    -------
    shares : array of shape (m,)

    Examples
    --------
    >>> variable_contributions([3.0], [[1.0, 0.0]], [3.0, 1.0])
    array([1., 0.])
    """
    return (factor_loadings(variances, components, covariance) ** 2).sum(axis=0)


def choose_n_components(variances: Any, share: float = 0.75) -> int:
    """The smallest number of components whose cumulative contribution rate reaches a share (Li sec. 16.1.5).

    Parameters
    ----------
    variances : array of shape (m,)
        The variances of all components, the largest first.
    share : float, default=0.75
        The share of the variance, above 0 and at most 1; 0.7 to 0.8 are usual.

    Returns
    -------
    k : int

    Examples
    --------
    >>> choose_n_components([2.17, 0.87, 0.57, 0.39], 0.75)
    2
    """
    if not 0 < share <= 1:
        raise ValueError(f"choose_n_components: share must be above 0 and at most 1; got {share!r}.")
    cumulative = contribution_rates(variances)[1]
    reached = np.flatnonzero(cumulative >= share - 1e-12)
    return int(reached[0]) + 1 if reached.size else len(cumulative)


def projected_variance(covariance: Any, B: Any) -> tuple[float, float, float]:
    """The total variance tr(B'ΣB) of the projections on orthonormal columns, and its bounds (Li Thm 16.2, 16.3).

    Parameters
    ----------
    covariance : array of shape (m, m)
        The covariance matrix Σ.
    B : array of shape (m, q)
        Orthonormal columns.

    Returns
    -------
    trace, least, most : float
        `most` is reached by the first q principal components, `least` by the last q.

    Examples
    --------
    >>> projected_variance([[3.0, 0.0], [0.0, 1.0]], [[0.6], [0.8]])
    (1.72, 1.0, 3.0)
    """
    S, exponent = _symmetric(covariance)
    B = np.asarray(B, dtype=float)
    if B.ndim != 2 or B.shape[0] != len(S) or np.abs(B.T @ B - np.eye(B.shape[1])).max(initial=0.0) > 1e-8:
        raise ValueError(
            f"projected_variance: B must have {len(S)} rows and orthonormal columns; its shape is {B.shape}."
        )
    values, q = eigenpairs(S)[0], B.shape[1]
    found = np.array([np.trace(B.T @ S @ B), values[len(S) - q :].sum(), values[:q].sum()])
    trace, least, most = refuse_overflow(found, exponent, "The variance")
    return float(trace), float(least), float(most)


def linear_projection(X: Any, W: Any, mean: Any = None) -> np.ndarray:
    """Rows in the coordinates of the columns of W: z = W'(x - mean) (watermelon notes eq. 8.7).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    W : array of shape (n_features, k)
        The directions.
    mean : array of shape (n_features,), optional
        Taken off first.

    Returns
    -------
    Z : array of shape (n_samples, k)

    Examples
    --------
    >>> linear_projection([[1.0, 2.0], [3.0, 4.0]], [[1.0], [0.0]])
    array([[1.],
           [3.]])
    """
    X, W = np.asarray(X, dtype=float), np.asarray(W, dtype=float)
    if X.ndim != 2 or W.ndim != 2 or X.shape[1] != W.shape[0]:
        raise ValueError(
            f"linear_projection: W must have {X.shape[-1]} rows, as X has columns; its shape is {W.shape}."
        )
    return (X if mean is None else X - np.asarray(mean, dtype=float)) @ W


def _symmetric(covariance: Any) -> tuple[np.ndarray, int]:
    S, exponent = scaled_matrix(covariance, name="covariance")
    if S.shape[0] != S.shape[1] or np.iscomplexobj(S):
        raise ValueError(f"covariance must be a real square matrix; its shape is {S.shape}.")
    if np.abs(S - S.T).max() > 1e-8 * max(np.abs(S).max(), 1e-300):
        i, j = np.unravel_index(np.abs(S - S.T).argmax(), S.shape)
        i, j = int(min(i, j)), int(max(i, j))
        one, other = (float(power_scaled(S[a, b], exponent)) for a, b in ((i, j), (j, i)))
        raise ValueError(
            f"covariance must be symmetric; entry [{i}, {j}] is {one:g} and [{j}, {i}] is {other:g}."
        )
    return S, exponent


def _widths(covariance: Any, m: int) -> np.ndarray:
    if covariance is None:
        return np.ones(m)
    given = np.asarray(covariance, dtype=float)
    diagonal = np.diag(given) if given.ndim == 2 else given
    if diagonal.shape != (m,):
        raise ValueError(
            f"covariance must be of {m} variables, as the components are; its shape is {given.shape}."
        )
    return np.sqrt(np.maximum(diagonal, 0.0))
