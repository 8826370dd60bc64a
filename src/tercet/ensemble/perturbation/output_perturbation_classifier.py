"""Ensembles by perturbed outputs (输出表示扰动; watermelon notes ch. 6): flipped labels, and smeared ones."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, check_is_fitted, generator
from tercet.core.fitted_checks import Each, Having, Sizes
from tercet.core.parallel import each, engine
from tercet.core.parameters import Count, Fraction, Jobs, Seed
from tercet.ensemble.base import BaseEnsemble, takes_weights
from tercet.ensemble.member_checks import check_member_classes, check_member_widths
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor


@method(
    zh="输出扰动集成",
    task="classification",
    model="the class of most votes, or of the largest mean output, over members",
    strategy="that of the members; they differ because each learns from other outputs",
    algorithms={
        "flip": "some labels are replaced at random (flipping output)",
        "smear": "labels become numbers with noise, for regressors (output smearing)",
    },
    texts=["watermelon notes ch. 6"],
)
class OutputPerturbationClassifier(BaseEnsemble, Classifier):
    """Classifiers on the same rows with perturbed outputs, which vote.

    "flip" gives each member labels of which a share `rate` is replaced, by other classes in proportion to their
    frequency. "smear" gives each member a column of 0 and 1 for every class, with Gaussian noise of `rate` times
    the column's standard deviation, and regressors learn all of them. Error-correcting output codes, the third way,
    are `tercet.multiclass.OutputCodeClassifier`.

    Parameters
    ----------
    estimator : classifier or regressor, optional
        The members: by default `DecisionTreeClassifier()`, for "smear" `DecisionTreeRegressor()`, or another
        regressor of several outputs.
    n_estimators : int, default=20
        The number of members.
    algorithm : {"flip", "smear"}, default="flip"
        How outputs are perturbed.
    rate : float, default=0.2
        The share of the labels that are flipped, or the size of the noise.
    n_jobs : int, optional
        Threads. The ensemble does not depend on it.
    random_state : int, optional
        Decides the perturbations, and the seeds of the members.

    Attributes
    ----------
    estimators_ : list of estimators
        The members.
    estimator_ : estimator
        What the members are clones of.
    classes_ : array of shape (n_classes,)

    Examples
    --------
    >>> X, y = [[1, 5], [2, 6], [3, 4], [7, 9], [8, 8], [9, 7]], [0, 0, 0, 1, 1, 1]
    >>> OutputPerturbationClassifier(random_state=0).fit(X, y).predict([[0, 3], [9, 9]])
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: Count = 20,
        *,
        algorithm: Literal["flip", "smear"] = "flip",
        rate: Fraction = 0.2,
        n_jobs: Jobs = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.algorithm = algorithm
        self.rate = rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor() if self.algorithm == "smear" else DecisionTreeClassifier()

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.estimator_ = self._base()
        if is_classifier(self.estimator_) == (self.algorithm == "smear"):
            kind = "regressor" if self.algorithm == "smear" else "classifier"
            raise ValueError(
                f"{type(self).__name__}: algorithm={self.algorithm!r} needs a {kind} as estimator; got "
                f"{type(self.estimator_).__name__}."
            )
        if sample_weight is not None and not takes_weights(self.estimator_):
            raise ValueError(
                f"{type(self).__name__}: the members ({type(self.estimator_).__name__}) take no sample_weight."
            )
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        perturb = smeared if self.algorithm == "smear" else flipped

        def fitted(seed: int) -> Any:
            outputs = perturb(y, len(self.classes_), self.rate, weight, np.random.default_rng([seed, 1]))
            if self.algorithm == "flip":
                outputs = self.classes_[outputs]
            return self._member(np.random.default_rng([seed, 2])).fit(X, outputs, **extra)

        seeds = generator(self.random_state).integers(2**31 - 1, size=self.n_estimators)
        new = engine(self.n_jobs).map(lambda seed: fitted(seed), seeds.tolist(), ())
        members: list[Any] = []
        for step in self.steps(self.n_estimators, name="member", unpack=self._state):
            members.append(next(new))
            step.report((len(members), members))
        self.estimators_ = members

    def _state(self, state: tuple[int, list[Any]]) -> dict[str, Any]:
        """The fitted attributes after so many members."""
        return {"estimators_": state[1][: state[0]]}

    fitted_shapes = {"estimators_": Each(Having({}, ("predict",)), "members")}

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" in vars(self):
            check_member_widths(type(self).__name__, self.estimators_, sizes.get("features"))
            check_member_classes(type(self).__name__, self.estimators_, self.classes_)

    def _outputs(self, member: Any, X: Any) -> np.ndarray:
        """What a member says of each class: a vote, or its outputs."""
        answer = np.asarray(member.predict(X))
        if self.algorithm == "smear":
            return answer.reshape(X.shape[0], len(self.classes_))
        return (answer[:, None] == self.classes_).astype(np.float64)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The shares of the votes; for "smear" the mean outputs, cut at 0 and divided by their sum.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        mean = sum(each(lambda member: self._outputs(member, X), self.estimators_, n_jobs=self.n_jobs))
        mean = np.maximum(mean / len(self.estimators_), 0.0)
        total = mean.sum(axis=1, keepdims=True)
        return np.where(total > 0, mean / np.where(total > 0, total, 1.0), 1.0 / mean.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """The class of most votes, or of the largest mean output; of equals, the first.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


def flipped(
    y: np.ndarray, n_classes: int, rate: float, weight: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Labels of which a share is replaced by other classes, in proportion to their frequency.

    Examples
    --------
    >>> y = np.array([0] * 6 + [1] * 4)
    >>> (flipped(y, 2, 0.3, np.ones(10), np.random.default_rng(0)) != y).sum()
    np.int64(3)
    """
    share = np.bincount(y, weight, n_classes) / weight.sum()
    rows = random.choice(len(y), round(rate * len(y)), replace=False)
    labels = y.copy()
    for i in rows:
        others = np.where(np.arange(n_classes) == y[i], 0.0, share)
        if others.sum() > 0:
            labels[i] = random.choice(n_classes, p=others / others.sum())
    return labels


def smeared(
    y: np.ndarray, n_classes: int, rate: float, weight: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """A column of 0 and 1 for each class, with Gaussian noise of `rate` times its standard deviation."""
    share = np.bincount(y, weight, n_classes) / weight.sum()
    noise = random.normal(size=(len(y), n_classes)) * np.sqrt(share * (1.0 - share))
    return np.eye(n_classes)[y] + rate * noise
