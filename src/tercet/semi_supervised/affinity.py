"""Graphs of rows and functions on them (图半监督学习): affinity, energy, harmonic functions, label spreading.

The plain forms of the text's formulas, for small graphs; `LabelPropagation` and `LabelSpreading` are the methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.validation import check_array


@method(
    zh="高斯亲和矩阵",
    task="kernel",
    model="W_ij = exp(-‖x_i - x_j‖² / 2σ²) for i ≠ j, and 0 for i = j",
    texts=["watermelon notes ch. 11, eq. 11.7"],
    peers=["sklearn.metrics.pairwise.rbf_kernel"],
)
def affinity_matrix(X: Any, sigma: float = 1.0) -> np.ndarray:
    """Gaussian affinities of all pairs of rows, with a zero diagonal.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    sigma : float, default=1.0
        The width σ; in scikit-learn's terms gamma = 1 / (2 σ²).

    Returns
    -------
    W : array of shape (n, n)

    Examples
    --------
    >>> affinity_matrix([[0.0], [1.0], [2.0]]).round(4)
    array([[0.    , 0.6065, 0.1353],
           [0.6065, 0.    , 0.6065],
           [0.1353, 0.6065, 0.    ]])
    """
    if not 0 < sigma < np.inf:
        raise ValueError(f"affinity_matrix: sigma must be a positive number; got {sigma!r}.")
    X = check_array(X, dtype=np.float64)
    squares = ((X[:, None, :] - X) ** 2).sum(axis=-1)
    W = np.exp(-squares / (2 * sigma**2))
    np.fill_diagonal(W, 0.0)
    return W


@method(
    zh="图上函数的能量",
    task="graph analysis",
    model="E(f) = Σ_ij W_ij (f_i - f_j)² / 2 = f'(D - W)f",
    texts=["watermelon notes ch. 11, eq. 11.8"],
)
def graph_energy(W: Any, f: Any) -> float:
    """Energy of a function on the nodes of a graph: how much it differs along the edges.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric weights of the edges.
    f : array of shape (n,)
        The value at each node.

    Returns
    -------
    float

    Examples
    --------
    >>> graph_energy([[0, 2], [2, 0]], [1, -1])
    8.0
    """
    W, f = _weights(W), np.asarray(f, dtype=np.float64)
    degrees = np.ravel(W.sum(axis=1))
    return float(degrees @ f**2 - f @ (W @ f))


@method(
    zh="调和函数",
    task="classification",
    model="f_u = (D_uu - W_uu)⁻¹ W_ul f_l: each unlabelled node has the mean of its neighbours",
    strategy="least energy f'(D - W)f with the values of the labelled nodes fixed",
    algorithms="one linear system",
    texts=["watermelon notes ch. 11, eq. 11.9-11.12"],
    peers=["sklearn.semi_supervised.LabelPropagation"],
)
def harmonic_function(W: Any, f: Any) -> np.ndarray:
    """The function of least energy on a graph with given values at some nodes.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Weights of the edges.
    f : array of shape (n,)
        The values at the labelled nodes (1 and -1, say); NaN at the others.

    Returns
    -------
    array of shape (n,)
        The values at all nodes; for two classes 1 and -1 their sign is the label.

    Raises
    ------
    ValueError
        Where a part of the graph has no labelled node: D_uu - W_uu is singular.

    Examples
    --------
    >>> nan = float("nan")
    >>> harmonic_function([[0, 1, 0], [1, 0, 3], [0, 3, 0]], [1, nan, -1])
    array([ 1. , -0.5, -1. ])
    """
    W, f = _weights(W), np.array(f, dtype=np.float64)
    unknown = np.isnan(f)
    reached = ~unknown
    linked = W != 0
    while (further := reached | (linked @ reached.astype(np.float64) > 0)).sum() > reached.sum():
        reached = further
    if not reached.all():
        raise ValueError(
            f"harmonic_function: no path leads from the nodes {np.flatnonzero(~reached)[:5].tolist()} to a "
            "labelled one: D_uu - W_uu is singular. Connect them, or leave them out."
        )
    L = np.diag(W.sum(axis=1)) - W  # D - W
    f[unknown] = np.linalg.solve(
        L[np.ix_(unknown, unknown)], W[np.ix_(unknown, ~unknown)] @ f[~unknown]
    )  # (11.10)
    return f


def spreading_matrix(W: Any, weight: Any = None) -> Any:
    """S = D^(-1/2) W D^(-1/2) of a graph without its loops; of a directed one, degrees are those of edges that come
    in, as in scikit-learn. A node without edges has the degree 1.

    Parameters
    ----------
    W : array or CSR matrix of shape (n, n)
        Weights of the edges.
    weight : array of shape (n,), optional
        Of the nodes: one of weight 2 is as good as two of them, with an edge between them if it has a loop.

    Returns
    -------
    S : of the type of W

    Examples
    --------
    >>> spreading_matrix(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    n = W.shape[0]
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    # a node of weight w is w of them, each with edges to the others; its own loop is left out
    loops = np.asarray(W.diagonal()) * np.maximum(weight - 1.0, 0.0)
    degrees = np.ravel(weight @ W) - weight * W.diagonal() + loops
    roots = np.sqrt(np.where(degrees == 0, 1.0, degrees))
    if sparse.issparse(W):
        S = sparse.csr_array(W, dtype=np.float64, copy=True)
        row = np.repeat(np.arange(n), np.diff(S.indptr))
        S.data *= weight[S.indices] / (roots[row] * roots[S.indices])
        diagonal = row == S.indices
        S.data[diagonal] = (loops / roots**2)[row[diagonal]]
        return S
    S = W * weight / (roots[:, None] * roots)
    np.fill_diagonal(S, loops / roots**2)
    return S


@method(
    zh="标记传播的一步",
    task="classification",
    model="F(t+1) = α S F(t) + (1 - α) Y, S = D^(-1/2) W D^(-1/2)",
    strategy="least Σ_ij W_ij ‖F_i/√d_i - F_j/√d_j‖² / 2 + μ Σ ‖F_i - Y_i‖², μ = (1 - α)/α",
    algorithms="one product with the graph",
    texts=["watermelon notes ch. 11, eq. 11.13-11.16, Fig 13.5"],
    peers=["sklearn.semi_supervised.LabelSpreading"],
)
def spreading_step(W: Any, F: Any, Y: Any, alpha: float) -> np.ndarray:
    """One pass of label spreading in plain form.

    Parameters
    ----------
    W : array of shape (n, n)
        Symmetric weights of the edges.
    F, Y : arrays of shape (n, n_classes)
        The labels so far; and those that were given, one-hot, 0 for rows without one.
    alpha : float
        How much comes from the neighbours, in (0, 1).

    Returns
    -------
    array of shape (n, n_classes)

    Examples
    --------
    >>> Y = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    >>> spreading_step([[0, 3, 0], [3, 0, 1], [0, 1, 0]], Y, Y, 0.5).round(4)
    array([[0.5  , 0.   ],
           [0.433, 0.25 ],
           [0.   , 0.5  ]])
    """
    S = spreading_matrix(_weights(W))
    return alpha * (S @ np.asarray(F, dtype=np.float64)) + (1 - alpha) * np.asarray(Y, dtype=np.float64)


def spreading_limit(W: Any, Y: Any, alpha: float) -> np.ndarray:
    """The limit (1 - α)(I - αS)⁻¹ Y of label spreading (11.15).

    Parameters
    ----------
    W : array of shape (n, n)
        Symmetric weights of the edges.
    Y : array of shape (n, n_classes)
        Given labels, one-hot, 0 for rows without one.
    alpha : float
        How much comes from the neighbours, in (0, 1).

    Returns
    -------
    array of shape (n, n_classes)

    Examples
    --------
    >>> spreading_limit([[0, 1], [1, 0]], [[1.0, 0.0], [0.0, 0.0]], 0.5).round(4)
    array([[0.6667, 0.    ],
           [0.3333, 0.    ]])
    """
    S = spreading_matrix(_weights(W))
    return (1 - alpha) * np.linalg.solve(np.eye(len(S)) - alpha * S, np.asarray(Y, dtype=np.float64))


def _weights(W: Any) -> np.ndarray:
    """The weights of the edges as a square array."""
    W = W.toarray() if sparse.issparse(W) else W
    W = check_array(W, dtype=np.float64, input_name="W")
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"W must be a square matrix of weights; got the shape {W.shape}.")
    return W
