"""Choosing the number of hidden units (隐层节点数的选择): cross-validation, pruning, growing."""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import LeaveOneOut
from sklearn.utils.parallel import delayed

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Whole
from tercet.core.folds import checked_folds
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, OpenFraction, Seed
from tercet.core.steps import Fit, Task, without_fit
from tercet.neural_network.selected_estimator import SelectedEstimator, fit_candidate

Sizes = tuple[int, ...]
# State of a network's training that a new training does not continue.
UNTRAINED = {
    "n_iter_": 0, "t_": 0, "loss_curve_": [], "best_loss_": math.inf, "_no_improvement_count": 0,
    "validation_scores_": [], "best_validation_score_": -math.inf,
}  # fmt: skip


@method(
    zh="隐层节点数的选择",
    task="model selection",
    model="a multilayer perceptron with m hidden units",
    strategy="the best score on held-out rows; of equal scores the smaller network",
    algorithms={
        "cv": "candidate sizes by cross-validation",
        "prune": "an extra penalty on Σ w² or Σ |w|; weak hidden units are deleted, the rest is trained on",
        "grow": "hidden units are added, the others keep their weights",
    },
    texts=["Pattern Recognition ch. 5, 5.4.5"],
    peers=["sklearn.model_selection.GridSearchCV"],
)
class HiddenSizeSearch(SelectedEstimator):
    """Search for the number of hidden units of a multilayer perceptron.

    Too few hidden units cannot fit the data, too many fit the noise. The network with the best score on held-out
    rows is chosen, and trained on all rows.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor with the parameters and attributes of scikit-learn's multilayer perceptrons:
        `hidden_layer_sizes`, `alpha`, `warm_start`, `coefs_`, `intercepts_`.
    algorithm : {"cv", "prune", "grow"}, default="cv"
        "cv" scores each of the `sizes` by cross-validation. "prune" begins with the largest, trains with an extra
        penalty on the weights, deletes weak hidden units and trains the rest on from its weights, down to the
        smallest. "grow" begins with the smallest and adds units up to the next size, while the others keep their
        weights.
    sizes : list or range of int, or list of tuples, default=(1, 2, 4, 8, 16, 32)
        Numbers of hidden units; a tuple has one number for each hidden layer. "prune" goes through numbers between
        the largest and the smallest, too.
    cv : int, "loo", splitter or list of splits, default=5
        The folds of "cv"; "loo" leaves out one row at a time.
    scoring : str or callable, optional
        The score; by default the estimator's own. Where a single row is held out, R² is undefined, and the default
        of a regressor is its negative squared error.
    tol : float, default=0.0
        A smaller network is preferred whose score is less than the best by at most tol.
    patience : int, default=1
        "prune" and "grow" stop after this number of networks in a row without success: a score that is below the
        best by more than tol ("prune"), or not above it by more than tol ("grow").
    validation_fraction : float, default=0.2
        Share of the rows that "prune" and "grow" hold out for the score.
    penalty : {"l2", "l1"}, default="l2"
        The extra penalty of "prune": Σ w² / 2 or Σ |w| over all weights between units. "l1" shrinks the weights
        after each pass of gradient descent: with solver="sgd", or "bp" and "accumulated-bp" of our networks.
    alpha : float, default=1.0
        Strength of the extra penalty. Like the estimator's own `alpha`, which it is added to, it is divided by the
        number of rows.
    threshold : float, default=0.1
        A hidden unit is weak if its strength is less than this share of the strongest one's in its layer. The
        strength is the product of the norms of the incoming and of the outgoing weights. Where no unit is weak,
        "prune" deletes the weakest one.
    random_state : int, optional
        Decides the rows that are held out, the weights of added units, and the estimator's seed where it has none.
    n_jobs : int, optional
        Fits of "cv" to run at the same time; the result does not depend on it.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen network, trained on all rows; pruned and grown ones continue from their weights.
    hidden_layer_sizes_ : tuple of int
        Its hidden units.
    best_score_ : float
        Its score on held-out rows.
    best_index_ : int
        Its place in `results_`.
    results_ : dict of lists
        A row for each network in the order of the search: "hidden_layer_sizes", "n_weights" (thresholds included),
        "score", "std_score" (over the folds; 0 for a single held-out part) and "rank".

    Examples
    --------
    >>> from tercet.neural_network import MLPRegressor

    A sine needs two hidden units, and more fit it only a little better:

    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, 100)
    >>> y = np.sin(x) + rng.normal(0, 0.1, 100)
    >>> network = MLPRegressor(activation="tanh", solver="lbfgs", max_iter=1000, random_state=0)
    >>> model = HiddenSizeSearch(network, sizes=[1, 2, 4], tol=0.05).fit(x[:, None], y)
    >>> model.hidden_layer_sizes_, model.results_["n_weights"]
    ((2,), [4, 7, 13])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        algorithm: Literal["cv", "prune", "grow"] = "cv",
        sizes: list | tuple | range = (1, 2, 4, 8, 16, 32),
        cv: Any = 5,
        scoring: str | Callable[..., Any] | None = None,
        tol: NonNegative = 0.0,
        patience: Count = 1,
        validation_fraction: OpenFraction = 0.2,
        penalty: Literal["l2", "l1"] = "l2",
        alpha: NonNegative = 1.0,
        threshold: Fraction = 0.1,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.estimator = estimator
        self.algorithm = algorithm
        self.sizes = sizes
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.penalty = penalty
        self.alpha = alpha
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    hidden_layer_sizes_: Sizes
    best_score_: float
    best_index_: int
    results_: dict[str, list[Any]]
    fitted_shapes = {"best_index_": Whole()}

    def _fit_all(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        sizes = self._checked_sizes()
        rng = generator(self.random_state).spawn(1)[0]
        self._seed = int(rng.integers(2**31 - 1))
        try:
            if self.algorithm == "cv":
                self._cross_validate(X, y, params, sizes)
            else:
                self._prune_or_grow(X, y, params, sizes, rng)
        finally:
            del self._seed

    def _cross_validate(self, X: Any, y: Any, params: dict[str, Any], sizes: list[Sizes]) -> None:
        """Score each size on the same folds, and fit the best to all rows."""
        cv = LeaveOneOut() if isinstance(self.cv, str) and self.cv == "loo" else self.cv
        target = np.asarray(y)
        folds = checked_folds(
            self,
            X,
            target,
            cv=cv,
            classifier=is_classifier(self.estimator),
            weight=params.get("sample_weight"),
        )
        count, scoring = len(sizes) * len(folds), self._scoring(min(len(there) for _, there in folds))
        *tasks, last = Fit.of(self).tasks(count + 1, self.task_name)
        work = [(size, fold) for size in sizes for fold in folds]
        calls = (
            delayed(self._fold)(self._network(size), X, y, params, fold, scoring, task)
            for (size, fold), task in zip(work, tasks)
        )
        found = self._parallel(calls, count)
        scores = np.array([score for score, _ in found]).reshape(len(sizes), len(folds))
        n_weights = [
            max(n for _, n in found[k * len(folds) : (k + 1) * len(folds)]) for k in range(len(sizes))
        ]
        best = self._choose(sizes, n_weights, scores)
        self.best_estimator_ = fit_candidate(self._network(sizes[best]), X, y, params, last)

    def _fold(
        self, network: Any, X: Any, y: Any, params: dict[str, Any], fold: Any, scoring: Any, task: Task
    ) -> tuple[float, int]:
        """The score of a network on the held-out rows of a fold, and the number of its weights."""
        here, there = fold
        model = fit_candidate(network, *self._take(X, y, params, here), task)
        return self._score(model, *self._take(X, y, params, there, here), scoring), count_weights(model)

    def _scoring(self, n_held_out: int) -> Any:
        """The score; negative squared error where R² is undefined, for a regressor and a single held-out row."""
        undefined = self.scoring is None and n_held_out == 1 and is_regressor(self.estimator)
        return "neg_mean_squared_error" if undefined else self.scoring

    def _prune_or_grow(
        self, X: Any, y: Any, params: dict[str, Any], sizes: list[Sizes], rng: np.random.Generator
    ) -> None:
        """Train, change the hidden units, train on, while the score of held-out rows allows it."""
        here, there = self._split(X, y, self.validation_fraction)
        train, test = self._take(X, y, params, here), self._take(X, y, params, there, here)
        grows, scoring = self.algorithm == "grow", self._scoring(len(there))
        first, last = (sizes[0], sizes[-1]) if grows else (sizes[-1], sizes[0])
        most = len(sizes) if grows else 1 + sum(first) - sum(last)
        *tasks, final = Fit.of(self).tasks(most + 1, self.task_name)
        model = self._train(self._network(first), *train, tasks[0])
        models, scores, waited = [model], [self._score(model, *test, scoring)], 0
        for k, task in enumerate(tasks[1:], 1):
            weights = model.coefs_, model.intercepts_
            if grows:
                weights = add_units(*weights, sizes[k], rng)
            elif max(np.subtract(hidden_sizes(model), last)) > 0:
                weights = delete_units(*weights, self.threshold, last)
            else:
                break
            model = self._train(with_weights(model, *weights), *train, task)
            best = max(scores)
            models.append(model)
            scores.append(self._score(model, *test, scoring))
            good = scores[-1] > best + self.tol if grows else scores[-1] >= best - self.tol
            waited = 0 if good else waited + 1
            if waited >= self.patience:
                break
        tried = [hidden_sizes(model) for model in models]
        k = self._choose(tried, [count_weights(model) for model in models], np.array(scores)[:, None])
        chosen = with_weights(models[k], models[k].coefs_, models[k].intercepts_)
        self.best_estimator_ = self._train(chosen, X, y, params, final).set_params(
            warm_start=self.estimator.warm_start
        )

    def _train(self, network: Any, X: Any, y: Any, params: dict[str, Any], task: Task) -> Any:
        """Train a network, from its weights where it has some; a pruned one with the extra penalty."""
        if self.algorithm == "grow":
            return fit_candidate(network, X, y, params, task)
        if self.penalty == "l2":
            return fit_candidate(
                network.set_params(alpha=self.estimator.alpha + self.alpha), X, y, params, task
            )
        with one_blas_thread(), task.around():
            return train_with_l1(network, X, y, params, self.alpha, type(self).__name__)

    def _choose(self, sizes: list[Sizes], n_weights: list[int], scores: np.ndarray) -> int:
        """Set the table and what is best in it: the smallest network whose score is within tol of the best."""
        means = scores.mean(axis=1)
        if np.isnan(means).all():
            raise ValueError(f"{type(self).__name__}: the score of every network is NaN.")
        good = np.flatnonzero(means >= np.nanmax(means) - self.tol)
        best = int(good[np.argmin(np.array(n_weights)[good])])
        ordered = np.nan_to_num(means, nan=-np.inf)
        self.results_ = {
            "hidden_layer_sizes": sizes,
            "n_weights": n_weights,
            "score": means.tolist(),
            "std_score": scores.std(axis=1).tolist(),
            "rank": (1 + (ordered[:, None] < ordered).sum(axis=1)).tolist(),
        }
        self.best_index_, self.hidden_layer_sizes_, self.best_score_ = best, sizes[best], float(means[best])
        return best

    def _network(self, sizes: Sizes) -> Any:
        """The untrained estimator with these hidden units."""
        network = clone(self.estimator).set_params(hidden_layer_sizes=sizes)
        if getattr(network, "random_state", 0) is None:
            network.set_params(random_state=self._seed)
        return network if self.algorithm == "cv" else network.set_params(warm_start=True)

    def _checked_sizes(self) -> list[Sizes]:
        """The candidates from the smallest to the largest, as tuples."""
        name = type(self).__name__
        needed = {"hidden_layer_sizes", *(() if self.algorithm == "cv" else ("warm_start", "alpha"))}
        missing = sorted(needed - set(self.estimator.get_params(deep=False)))
        if missing:
            raise ValueError(
                f"{name}: parameter 'estimator' must be a multilayer perceptron with the parameters "
                f"{', '.join(sorted(needed))}; got {self.estimator!r}, which has no {', '.join(missing)}."
            )
        if self.algorithm == "prune" and getattr(self.estimator, "error_weight", None) is not None:
            raise ValueError(
                f"{name}: algorithm='prune' adds its penalty to alpha, which error_weight="
                f"{self.estimator.error_weight!r} of the estimator takes the place of. Set error_weight=None."
            )
        found = [tuple(np.atleast_1d(np.asarray(size, dtype=object))) for size in self.sizes]
        whole = all(isinstance(n, numbers.Integral) and int(n) >= 1 for size in found for n in size)
        if not found or not whole or not all(found):
            raise ValueError(
                f"{name}: parameter 'sizes' must be whole numbers of at least 1, or tuples of them; "
                f"got {self.sizes!r}."
            )
        found = sorted({tuple(int(n) for n in size) for size in found}, key=lambda size: (sum(size), size))
        if self.algorithm != "cv" and any(
            len(a) != len(b) or any(m > n for m, n in zip(a, b)) for a, b in pairwise(found)
        ):
            raise ValueError(
                f"{name}: with algorithm={self.algorithm!r}, parameter 'sizes' must have one number of hidden "
                f"layers, and no layer that shrinks where another grows; got {self.sizes!r}."
            )
        return found


def hidden_sizes(model: Any) -> Sizes:
    """The hidden units of a trained network."""
    return tuple(W.shape[1] for W in model.coefs_[:-1])


def count_weights(model: Any) -> int:
    """The number of weights and thresholds of a trained network."""
    return sum(part.size for part in (*model.coefs_, *model.intercepts_))


def strengths(coefs: list[np.ndarray]) -> list[np.ndarray]:
    """For each hidden layer, the norm of each unit's incoming weights times that of its outgoing weights."""
    return [
        np.linalg.norm(before, axis=0) * np.linalg.norm(after, axis=1) for before, after in pairwise(coefs)
    ]


def delete_units(
    coefs: list[np.ndarray], intercepts: list[np.ndarray], threshold: float, smallest: Sizes
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The network without its weak hidden units, and at least without the weakest.

    A unit is weak if its strength is below `threshold` times the greatest in its layer; each layer keeps its
    `smallest` number of units.
    """
    relative = [s / s.max() if s.max() > 0 else s for s in strengths(coefs)]
    weak = [list(weakest(s, threshold, s.size - least)) for s, least in zip(relative, smallest)]
    if not any(weak):
        deletable = [s.min() if s.size > least else np.inf for s, least in zip(relative, smallest)]
        layer = int(np.argmin(deletable))
        weak[layer] = [int(np.argmin(relative[layer]))]
    coefs, intercepts = list(coefs), list(intercepts)
    for layer, units in enumerate(weak):
        coefs[layer] = np.delete(coefs[layer], units, axis=1)
        intercepts[layer] = np.delete(intercepts[layer], units)
        coefs[layer + 1] = np.delete(coefs[layer + 1], units, axis=0)
    return coefs, intercepts


def weakest(strength: np.ndarray, threshold: float, most: int) -> Iterator[int]:
    """Up to `most` units whose strength is below a threshold, the weakest first."""
    for unit in np.argsort(strength, kind="stable")[:most]:
        if strength[unit] < threshold:
            yield int(unit)


def add_units(
    coefs: list[np.ndarray], intercepts: list[np.ndarray], sizes: Sizes, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The network with more hidden units, whose outputs are the same at first.

    New units have random incoming weights, uniform within sqrt(6 / (inputs + units)), and outgoing weights of zero.
    """
    coefs, intercepts = list(coefs), list(intercepts)
    for layer, size in enumerate(sizes):
        before, after = coefs[layer], coefs[layer + 1]
        inputs, count = before.shape[0], size - before.shape[1]
        bound = math.sqrt(6 / (inputs + size))
        new = rng.uniform(-bound, bound, (inputs + 1, count)).astype(before.dtype)
        coefs[layer] = np.hstack([before, new[1:]])
        intercepts[layer] = np.concatenate([intercepts[layer], new[0]])
        coefs[layer + 1] = np.vstack([after, np.zeros((count, after.shape[1]), after.dtype)])
    return coefs, intercepts


def with_weights(model: Any, coefs: list[np.ndarray], intercepts: list[np.ndarray]) -> Any:
    """A copy of a trained network with other weights, which its next training starts from."""
    network = copy.deepcopy(without_fit(model))
    network.set_params(hidden_layer_sizes=tuple(W.shape[1] for W in coefs[:-1]), warm_start=True)
    network.coefs_, network.intercepts_ = [W.copy() for W in coefs], [b.copy() for b in intercepts]
    state = vars(network)
    state.pop("_optimizer", None)  # of scikit-learn's class: its moments have the old shapes
    state.update({name: copy.copy(start) for name, start in UNTRAINED.items() if state.get(name) is not None})
    return network


def train_with_l1(network: Any, X: Any, y: Any, params: dict[str, Any], alpha: float, owner: str) -> Any:
    """Train by passes of gradient descent, each followed by the shrinkage that belongs to its steps.

    A step on alpha / n Σ |w| moves each weight towards 0 by the learning rate times alpha / n, and not beyond
    (truncated gradient); momentum lengthens a step by the factor 1 / (1 - momentum). The passes end when loss and
    penalty have not fallen by the network's `tol` for `n_iter_no_change` of them.
    """
    needed = {"learning_rate": "constant", "early_stopping": False}
    wrong = [
        f"{name}={network.get_params()[name]!r}" for name in needed if getattr(network, name) != needed[name]
    ]
    wrong += [] if network.solver in ("sgd", "bp", "accumulated-bp") else [f"solver={network.solver!r}"]
    wrong += [] if network.momentum < 1 else [f"momentum={network.momentum!r}"]
    if wrong:
        raise ValueError(
            f"{owner}: penalty='l1' needs an estimator that is trained by gradient descent (solver='sgd', momentum "
            f"below 1, learning_rate='constant', early_stopping=False); got {', '.join(wrong)}. Use penalty='l2'."
        )
    n, weight = X.shape[0], params.get("sample_weight")
    batch = min(200, n) if network.batch_size == "auto" else min(network.batch_size, n)
    updates = {"bp": n, "accumulated-bp": 1}.get(network.solver, math.ceil(n / batch))
    strength = alpha / (n if weight is None else float(np.sum(weight)))
    shrinkage = network.learning_rate_init / (1 - network.momentum) * strength * updates
    first = {"classes": np.unique(y)} if is_classifier(network) and not hasattr(network, "classes_") else {}
    lowest, waited = math.inf, 0
    for _ in range(network.max_iter):
        network.partial_fit(X, y, **first, **params)
        first = {}
        size = 0.0
        for W in network.coefs_:
            W[...] = np.sign(W) * np.maximum(np.abs(W) - shrinkage, 0)
            size += float(np.abs(W).sum())
        objective = network.loss_ + strength * size
        waited = waited + 1 if objective > lowest - network.tol else 0
        lowest = min(lowest, objective)
        if waited >= network.n_iter_no_change:
            break
    return network
