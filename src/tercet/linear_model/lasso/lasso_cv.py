"""The lasso with its penalty chosen by cross-validation (交叉验证)."""

from __future__ import annotations

from typing import Any, Literal

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Seed
from tercet.linear_model.lasso.elastic_net_cv import ElasticNetCV
from tercet.linear_model.lasso.regularization_path import lasso_path


@method(
    zh="套索 交叉验证",
    task="regression",
    model="f(x) = w·x + b",
    strategy="lasso, whose alpha has the least mean squared error in cross-validation",
    algorithms="coordinate descent along a path of alphas in each fold",
    texts=["watermelon notes ch. 10", "Pattern Recognition ch. 5, sec. 5.7"],
    peers=["sklearn.linear_model.LassoCV", "celer.LassoCV"],
)
class LassoCV(ElasticNetCV):
    """Lasso that chooses its strength by cross-validation.

    Parameters
    ----------
    eps, alphas, fit_intercept, precompute, max_iter, tol, copy_X, cv
        As in `ElasticNetCV`.
    verbose, n_jobs, positive, random_state, selection
        As in `ElasticNetCV`.

    Attributes
    ----------
    alpha_, alphas_, mse_path_, coef_, intercept_, sparse_coef_, dual_gap_, n_iter_
        As in `ElasticNetCV`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = LassoCV(alphas=10).fit(X, X[:, 0] + 1)
    >>> model.coef_.round(2)
    array([1., 0., 0., 0., 0.])
    """

    path = staticmethod(lasso_path)
    l1_ratio = 1.0

    def __init__(
        self,
        *,
        eps: Positive = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: Count = 1000,
        tol: NonNegative = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: bool | int = False,
        n_jobs: Jobs = None,
        positive: bool = False,
        random_state: Seed = None,
        selection: Literal["cyclic", "random"] = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
