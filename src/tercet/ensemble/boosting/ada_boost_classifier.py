"""AdaBoost (提升方法): every member looks harder at what those before it got wrong (Li ch. 8, Alg 8.1)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from scipy.special import softmax
from sklearn.metrics import accuracy_score

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, check_is_fitted, distinct, generator
from tercet.core.fitted_checks import Sizes, Whole
from tercet.core.meta import rows_at
from tercet.core.parameters import Count, CountOrZero, Jobs, Positive, Seed
from tercet.ensemble._engine.packed_trees import PackedTrees
from tercet.ensemble.base import BOOSTED_SHAPES, BaseEnsemble, as_tree_input, takes_weights
from tercet.ensemble.boosting.adaboost_round import (
    AdaBoostRound,
    adaboost_round,
    log_odds,
    real_adaboost_round,
)
from tercet.ensemble.boosting.boosted_classes import BoostedClasses
from tercet.ensemble.member_checks import check_member_classes, check_member_widths
from tercet.tree import DecisionTreeClassifier, PresortedStumps, Tree


@method(
    zh="AdaBoost 分类",
    task="classification",
    model="f(x) = sum over m of alpha_m G_m(x), and the class of the largest f",
    strategy="exponential loss exp(-y f(x)) of the additive model",
    loss="exponential",
    convex=False,
    algorithms={
        "samme": "members on re-weighted rows, weights ln((1-e)/e) + ln(K-1): for two classes Alg 8.1",
        "samme.r": "real AdaBoost: members answer with half the log odds of their probabilities",
        "m1": "Alg 8.1, forward stagewise: weights 1/2 ln((1-e)/e); for several classes AdaBoost.M1",
    },
    texts=[
        "Li ch. 8, Alg 8.1",
        "Li ch. 12, Table 12.1",
        "Machine Learning in Depth ch. 8",
        "watermelon notes ch. 2, 6",
    ],
    peers=["sklearn.ensemble.AdaBoostClassifier"],
)
class AdaBoostClassifier(BoostedClasses, BaseEnsemble, Classifier):
    """AdaBoost: members that are fitted one after the other, each on rows re-weighted by the mistakes so far.

    With D_1 uniform (or `sample_weight`), round m fits G_m to the rows weighted by D_m and takes

        e_m = sum_i D_m(i) [G_m(x_i) != y_i],   alpha_m = 1/2 ln((1 - e_m) / e_m),
        D_{m+1}(i) = D_m(i) exp(-alpha_m y_i G_m(x_i)) / Z_m.

    The answer is the sign of f = sum_m alpha_m G_m. The training error is at most the product of the Z_m (see
    `training_error_bounds`); `history_` has e_m, alpha_m and Z_m of every round, and with `record` D_m.

    Parameters
    ----------
    estimator : classifier, optional
        The members; by default `DecisionTreeClassifier(max_depth=1)`. They must take `sample_weight`, unless
        sampling="resample".
    n_estimators : int, default=50
        The most members.
    learning_rate : float, default=1.0
        Shrinks the weight of every member.
    random_state : int, optional
        Decides the seeds of the members, and the draws of sampling="resample".
    algorithm : {"samme", "samme.r", "m1"}, default="samme"
        "samme" is scikit-learn's, for any number of classes. "m1" is that of the text, with its weights (half as
        large) and f as it is, not divided by their sum; it stops at a member whose error is 1/2 or more. "samme.r"
        uses the probabilities that members give.
    sampling : {"weight", "resample"}, default="weight"
        Whether members get the weights D_m, or rows drawn from them with replacement.
    max_restarts : int, default=0
        With sampling="resample": how often a member that is no better than chance is replaced by one from another
        draw, before learning ends.
    record : bool, default=False
        Keep the weights of the rows with which each member was fitted, D_m, in `history_["D"]`.
    n_jobs : int, optional
        Threads. The model does not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members.
    estimator_weights_, estimator_errors_ : arrays of shape (n_members,)
        alpha_m (in "samme" without the factor 1/2) and e_m.
    estimator_ : classifier
        What the members are clones of.
    classes_, n_classes_ : array and int
    feature_importances_ : array of shape (n_features,)
        Those of the members, weighted by theirs.

    Examples
    --------
    >>> from tercet.tree import DecisionStump
    >>> X, y = np.arange(10.0)[:, None], [1, 1, 1, -1, -1, -1, 1, 1, 1, -1]
    >>> model = AdaBoostClassifier(DecisionStump(), n_estimators=3, algorithm="m1").fit(X, y)
    >>> model.estimator_weights_.round(4), model.score(X, y)
    (array([0.4236, 0.6496, 0.752 ]), 1.0)
    """

    relative_weights = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: Count = 50,
        learning_rate: Positive = 1.0,
        random_state: Seed = None,
        algorithm: Literal["samme", "samme.r", "m1"] = "samme",
        sampling: Literal["weight", "resample"] = "weight",
        max_restarts: CountOrZero = 0,
        record: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.algorithm = algorithm
        self.sampling = sampling
        self.max_restarts = max_restarts
        self.record = record
        self.n_jobs = n_jobs

    def _default_estimator(self) -> Any:
        return DecisionTreeClassifier(max_depth=1)

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, index = distinct(y)  # one class is enough: the first member is right everywhere
        self.n_classes_ = len(self.classes_)
        return index

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._check_members()
        X = as_tree_input(self.estimator_, X)
        D = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        D = D / D.sum()
        fit_member = self._member_fitter(X, y, D > 0)
        self.estimators_, errors, weights = [], [], []
        restarts = self.max_restarts if self.sampling == "resample" else 0
        for step in self.steps(self.n_estimators, name="round", unpack=self._state):
            member = fit_member(D)
            now = self._round(member, X, y, D)
            while now.error >= self._chance() and restarts > 0:
                restarts -= 1
                member = fit_member(D)
                now = self._round(member, X, y, D)
            if now.error >= self._chance():
                break  # no better than chance
            self.estimators_.append(member)
            errors.append(now.error)
            weights.append(self._weight(now))
            trace = {"D": D} if self.record else {}
            step.report((len(errors), errors, weights), error=now.error, alpha=now.alpha, Z=now.Z, **trace)
            D = now.D
            if not np.isfinite(D).all():
                warnings.warn(
                    f"Sample weights have reached infinite values in round {len(errors)}: learning ends here. Try "
                    "a lower learning_rate.",
                    stacklevel=4,
                )
                break
            if now.error <= 0.0:
                break  # a member without mistakes: nothing is left to learn
        if not self.estimators_:
            raise ValueError(
                f"{type(self).__name__}: the first member is worse than random (error {now.error:.3g}; less than "
                f"{self._chance():.3g} is needed); the ensemble can not be fit. Give another `estimator`."
            )
        self.__dict__.update(self._state((len(errors), errors, weights)))

    def _state(self, state: tuple[int, list[float], list[float]]) -> dict[str, Any]:
        """The fitted attributes after so many rounds."""
        count, errors, weights = state
        return {
            "estimators_": self.estimators_[:count],
            "estimator_errors_": np.array(errors[:count]),
            "estimator_weights_": np.array(weights[:count]),
        }

    fitted_shapes = {**BOOSTED_SHAPES, "n_classes_": Whole("classes", 1)}

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" in vars(self):
            check_member_widths(type(self).__name__, self.estimators_, sizes.get("features"))
            check_member_classes(type(self).__name__, self.estimators_, self.classes_)

    def _round(self, member: Any, X: Any, y: np.ndarray, D: np.ndarray) -> AdaBoostRound:
        """The error and the weight of a member, and the weights of the rows for the next one."""
        if self.algorithm == "samme.r":
            proba = self._aligned_proba(member, X)
            return real_adaboost_round(D, y, proba, self.learning_rate)
        wrong = self._votes(member, X) != y
        return adaboost_round(
            D, wrong, self.learning_rate, self.n_classes_ if self.algorithm == "samme" else 2
        )

    def _weight(self, now: AdaBoostRound) -> float:
        """The weight of a member: alpha in "m1", 2 alpha in "samme", where a member without errors has 1."""
        if self.algorithm == "m1":
            return now.alpha
        return 1.0 if self.algorithm == "samme.r" or now.error <= 0.0 else 2.0 * now.alpha

    def _chance(self) -> float:
        """The error at which a member is of no use."""
        if self.algorithm == "samme.r" or self.n_classes_ == 1:
            return np.inf
        return 0.5 if self.algorithm == "m1" else 1.0 - 1.0 / self.n_classes_

    def _check_members(self) -> None:
        self.estimator_ = self._base()
        name = f"{type(self).__name__}: the members ({type(self.estimator_).__name__})"
        if self.sampling == "weight" and not takes_weights(self.estimator_):
            raise ValueError(
                f"{type(self.estimator_).__name__} doesn't support sample_weight: {name} take no sample_weight; "
                "give others, or sampling='resample'."
            )
        if self.algorithm == "samme.r" and not hasattr(self.estimator_, "predict_proba"):
            raise ValueError(f"{name} have no predict_proba, which algorithm='samme.r' needs.")

    def _member_fitter(self, X: Any, y: np.ndarray, used: np.ndarray) -> Any:
        """A function of the weights D that returns a fitted member; `used` are the rows that have any weight."""
        random, labels = generator(self.random_state), self.classes_[y]
        if self.sampling == "weight" and is_plain_stump(self.estimator_, X):
            stumps = PresortedStumps(X[used], y[used], self.n_classes_, self.n_jobs)

            def grown(D: np.ndarray) -> Any:
                tree = Tree.from_arrays(stumps.grow(D[used]), verify=False)
                return self._member(random).with_tree(tree, X.shape[1], self.classes_)

            return grown

        def fitted(D: np.ndarray) -> Any:
            member = self._member(random)
            if self.sampling == "weight":
                member.fit(X, labels, sample_weight=D)
            else:
                drawn = random.choice(len(y), len(y), p=D)
                member.fit(rows_at(X, drawn), labels[drawn])
            return member

        return fitted

    def _votes(self, member: Any, X: Any) -> np.ndarray:
        """The indices of the classes that a member predicts."""
        return np.searchsorted(self.classes_, member.predict(X))

    def _aligned_proba(self, member: Any, X: Any) -> np.ndarray:
        """A member's probabilities of all classes, of which it may have seen only some."""
        proba = np.zeros((len(X) if isinstance(X, list) else X.shape[0], self.n_classes_))
        proba[:, np.searchsorted(self.classes_, member.classes_)] = member.predict_proba(X)
        return proba

    def _contributions(self, X: Any) -> Iterator[np.ndarray]:
        """What each member adds to the scores of the classes, of shape (n, n_classes)."""
        K = self.n_classes_
        for member, weight in zip(self.estimators_, self.estimator_weights_):
            if self.algorithm == "samme.r":
                yield log_odds(self._aligned_proba(member, X))
            else:
                chosen = self._votes(member, X)
                added = np.full((len(chosen), K), -weight / max(K - 1, 1))
                added[np.arange(len(chosen)), chosen] = weight
                yield added

    def _scores(self, X: Any) -> np.ndarray:
        """The sum of all contributions."""
        packed = self._packed() if isinstance(X, np.ndarray) and X.dtype.kind == "f" else None
        if packed is not None:
            return packed.sums(X, self.n_jobs)
        return sum(self._contributions(X), start=np.zeros((1, self.n_classes_)))

    def _packed(self) -> PackedTrees | None:
        """The members as one table of nodes, where they are trees of numbers."""
        if not all(type(member) is DecisionTreeClassifier for member in self.estimators_):
            return None
        K, values = self.n_classes_, []
        for member, weight in zip(self.estimators_, self.estimator_weights_):
            if len(member.classes_) != K or any(known is not None for known in member.categories_):
                return None
            proba = member.tree_.value[:, 0, :K]
            if self.algorithm == "samme.r":
                values.append(log_odds(proba))
                continue
            added = np.full(proba.shape, -weight / max(K - 1, 1))
            added[np.arange(len(proba)), proba.argmax(axis=1)] = weight
            values.append(added)
        return PackedTrees.of([member.tree_ for member in self.estimators_], values)

    def _mean_scores(self, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sums of contributions as `decision_function` has them: f for "m1", else divided by their weight.

        One number for two classes, positive for the second; with algorithm="m1" it is f(x) of the text, whose size
        is the confidence.
        """
        total = (
            1.0
            if self.algorithm == "m1"
            else len(weights)
            if self.algorithm == "samme.r"
            else weights.sum() or 1.0
        )
        scores = scores / total
        if self.n_classes_ == 2:
            return scores[:, 1] if self.algorithm == "m1" else scores[:, 1] - scores[:, 0]
        return scores[:, 0] if self.n_classes_ == 1 else scores

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return as_tree_input(self.estimators_[0], X, reset=False)

    def _raw(self, X: Any) -> np.ndarray:
        """The scores of rows: (n,) for two classes, (n, n_classes) for more."""
        return self._mean_scores(self._scores(self._checked(X)), self.estimator_weights_)

    def _staged_raw(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after the first member, after the second, and so on."""
        X, scores = self._checked(X), np.zeros((1, self.n_classes_))
        for m, added in enumerate(self._contributions(X)):
            scores = scores + added
            yield self._mean_scores(scores, self.estimator_weights_[: m + 1])

    def _decision(self, decision: np.ndarray) -> np.ndarray:
        return decision

    def _labels(self, decision: np.ndarray) -> np.ndarray:
        if decision.ndim == 1:
            # in the text sign(0) = +1, the second class; scikit-learn's answer is the first
            second = decision >= 0 if self.algorithm == "m1" else decision > 0
            return self.classes_[second.astype(int) * (self.n_classes_ - 1)]
        return self.classes_[decision.argmax(axis=1)]

    def _proba(self, decision: np.ndarray) -> np.ndarray:
        """Probabilities of the classes: f estimates half the log odds."""
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        if self.n_classes_ == 2:
            # H = half the log odds: P(y = +1) = 1 / (1 + exp(-2 f))
            f = decision if self.algorithm == "m1" else decision / 2
            return softmax(np.column_stack([-f, f]), axis=1)
        return softmax(decision / (self.n_classes_ - 1), axis=1)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The accuracy after the first member, after the second, and so on.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Yields
        ------
        float
        """
        for labels in self.staged_predict(X):
            yield accuracy_score(y, labels, sample_weight=sample_weight)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The importances of the members, averaged with their weights."""
        return self._mean_importances(self.estimator_weights_)


def is_plain_stump(estimator: Any, X: Any) -> bool:
    """Whether members are decision trees of one test at their defaults, on numbers without missing values."""
    if type(estimator) is not DecisionTreeClassifier or not isinstance(X, np.ndarray) or X.dtype.kind != "f":
        return False
    free = {"random_state": None, "n_jobs": None}
    usual = DecisionTreeClassifier(max_depth=1).get_params() | free
    return {**estimator.get_params(), **free} == usual and not np.isnan(X).any()
