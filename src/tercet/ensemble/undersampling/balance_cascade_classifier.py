"""BalanceCascade: each member looks at what those before it could not tell apart (Liu, Wu and Zhou 2009).

As in EasyEnsemble, AdaBoost is fitted on all rows of the smallest class and as many of every other one. Then the
rows of the larger classes that the member is surest of are taken away, so that the next one is drawn from harder
rows. A share f = (n_smallest / n_class)^(1 / (T - 1)) of a class stays in each of T rounds: the last member has as
many rows left as the smallest class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Floats
from tercet.core.meta import rows_at
from tercet.core.parameters import Count, Jobs, Seed
from tercet.ensemble.undersampling.base import UndersamplingEnsemble


def _without_thresholds(ensemble: Any) -> bool:
    if ensemble.use_thresholds:
        raise AttributeError("BalanceCascadeClassifier has no probabilities with use_thresholds=True.")
    return True


@method(
    zh="BalanceCascade 欠采样集成",
    task="classification",
    model="the class of the largest mean probability over boosted members, or of the largest shifted score",
    strategy="that of the members, each on classes of equal size",
    algorithms="undersampled sets one after the other, without the rows that members are sure of",
    texts=["watermelon notes ch. 1"],
    peers=["self_paced_ensemble.canonical_ensemble.BalanceCascadeClassifier"],
)
class BalanceCascadeClassifier(UndersamplingEnsemble):
    """BalanceCascade: AdaBoost on undersampled rows, again and again without the rows that are well known by now.

    A member's margin of a row is its score of the row's class less the largest other score. After each member a
    share of every larger class stays, those rows with the least margins; the largest margin that stays is the
    member's threshold for that class.

    Parameters
    ----------
    n_estimators : int, default=10
        The number of undersampled sets.
    estimator : classifier, optional
        The members; by default `AdaBoostClassifier()`. They must have `decision_function` or `predict_proba`.
    use_thresholds : bool, default=False
        Whether scores of a class are shifted by the thresholds before they are averaged, as in the paper:
        sign(sum_i [score_i(x) - theta_i]). The smaller the imbalance, the more rows are then taken for the smallest
        class; a ranking of rows does not depend on it. There are no probabilities with it.
    n_jobs : int, optional
        Threads for predictions. The answers do not depend on it.
    random_state : int, optional
        Decides the rows and the seeds of the members.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members.
    estimators_samples_ : list of arrays
        The rows of each member.
    thresholds_ : array of shape (n_members, n_classes)
        Margins above which rows of a class were taken away; 0 for the smallest class.
    n_rows_left_ : array of shape (n_members, n_classes)
        Rows of each class that the member's were drawn from.
    estimator_ : classifier
        What the members are clones of.
    classes_, n_classes_ : array and int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = (np.arange(1000) < 20).astype(int)  # 1 to 49
    >>> X = rng.normal(size=(1000, 2)) + 2.0 * y[:, None]
    >>> model = BalanceCascadeClassifier(3, random_state=0).fit(X, y)
    >>> model.n_rows_left_[:, 0], model.predict([[0, 0], [2, 2]])
    (array([980, 140,  20]), array([0, 1]))
    """

    def __init__(
        self,
        n_estimators: Count = 10,
        estimator: Any = None,
        *,
        use_thresholds: bool = False,
        n_jobs: Jobs = None,
        random_state: Seed = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.estimator = estimator
        self.use_thresholds = use_thresholds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        usable = self._usable_rows(y, sample_weight)
        if not any(hasattr(self.estimator_, name) for name in ("decision_function", "predict_proba")):
            raise ValueError(
                f"{type(self).__name__}: the members ({type(self.estimator_).__name__}) must have "
                "decision_function or predict_proba, to tell which rows they are sure of."
            )
        left = [usable[y[usable] == c] for c in range(len(self.classes_))]
        counts = np.array([len(rows) for rows in left])
        least, rng = int(counts.min()), generator(self.random_state)
        stay = (least / np.maximum(counts, least)) ** (1 / max(self.n_estimators - 1, 1))
        self.estimators_, self.estimators_samples_ = [], []
        thresholds, sizes = [], []
        for step in self.steps(self.n_estimators, name="member", unpack=self._state):
            sizes.append([len(rows) for rows in left])
            drawn = [rng.choice(rows, min(least, len(rows)), replace=False) for rows in left]
            rows, seed = np.sort(np.concatenate(drawn)), int(rng.integers(2**31 - 1))
            self.estimators_.append(self._fitted_member(X, y, sample_weight, rows, seed))
            self.estimators_samples_.append(rows)
            theta = np.zeros(len(counts))
            for c in np.flatnonzero(counts > least).tolist():
                # counted from the first size, so that rounding does not add up over the rounds
                keep = max(round(counts[c] * stay[c] ** len(sizes)), least)
                left[c], theta[c] = self._hardest(X, left[c], c, keep)
            thresholds.append(theta)
            step.report((len(sizes), thresholds, sizes))
        self.__dict__.update(self._state((len(sizes), thresholds, sizes)))

    def _hardest(self, X: Any, rows: np.ndarray, c: int, keep: int) -> tuple[np.ndarray, float]:
        """The rows of class c with the least margins by the last member, and the largest margin among them."""
        scores = self._scores(len(self.estimators_) - 1, rows_at(X, rows))
        margin = scores[:, c] - np.delete(scores, c, axis=1).max(axis=1)
        order = np.argsort(margin, kind="stable")[:keep]
        return np.sort(rows[order]), float(margin[order[-1]])

    def _scores(self, m: int, X: Any) -> np.ndarray:
        """The scores that a member gives to each class; two of them differ by its decision function."""
        member = self.estimators_[m]
        if not hasattr(member, "decision_function"):
            return np.asarray(member.predict_proba(X), dtype=np.float64)
        decision = np.asarray(member.decision_function(X), dtype=np.float64)
        return np.column_stack([-decision / 2, decision / 2]) if decision.ndim == 1 else decision

    def _state(self, state: tuple[int, list[np.ndarray], list[list[int]]]) -> dict[str, Any]:
        """The fitted attributes after so many members."""
        count, thresholds, sizes = state
        return {
            "estimators_": self.estimators_[:count],
            "estimators_samples_": self.estimators_samples_[:count],
            "thresholds_": np.array(thresholds[:count]),
            "n_rows_left_": np.array(sizes[:count]),
        }

    fitted_shapes = {"thresholds_": Floats("members classes", finite=True)}

    @available_if(_without_thresholds)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the members' probabilities; the shares of their votes where they give none.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._mean_answer(self._member_proba, X)

    def decision_function(self, X: Any) -> np.ndarray:
        """The mean of the members' scores, less their thresholds with `use_thresholds`.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For two classes the score of the second less that of the first.
        """
        scores = self._mean_answer(self._scores, X)
        if self.use_thresholds:
            scores = scores - self.thresholds_.mean(axis=0)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest mean probability, or with `use_thresholds` of the largest score.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        if not self.use_thresholds:
            return super().predict(X)
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]
