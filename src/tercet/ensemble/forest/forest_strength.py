"""Strength and correlation of a forest (森林的强度与相关性; watermelon notes ch. 2): what bounds its error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.ensemble.forest.forest_classifier import ForestClassifier


class ForestStrength(NamedTuple):
    """Strength, mean correlation of the trees, and the bound on the error that follows.

    Attributes
    ----------
    strength : float
        The mean margin s: how much surer the trees are of the true class than of the next.
    correlation : float
        The mean correlation rho of the margins of two trees.
    error_bound : float
        rho (1 - s²) / s²; infinite where s is not above 0.
    """

    strength: float
    correlation: float
    error_bound: float


@method(
    zh="森林的强度与相关性",
    task="theory",
    model="PE <= rho (1 - s²) / s², s the mean margin, rho the mean correlation of the trees' margins",
    strategy="the error falls with the strength of the trees and grows with their correlation",
    texts=["watermelon notes ch. 2"],
)
def forest_strength(forest: ForestClassifier, X: Any, y: Any) -> ForestStrength:
    """Strength and correlation of a fitted forest of classifiers, by its out-of-bag votes (Breiman).

    The margin of a row is the share of the votes for its class, less the largest share of another class; the
    strength is its mean. The margin of a single tree is 1 for a right answer, -1 for the class that comes second in
    the votes, and 0 for another. The correlation is the variance of the margin, divided by the square of the trees'
    mean standard deviation.

    Parameters
    ----------
    forest : RandomForestClassifier or ExtraTreesClassifier
        A fitted forest with `bootstrap=True`.
    X, y : arrays
        The rows and labels that it was fitted on.

    Returns
    -------
    ForestStrength

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tercet.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> found = forest_strength(RandomForestClassifier(30, random_state=0).fit(X, y), X, y)
    >>> bool(found.strength > 0.8), bool(0 < found.correlation < 1)
    (True, True)
    """
    name = type(forest).__name__
    if not isinstance(forest, ForestClassifier) or not forest.bootstrap or forest.n_outputs_ > 1:
        raise ValueError(
            f"forest_strength needs a fitted RandomForestClassifier or ExtraTreesClassifier of one output with "
            f"bootstrap=True, which has out-of-bag votes; got {name}."
        )
    X, y = forest._check(X, reset=False), np.searchsorted(forest.classes_, np.asarray(y))
    if len(y) != forest._n_rows or X.shape[0] != len(y):
        raise ValueError(
            f"forest_strength needs the {forest._n_rows} rows that {name} was fitted on; got {X.shape[0]} rows and "
            f"{len(y)} labels."
        )
    answers, unseen = _out_of_bag_answers(forest, X)
    return strength_of_votes(answers, unseen, y, len(forest.classes_))


def _out_of_bag_answers(forest: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The class that each tree gives each row, (n_trees, n), and whether the row was not in its sample."""
    unseen = np.ones((len(forest.estimators_), X.shape[0]), dtype=bool)
    for seen, rows in zip(unseen, forest.estimators_samples_):
        seen[rows] = False
    answers = [member.tree_.predict(X)[:, 0].argmax(axis=1) for member in forest.estimators_]
    return np.array(answers), unseen


def strength_of_votes(
    answers: np.ndarray, counted: np.ndarray, y: np.ndarray, n_classes: int
) -> ForestStrength:
    """Strength and correlation from the answers of members.

    Parameters
    ----------
    answers : array of ints of shape (n_members, n)
        The class that each member gives each row.
    counted : array of bool of shape (n_members, n)
        Which answers count: those for rows that the member has not seen.
    y : array of ints of shape (n,)
        The true classes.
    n_classes : int
    """
    keep = counted.any(axis=0)
    answers, counted, y = answers[:, keep], counted[:, keep], y[keep]
    rows = np.arange(len(y))
    votes = np.stack([((answers == c) & counted).sum(axis=0) for c in range(n_classes)], axis=1)
    share = votes / counted.sum(axis=0)[:, None]
    others = share.copy()
    others[rows, y] = -1.0
    second = others.argmax(axis=1)
    margin = share[rows, y] - share[rows, second]
    single = np.where(answers == y, 1.0, np.where(answers == second, -1.0, 0.0))
    seen = np.maximum(counted.sum(axis=1), 1)
    mean = (single * counted).sum(axis=1) / seen
    variance = (single**2 * counted).sum(axis=1) / seen - mean**2
    spread = float(np.mean(np.sqrt(np.maximum(variance, 0.0))[counted.any(axis=1)]))
    s, rho = float(margin.mean()), float(margin.var() / spread**2) if spread > 0 else 0.0
    return ForestStrength(s, rho, rho * (1.0 - s**2) / s**2 if s > 0 else np.inf)
