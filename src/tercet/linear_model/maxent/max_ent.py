"""The maximum entropy model (最大熵模型)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, column_or_1d

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Classifier, check_is_fitted, check_weight
from tercet.core.fitted_checks import Codes, Indices
from tercet.core.functions import log_softmax
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, Jobs, NonNegative, PositiveOrInf
from tercet.core.row_products import row_scores
from tercet.core.row_sums import mass_of
from tercet.core.scaling import LARGE
from tercet.core.streams import is_streamed
from tercet.linear_model._maxent.context_input import shares, streaming_refusal, with_constant
from tercet.linear_model._maxent.joint_features import JointFeatures, apply_functions, encode_dicts
from tercet.linear_model._maxent.log_linear_objective import CurvatureScaledWolfe, LogLinearObjective
from tercet.linear_model._maxent.product_features import ProductFeatures, label_sums
from tercet.optimize import iterative_scaling, minimize


@method(
    zh="最大熵模型",
    task="classification",
    model="P(y|x) = exp(sum of w_i f_i(x, y)) / Z(x)",
    strategy="largest conditional entropy with the data's expectations of the f_i, or largest likelihood",
    loss="logistic",
    convex=True,
    algorithms={
        "lbfgs": "limited-memory BFGS",
        "iis": "improved iterative scaling",
        "gis": "generalised iterative scaling",
        "gd": "gradient descent",
        "newton": "Newton's method",
        "newton-cg": "Newton's method by conjugate gradients",
        "dfp": "DFP",
        "bfgs": "BFGS",
    },
    texts=["Li ch. 6, Def 6.3, Alg 6.1, 6.2", "Li ch. 12, Table 12.1", "Machine Learning in Depth ch. 6"],
    peers=["nltk MaxentClassifier", "sklearn.linear_model.LogisticRegression"],
)
class MaxEnt(Classifier):
    """Of all models that agree with the data's feature expectations, the one of the largest entropy.

    P(y|x) = exp(sum_i w_i f_i(x, y)) / Z(x), with E_P(f_i) equal to the expectation of f_i in the data. The same
    weights maximise the likelihood. The features are products f(x, y) = x_j [y = k] of the columns of X with the
    labels, or functions of any objects x.

    Parameters
    ----------
    algorithm : {"lbfgs", "iis", "gis", "gd", "newton", "newton-cg", "dfp", "bfgs"}, default="lbfgs"
        How the weights are found. "newton", "dfp" and "bfgs" keep a square matrix of the number of weights;
        "iis" and "gis" need features that are not negative.
    C : float, default=1.0
        What is minimised is the sum of -log P(y|x) plus |w|^2 / (2 C); inf is the texts' model without a
        penalty. Without one, a feature that the data never contradict has no finite weight: it grows until its
        expectation is right within tol.
    l1 : float, default=0.0
        Strength of a penalty l1 |w|_1 on the same sum, which makes weights exactly zero ("lbfgs" only).
    features : {"seen", "all"}, default="seen"
        Whether only the pairs of column and label that occur together in the data have a weight.
    feature_functions : list of callables f(x, y), optional
        Features of contexts x of any kind and labels y, in place of the products.
    fit_intercept : bool, default=True
        Whether every label also has a constant feature, without penalty (not with `feature_functions`). The
        texts' models have one only where it is listed.
    negative : {"error", "shift"}, default="error"
        What "iis" and "gis" do with negative features: refuse them, or add a constant to each.
    tol : float, default=1e-4
        Converged when no expectation differs from that of the data by more (penalty included).
    max_iter : int, default=1000
        The most passes.
    class_weight : dict or "balanced", optional
        Weights of the classes, which multiply those of the samples.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (n_weights,)
        w_i.
    pairs_ : array of shape (n_weights, 2)
        Column and label (both as indices) of each weight; not with `feature_functions`.
    coef_, intercept_ : arrays of shape (n_classes, n_features) and (n_classes,)
        The same weights in a table, pairs that were not seen with zero; not with `feature_functions`.
    empirical_, expected_ : arrays of shape (n_weights,)
        Expectations of the features in the data and under the model.
    entropy_ : float
        Conditional entropy H(P) of the model over the contexts of the data.
    vocabulary_ : dict
        The columns of named features, when X is a list of dicts.

    Examples
    --------
    >>> X = [{"suffix": "a"}, {"suffix": "a"}, {"suffix": "k"}, {"suffix": "k"}, {"suffix": "a"}]
    >>> model = MaxEnt(C=float("inf"), fit_intercept=False, tol=1e-8).fit(X, ["f", "f", "m", "f", "m"])
    >>> model.predict_proba([{"suffix": "a"}, {"suffix": "k"}]).round(4)
    array([[0.6667, 0.3333],
           [0.5   , 0.5   ]])
    """

    vocabulary_: dict[str, int]
    largest_value = LARGE
    streaming = True

    def __init__(
        self,
        algorithm: Literal["lbfgs", "iis", "gis", "gd", "newton", "newton-cg", "dfp", "bfgs"] = "lbfgs",
        *,
        C: PositiveOrInf = 1.0,
        l1: NonNegative = 0.0,
        features: Literal["seen", "all"] = "seen",
        feature_functions: list | tuple | None = None,
        fit_intercept: bool = True,
        negative: Literal["error", "shift"] = "error",
        tol: NonNegative = 1e-4,
        max_iter: Count = 1000,
        class_weight: dict | Literal["balanced"] | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.algorithm = algorithm
        self.C = C
        self.l1 = l1
        self.features = features
        self.feature_functions = feature_functions
        self.fit_intercept = fit_intercept
        self.negative = negative
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        if self.l1 and self.algorithm != "lbfgs":
            raise ValueError(f"MaxEnt: l1={self.l1} needs algorithm='lbfgs'; got {self.algorithm!r}.")
        weight = self._balance(self.class_weight, y, sample_weight)
        if weight is not None and not is_streamed(weight) and not weight.all():  # these rows are left out
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        mass = mass_of(X, weight)
        share = shares(y, weight, mass)
        with one_blas_thread():  # the products are small: more threads would spin more than work
            features, penalised = self._features(X, y, share)
            contexts, self.empirical_ = features.context_weight(share), features.empirical(y, share)
            objective = LogLinearObjective(features, self.empirical_, contexts, penalised / (self.C * mass))
            steps = functools.partial(self.steps, unpack=functools.partial(self._model, X))
            w = self._minimise(objective, penalised * self.l1 / mass, steps)
            log_z, self.expected_ = objective.statistics(w)
            self.entropy_ = log_z - float(w @ self.expected_)
        self.__dict__.update(self._model(X, w))

    fitted_shapes = {
        "vocabulary_": Codes("features"),
        "weights_": lambda model: "features" if model.feature_functions is not None else "weights*",
        "pairs_": Indices("weights* 2", below=("features+1", "classes")),
        "coef_": "classes features",
        "intercept_": "classes",
    }

    def _minimise(self, objective: LogLinearObjective, l1: Any, steps: Any) -> np.ndarray:
        """The weights that minimise the objective, by the algorithm asked for."""
        common: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "steps": steps}
        if self.algorithm in ("iis", "gis"):
            expectations = objective.features.matrix(), objective.empirical, objective.weight
            common.update(method=self.algorithm, l2=objective.l2, negative=self.negative)
            return iterative_scaling(*expectations, **common).x
        start = np.zeros(objective.features.size)
        if self.l1:
            return minimize(objective, start, method="owlqn", l1=l1, **common).x
        if self.algorithm == "lbfgs":
            common["line_search"] = CurvatureScaledWolfe()
        elif self.algorithm == "newton-cg":
            common["forcing"] = 0.5
        return minimize(objective, start, method=self.algorithm, **common).x

    def _features(self, X: Any, y: np.ndarray, share: np.ndarray) -> tuple[Any, Any]:
        """The joint features, and 1 for those that are penalised, 0 for constant ones."""
        if self.feature_functions is not None:
            return apply_functions(self.feature_functions, X, self.classes_), 1.0
        n, k, X = y.size, self.classes_.size, with_constant(X, self.fit_intercept)
        every = np.ones((X.shape[1], k), dtype=bool)
        seen = label_sums(X, y, share, k, self.n_jobs, sizes=True) > 0 if self.features == "seen" else every
        self.pairs_ = np.argwhere(seen)
        penalised = (self.pairs_[:, 0] < self.n_features_in_).astype(float) if self.fit_intercept else 1.0
        features = ProductFeatures(X, k, seen, self.n_jobs)
        mostly_empty = seen.size > 8 * max(features.size, 1_000_000)  # a table of weights would be
        if mostly_empty and not is_streamed(X):
            return JointFeatures(features.matrix(), k, np.arange(n)), penalised
        return features, penalised

    def _streaming_refusal(self) -> str:
        return streaming_refusal(self)

    def _model(self, X: Any, w: np.ndarray) -> dict[str, Any]:
        """The fitted attributes for weights w."""
        if self.feature_functions is not None:
            return {"weights_": w}
        dtype, d = X.dtype, self.n_features_in_
        table = np.zeros((d + self.fit_intercept, self.classes_.size), dtype=dtype)
        table[tuple(self.pairs_.T)] = w
        intercept = table[d] if self.fit_intercept else np.zeros(self.classes_.size, dtype=dtype)
        return {"weights_": w.astype(dtype), "coef_": table[:d].T, "intercept_": intercept}

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        """Arrays as always; dicts as a matrix of their named features; anything as it is for functions."""
        named = isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)
        if not named and self.feature_functions is None:
            return super()._check(X, y, reset=reset)
        if self.feature_functions is not None:
            contexts = np.empty(len(X), dtype=object)
            contexts[:] = list(X)
            if reset:
                self.n_features_in_ = len(self.feature_functions)
        else:
            known = None if reset else getattr(self, "vocabulary_", None)
            if known is None and not reset:
                raise ValueError(
                    f"X holds dicts of features, but MaxEnt was fitted on a table of {self.n_features_in_} columns."
                )
            contexts, names = encode_dicts(X, known)
            if reset:
                self.vocabulary_, self.n_features_in_ = names, len(names)
        if y is NO_TARGET:
            return contexts
        if y is None:
            raise ValueError("MaxEnt requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)
        return contexts, column_or_1d(y, warn=True)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if self.feature_functions is None:
            return row_scores(X, self.coef_, self.intercept_)
        features = apply_functions(self.feature_functions, X, self.classes_)
        return features.scores(self.weights_)[features.context]

    def decision_function(self, X: Any) -> np.ndarray:
        """sum_i w_i f_i(x, y) for each label, or for two labels the second less the first.

        Parameters
        ----------
        X : array, sparse matrix, list of dicts, or contexts of the feature functions
            The data.

        Returns
        -------
        scores : array of shape (n_samples, n_classes) or (n_samples,)
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row; the first of equals.

        Parameters
        ----------
        X : array, sparse matrix, list of dicts, or contexts of the feature functions
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log P(y|x) of all labels.

        Parameters
        ----------
        X : array, sparse matrix, list of dicts, or contexts of the feature functions
            The data.

        Returns
        -------
        log_probabilities : array of shape (n_samples, n_classes)
        """
        return log_softmax(self._scores(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(y|x) of all labels.

        Parameters
        ----------
        X : array, sparse matrix, list of dicts, or contexts of the feature functions
            The data.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean of log P(y|x) (Li eq. 6.26).

        Parameters
        ----------
        X, y : the data
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        value : float
        """
        log_p, index = self.predict_log_proba(X), np.searchsorted(self.classes_, y)
        weight = None if sample_weight is None else check_weight(sample_weight, log_p)
        return float(np.average(log_p[np.arange(index.size), index], weights=weight))

    def dual_function(self, X: Any, y: Any, weights: Any = None) -> float:
        """Ψ(w) = -H(P_w) + sum_i w_i (E_data(f_i) - E_w(f_i)), the Lagrangian at P_w (Li eq. 6.17, 6.20).

        Parameters
        ----------
        X, y : the data
        weights : array of shape (n_weights,), optional
            w; by default those of the model.

        Returns
        -------
        value : float
            The same as the mean log-likelihood at w; at the optimum without a penalty -H(P).
        """
        check_is_fitted(self)
        w = np.asarray(self.weights_ if weights is None else weights, dtype=float)
        X, y = self._check(X, y, reset=False)
        index, share = np.searchsorted(self.classes_, y), np.full(len(y), 1 / len(y))
        if self.feature_functions is not None:
            features: Any = apply_functions(self.feature_functions, X, self.classes_)
        else:
            X = with_constant(X, self.fit_intercept)
            seen = np.zeros((X.shape[1], self.classes_.size), dtype=bool)
            seen[tuple(self.pairs_.T)] = True
            features = ProductFeatures(X, self.classes_.size, seen)
        contexts, empirical = features.context_weight(share), features.empirical(index, share)
        log_z, expected = features.statistics(w, contexts)
        return math.fsum(w * expected) - log_z + math.fsum(w * (empirical - expected))


def scaling_update(
    features: ArrayLike,
    empirical: ArrayLike,
    context_weight: ArrayLike,
    w: ArrayLike,
    *,
    method: Literal["iis", "gis"] = "iis",
) -> np.ndarray:
    """One update of iterative scaling, in plain form: the weights w + δ (Li Alg 6.1).

    `tercet.optimize.iterative_scaling` makes the same updates on sparse features of any size.

    Parameters
    ----------
    features : array of shape (n_contexts, n_labels, n_features)
        f_i(x, y), not negative.
    empirical : array of shape (n_features,)
        The expectations of the features in the data.
    context_weight : array of shape (n_contexts,)
        The empirical distribution of x.
    w : array of shape (n_features,)
        The weights before the update.
    method : {"iis", "gis"}, default="iis"
        "iis" solves (6.33) by Newton's method (6.36); "gis" puts the largest f# for all, which has the closed form
        (6.34).

    Returns
    -------
    w : array of shape (n_features,)

    Examples
    --------
    >>> F = np.eye(2)[None]  # one context, two labels, an indicator feature for each
    >>> w = scaling_update(F, [0.25, 0.75], [1.0], [0.0, 0.0])
    >>> np.exp(w) / np.exp(w).sum()
    array([0.25, 0.75])
    """
    F, target = np.asarray(features, dtype=float), np.asarray(empirical, dtype=float)
    w = np.asarray(w, dtype=float)
    joint = np.asarray(context_weight, dtype=float)[:, None] * np.exp(log_softmax(F @ w))  # P(x) P_w(y|x)
    f_sharp = F.sum(axis=2)  # f#(x, y), the number of active features
    if method == "gis":
        return w + np.log(target / np.einsum("xy,xyi->i", joint, F)) / f_sharp.max()
    delta = np.zeros_like(w)
    for _ in range(100):
        terms = joint[..., None] * F * np.exp(delta * f_sharp[..., None])  # (6.33)
        g, slope = terms.sum(axis=(0, 1)) - target, (terms * f_sharp[..., None]).sum(axis=(0, 1))
        delta = delta - g / slope  # (6.36)
        if np.abs(g / slope).max() <= 1e-14:
            break
    return w + delta
