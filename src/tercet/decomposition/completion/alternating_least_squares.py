"""Alternating least squares (交替最小二乘): a matrix of ratings as a product of two narrow ones."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted, generator
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Seed
from tercet.core.row_products import row_products
from tercet.core.validation import check_array, target_for_callbacks
from tercet.decomposition._completion.observed_entries import observed_entries, refuse_duplicates, transposed
from tercet.decomposition._completion.row_systems import Problem
from tercet.decomposition._completion.side import Side
from tercet.decomposition._completion.top_items import top_items

CG_STEPS = 3


@method(
    zh="交替最小二乘矩阵分解",
    task="matrix completion",
    model="r_ui ≈ μ + b_u + c_i + p_u·q_i",
    strategy="squared error of the known ratings + λ (|p|² + |q|² + b² + c²); implicit: weights of confidence",
    algorithms={
        "cholesky": "each user by a linear system, then each item, by turns",
        "cg": "a few steps of conjugate gradients in place of the systems, for many components",
    },
    texts=["watermelon notes ch. 10, eq. 10.22-10.24"],
    peers=["cmfrec.CMF", "implicit.als.AlternatingLeastSquares", "surprise.SVD"],
)
class AlternatingLeastSquares(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Matrix factorisation of ratings by alternating least squares, for completion and recommendation.

    Rows are users, columns are items. With explicit ratings, minimises over the known ones

        Σ (r_ui - μ - b_u - c_i - p_u·q_i)² + regularization (Σ |p_u|² + b_u² + Σ |q_i|² + c_i²).

    With implicit feedback (clicks, plays) r_ui counts how often, and *all* cells take part: a preference of 1 where
    r_ui > 0, else 0, with the confidence 1 + `confidence` |r_ui| (Hu, Koren and Volinsky, 2008).

    Parameters
    ----------
    n_components : int, optional
        The rank: length of p_u and q_i; by default 20, or less for a small matrix.
    regularization : float, default=0.1
        Strength of the penalty.
    scale_regularization : bool, default=True
        Multiply the penalty of a user or an item by the number of its ratings (ALS-WR), so that the best strength
        hardly depends on the data; not with implicit feedback.
    feedback : {"explicit", "implicit"}, default="explicit"
        What the numbers are: ratings, or counts of what users did.
    confidence : float, default=1.0
        How much a count adds to the confidence, for implicit feedback.
    biases : bool, default=True
        Whether ratings have a mean μ, and users and items biases b_u and c_i; not with implicit feedback.
    solver : {"cholesky", "cg"}, default="cholesky"
        How the system of a user or item is solved: by elimination, or by a few steps of conjugate gradients, which
        pay from some hundred components on.
    max_iter : int, default=50
        The most passes.
    tol : float, default=1e-3
        Stop when a pass lowers the objective by less than tol times its value. 0 leaves only max_iter.
    random_state : int, optional
        Decides the factors of the items to start from.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    user_factors_ : array of shape (n_users, n_components)
        p_u, after `fit` on these users.
    item_factors_ : array of shape (n_items, n_components)
        q_i.
    user_bias_, item_bias_ : arrays of shapes (n_users,) and (n_items,)
        b_u and c_i; zeros without `biases`.
    mean_ : float
        μ.
    n_iter_ : int
        Passes made.
    history_ : dict
        The objective `loss` after each pass, and for explicit ratings the `rmse` of those it was fitted to.

    Examples
    --------
    >>> ratings = np.array([[5, 4, np.nan, 1], [4, np.nan, 1, 1], [1, 1, np.nan, 5], [np.nan, 1, 5, 4.0]])
    >>> model = AlternatingLeastSquares(2, regularization=0.02, random_state=0).fit(ratings)
    >>> model.predict_ratings([0, 2], [2, 2]).round()
    array([1., 6.])
    >>> items, scores = model.recommend([0], n=1, X=ratings[:1])
    >>> items
    array([[2]])
    """

    missing_input: ClassVar[bool] = True
    batch_rounding: ClassVar[float] = 1e-6
    largest_value: ClassVar[float] = 1e100
    fitted_shapes: ClassVar[Declarations] = {
        "item_factors_": Floats("features components", finite=True),
        "item_bias_": Floats("features", finite=True),
        "user_factors_": Floats("users components", finite=True),
        "user_bias_": Floats("users", finite=True),
        "mean_": Floats("", finite=True),
    }
    item_factors_: np.ndarray
    user_factors_: np.ndarray

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        regularization: NonNegative = 0.1,
        scale_regularization: bool = True,
        feedback: Literal["explicit", "implicit"] = "explicit",
        confidence: Positive = 1.0,
        biases: bool = True,
        solver: Literal["cholesky", "cg"] = "cholesky",
        max_iter: Count = 50,
        tol: NonNegative = 1e-3,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.scale_regularization = scale_regularization
        self.feedback = feedback
        self.confidence = confidence
        self.biases = biases
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the factors of users and items.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_users, n_items)
            The ratings. Known are the stored entries of a sparse matrix, zeros among them, and of an array all that
            is not NaN.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        X = self._known(X)
        k, kind = self._rank(X.shape), X.dtype
        columns, threads = transposed(X), all_cores(self.n_jobs)
        self.mean_ = float(X.data.mean(dtype=np.float64)) if self._has_biases else 0.0
        users, items = Side(X, k, self._has_biases, kind), Side(columns, k, self._has_biases, kind)
        items.table[:, :k] = generator(self.random_state).normal(0.0, 0.1, size=(X.shape[1], k))
        problem = self._problem(exact=False)
        loop = self.steps(
            self.max_iter,
            unpack=lambda state: self._attributes(*state),
            hint="Raise max_iter or tol, or the regularization.",
        )
        users.solve(items, self.mean_, problem, threads)
        for step in loop:
            items.solve(users, self.mean_, problem, threads)
            fitted = users.solve(items, self.mean_, problem, threads)
            loss = fitted + items.penalty(problem)
            measures = {"loss": loss}
            if self.feedback == "explicit":
                measures["rmse"] = float(np.sqrt(max(0.0, fitted - users.penalty(problem)) / X.nnz))
            before = step.history[-1]["loss"] if step.history else np.inf
            step.report((users.state(), items.state()), **measures)
            if not np.isfinite(loss):
                break
            if self.tol > 0 and step.converged(before - loss <= self.tol * abs(loss)):
                break
        self.__dict__.update(self._attributes(users.state(), items.state()))
        self._refuse_infinite()

    def _attributes(
        self, users: tuple[np.ndarray, np.ndarray], items: tuple[np.ndarray, np.ndarray]
    ) -> dict[str, Any]:
        return {
            "user_factors_": users[0],
            "user_bias_": users[1],
            "item_factors_": items[0],
            "item_bias_": items[1],
        }

    def _refuse_infinite(self) -> None:
        parts = self.user_factors_, self.item_factors_, self.user_bias_, self.item_bias_
        if not all(np.isfinite(part).all() for part in parts):
            raise ValueError(
                f"{type(self).__name__}: the factors are beyond floating-point numbers. Scale the ratings, or "
                "raise the regularization."
            )

    @property
    def _has_biases(self) -> bool:
        return self.biases and self.feedback == "explicit"

    def _problem(self, *, exact: bool) -> Problem:
        implicit = self.feedback == "implicit"
        scaled = self.scale_regularization and not implicit
        steps = CG_STEPS if self.solver == "cg" and not exact else 0
        return Problem(implicit, self.confidence, self.regularization, scaled, steps)

    def _rank(self, shape: tuple[int, int]) -> int:
        most = min(shape)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"{type(self).__name__}: n_components={self.n_components} is larger than the rank of a matrix of "
                f"{shape[0]} users and {shape[1]} items; allowed are 1 to {most}."
            )
        return min(20, most) if self.n_components is None else self.n_components

    def _known(self, X: Any) -> Any:
        X = observed_entries(X)
        if not X.nnz:
            raise ValueError(f"{type(self).__name__}: X has no ratings; at least one entry must be known.")
        return X

    def transform(self, X: Any) -> np.ndarray:
        """Factors of users by their ratings, with those of the items as they are (fold-in), for new users, too.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_users, n_items)
            The ratings, as for `fit`.

        Returns
        -------
        P : array of shape (n_users, n_components), or one column more
            p_u; with `biases` the last column is b_u. A user without ratings has zeros.
        """
        check_is_fitted(self)
        return self._folded(observed_entries(self._check(X, reset=False)))

    def _folded(self, X: Any) -> np.ndarray:
        k, kind = self.item_factors_.shape[1], self.item_factors_.dtype
        with np.errstate(over="ignore"):
            X = X.astype(kind, copy=False)
        if not np.isfinite(X.data).all():
            raise ValueError(f"{type(self).__name__}: X has numbers beyond {kind}, the type of the factors.")
        items = Side(None, k, self._has_biases, kind, len(self.item_factors_))
        items.table[:, :k], items.bias[:] = self.item_factors_, self.item_bias_
        users = Side(X, k, self._has_biases, kind)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            users.solve(items, self.mean_, self._problem(exact=True), all_cores(self.n_jobs))
        factors, bias = users.state()
        found = np.column_stack([factors, bias]) if self._has_biases else factors
        if not np.isfinite(found).all():
            raise ValueError(
                f"{type(self).__name__}: factors are beyond floating-point numbers. Scale the ratings."
            )
        return found

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Ratings of all items by users with these factors.

        Parameters
        ----------
        X : array of shape (n_users, n_components), or one column more
            Factors as from `transform`.

        Returns
        -------
        ratings : array of shape (n_users, n_items)
        """
        check_is_fitted(self)
        k = self.item_factors_.shape[1]
        P = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        wanted = k + self._has_biases
        if P.shape[1] != wanted:
            raise ValueError(f"{type(self).__name__}: X has {P.shape[1]} columns; expected are {wanted}.")
        bias = P[:, k:] if self._has_biases else 0.0
        return row_products(P[:, :k], self.item_factors_) + (self.mean_ + self.item_bias_) + bias

    def predict_ratings(self, users: Any, items: Any) -> np.ndarray:
        """Ratings of items by users that took part in `fit`.

        Parameters
        ----------
        users, items : arrays of shape (n,)
            Numbers of rows and columns.

        Returns
        -------
        ratings : array of shape (n,)
            With implicit feedback, how much the user is likely to prefer the item.
        """
        check_is_fitted(self)
        i = checked_numbers(users, len(self.user_factors_), "users")
        j = checked_numbers(items, len(self.item_factors_), "items")
        if i.shape != j.shape:
            raise ValueError(f"users and items must be of one length; got {i.size} and {j.size}.")
        products = np.einsum("ij,ij->i", self.user_factors_[i], self.item_factors_[j])
        return products + (self.mean_ + self.user_bias_[i] + self.item_bias_[j])

    def recommend(self, users: Any = None, n: int = 10, *, X: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """The n items with the highest predicted ratings for each user.

        Parameters
        ----------
        users : array of shape (n_users,), optional
            Numbers of rows that took part in `fit`; without them, `X` are new users.
        n : int, default=10
            How many items.
        X : array or sparse matrix of shape (n_users, n_items), optional
            The ratings of these users: items that are among them are not recommended.

        Returns
        -------
        items : array of shape (n_users, n)
            Numbers of columns, the best first; -1 where a user has rated nearly all.
        scores : array of shape (n_users, n)
            Their predicted ratings; -inf where there is none.
        """
        check_is_fitted(self)
        if not 1 <= n <= len(self.item_factors_):
            raise ValueError(
                f"n must be from 1 to {len(self.item_factors_)}, the number of items; got {n!r}."
            )
        if users is None and X is None:
            raise ValueError(
                "recommend needs users, numbers of rows of the fit, or the ratings X of new users."
            )
        seen = None if X is None else observed_entries(self._check(X, reset=False))
        if users is None:
            P = self._folded(seen)
        else:
            rows = checked_numbers(users, len(self.user_factors_), "users")
            P = self.user_factors_[rows]
            if self._has_biases:
                P = np.column_stack([P, self.user_bias_[rows]])
            if seen is not None and seen.shape[0] != len(rows):
                raise ValueError(f"X has {seen.shape[0]} rows; there are {len(rows)} users.")
        return top_items(self.inverse_transform, P, seen, n, all_cores(self.n_jobs))

    def similar_items(self, items: Any, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """The n items whose factors point most nearly the same way (by the cosine), without the item itself.

        Parameters
        ----------
        items : array of shape (m,)
            Numbers of columns.
        n : int, default=10
            How many.

        Returns
        -------
        items : array of shape (m, n)
        cosines : array of shape (m, n)
        """
        check_is_fitted(self)
        j = checked_numbers(items, len(self.item_factors_), "items")
        if not 1 <= n < max(2, len(self.item_factors_)):
            raise ValueError(f"n must be from 1 to {len(self.item_factors_) - 1}; got {n!r}.")
        lengths = np.linalg.norm(self.item_factors_, axis=1, keepdims=True)
        unit = np.divide(
            self.item_factors_, lengths, out=np.zeros_like(self.item_factors_), where=lengths > 0
        )
        own = sparse.csr_array((np.ones(len(j)), j, np.arange(len(j) + 1)), shape=(len(j), len(unit)))
        return top_items(lambda Q: row_products(Q, unit), unit[j], own, n, all_cores(self.n_jobs))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        refuse_duplicates(X, type(self).__name__)
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    @property
    def _n_features_out(self) -> int:
        return self.item_factors_.shape[1] + self._has_biases

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def checked_numbers(numbers: Any, end: int, name: str) -> np.ndarray:
    """Whole numbers from 0 to end - 1."""
    found = np.atleast_1d(np.asarray(numbers))
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of whole numbers; got {numbers!r}.")
    wrong = found[(found < 0) | (found >= end)]
    if wrong.size:
        raise ValueError(f"{name} must be from 0 to {end - 1}; got {wrong[0]}.")
    return found
