"""Probability calibration (概率校准): Platt's sigmoid, isotonic regression, coupling of pairwise probabilities.

The calibration is fitted to scores of held-out rows. The folds are fixed, so that nothing is random, and each fit
without a fold begins at the multipliers of the fit with all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit

from tercet.core.parallel import Chunks, each
from tercet.svm._dual.problem import DualSolution
from tercet.svm.binary_problems import BinaryProblem

FOLDS = 5
MIN_PROBABILITY = 1e-7  # probabilities are kept this far from 0 and 1, as in libsvm
CONVERGED = 1e-10  # a step smaller than this changes no probability


def calibrate(
    how: Literal["platt", "isotonic"],
    binary: list[BinaryProblem],
    solutions: list[DualSolution],
    weight: np.ndarray,
    held_out_scores: Callable[[BinaryProblem, DualSolution, np.ndarray], np.ndarray],
    n_jobs: int | None,
) -> list[np.ndarray]:
    """The calibration of each binary problem, by `platt` or `isotonic`, from scores of held-out rows.

    Parameters
    ----------
    how, binary, solutions, weight
        The method, the problems with their solutions, and the weights of all rows.
    held_out_scores : callable
        Solves a problem without the rows of a mask, and returns their scores.
    n_jobs : int, optional
        Threads, over problems and folds.
    """
    tasks = [
        (problem, solution, held)
        for problem, solution in zip(binary, solutions)
        for held in folds(problem.sign)
    ]
    values = iter(each(lambda task: held_out_scores(*task), tasks, n_jobs=n_jobs))
    found = []
    for problem in binary:
        scores = np.zeros(problem.rows.size)
        for held in folds(problem.sign):
            scores[held] = next(values)
        fit = platt if how == "platt" else isotonic
        found.append(fit(scores, problem.sign, weight[problem.rows]))
    return found


def folds(sign: np.ndarray) -> list[np.ndarray]:
    """Masks of the rows to hold out: in each sign, every fifth row (fewer folds where there are fewer rows)."""
    rank = np.where(sign > 0, np.cumsum(sign > 0), np.cumsum(sign < 0)) - 1
    count = int(np.clip(min(np.sum(sign > 0), np.sum(sign < 0)), 2, FOLDS))
    return [rank % count == k for k in range(count)]


def platt(scores: np.ndarray, sign: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Platt's sigmoid: the probability of the sign +1 given the score.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores of held-out rows.
    sign : array of shape (n,)
        Their signs, -1 or +1.
    weight : array of shape (n,), optional
        How much each row counts.

    Returns
    -------
    array of shape (2,)
        A and B of P(+1) = 1 / (1 + exp(A f + B)).

    Examples
    --------
    >>> A, B = platt(np.array([-2.0, -1, 1, 2]), np.array([-1, -1, 1, 1]))
    >>> bool(A < 0), bool(abs(B) < 1e-9)
    (True, True)
    """
    f, sign = np.asarray(scores, dtype=np.float64), np.asarray(sign)
    weight = np.ones(f.size) if weight is None else np.asarray(weight, dtype=np.float64)
    plus, minus = weight[sign > 0].sum(), weight[sign <= 0].sum()
    target = np.where(sign > 0, (plus + 1) / (plus + 2), 1 / (minus + 2))
    scale = max(np.abs(f).max(initial=0.0), 1e-300)  # so that both parameters are of the same scale
    rows = np.stack([f / scale, np.ones(f.size)])
    theta = np.array([0.0, np.log((minus + 1) / (plus + 1))])

    def loss(theta: np.ndarray) -> float:
        z = theta @ rows
        return float(weight @ (np.logaddexp(0, z) - (1 - target) * z))

    value = loss(theta)
    for _ in range(100):
        p = expit(-(theta @ rows))
        gradient = rows @ (weight * (target - p))
        curvature = (rows * (weight * p * (1 - p))) @ rows.T + 1e-12 * (weight.sum() or 1.0) * np.eye(2)
        step = np.linalg.solve(curvature, -gradient)
        slope, size = float(gradient @ step), 1.0
        while size > 1e-10 and not loss(theta + size * step) <= value + 1e-4 * size * slope:
            size /= 2
        if size <= 1e-10:  # no decrease but rounding
            break
        theta = theta + size * step
        value = loss(theta)
        if np.abs(step).max() <= CONVERGED * (1 + np.abs(theta).max()):
            break
    return np.array([theta[0] / scale, theta[1]])


def isotonic(scores: np.ndarray, sign: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """The rising step function of scores that fits the signs best; linear between its corners.

    Parameters
    ----------
    scores, sign, weight : arrays of shape (n,)
        As in `platt`.

    Returns
    -------
    array of shape (2, n_corners)
        Scores, and P(+1) there.

    Examples
    --------
    >>> isotonic(np.array([-2.0, -1, 0, 1]), np.array([-1, 1, -1, 1]))
    array([[-2. , -1. ,  0. ,  1. ],
           [ 0. ,  0.5,  0.5,  1. ]])
    """
    if not len(scores):
        return np.array([[0.0], [0.5]])
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
    at, place = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    mass = np.bincount(place, weights=weight)
    mean = np.bincount(place, weights=weight * (np.asarray(sign) > 0)) / mass
    level = isotonic_regression(mean, weights=mass).x
    flat = np.concatenate([[False], (level[1:-1] == level[:-2]) & (level[1:-1] == level[2:]), [False]])
    keep = ~flat[: at.size]
    return np.stack([at[keep], level[keep]])


def calibrated_probabilities(learned: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """P(+1) at scores, by what `platt` or `isotonic` returned."""
    if learned.ndim == 1:
        return expit(-(learned[0] * scores + learned[1]))
    return np.interp(scores, *learned)


def platt_parameters(model: Any) -> np.ndarray:
    """A and B of the sigmoids of a fitted classifier, of shape (2, n_binary); (2, 0) where there are none.

    libsvm's f of two classes is positive for the first one, so that its B has the opposite sign.
    """
    found = [part for part in vars(model).get("calibration_", []) if part.ndim == 1]
    parameters = np.array(found, dtype=np.float64).reshape(-1, 2).T
    if model.classes_.size == 2:
        parameters = parameters * np.array([[1.0], [-1.0]])
    return parameters


def warn_of_probability(name: str) -> None:
    """The warning of the parameter `probability`, which scikit-learn deprecates."""
    warnings.warn(
        f"The `probability` parameter was deprecated in scikit-learn 1.9 and will go in 1.11: use "
        f"`{name}(calibration='platt')`, or `CalibratedClassifierCV({name}(), ensemble=False)`.",
        FutureWarning,
        stacklevel=4,
    )


def warn_of_attribute(name: str) -> None:
    """The warning of `probA_` and `probB_`, which scikit-learn deprecates."""
    warnings.warn(
        f"Attribute `{name}` was deprecated in scikit-learn 1.9 and will go in 1.11; `calibration_` has the "
        "parameters of the sigmoids.",
        FutureWarning,
        stacklevel=3,
    )


def pairwise_coupling(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of classes from those of pairs of classes (Wu, Lin and Weng).

    Parameters
    ----------
    pairs : array of shape (n, n_classes * (n_classes - 1) / 2)
        For the pairs (0, 1), (0, 2) ..., (1, 2) ..., the probability of the first.
    n_classes : int
        How many classes there are.

    Returns
    -------
    array of shape (n, n_classes)

    Examples
    --------
    >>> pairwise_coupling(np.array([[2 / 3, 4 / 5, 2 / 3]]), 3).round(4)  # from (4, 2, 1) / 7
    array([[0.5714, 0.2857, 0.1429]])
    """
    return np.concatenate([_coupled(part, n_classes) for (part,) in Chunks(np.asarray(pairs), rows=4096)])


def _coupled(pairs: np.ndarray, k: int) -> np.ndarray:
    r = np.zeros((len(pairs), k, k))
    for (i, j), p in zip(combinations(range(k), 2), np.clip(pairs, MIN_PROBABILITY, 1 - MIN_PROBABILITY).T):
        r[:, i, j], r[:, j, i] = p, 1 - p
    system = np.ones((len(pairs), k + 1, k + 1))
    system[:, :k, :k] = -r * r.transpose(0, 2, 1)
    system[:, range(k), range(k)] = (r**2).sum(axis=1)
    system[:, k, k] = 0
    right = np.zeros((len(pairs), k + 1, 1))
    right[:, k] = 1
    p = np.clip(np.linalg.solve(system, right)[:, :k, 0], 0, 1)
    return p / p.sum(axis=1, keepdims=True)


def probabilities_from_code(letters: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Probabilities of classes from those of the letters of their code words.

    The letter l of a class is +1 with probability P_l = Σ p over the classes that have +1 / Σ p over those that use
    it; the p that make Σ_l (q_l ln P_l + (1 - q_l) ln(1 - P_l)) greatest are found by the generalised Bradley-Terry
    iteration of Huang, Weng and Lin, which raises it in every step and keeps p positive.

    Parameters
    ----------
    letters : array of shape (n, n_letters)
        The probability q that a letter is +1.
    code : array of shape (n_classes, n_letters)
        The letters of the classes: -1, 0 (not used) or +1.

    Returns
    -------
    array of shape (n, n_classes)

    Examples
    --------
    >>> probabilities_from_code(np.array([[0.5, 0.3, 0.2]]), 2 * np.eye(3) - 1).round(4)
    array([[0.5, 0.3, 0.2]])
    """
    q = np.clip(letters, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    plus, minus = (code > 0).astype(np.float64), (code < 0).astype(np.float64)
    p = np.full((len(q), len(code)), 1 / len(code))
    left = np.arange(len(q))  # rows that have not converged
    for _ in range(1000):
        old, said = p[left], q[left]
        yes, no = old @ plus, old @ minus
        new = (
            old
            * ((said / yes) @ plus.T + ((1 - said) / no) @ minus.T)
            / ((1 / (yes + no)) @ (plus + minus).T)
        )
        new /= new.sum(axis=1, keepdims=True)
        p[left] = new
        left = left[np.abs(new - old).max(axis=1) >= CONVERGED]
        if not left.size:
            break
    return p
