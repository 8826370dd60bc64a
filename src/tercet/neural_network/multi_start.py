"""Training from several initial values (多组初始化)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import delayed

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Whole
from tercet.core.parameters import Jobs, OpenFraction, Range, Seed
from tercet.core.steps import Fit, Task
from tercet.neural_network.selected_estimator import SelectedEstimator, fit_candidate

Starts = Annotated[int, Range(1, 1_000_000)]
# Attributes with the final value of what an estimator minimises, and of what it maximises.
MINIMISED = ("loss_", "inertia_", "cost_", "reconstruction_err_", "kl_divergence_", "stress_")
MAXIMISED = ("lower_bound_",)


@method(
    zh="多组初始化训练",
    task="model selection",
    model="that of the estimator",
    strategy="the lowest of several local minima of the estimator's objective, or the best held-out score",
    algorithms="the estimator's own algorithm from each of several seeds",
    texts=["watermelon notes ch. 3, sec. 3.4"],
)
class MultiStart(SelectedEstimator):
    """Multi-start: trains an estimator from several random initial values and keeps the best result.

    Training that descends to a local minimum, as back-propagation does, ends in different minima from different
    initial weights. Each start is a fit with another seed.

    Parameters
    ----------
    estimator : estimator
        Any estimator with a `random_state`: a neural network, a mixture, k-means ...
    n_starts : int, default=10
        Number of fits.
    criterion : {"auto", "loss", "score", "validation"}, default="auto"
        What decides. "loss" is the final value of the objective that the estimator reports: `loss_`, `inertia_`,
        `reconstruction_err_`, `lower_bound_` ..., or the last "loss" in `history_`. "score" is the score of the
        training rows. "validation" holds rows out of all fits and compares their scores. "auto" is the loss where
        the estimator reports one, else the score.
    scoring : str or callable, optional
        The score; by default the estimator's own.
    validation_fraction : float, default=0.2
        Share of the rows that "validation" holds out. The chosen estimator has learned from the other rows.
    random_state : int, optional
        Decides the seeds of the fits and the rows that are held out.
    n_jobs : int, optional
        Fits to run at the same time; the result does not depend on it.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen fit.
    best_index_ : int
        Its place among the starts; ties go to the first.
    results_ : dict of lists
        A row for each start: "random_state", the seed of the fit, and "loss" (the less the better) or "score" (the
        greater the better). A maximised objective counts as a loss with the opposite sign.

    Examples
    --------
    >>> from tercet.neural_network import MLPRegressor

    XOR with two hidden units: some initial weights lead to a local minimum.

    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> network = MLPRegressor(
    ...     hidden_layer_sizes=2, activation="logistic", solver="lbfgs", alpha=0, max_iter=500
    ... )
    >>> model = MultiStart(network, 10, random_state=1).fit(X, y)
    >>> model.predict(X).round(2) + 0.0
    array([0., 1., 1., 0.])
    >>> bool(min(model.results_["loss"]) < 1e-4 < 0.05 < max(model.results_["loss"]))
    True
    """

    def __init__(
        self,
        estimator: Any,
        n_starts: Starts = 10,
        *,
        criterion: Literal["auto", "loss", "score", "validation"] = "auto",
        scoring: str | Callable[..., Any] | None = None,
        validation_fraction: OpenFraction = 0.2,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.estimator = estimator
        self.n_starts = n_starts
        self.criterion = criterion
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs

    best_index_: int
    results_: dict[str, list[Any]]
    fitted_shapes = {"best_index_": Whole()}
    task_name = "fit-start"

    def _fit_all(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        seeds = generator(self.random_state).integers(2**31 - 1, size=self.n_starts).tolist()
        here, there = None, None
        if self.criterion == "validation":
            here, there = self._split(X, y, self.validation_fraction)
        train = self._take(X, y, params, here)
        test = train if there is None else self._take(X, y, params, there, here)
        tasks = Fit.of(self).tasks(self.n_starts, self.task_name)
        calls = (
            delayed(self._start)(self._with_seed(seed), train, test, task) for seed, task in zip(seeds, tasks)
        )
        found = self._parallel(calls, self.n_starts)
        kinds = {kind for _, kind, _ in found}
        if len(kinds) > 1:  # a loss that some fits do not report
            raise ValueError(
                f"{type(self).__name__}: only some of the fits report a loss; set criterion to 'score' "
                "or 'validation'."
            )
        values = np.array([value for _, _, value in found])
        order = values if kinds == {"loss"} else -values
        if np.isnan(order).all():
            raise ValueError(f"{type(self).__name__}: the {kinds.pop()} of every start is NaN.")
        self.best_index_ = int(np.nanargmin(order))
        self.best_estimator_ = found[self.best_index_][0]
        self.results_ = {"random_state": seeds, kinds.pop(): values.tolist()}

    def _with_seed(self, seed: int) -> Any:
        """The estimator with a seed for every `random_state` in it."""
        estimator = clone(self.estimator)
        names = [
            name
            for name in estimator.get_params()
            if name == "random_state" or name.endswith("__random_state")
        ]
        if not names:
            raise ValueError(
                f"{type(self).__name__}: parameter 'estimator' must have a random_state, or all starts are the "
                f"same; got {self.estimator!r}."
            )
        return estimator.set_params(**dict.fromkeys(names, seed))

    def _start(self, estimator: Any, train: Any, test: Any, task: Task) -> tuple[Any, str, float]:
        """One fit, and by which loss or score it is compared."""
        X, y, params = train
        model = fit_candidate(estimator, X, y, params, task)
        if self.criterion in ("auto", "loss"):
            loss = final_loss(model)
            if loss is not None:
                return model, "loss", loss
            if self.criterion == "loss":
                raise ValueError(
                    f"{type(self).__name__}: criterion='loss' needs an estimator that reports its loss "
                    f"({', '.join((*MINIMISED, *MAXIMISED))} or history_); got {type(model).__name__}. "
                    "Use 'score' or 'validation'."
                )
        return model, "score", self._score(model, *test)


def final_loss(model: Any) -> float | None:
    """The value that a fitted estimator gives for its objective, as a loss; None where it gives none."""
    steps = getattr(model, "steps", None)
    model = steps[-1][1] if isinstance(steps, list) and steps else model  # of a pipeline
    state = vars(model)
    for names, sign in ((MINIMISED, 1.0), (MAXIMISED, -1.0)):
        for name in names:
            value = state.get(name)
            if isinstance(value, int | float | np.number):
                return sign * float(value)
    history = state.get("history_") or {}
    last = (history.get("loss") or [math.nan])[-1]
    return None if math.isnan(last) else float(last)
