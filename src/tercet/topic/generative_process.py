"""The generative process of latent Dirichlet allocation (LDA 的文本生成过程)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Seed
from tercet.topic.prior_input import positive


class Simulated(NamedTuple):
    """Documents of the generative process, and what is hidden behind them.

    Attributes
    ----------
    documents : list of arrays of int
        The words of each document.
    z : list of arrays of int
        Their topics.
    theta : array of shape (n_documents, n_topics)
    phi : array of shape (n_topics, n_words)
    """

    documents: list[np.ndarray]
    z: list[np.ndarray]
    theta: np.ndarray
    phi: np.ndarray


@method(
    zh="LDA 的文本生成过程",
    task="topic model",
    model="φ_k ~ Dir(β); θ_m ~ Dir(α); z_mn ~ Mult(θ_m); w_mn ~ Mult(φ_z)",
    texts=[
        "Li ch. 20, Alg 20.1",
        "Machine Learning in Depth ch. 5, eq. 5.17-5.19",
        "watermelon notes ch. 12, eq. 12.24",
    ],
)
def generate_documents(
    n_documents: int,
    lengths: Any,
    alpha: Any,
    beta: Any,
    *,
    random_state: Seed = None,
) -> Simulated:
    """Documents drawn from latent Dirichlet allocation (Alg 20.1).

    Parameters
    ----------
    n_documents : int
        The number M of documents.
    lengths : int, float or array of int of shape (n_documents,)
        Words of each document; a float is the mean of a Poisson distribution that they are drawn from.
    alpha : array of shape (n_topics,)
        Prior of θ.
    beta : array of shape (n_words,) or (n_topics, n_words)
        Prior of φ.
    random_state : int, RandomState, Generator or None, default=None
        Decides what is drawn.

    Returns
    -------
    Simulated
        documents, z, theta and phi.

    Examples
    --------
    >>> found = generate_documents(3, 4, [0.5, 0.5], [0.1] * 5, random_state=0)
    >>> [len(words) for words in found.documents], found.theta.shape, found.phi.shape
    ([4, 4, 4], (3, 2), (2, 5))
    """
    rng = generator(random_state)
    alpha, beta = positive("alpha", alpha, 1), np.atleast_2d(positive("beta", beta, None))
    beta = np.broadcast_to(beta, (alpha.size, beta.shape[1]))
    if isinstance(lengths, float):
        lengths = rng.poisson(lengths, n_documents)
    lengths = np.broadcast_to(np.asarray(lengths), (n_documents,))
    if lengths.dtype.kind not in "iu" or (lengths < 0).any():
        raise ValueError(f"lengths must be whole numbers of at least 0, or a float above 0; got {lengths!r}.")
    phi = np.array([rng.dirichlet(row) for row in beta])
    theta = rng.dirichlet(alpha, n_documents)
    z = [rng.choice(alpha.size, size, p=row) for size, row in zip(lengths, theta)]
    words = [np.array([rng.choice(phi.shape[1], p=phi[k]) for k in topics], dtype=np.int64) for topics in z]
    return Simulated(words, z, theta, phi)
