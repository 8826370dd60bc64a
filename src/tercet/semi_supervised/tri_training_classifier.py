"""Tri-training (三体训练)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Each, Having, Labels
from tercet.core.parameters import Count, Seed
from tercet.semi_supervised.partial_labels import decode_labels, warn_all_labeled
from tercet.semi_supervised.pseudo_labels import PseudoLabeling, fitted_rows

DRAWS = 20  # bootstrap samples to draw until one has all classes


@method(
    zh="三体训练",
    task="classification",
    model="the vote of three classifiers",
    strategy="that of the estimator; each learns from the labels on which the other two agree",
    algorithms="where the other two agree, and err seldom enough, their labels are learned from",
    texts=["watermelon notes ch. 11, sec. 11.5"],
    peers=["sslearn.wrapper.TriTraining"],
)
class TriTrainingClassifier(PseudoLabeling):
    """Tri-training: three classifiers of which two, where they agree, teach the third.

    They begin on bootstrap samples of the labelled rows. In each pass, the rows without a label on which two of
    them agree are labels for the third, if the bound on its error falls: with e the share of errors of the two
    among the labelled rows on which they agree, and l such rows, when e l < e' l' of the pass before (Zhou and
    Li, 2005). It needs no views and no confidences. Learning is inductive.

    Parameters
    ----------
    estimator : estimator
        Any classifier.
    max_iter : int, default=100
        The most passes; it ends when no classifier changes, which takes few.
    random_state : int, optional
        Decides the bootstrap samples, and which labels are left out where there are too many.

    Attributes
    ----------
    estimators_ : list of three estimators
        The classifiers.
    classes_ : array of shape (n_classes,)
        The labels.
    transduction_ : array of shape (n_samples,)
        The labels that were given, and the votes on all other rows.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> from tercet.naive_bayes import GaussianNB
    >>> X = [[0.0], [1.0], [0.5], [2.0], [5.0], [6.5], [6.0], [7.0]]
    >>> model = TriTrainingClassifier(GaussianNB(), random_state=1)
    >>> model.fit(X, [0, 0, -1, -1, -1, -1, 1, 1]).transduction_
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(self, estimator: Any, *, max_iter: Count = 100, random_state: Seed = None) -> None:
        self.estimator = estimator
        self.max_iter = max_iter
        self.random_state = random_state

    fitted_shapes = {
        "estimators_": Each(Having({}, ("predict",)), "3"),
        "transduction_": Labels("samples"),
    }
    estimators_: list[Any]
    transduction_: np.ndarray

    def _fit(self, X: Any, y: np.ndarray, sample_weight: Any, params: dict[str, Any] | None = None) -> None:
        rng = generator(self.random_state)
        known, rest = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
        if not rest.size:
            warn_all_labeled("TriTrainingClassifier")

        def learn(codes: np.ndarray, rows: np.ndarray) -> Any:
            return self._fit_on(self.estimator, X, codes, sample_weight, params or {}, rows)

        models = [learn(y, _bootstrap(known, y, rng)) for _ in range(3)]
        error, size = np.full(3, 0.5), np.zeros(3)  # e' and l' of the pass before
        for step in self.steps(self.max_iter):
            said = [self._votes(model, X[known]) for model in models]
            guesses = [self._votes(model, X[rest]) for model in models] if rest.size else []
            lessons: list[tuple[int, np.ndarray, float]] = []
            for i in range(3) if rest.size else ():
                j, k = (i + 1) % 3, (i + 2) % 3
                e = pair_error(said[j], said[k], y[known])
                if e >= error[i]:
                    continue
                agreed = np.flatnonzero(guesses[j] == guesses[k])
                least = size[i] or np.floor(e / (error[i] - e) + 1)
                if least >= agreed.size:
                    continue
                if e * agreed.size >= error[i] * least:
                    if least <= e / (error[i] - e):
                        continue
                    keep = int(np.ceil(error[i] * least / e - 1))
                    agreed = np.sort(rng.permutation(agreed)[:keep])
                lessons.append((i, agreed, e))
            for i, agreed, e in lessons:
                codes = y.copy()
                codes[rest[agreed]] = guesses[(i + 1) % 3][agreed]
                models[i] = learn(codes, np.concatenate([known, rest[agreed]]))
                error[i], size[i] = e, agreed.size
            step.report(taught=len(lessons), error=float(error.mean()), estimators_=list(models))
            if step.converged(not lessons):
                break
        self.estimators_ = models
        codes = y.copy()
        if rest.size:
            codes[rest] = self._vote_shares(X[rest]).argmax(axis=1)
        self.transduction_ = decode_labels(self.classes_, codes)

    def _votes(self, model: Any, X: Any) -> np.ndarray:
        return np.searchsorted(self.classes_, np.ravel(model.predict(X)))

    def _vote_shares(self, X: Any) -> np.ndarray:
        votes = [self._votes(model, X) for model in self.estimators_]
        return np.mean([np.eye(self.classes_.size)[vote] for vote in votes], axis=0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of the three votes that each class gets.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        return self._vote_shares(fitted_rows(self, X))

    def predict(self, X: Any) -> np.ndarray:
        """The class with most of the three votes; the first of the classes where all differ.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


def pair_error(first: np.ndarray, second: np.ndarray, y: np.ndarray) -> float:
    """Share of errors of two classifiers among the rows on which they agree; 1/2 where they agree on none.

    Examples
    --------
    >>> pair_error(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), np.array([0, 1, 1, 1])).__round__(3)
    0.333
    """
    agree = first == second
    return float((first != y)[agree].mean()) if agree.any() else 0.5


def _bootstrap(known: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labelled rows drawn with replacement, with a row of each class."""
    classes = np.unique(y[known])
    for _ in range(DRAWS):
        drawn = np.sort(rng.choice(known, size=known.size))
        if np.unique(y[drawn]).size == classes.size:
            return drawn
    first = [known[y[known] == c][0] for c in classes]
    return np.sort(np.concatenate([drawn, first]))
