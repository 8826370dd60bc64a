"""K-SVD: the atoms of a dictionary one by one, each with its codes, by a decomposition of rank one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.decomposition._dictionary.atoms import approximate_updates, leading_pair

DUPLICATE = 0.99  # cosine from which on two atoms are one


@method(
    zh="K-SVD 原子更新",
    task="sparse coding",
    model="X ≈ AB: rows as combinations of few atoms, the rows of B",
    strategy="|E_k - a^k b_k|² over atom k and its codes, E_k the rows that use it without its part",
    algorithms="leading singular pair of E_k",
    texts=["watermelon notes ch. 10, eq. 10.17"],
)
def ksvd_atom_update(X: Any, dictionary: Any, code: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Update one atom and its codes as K-SVD does (10.17).

    E_k = X - Σ_{j≠k} a^j b_j, restricted to the rows that use atom k, is replaced by its best approximation of rank
    one: the new atom is the leading right singular vector, and the codes are σ times the left one. The error
    |X - AB|² cannot rise, and no code that was zero becomes another number.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The signals, in rows (the text has them in columns).
    dictionary : array of shape (n_components, n_features)
        The atoms B.
    code : array of shape (n_samples, n_components)
        The codes A.
    k : int
        Which atom.

    Returns
    -------
    atom : array of shape (n_features,)
        Of length 1, in the direction of the old one; the old one where no row uses it.
    codes : array of shape (n_samples,)
        Column k of the new codes.

    Examples
    --------
    >>> X = [[1, 0, 2], [2, 1, 0], [0, 3, 1], [1, 1, 1]]
    >>> atom, codes = ksvd_atom_update(X, [[1, 0, 0], [0, 1, 0]], [[1, 0], [2, 1], [0, 3], [0, 1]], 0)
    >>> atom.round(4), codes.round(4)
    (array([0.7882, 0.    , 0.6154]), array([2.019 , 1.5764, 0.    , 0.    ]))
    """
    X, D, A = (
        check_array(table, dtype=np.float64, input_name=name)
        for table, name in ((X, "X"), (dictionary, "dictionary"), (code, "code"))
    )
    if A.shape != (len(X), len(D)) or D.shape[1] != X.shape[1]:
        raise ValueError(
            f"ksvd_atom_update: X, dictionary and code do not fit together; their shapes are {X.shape}, {D.shape} "
            f"and {A.shape}."
        )
    if not 0 <= k < len(D):
        raise ValueError(f"ksvd_atom_update: k must be from 0 to {len(D) - 1}; got {k!r}.")
    users = np.flatnonzero(A[:, k])
    codes = np.zeros(len(X))
    if not users.size:
        return D[k].copy(), codes
    E = X[users] - A[users] @ D + np.outer(A[users, k], D[k])
    atom, codes[users] = best_rank_one(E, D[k])
    return atom, codes


def best_rank_one(E: np.ndarray, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unit vector b and the numbers a with the smallest |E - a b'|; b is turned towards `like`.

    Examples
    --------
    >>> best_rank_one(np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([-1.0, 0.0]))
    (array([-1., 0.]), array([-3., 0.]))
    """
    left, size, right = leading_pair(E)
    turn = -1.0 if right @ like < 0 else 1.0
    return turn * right + 0.0, turn * size * left + 0.0


def ksvd_pass(X: np.ndarray, dictionary: np.ndarray, code: np.ndarray, *, exact: bool = True) -> np.ndarray:
    """Update all atoms and their codes in turn, in place; returns the residual X - AB.

    Without `exact` an atom becomes E_k'a / |E_k'a| and its codes E_k b, one step of the power method: the error
    cannot rise either, and it takes a fraction of the time.

    Examples
    --------
    >>> X, D = np.array([[2.0, 0.0], [4.0, 2.0], [0.0, 1.0]]), np.eye(2)
    >>> code = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    >>> residual = ksvd_pass(X, D, code)
    >>> D.round(4), round(float((residual**2).sum()), 4)
    (array([[ 0.9802, 0.1979],
           [-0.0184, 0.9998]]), 0.1573)
    """
    residual = X - code @ dictionary
    if exact:
        for k, atom in enumerate(dictionary):
            users = np.flatnonzero(code[:, k])
            if users.size:
                E = residual[users] + np.outer(code[users, k], atom)
                dictionary[k], code[users, k] = best_rank_one(E, atom)
                residual[users] = E - np.outer(code[users, k], dictionary[k])
        return residual
    samples, atoms = np.nonzero(code)
    order = np.argsort(atoms, kind="stable")
    samples, atoms = samples[order], atoms[order]
    starts = np.searchsorted(atoms, np.arange(len(dictionary) + 1))
    values = code[samples, atoms]
    approximate_updates(dictionary, residual, samples, starts, values)
    code[samples, atoms] = values
    return residual


def random_atoms(X: np.ndarray, n_components: int, rng: Any) -> np.ndarray:
    """Atoms to start from: signals drawn without repetition, and random directions where they do not suffice."""
    there = np.flatnonzero(X.any(axis=1))
    drawn = X[rng.permutation(there)[:n_components]]
    more = rng.normal(size=(n_components - len(drawn), X.shape[1]))
    return unit_rows(np.vstack([drawn, more]), rng)


def unit_rows(atoms: np.ndarray, rng: Any) -> np.ndarray:
    """Atoms of length 1; one of zeros becomes a random direction."""
    atoms = np.array(atoms, dtype=np.float64)
    empty = ~atoms.any(axis=1)
    atoms[empty] = rng.normal(size=(int(empty.sum()), atoms.shape[1]))
    atoms /= np.abs(atoms).max(axis=1, keepdims=True)  # squares of tiny numbers would vanish
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def merge_duplicates(dictionary: np.ndarray, code: np.ndarray) -> int:
    """Give the codes of an atom to one that is nearly equal, in place; returns how many atoms lose theirs.

    Two atoms for one direction are a local minimum that K-SVD does not leave by itself.
    """
    cosines = np.triu(dictionary @ dictionary.T, 1)
    merged = 0
    for first, second in zip(*np.nonzero(np.abs(cosines) > DUPLICATE)):
        if code[:, second].any():
            code[:, first] += np.sign(cosines[first, second]) * code[:, second]
            code[:, second] = 0.0
            merged += 1
    return merged


def replace_unused(dictionary: np.ndarray, X: np.ndarray, code: np.ndarray, residual: np.ndarray) -> int:
    """Atoms that no signal uses become the signals with the largest errors; returns how many do."""
    unused = np.flatnonzero(~code.any(axis=0))
    errors = (residual**2).sum(axis=1)
    worst = np.argsort(-errors, kind="stable")[: unused.size]
    worst = worst[errors[worst] > 0]
    for k, i in zip(unused, worst):
        dictionary[k] = X[i] / np.linalg.norm(X[i])
    return len(worst)
