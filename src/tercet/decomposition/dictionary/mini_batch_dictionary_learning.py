"""Dictionary learning by mini-batches (小批量字典学习), for signals that are many or come in pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats, Whole
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed, check_parameters
from tercet.decomposition._dictionary.atoms import update_atoms
from tercet.decomposition._dictionary.encoding import encode
from tercet.decomposition.dictionary.base import SparseCoding
from tercet.decomposition.dictionary.sparse_encode import given_table, make_coder, refuse_positive
from tercet.decomposition.nndsvd import random_numbers
from tercet.decomposition.randomized import randomized_svd


@method(
    zh="小批量字典学习",
    task="sparse coding",
    model="X ≈ AB: rows as combinations of few atoms, the rows of B, with the codes A",
    strategy="|X - AB|²/2 + alpha |A|_1 with atoms of length at most 1",
    algorithms={
        "lars": "codes of a batch by the lasso path, then the atoms by sums over the batches so far, which fade",
        "cd": "the same with codes by coordinate descent",
    },
    texts=["watermelon notes ch. 10, eq. 10.14-10.16"],
    peers=["sklearn.decomposition.MiniBatchDictionaryLearning"],
)
class MiniBatchDictionaryLearning(SparseCoding):
    """Online dictionary learning (Mairal et al., 2009): the objective of `DictionaryLearning`, a batch at a time.

    The rows of a batch get their codes A by the lasso; the atoms are updated one after the other by the sums of A'A
    and A'X over all batches so far, in which older batches count less.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms; by default that of the features.
    alpha : float, default=1
        Strength of the penalty.
    max_iter : int, default=1000
        The most passes over all rows.
    fit_algorithm : {"lars", "cd"}, default="lars"
        How the codes of a batch are found.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    batch_size : int, default=256
        Rows of a batch.
    shuffle : bool, default=True
        Whether rows are shuffled before they are cut into batches.
    dict_init : array of shape (n_components, n_features), optional
        Where to start; by default singular vectors.
    transform_algorithm : {"omp", "lasso_lars", "lasso_cd", "lars", "threshold"}, default="omp"
        How `transform` encodes rows; see `sparse_encode`.
    transform_n_nonzero_coefs : int, optional
        For "omp" and "lars": the most atoms of a row; by default a tenth of the features.
    transform_alpha : float, optional
        The strength of the penalty, or the threshold, of `transform`; by default `alpha`.
    verbose : bool, default=False
        Print a line for each batch.
    split_sign : bool, default=False
        Whether the positive and the negative parts of a code are columns of their own.
    random_state : int, optional
        Decides the start, the order of the rows and what unused atoms are replaced by.
    positive_code, positive_dict : bool, default=False
        Whether codes ("cd" only), and atoms, must not be negative.
    transform_max_iter : int, default=1000
        The most steps of the lasso for a row.
    callback : callable, optional
        Called after each batch with a dict of its number, the dictionary and the cost.
    tol : float, default=1e-3
        Stop when a batch changes the dictionary by no more than tol times the number of atoms. 0 leaves the other
        rules.
    max_no_improvement : int or None, default=10
        Stop after so many batches in a row without a smaller mean of the costs.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The atoms.
    n_iter_ : int
        Passes begun.
    n_steps_ : int
        Batches used.
    history_ : dict
        The mean cost of a row in the last batch of each pass.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0, 2.0], [1.0, 0.0, 1.0], [0.0, 4.0, 0.0], [0.0, -1.0, 0.0]] * 10)
    >>> model = MiniBatchDictionaryLearning(2, alpha=0.01, batch_size=8, random_state=0).fit(X)
    >>> np.abs(model.components_).round(2)
    array([[0.  , 1.  , 0.  ],
           [0.71, 0.  , 0.71]])
    """

    fitted_shapes: ClassVar[Declarations] = {
        "components_": Floats("components features", finite=True),
        "n_steps_": Whole(),
        "_A": Floats("components components", finite=True),
        "_B": Floats("features components", finite=True),
    }
    width_checked_attributes = ("components_",)
    _A: np.ndarray
    _B: np.ndarray

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        alpha: NonNegative = 1,
        max_iter: CountOrZero = 1_000,
        fit_algorithm: Literal["lars", "cd"] = "lars",
        n_jobs: Jobs = None,
        batch_size: Count = 256,
        shuffle: bool = True,
        dict_init: np.ndarray | None = None,
        transform_algorithm: Literal["omp", "lasso_lars", "lasso_cd", "lars", "threshold"] = "omp",
        transform_n_nonzero_coefs: Count | None = None,
        transform_alpha: NonNegative | None = None,
        verbose: int | bool = False,
        split_sign: bool = False,
        random_state: Seed = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        transform_max_iter: CountOrZero = 1000,
        callback: Callable[..., Any] | None = None,
        tol: NonNegative = 1e-3,
        max_no_improvement: CountOrZero | None = 10,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.fit_algorithm = fit_algorithm
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.dict_init = dict_init
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.verbose = verbose
        self.split_sign = split_sign
        self.random_state = random_state
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.transform_max_iter = transform_max_iter
        self.callback = callback
        self.tol = tol
        self.max_no_improvement = max_no_improvement

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any) -> None:
        refuse_positive(self.fit_algorithm, self.positive_code)
        n, kind = len(X), X.dtype
        rng = random_numbers(self.random_state)
        Z = X.astype(np.float64, copy=False)
        sums = BatchSums(self._start(Z, rng))
        seed = seed_of(self.random_state)
        if self.shuffle:
            Z = Z[rng.permutation(n)]
        size = min(self.batch_size, n)
        batches = [Z[a : a + size] for a in range(0, n, size)]
        costs, used, done = FadingCost(self, n), 0, False
        loop = self.steps(
            self.max_iter,
            unpack=lambda dictionary: {"components_": dictionary.astype(kind)},
            hint="Raise max_iter or tol.",
        )
        with one_blas_thread():
            for step in loop:
                for batch in batches:
                    before = sums.dictionary.copy()
                    cost = self._batch_step(batch, sums, seed, used)
                    used += 1
                    if done := costs.settled(cost, before, sums.dictionary, len(batch), used):
                        break
                    if self.callback is not None:
                        self.callback({"step": used, "dictionary": sums.dictionary, "batch_cost": cost})
                step.report(sums.dictionary.copy(), cost=cost)
                if (self.tol > 0 or self.max_no_improvement is not None) and step.converged(done):
                    break
        self._keep(sums, kind, used)

    def _start(self, X: np.ndarray, rng: Any) -> np.ndarray:
        """Atoms to start from: those given, or singular vectors with zeros where there are too few."""
        d = X.shape[1]
        k = self.n_components or d
        if self.dict_init is not None:
            name = f"{type(self).__name__}: dict_init"
            atoms = given_table(self.dict_init, name, (len(self.dict_init), d))
            assert atoms is not None
        else:
            _, s, Vt = randomized_svd(X, min(k, *X.shape), random_state=int(rng.permutation(2**16)[0]))
            atoms = s[:, None] * Vt
        return np.pad(atoms[:k], ((0, max(0, k - len(atoms))), (0, 0))).astype(np.float64)

    def _batch_step(self, X: np.ndarray, sums: BatchSums, seed: int, step: int) -> float:
        """Codes of a batch, and then the atoms; returns the mean cost of a row before the atoms changed."""
        dictionary, size = sums.dictionary, len(X)
        coder = make_coder(
            f"lasso_{self.fit_algorithm}",
            None,
            self.alpha,
            self.transform_max_iter,
            self.positive_code,
            self.n_jobs,
            (X.shape[1], len(dictionary)),
        )
        code = encode(X, dictionary, coder)
        error = float(((X - code @ dictionary) ** 2).sum())
        sums.add(X, code, step)
        # seeded by the number of the batch: `partial_fit` goes the way of `fit`
        rng = np.random.RandomState([seed, step])
        replaced = update_atoms(dictionary, X, code, sums.A, sums.B, rng, self.positive_dict)
        if self.verbose and replaced:
            print(f"{replaced} unused atoms resampled.")
        return (0.5 * error + self.alpha * float(np.abs(code).sum())) / size

    def _keep(self, sums: BatchSums, kind: Any, used: int) -> None:
        """Set the fitted attributes."""
        self.components_ = sums.dictionary.astype(kind)
        self._A, self._B = sums.A.astype(kind), np.ascontiguousarray(sums.B.T, dtype=kind)
        self.n_steps_ = used

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one more batch of rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The signals.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
        """
        check_parameters(self)
        refuse_positive(self.fit_algorithm, self.positive_code)
        first = not hasattr(self, "components_")
        X = self._check(X, reset=first)
        Z, seed = X.astype(np.float64, copy=False), seed_of(self.random_state)
        if first:
            sums, used = BatchSums(self._start(Z, random_numbers(self.random_state))), 0
        else:
            sums, used = BatchSums(self.components_.astype(np.float64)), self.n_steps_
            sums.A, sums.B = self._A.astype(np.float64), self._B.T.astype(np.float64)
        with one_blas_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
            self._batch_step(Z, sums, seed, used)
        self._keep(sums, X.dtype if first else self.components_.dtype, used + 1)
        return self


class BatchSums:
    """The dictionary, and the sums A'A and A'X over batches by which its atoms are updated."""

    def __init__(self, dictionary: np.ndarray) -> None:
        k, d = dictionary.shape
        self.dictionary = np.array(dictionary, order="C")
        self.A, self.B = np.zeros((k, k)), np.zeros((k, d))

    def add(self, X: np.ndarray, code: np.ndarray, step: int) -> None:
        """Add a batch; those before fade, the more the earlier it is."""
        size = len(X)
        theta = (step + 1) * size if step < size - 1 else size**2 + step + 1 - size
        fade = (theta + 1 - size) / (theta + 1)
        self.A = fade * self.A + code.T @ code / size
        self.B = fade * self.B + code.T @ X / size


class FadingCost:
    """Stopping rules: a small change of the dictionary, or no smaller mean of the costs for some batches."""

    def __init__(self, model: MiniBatchDictionaryLearning, n: int) -> None:
        self.model, self.n = model, n
        self.mean, self.least, self.idle = np.nan, np.inf, 0

    def settled(self, cost: float, before: np.ndarray, after: np.ndarray, size: int, count: int) -> bool:
        """Whether a batch was the last one. The first pass, or 100 batches, do not count: their costs are high."""
        model = self.model
        if count > min(100, self.n / size):
            share = min(size / (self.n + 1), 1.0)
            self.mean = cost if np.isnan(self.mean) else self.mean * (1 - share) + cost * share
        if model.verbose:
            print(f"Minibatch step {count}: mean batch cost: {cost:.6g}, ewa cost: {self.mean:.6g}")
        if np.isnan(self.mean):
            return False
        if model.tol > 0 and np.linalg.norm(after - before) / len(after) <= model.tol:
            return True
        self.idle = 0 if self.mean < self.least else self.idle + 1
        self.least = min(self.least, self.mean)
        return model.max_no_improvement is not None and self.idle >= model.max_no_improvement


def seed_of(random_state: Any) -> int:
    """A number to seed the generators of batches with; the same for the same integer."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    rng = random_numbers(random_state)
    return int(rng.integers(2**31) if isinstance(rng, np.random.Generator) else rng.randint(2**31 - 1))
