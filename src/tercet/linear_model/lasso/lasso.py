"""The lasso (套索): least squares with an L1 penalty."""

from __future__ import annotations

from typing import Any, Literal

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.linear_model.lasso.elastic_net import ALGORITHMS, ElasticNet


@method(
    zh="套索 L1正则化",
    task="regression",
    model="f(x) = w·x + b",
    strategy="mean squared error / 2 + alpha |w|_1",
    algorithms=ALGORITHMS,
    texts=[
        "Li ch. 1, eq. 1.26",
        "Machine Learning in Depth ch. 2, sec. 2.2",
        "watermelon notes ch. 10, eq. 10.7",
        "Pattern Recognition ch. 5, sec. 5.7, eq. 5-109",
    ],
    peers=["sklearn.linear_model.Lasso", "skglm.Lasso", "celer.Lasso"],
)
class Lasso(ElasticNet):
    """Linear regression with an L1 penalty, whose solutions are sparse.

    min over w, b of  1/(2n) sum (y_i - w.x_i - b)^2 + alpha sum |w_j|

    The texts' lambda: ``alpha = lambda / 2`` for a mean of squares (Li eq. 1.26, which counts the constant
    in the penalty: `penalize_intercept=True`; Pattern Recognition eq. 5-109), ``alpha = lambda / (2 n)`` for a sum
    (watermelon notes eq. 10.7). It is the most probable w under a Laplace prior (Machine Learning in Depth
    ch. 2.2).

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 is least squares.
    fit_intercept, precompute, copy_X, max_iter, tol, warm_start, positive, random_state, selection, solver, \
    penalize_intercept, n_jobs
        As in `ElasticNet`.

    Attributes
    ----------
    coef_, intercept_, sparse_coef_, dual_gap_, n_iter_
        As in `ElasticNet`.

    Examples
    --------
    >>> X = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    >>> Lasso(alpha=0.3, fit_intercept=False).fit(X, [3.6, 2.4, -4.4, -1.6]).coef_.round(10)
    array([ 2.7, -0.1,  0.7])
    """

    l1_ratio = 1.0

    def __init__(
        self,
        alpha: NonNegative = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: Count = 1000,
        tol: NonNegative = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Seed = None,
        selection: Literal["cyclic", "random"] = "cyclic",
        solver: Literal["cd", "ista", "fista"] = "cd",
        penalize_intercept: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.penalize_intercept = penalize_intercept
        self.n_jobs = n_jobs
