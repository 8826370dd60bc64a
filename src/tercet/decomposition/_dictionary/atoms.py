"""Updates of the atoms of a dictionary by block coordinate descent, and of K-SVD in its approximate form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from tercet.core.kernel import kernel

UNUSED = 1e-6  # Σ a_k² up to which an atom counts as unused


def update_atoms(
    dictionary: np.ndarray,
    X: np.ndarray,
    code: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    rng: Any,
    positive: bool,
) -> int:
    """Minimise |X - code D|² over one atom after the other, with |d_k| <= 1, in place.

    Parameters
    ----------
    dictionary : array of shape (n_components, n_features)
        The atoms.
    X, code : arrays of shapes (n_samples, n_features) and (n_samples, n_components)
        Signals, of which an unused atom becomes a noisy copy, and their codes, which are 0 there.
    A, B : arrays of shapes (n_components, n_components) and (n_components, n_features)
        code'code and code'X, or sums of them over batches.
    rng : RandomState or Generator
        Draws the signal and the noise.
    positive : bool
        Whether atoms must not be negative.

    Returns
    -------
    replaced : int
        How many atoms were unused.
    """
    replaced = 0
    for k, weight in enumerate(A.diagonal()):
        atom = dictionary[k]
        if weight > UNUSED:
            atom += (B[k] - A[k] @ dictionary) / weight
        else:
            signal = X[rng.choice(len(X))]
            atom[:] = signal + rng.normal(0, 0.01 * (float(signal.std()) or 1.0), size=signal.size)
            code[:, k] = 0.0
            replaced += 1
        if positive:
            np.maximum(atom, 0.0, out=atom)
        atom /= max(float(np.linalg.norm(atom)), 1.0)
    return replaced


def leading_pair(E: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """The leading singular triplet u, σ, v of a matrix, by the eigenvector of its smaller Gram matrix."""
    tall = E.shape[0] >= E.shape[1]
    gram = E.T @ E if tall else E @ E.T
    last = len(gram) - 1
    side = linalg.eigh(gram, subset_by_index=(last, last), check_finite=False)[1][:, 0]
    other = E @ side if tall else side @ E
    size = float(np.linalg.norm(other))
    other = other / size if size > 0 else np.eye(1, len(other))[0]
    return (other, size, side) if tall else (side, size, other)


@kernel
def approximate_updates(dictionary: Any, residual: Any, samples: Any, starts: Any, values: Any) -> None:
    """One pass of approximate K-SVD, in place: each atom and its codes by one step of the power method.

    The samples that use atom k, and its codes there, are the entries starts[k] ... starts[k + 1] of `samples` and
    `values`; `residual` is X - code D, of shape (n_samples, n_features).
    """
    new = np.empty(dictionary.shape[1])
    for k in range(dictionary.shape[0]):
        atom, square = dictionary[k], 0.0
        if starts[k] == starts[k + 1]:
            continue
        for j in range(new.size):
            new[j] = 0.0
        for s in range(starts[k], starts[k + 1]):
            g, r = values[s], residual[samples[s]]
            square += g * g
            for j in range(new.size):
                new[j] += g * r[j]
        # sums stay apart from loops that write: which of these are vectorised depends on where arrays lie
        for j in range(new.size):
            new[j] += square * atom[j]
        length = 0.0
        for j in range(new.size):
            length += new[j] * new[j]
        if not length > 0:
            continue
        length = np.sqrt(length)
        for j in range(new.size):
            new[j] /= length
        for s in range(starts[k], starts[k + 1]):
            g, r, code = values[s], residual[samples[s]], 0.0
            for j in range(new.size):
                r[j] += g * atom[j]
            for j in range(new.size):
                code += r[j] * new[j]
            for j in range(new.size):
                r[j] -= code * new[j]
            values[s] = code
        for j in range(new.size):
            atom[j] = new[j]
