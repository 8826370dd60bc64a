"""Topic models as factorisations D ≈ UV (话题模型的矩阵分解表示): Bregman divergences, Gaussian models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.special import kl_div

from tercet.core.catalog import method
from tercet.core.validation import check_array, refuse_negative


@method(
    zh="一般化 Bregman 散度",
    task="loss",
    model="B(D ‖ X) = Σ φ(d) - φ(x) - φ'(x) (d - x) for a convex φ",
    strategy="0 where both matrices are equal, and positive elsewhere",
    texts=["Li ch. 22, Table 22.3"],
)
def bregman_divergence(
    D: Any,
    X: Any,
    generator: Literal["squared", "kl"] | Callable[[np.ndarray], Any] = "squared",
    gradient: Callable[[np.ndarray], Any] | None = None,
) -> float:
    """Generalised Bregman divergence of two matrices, the loss of topic models as factorisations.

    LSA and NMF have the squared one, |D - X|²; PLSA has Σ d log(d / x) - d + x, the (generalised) KL divergence.

    Parameters
    ----------
    D, X : arrays of one shape
        The data, and their approximation UV.
    generator : {"squared", "kl"} or callable, default="squared"
        φ(x) = x², or x log x; or a convex function of numbers, that works on arrays.
    gradient : callable, optional
        φ' of a generator of one's own.

    Returns
    -------
    divergence : float
        Infinite by "kl" where X is 0 and D is not.

    Examples
    --------
    >>> bregman_divergence([[1.0, 2.0]], [[0.0, 4.0]])
    5.0
    >>> round(bregman_divergence([[1.0, 2.0]], [[1.0, 4.0]], "kl"), 6)
    0.613706
    >>> round(
    ...     bregman_divergence([[1.0]], [[2.0]], lambda x: -np.log(x), lambda x: -1 / x), 6
    ... )  # Itakura-Saito
    0.193147
    """
    D, X = (check_array(A, dtype=np.float64, input_name=name) for name, A in (("D", D), ("X", X)))
    if D.shape != X.shape:
        raise ValueError(f"D and X must be of one shape; got {D.shape} and {X.shape}.")
    if generator == "squared":
        return float(((D - X) ** 2).sum())
    if generator == "kl":
        for name, A in (("D", D), ("X", X)):
            refuse_negative(A, f"bregman_divergence (input {name})")
        return float(kl_div(D, X).sum())
    if not callable(generator) or not callable(gradient):
        raise TypeError(
            'generator must be "squared", "kl", or a function, given together with its gradient; got '
            f"generator={generator!r} and gradient={gradient!r}."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = generator(D) - generator(X) - gradient(X) * (D - X)
    if np.isnan(terms).any():
        raise ValueError("generator and gradient must be defined for all numbers of D and X; they give NaN.")
    return float(np.sum(terms))


@method(
    zh="潜在语义分析与非负矩阵分解的高斯模型",
    task="topic model",
    approach="generative",
    model="P(d_n | U, v_n) ∝ exp(-|d_n - U v_n|²)",
    strategy="maximum likelihood is least squares; U is orthonormal in LSA, U and V are not negative in NMF",
    texts=["Li ch. 22, Table 22.4"],
)
def factorization_log_density(
    D: Any, doc_topic: Any, components: Any, constraint: Literal["orthogonal", "nonnegative"] | None = None
) -> np.ndarray:
    """Log-densities of documents in the Gaussian model of a factorisation, without their constant.

    Parameters
    ----------
    D : array of shape (n_documents, n_words)
        The documents d_n.
    doc_topic : array of shape (n_documents, n_components)
        v_n of each document.
    components : array of shape (n_components, n_words)
        The columns of U.
    constraint : {"orthogonal", "nonnegative"}, optional
        What the model asks for: UᵀU = I and orthogonal v over the documents (LSA), or no negative numbers (NMF). An
        error says where it is not so.

    Returns
    -------
    log_density : array of shape (n_documents,)
        -|d_n - U v_n|².

    Examples
    --------
    >>> factorization_log_density([[1.0, 2.0], [0.0, 1.0]], [[1.0], [0.0]], [[1.0, 1.0]])
    array([-1., -1.])
    """
    given = {"D": D, "doc_topic": doc_topic, "components": components}
    D, V, U = (check_array(A, dtype=np.float64, input_name=name) for name, A in given.items())
    if V.shape[0] != D.shape[0] or U.shape != (V.shape[1], D.shape[1]):
        raise ValueError(
            f"doc_topic and components must be of shapes (N, K) and (K, M) for D of shape (N, M) = {D.shape}; got "
            f"{V.shape} and {U.shape}."
        )
    if constraint == "orthogonal":
        gram, size = V.T @ V, np.abs(V.T @ V).max(initial=1.0)
        if not np.allclose(U @ U.T, np.eye(len(U)), atol=1e-8):
            raise ValueError('constraint="orthogonal": the rows of components are not orthonormal.')
        if np.abs(gram - np.diag(np.diag(gram))).max() > 1e-8 * size:
            raise ValueError('constraint="orthogonal": the columns of doc_topic are not orthogonal.')
    elif constraint == "nonnegative":
        for name, A in (("doc_topic", V), ("components", U)):
            refuse_negative(A, f"factorization_log_density (input {name})")
    elif constraint is not None:
        raise ValueError(f'constraint must be "orthogonal", "nonnegative" or None; got {constraint!r}.')
    return -((D - V @ U) ** 2).sum(axis=1)
