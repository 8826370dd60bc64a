"""Active learning (主动学习): ask an oracle for the labels that are worth most."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, generator
from tercet.core.fitted_checks import Each, Having, Labels
from tercet.core.input_errors import shown
from tercet.core.parameters import Count, CountOrZero, Seed
from tercet.semi_supervised.partial_labels import decode_labels, is_missing_label
from tercet.semi_supervised.pseudo_labels import (
    PseudoLabeling,
    class_probabilities,
    fitted_estimator_has,
    fitted_rows,
)
from tercet.semi_supervised.uncertainty import (
    entropy_uncertainty,
    least_confident,
    margin_uncertainty,
    vote_entropy,
)

UNCERTAINTY: dict[str, Callable[[Any], np.ndarray]] = {
    "least-confident": least_confident,
    "margin": margin_uncertainty,
    "entropy": entropy_uncertainty,
}
Strategy = Literal["least-confident", "margin", "entropy", "committee", "random"] | Callable[..., Any]


@method(
    zh="主动学习",
    task="classification",
    model="that of the estimator",
    strategy="few queries: the labels of the rows that the model is least certain of are asked for",
    algorithms={
        "least-confident": "the rows whose most probable class is least probable",
        "margin": "the rows whose two most probable classes are nearest to each other",
        "entropy": "the rows whose probabilities have the greatest entropy",
        "committee": "the rows on which classifiers of bootstrap samples disagree most",
        "random": "any rows, to compare with",
    },
    texts=["watermelon notes ch. 11, sec. 11.1", "Li ch. 1, sec. 1.2.2"],
    peers=["modAL.models.ActiveLearner", "modAL.models.Committee"],
)
class ActiveLearner(PseudoLabeling):
    """Active learning: a classifier that chooses the rows whose labels an oracle tells.

    In each pass a clone of the estimator is fitted on the labelled rows, the oracle is asked for the labels of the
    `batch_size` rows that the query strategy puts first, and their labels are added, until `n_queries` labels have
    been asked for. (The text uses the name for self-training; here an expert is asked.) Learning is inductive.

    Parameters
    ----------
    estimator : estimator
        A classifier; with `predict_proba` for the strategies by uncertainty.
    algorithm : str or callable, default="least-confident"
        The query strategy: "least-confident", "margin", "entropy", "committee", "random", or a function of the
        fitted estimator and rows that gives a number for each: rows with the greatest are asked for first.
    oracle : callable, sequence, "console" or None, default=None
        Who knows: a function of a row's number and the row that returns its label; the labels of all rows;
        "console": the user is shown the row and types the label (an empty line: not known). An answer of None or -1
        is "not known", and the row is not asked for again. Without an oracle nothing is asked: `query` tells which
        rows to label.
    n_queries : int, default=20
        Labels to ask for.
    batch_size : int, default=1
        Labels to ask for in one pass.
    committee_size : int, default=5
        Classifiers of a "committee", fitted on bootstrap samples of the labelled rows.
    random_state : int, optional
        Decides what is drawn.

    Attributes
    ----------
    estimator_ : estimator
        The classifier, fitted on all labels.
    committee_ : list of estimators
        The members of a "committee".
    classes_ : array of shape (n_classes,)
        The labels.
    queried_ : array of shape (n_asked,)
        Numbers of the rows that the oracle was asked for, in this order.
    transduction_ : array of shape (n_samples,)
        The labels that were given or answered; -1 (or None) for rows that have none.
    history_ : dict
        The number of labels, and the uncertainty of the row that was asked for first, by pass.

    Examples
    --------
    >>> from tercet.naive_bayes import GaussianNB
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]
    >>> truth = [0, 0, 0, 0, 0, 1, 1, 1]
    >>> y = [0, 0, -1, -1, -1, -1, 1, 1]
    >>> model = ActiveLearner(GaussianNB(), oracle=truth, n_queries=2).fit(X, y)
    >>> model.queried_, model.transduction_
    (array([3, 5]), array([ 0,  0, -1,  0, -1,  1,  1,  1]))
    """

    def __init__(
        self,
        estimator: Any,
        *,
        algorithm: Strategy = "least-confident",
        oracle: Literal["console"] | Callable[..., Any] | list | tuple | np.ndarray | None = None,
        n_queries: CountOrZero = 20,
        batch_size: Count = 1,
        committee_size: Count = 5,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.algorithm = algorithm
        self.oracle = oracle
        self.n_queries = n_queries
        self.batch_size = batch_size
        self.committee_size = committee_size
        self.random_state = random_state

    fitted_shapes = {
        "estimator_": Having({}, ("predict",)),
        "committee_": Each(Having({}, ("predict",)), "members"),
        "transduction_": Labels("samples"),
        "queried_": Labels("asked*"),
    }
    estimator_: Any
    committee_: list[Any]
    queried_: np.ndarray
    transduction_: np.ndarray

    def _fit(self, X: Any, y: np.ndarray, sample_weight: Any, params: dict[str, Any] | None = None) -> None:
        oracle = as_oracle(self.oracle, y.size)
        rng = generator(self.random_state)
        labels = decode_labels(self.classes_, y).astype(object)
        asked: list[int] = []
        open_rows = y < 0
        limit = min(self.n_queries, int(open_rows.sum())) if oracle is not None else 0
        learn = functools.partial(self._refit, X, sample_weight, params or {}, rng)
        learn(labels)
        for step in self.steps(-(-limit // self.batch_size)) if limit else ():
            rest = np.flatnonzero(open_rows)
            scores = self._scores(X[rest], rng)
            best = np.argsort(-scores, kind="stable")[: min(self.batch_size, limit - len(asked))]
            for i in rest[best].tolist():
                labels[i] = oracle(i, _one_row(X, i), self.classes_)  # type: ignore[misc]
                if is_missing_label(labels[i]):
                    labels[i] = None
                open_rows[i] = False
                asked.append(i)
            learn(labels)
            known = sum(not is_missing_label(label) for label in labels)
            step.report(
                labeled=known,
                uncertainty=float(scores[best[0]]),
                estimator_=self.estimator_,
                queried_=np.array(asked, dtype=np.int64),
                transduction_=self.transduction_,
            )
        self.queried_ = np.array(asked, dtype=np.int64)

    def _refit(
        self, X: Any, weight: Any, params: dict[str, Any], rng: np.random.Generator, labels: np.ndarray
    ) -> None:
        """Fit the classifier (and the committee) on all labels; the oracle may have named new classes."""
        y = self._check_labels(labels)
        codes = self._encode(y)
        self.estimator_ = self._fit_on(self.estimator, X, codes, weight, params)
        self.transduction_ = decode_labels(self.classes_, codes)
        self.__dict__.pop("committee_", None)
        if self.algorithm == "committee":
            self.committee_ = []
            for _ in range(self.committee_size):
                rows = bootstrap_rows(codes, rng)
                self.committee_.append(self._fit_on(self.estimator, X, codes, weight, params, rows))

    def _check_labels(self, labels: np.ndarray) -> np.ndarray:
        """Labels with the oracle's answers in the type of those that were given."""
        known = [label for label in labels if not is_missing_label(label)]
        if any(isinstance(label, str) for label in known) != all(isinstance(label, str) for label in known):
            raise ValueError(
                f"ActiveLearner: the oracle must answer with labels like the given ones; got {shown(known[-1])}, "
                f"and the classes are {self.classes_.tolist()}."
            )
        if isinstance(known[0], str):
            return labels
        found = np.full(labels.size, -1, dtype=np.result_type(np.asarray(known).dtype, np.int8))
        found[[not is_missing_label(label) for label in labels]] = known
        return found

    def _scores(self, X: Any, rng: np.random.Generator | None = None) -> np.ndarray:
        """How much the label of each row is wanted."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if self.algorithm == "random":
            return (generator(self.random_state) if rng is None else rng).random(n)
        if self.algorithm == "committee":
            return vote_entropy([np.ravel(member.predict(X)) for member in self.committee_])
        if isinstance(self.algorithm, str):
            return UNCERTAINTY[self.algorithm](class_probabilities(self, self.estimator_, X))
        scores = np.asarray(self.algorithm(self.estimator_, X), dtype=np.float64)
        if scores.shape != (n,) or np.isnan(scores).any():
            raise ValueError(
                f"ActiveLearner: algorithm must give a number for each of {n} rows; got the shape {scores.shape}."
            )
        return scores

    def query(self, X: Any, n_instances: int = 1) -> np.ndarray:
        """Numbers of the rows of a pool whose labels are wanted most, the first first.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows without labels.
        n_instances : int, default=1
            How many.

        Returns
        -------
        array of shape (n_instances,)
        """
        return np.argsort(-self._scores(fitted_rows(self, X)), kind="stable")[:n_instances]

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, as the estimator says.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        X = fitted_rows(self, X)
        return self.estimator_.predict(X)

    @available_if(fitted_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, as the estimator says, of shape (n_samples, n_classes)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(fitted_rows(self, X))

    @available_if(fitted_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the estimator."""
        check_is_fitted(self)
        return self.estimator_.decision_function(fitted_rows(self, X))


def bootstrap_rows(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A set of labelled rows drawn with replacement, with one of each class."""
    known = np.flatnonzero(codes >= 0)
    drawn = np.unique(rng.choice(known, size=known.size))
    missing = np.setdiff1d(codes[known], codes[drawn])
    return np.concatenate([drawn, [known[codes[known] == c][0] for c in missing]]).astype(np.int64)


def as_oracle(oracle: Any, n: int) -> Callable[[int, Any, np.ndarray], Any] | None:
    """A function of a row's number, the row and the known classes that gives its label; None where nobody knows."""
    if oracle is None:
        return None
    if isinstance(oracle, str):
        return ask_on_console
    if callable(oracle):
        return lambda i, row, classes: oracle(i, row)
    answers = np.asarray(oracle, dtype=object) if isinstance(oracle, list | tuple) else np.asarray(oracle)
    if answers.shape != (n,):
        raise ValueError(
            f"ActiveLearner: oracle must hold the label of each of {n} rows; got the shape {answers.shape}."
        )
    values = answers.tolist()
    return lambda i, row, classes: values[i]


def ask_on_console(i: int, row: Any, classes: np.ndarray) -> Any:
    """The label that the user types for a row; None for an empty line, or where there is nobody to type."""
    known = classes.tolist()
    kind = str if isinstance(known[0], str) else type(known[0])
    while True:
        try:
            answer = input(f"Label of row {i} {shown(row, 200)}, one of {known} (empty: not known): ").strip()
        except EOFError:
            return None
        if not answer:
            return None
        try:
            label = answer if kind is str else kind(float(answer))
        except ValueError:
            label = None
        if label in known:
            return label
        print(f"{answer!r} is not one of {known}.")


def _one_row(X: Any, i: int) -> np.ndarray:
    row = X[[i]]
    return (row.toarray() if sparse.issparse(row) else row)[0]
