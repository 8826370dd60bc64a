"""Votes of classifiers (投票法)."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.parameters import CountOrZero, Jobs, Seed
from tercet.core.scoring import AccuracyScoring, rejection_label
from tercet.ensemble.combination.voting import Voting
from tercet.ensemble.combination.voting_rules import or_reject, vote_counts, winners


def _soft(model: VotingClassifier) -> bool:
    if model.voting != "soft":
        raise AttributeError(f"predict_proba is not available when voting={model.voting!r}")
    return True


@method(
    zh="投票法集成分类",
    task="classification",
    model="H(x) = argmax_j Σ_i w_i h_i^j(x), h_i^j the vote of member i for class j, or its probability",
    strategy="that of each member; learned weights: the error of out-of-fold predictions",
    algorithms={
        "hard": "votes are labels: plurality, or absolute majority with reject",
        "soft": "votes are probabilities",
    },
    texts=["watermelon notes ch. 6, eq. 6.19-6.21", "watermelon notes ch. 6, 6.1"],
    peers=["sklearn.ensemble.VotingClassifier"],
)
class VotingClassifier(AccuracyScoring, Voting):
    """Vote of several classifiers, each fitted on all rows: plurality, majority with reject, weighted, soft.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members and their names; "drop" in place of an estimator leaves it out.
    voting : {"hard", "soft"}, default="hard"
        Whether members vote with labels or with probabilities.
    weights : array of shape (n_members,), "inverse_error", "least_squares" or None, default=None
        How much each vote counts; None: all equally. They may be learned from out-of-fold predictions: in inverse
        proportion to the error rates, or those whose weighted votes have the least squared distance to the labels
        as indicators, not negative and with the sum 1.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    flatten_transform : bool, default=True
        Whether `transform` gives soft votes as a table of shape (n_samples, n_members * n_classes), not as an
        array of shape (n_members, n_samples, n_classes).
    verbose : bool, default=False
        Whether to print how long each member took.
    ties : {"first", "random"}, default="first"
        Which of the classes with the most votes wins: the first in the order of `classes_`, or, as in the
        text, one drawn at random.
    random_state : int, Generator or None, default=None
        Decides random ties.
    majority : bool, default=False
        Whether a class needs more than half of all votes (of soft votes: a mean probability above 1/2); rows
        without such a class are rejected.
    reject_label : label, default=None
        Prediction for rejected rows, not one of the classes; by default -1 (or a smaller number, if that is a
        class), or "reject" where the classes are strings. Where it is of another type than the classes,
        predictions with rejected rows are objects. `score` counts rejected rows as errors.
    cv : int, splitter or None, default=None
        The folds for learning weights, a partition of the rows; None is 5 folds.

    Attributes
    ----------
    estimators_ : list
        The fitted members that are not dropped. They have learned indices of classes; `le_` has the labels.
    named_estimators_ : Bunch
        The same by name.
    classes_ : array of shape (n_classes,)
    le_ : LabelEncoder
        Turns labels into indices of classes, and back.
    weights_ : array of shape (n_members,)
        Learned weights.
    n_features_in_ : int
        Number of features, where the members know it.

    Examples
    --------
    >>> from tercet.linear_model import LogisticRegression
    >>> from tercet.naive_bayes import GaussianNB
    >>> from tercet.tree import DecisionTreeClassifier
    >>> X, y = [[-2.0], [-1.0], [-1.5], [1.0], [2.0], [1.5]], ["a", "a", "a", "b", "b", "b"]
    >>> members = [("lr", LogisticRegression()), ("nb", GaussianNB()), ("tree", DecisionTreeClassifier())]
    >>> VotingClassifier(members).fit(X, y).predict([[-1.2], [1.2]])
    array(['a', 'b'], dtype='<U1')
    """

    classes_: np.ndarray

    def __init__(
        self,
        estimators: list,
        *,
        voting: Literal["hard", "soft"] = "hard",
        weights: Any = None,
        n_jobs: Jobs = None,
        flatten_transform: bool = True,
        verbose: bool | CountOrZero = False,
        ties: Literal["first", "random"] = "first",
        random_state: Seed = None,
        majority: bool = False,
        reject_label: Any = None,
        cv: Any = None,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.verbose = verbose
        self.ties = ties
        self.random_state = random_state
        self.majority = majority
        self.reject_label = reject_label
        self.cv = cv

    def _target(self, y: Any) -> np.ndarray:
        kind = type_of_target(y, input_name="y")
        if kind in ("unknown", "continuous"):
            raise ValueError(f"Unknown label type: {kind}. A classifier needs labels, y has other values.")
        if kind not in ("binary", "multiclass"):
            raise NotImplementedError(
                f"{type(self).__name__} only supports binary or multiclass classification; y is {kind}."
            )
        labels = column_or_1d(y, warn=True)
        self.le_ = LabelEncoder().fit(labels)
        self.classes_ = self.le_.classes_
        if self.majority:
            rejection_label(self.classes_, self.reject_label, type(self).__name__)  # refuses a class
        return self.le_.transform(labels)

    def predict(self, X: Any) -> np.ndarray:
        """The class that the members vote for, or the reject label.

        Parameters
        ----------
        X : anything that the members take
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.voting == "soft":
            scores, half = self.predict_proba(X), 0.5
        else:
            weights = self._member_weights()
            weights = np.ones(len(self.estimators_)) if weights is None else weights
            scores = vote_counts(self._predictions(X), len(self.classes_), weights)
            half = weights.sum() / 2
        labels = self.classes_[winners(scores, self.ties, self.random_state)]
        decided = scores.max(axis=1) > half
        if not self.majority or decided.all():
            return labels
        return or_reject(
            labels, decided, rejection_label(self.classes_, self.reject_label, type(self).__name__)
        )

    def _rejected(self, predicted: np.ndarray) -> np.ndarray | None:
        if not self.majority:
            return None
        return predicted == rejection_label(self.classes_, self.reject_label, type(self).__name__)

    def _predictions(self, X: Any) -> np.ndarray:
        """The classes that the members vote for, as indices; -1 where a member rejects a row."""
        votes = []
        for member in self.estimators_:
            said = np.asarray(member.predict(X))
            if said.dtype.kind not in "iufb":
                said = np.array([k if isinstance(k, numbers.Integral) else -1 for k in said.tolist()])
            votes.append(said.astype(np.intp, copy=False))
        return np.column_stack(votes)

    @available_if(_soft)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The weighted mean of the members' probabilities.

        Parameters
        ----------
        X : anything that the members take
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return np.average(self._probabilities(X), axis=0, weights=self._member_weights())

    def transform(self, X: Any) -> np.ndarray:
        """The vote of each member: indices of classes, or probabilities.

        Parameters
        ----------
        X : anything that the members take
            The data.

        Returns
        -------
        votes : array of shape (n_samples, n_members), or for soft votes (n_samples, n_members * n_classes) or
            (n_members, n_samples, n_classes)
        """
        check_is_fitted(self)
        if self.voting == "hard":
            return self._predictions(X)
        proba = self._probabilities(X)
        return np.hstack(list(proba)) if self.flatten_transform else proba

    def _probabilities(self, X: Any) -> np.ndarray:
        return np.stack([member.predict_proba(X) for member in self.estimators_])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the features; they have to be those of the fit.

        Returns
        -------
        names : array of str
        """
        if self.voting == "soft" and not self.flatten_transform:
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and `flatten_transform=False`: "
                "the output has three axes."
            )
        check_is_fitted(self)
        names = [name for name, _ in self._active()]
        width = 1 if self.voting == "hard" else len(self.classes_)
        return self._names_out(names, [width] * len(names), input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
