"""Co-training (协同训练)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Each, Having, Indices, Labels
from tercet.core.functions import log_sum_exp
from tercet.core.parameters import Count, CountOrZero, Seed, check_parameters
from tercet.core.validation import check_array
from tercet.semi_supervised.partial_labels import decode_labels, warn_all_labeled
from tercet.semi_supervised.pseudo_labels import PseudoLabeling, check_has_fit, confidences, fitted_rows


@method(
    zh="协同训练",
    task="classification",
    model="two classifiers, each of its own view of the rows; the greatest product of their probabilities",
    strategy="that of the estimators; each learns from the labels that the other is surest of",
    algorithms="each view labels p positive and n negative rows of a pool for the other; the pool is refilled",
    texts=["watermelon notes ch. 11, sec. 11.5, Fig 13.6"],
    peers=["sslearn.wrapper.CoTraining"],
)
class CoTrainingClassifier(PseudoLabeling):
    """Co-training: two classifiers on two views of the rows, which label rows for each other.

    A pool of rows is drawn from those without a label. In each pass the classifier of each view is fitted on the
    labels it has, and the rows of the pool that it is surest of (`n_positive` of the second class, `n_negative`
    of the first) go with their labels to the *other* view, and out of the pool, which is refilled by as many. It
    ends when neither view has anything new to learn from, or after `max_iter` passes; both classifiers are then
    fitted on all labels they were given. The views should each be enough to tell the classes apart, and
    independent given the class. Learning is inductive.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba` or `decision_function`: of the first view, and of both without
        `estimator2`.
    estimator2 : estimator, optional
        The classifier of the second view.
    views : pair of sequences of columns, optional
        The columns of the first and of the second view, by number (or by name, of a frame). By default the first
        half of the columns and the rest, drawn at random with `shuffle_columns`; not needed where `fit` gets `X2`.
    pool_size : int, default=75
        Rows without a label in the pool.
    n_positive : int, default=1
        Rows that a view labels as the second class in a pass; with more than two classes, as each class.
    n_negative : int, default=3
        Rows that a view labels as the first class, when there are two.
    max_iter : int, default=30
        The most passes.
    shuffle_columns : bool, default=False
        Without `views`, whether the columns of the views are drawn at random.
    random_state : int, optional
        Decides what is drawn.

    Attributes
    ----------
    estimators_ : list of two estimators
        The classifiers of the two views.
    views_ : list of two arrays or None
        The columns of the views; None where X2 was given.
    classes_ : array of shape (n_classes,)
        The labels.
    transduction_ : array of shape (n_samples,)
        The labels that were given or found; -1 (or None) for rows that got none.
    labeled_iter_ : array of shape (n_samples,)
        The pass in which each row got its label; 0: it was given, -1: it has none.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> from tercet.naive_bayes import GaussianNB
    >>> X = [[0, 1], [1, 0], [0, 0], [1, 1], [8, 9], [9, 8], [8, 8], [9, 9]]
    >>> y = [0, 0, -1, -1, -1, -1, 1, 1]
    >>> model = CoTrainingClassifier(GaussianNB(), n_negative=1, random_state=0).fit(X, y)
    >>> model.transduction_
    array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> model.predict([[2, 1], [7, 8]])
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Any,
        estimator2: Any = None,
        *,
        views: list | tuple | None = None,
        pool_size: Count = 75,
        n_positive: Count = 1,
        n_negative: CountOrZero = 3,
        max_iter: Count = 30,
        shuffle_columns: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.estimator2 = estimator2
        self.views = views
        self.pool_size = pool_size
        self.n_positive = n_positive
        self.n_negative = n_negative
        self.max_iter = max_iter
        self.shuffle_columns = shuffle_columns
        self.random_state = random_state

    fitted_shapes = {
        "estimators_": Each(Having({}, ("predict",)), "2"),
        "views_": lambda model: (
            None if model.views_ is None else Each(Indices("columns@", below="features"), "2")
        ),
        "transduction_": Labels("samples"),
        "labeled_iter_": Labels("samples"),
    }
    estimators_: list[Any]
    views_: list[Any] | None
    transduction_: np.ndarray
    labeled_iter_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X2: Any = None, **fit_params: Any) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows: of both views, or of the first where `X2` is given.
        y : array of shape (n_samples,)
            The labels; -1 (or None among strings) for rows without one.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; passed on to the estimators.
        X2 : array or sparse matrix of shape (n_samples, n_features_2), optional
            The rows of the second view.
        **fit_params
            More for the estimators' `fit`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        check_parameters(self)
        second = self.estimator if self.estimator2 is None else self.estimator2
        check_has_fit(self, self.estimator)
        check_has_fit(self, second, "estimator2")
        params = self._fit_metadata(sample_weight, fit_params)
        return self._learn(X, y, sample_weight, params=params, X2=X2)

    def _fit(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: Any,
        params: dict[str, Any] | None = None,
        X2: Any = None,
    ) -> None:
        estimators = [self.estimator, self.estimator if self.estimator2 is None else self.estimator2]
        rng = generator(self.random_state)
        parts = self._view_rows(X, X2, rng)
        if (y >= 0).all():
            warn_all_labeled("CoTrainingClassifier")
        labels, when = [y.copy(), y.copy()], np.where(y >= 0, 0, -1)  # the labels of each view
        waiting = rng.permutation(np.flatnonzero(y < 0))  # D_u, in the order in which they are drawn
        pool, waiting = waiting[: self.pool_size], waiting[self.pool_size :]
        models: list[Any] = [None, None]

        def learn(j: int) -> Any:
            return self._fit_on(estimators[j], parts[j], labels[j], sample_weight, params or {})

        for step in self.steps(self.max_iter):
            found = [y[:0], y[:0]]  # the rows that each view labels
            classes = [y[:0], y[:0]]
            for j in range(2):
                models[j] = learn(j)
                found[j], classes[j] = self._surest(models[j], parts[j][pool], pool)
                pool = pool[~np.isin(pool, found[j])]
            for j in range(2):  # to the other view
                labels[1 - j][found[j]] = classes[j]
                when[found[j]] = step.count
            refill = found[0].size + found[1].size
            pool, waiting = np.concatenate([pool, waiting[:refill]]), waiting[refill:]
            step.report(
                labeled=int((when >= 0).sum()),
                estimators_=list(models),
                transduction_=decode_labels(self.classes_, np.maximum(*labels)),
                labeled_iter_=when,
            )
            if not refill:  # neither view has learned anything new
                break
        self.estimators_ = [learn(j) if (labels[j] != y).any() else models[j] for j in range(2)]
        self.transduction_, self.labeled_iter_ = decode_labels(self.classes_, np.maximum(*labels)), when

    def _surest(self, model: Any, rows: Any, pool: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the pool that a view labels, and the classes it says; a row gets one label only."""
        k = self.classes_.size
        wanted = [self.n_negative, self.n_positive] if k == 2 else [self.n_positive] * k
        rest, chosen, said = np.arange(pool.size), [pool[:0]], [pool[:0]]
        if pool.size:
            confidence = confidences(self, model, rows)
            for c in reversed(range(k)):
                best = rest[np.argsort(-confidence[rest, c], kind="stable")[: wanted[c]]]
                chosen.append(pool[best])
                said.append(np.full(best.size, c))
                rest = rest[~np.isin(rest, best)]
        return np.concatenate(chosen), np.concatenate(said)

    def _view_rows(self, X: Any, X2: Any, rng: np.random.Generator) -> list[Any]:
        """The rows as the two views see them; sets `views_`."""
        if X2 is not None:
            if self.views is not None:
                raise ValueError("CoTrainingClassifier: give views, or X2, but not both.")
            self.views_ = None
            return [X, self._second_view(X, X2)]
        width = X.shape[1]
        if self.views is None:
            columns = rng.permutation(width) if self.shuffle_columns else np.arange(width)
            views = [np.sort(columns[: width // 2]), np.sort(columns[width // 2 :])]
        else:
            views = [column_numbers(self, view) for view in self.views]
        sizes = [len(view) for view in views]
        if len(views) != 2 or 0 in sizes:
            raise ValueError(
                f"CoTrainingClassifier: views must be two sets of columns, neither of them empty; X, with {width} "
                f"feature(s), came to views of {sizes} columns."
            )
        self.views_ = views
        return [X[:, view] for view in views]

    def _second_view(self, X: Any, X2: Any) -> Any:
        """The rows of the second view, checked."""
        X2 = check_array(
            X2,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan" if self.missing_input else True,
            input_name="X2",
        )
        if X2.shape[0] != X.shape[0]:
            raise ValueError(
                f"CoTrainingClassifier: X2 must have as many rows as X, {X.shape[0]}; it has {X2.shape[0]}."
            )
        return X2

    def _query_rows(self, X: Any, X2: Any) -> list[Any]:
        X = fitted_rows(self, X)
        if self.views_ is None and X2 is not None:
            return [X, self._second_view(X, X2)]
        if self.views_ is None or X2 is not None:
            then = "" if self.views_ is None else "not "
            raise ValueError(
                f"CoTrainingClassifier: X2 was {then}given in fit, and must {then}be given here."
            )
        return [X[:, view] for view in self.views_]

    def predict_proba(self, X: Any, X2: Any = None) -> np.ndarray:
        """Probabilities of the classes: the products of those of the two views, scaled to sum to 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.
        X2 : array or sparse matrix of shape (n_samples, n_features_2), optional
            The rows of the second view, where `fit` got it.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        views = self._query_rows(X, X2)
        logs = [confidences(self, model, rows) for model, rows in zip(self.estimators_, views)]
        joint = logs[0] + logs[1]
        top = joint.max(axis=1, keepdims=True)
        joint = np.where(
            np.isneginf(top), 0.0, joint - np.where(np.isneginf(top), 0.0, top)
        )  # views that disagree
        return np.exp(joint - log_sum_exp(joint, keepdims=True))

    def predict(self, X: Any, X2: Any = None) -> np.ndarray:
        """The class of the greatest probability.

        Parameters
        ----------
        X, X2 : as in `predict_proba`

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        proba = self.predict_proba(X, X2)
        return self.classes_[proba.argmax(axis=1)]


def column_numbers(model: Any, view: Any) -> np.ndarray:
    """The numbers of columns that are given by number or by name."""
    view, width = np.atleast_1d(np.asarray(view)), model.n_features_in_
    if not view.size:
        return view.astype(np.int64)
    if view.dtype.kind in "USO":
        names = list(getattr(model, "feature_names_in_", []))
        unknown = [name for name in view.tolist() if name not in names]
        if unknown:
            raise ValueError(f"CoTrainingClassifier: views names the columns {unknown}; X has {names}.")
        return np.array([names.index(name) for name in view.tolist()])
    if view.dtype.kind not in "iu" or view.ndim != 1 or view.min() < 0 or view.max() >= width:
        raise ValueError(
            f"CoTrainingClassifier: views must hold column numbers from 0 to {width - 1}; got {view.tolist()}."
        )
    return view.astype(np.int64)
