"""Measurement matrices of compressed sensing (测量矩阵)."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.decomposition.dictionary.bases import basis_matrix


@method(
    zh="测量矩阵",
    task="compressed sensing",
    model="y = Φx, with fewer measurements y than numbers x",
    strategy="random rows, which keep the lengths of sparse vectors nearly",
    algorithms={
        "gaussian": "normal numbers of variance 1/n",
        "bernoulli": "±1/√n, each as likely",
        "dct": "rows of the discrete cosine transform, drawn without repetition",
        "fourier": "rows of the real Fourier basis, drawn without repetition",
    },
    texts=["watermelon notes ch. 10, eq. 10.18"],
)
def measurement_matrix(
    n_measurements: int,
    n_features: int,
    kind: Literal["gaussian", "bernoulli", "dct", "fourier"] = "gaussian",
    *,
    random_state: Any = None,
) -> np.ndarray:
    """A random matrix Φ of measurements y = Φx whose columns are of length 1 on average.

    Parameters
    ----------
    n_measurements, n_features : int
        Rows n and columns m; n <= m for "dct" and "fourier".
    kind : {"gaussian", "bernoulli", "dct", "fourier"}, default="gaussian"
        Normal numbers, signs, or rows of an orthonormal basis times √(m/n): cosines, or cosines and sines of the
        Fourier basis. A partial transform must not be used with a signal that is sparse in the same basis.
    random_state : int, optional
        Decides what is drawn.

    Returns
    -------
    Phi : array of shape (n_measurements, n_features)

    Examples
    --------
    >>> Phi = measurement_matrix(2, 4, "bernoulli", random_state=0)
    >>> np.abs(Phi).round(4)
    array([[0.7071, 0.7071, 0.7071, 0.7071],
           [0.7071, 0.7071, 0.7071, 0.7071]])
    """
    for name, value in (("n_measurements", n_measurements), ("n_features", n_features)):
        if not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(f"measurement_matrix: {name} must be an integer of at least 1; got {value!r}.")
    rng, shape = generator(random_state), (n_measurements, n_features)
    if kind == "gaussian":
        return rng.standard_normal(shape) / np.sqrt(n_measurements)
    if kind == "bernoulli":
        return rng.choice([-1.0, 1.0], size=shape) / np.sqrt(n_measurements)
    if kind not in ("dct", "fourier"):
        raise ValueError(
            f"measurement_matrix: kind must be 'gaussian', 'bernoulli', 'dct' or 'fourier'; got {kind!r}."
        )
    if n_measurements > n_features:
        raise ValueError(
            f"measurement_matrix: n_measurements={n_measurements} is more than the {n_features} rows of the "
            f"transform; allowed are 1 to {n_features}."
        )
    rows = np.sort(rng.choice(n_features, size=n_measurements, replace=False))
    basis = basis_matrix("dct", n_features) if kind == "dct" else real_fourier_basis(n_features)
    return basis[rows] * np.sqrt(n_features / n_measurements)


def real_fourier_basis(n: int) -> np.ndarray:
    """Constant, cosines and sines of the frequencies 2πj/n, orthonormal.

    Examples
    --------
    >>> F = real_fourier_basis(5)
    >>> np.allclose(F @ F.T, np.eye(5))
    True
    """
    t, frequencies = np.arange(n), np.arange(n // 2 + 1)
    angles = 2 * np.pi / n * (np.outer(frequencies, t) % n)  # exact integers: no loss for long signals
    rows = np.empty((n, n))
    rows[: n // 2 + 1] = np.cos(angles)
    rows[n // 2 + 1 :] = np.sin(angles[1 : (n + 1) // 2])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
