"""Dictionary learning (字典学习): atoms of which the signals of a data set are sparse combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import svd_flip

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed
from tercet.core.steps import Steps, stopped_early
from tercet.decomposition._dictionary.atoms import update_atoms
from tercet.decomposition._dictionary.encoding import Coder, encode
from tercet.decomposition.dictionary.base import SparseCoding
from tercet.decomposition.dictionary.ksvd import (
    ksvd_pass,
    merge_duplicates,
    random_atoms,
    replace_unused,
    unit_rows,
)
from tercet.decomposition.dictionary.sparse_encode import given_table, make_coder, refuse_positive
from tercet.decomposition.nndsvd import random_numbers

KSVD = ("ksvd", "approximate-ksvd")


@method(
    zh="字典学习",
    task="sparse coding",
    model="X ≈ AB: rows as combinations of few atoms, the rows of B, with the codes A",
    strategy="|X - AB|²/2 + alpha |A|_1 with atoms of length at most 1; K-SVD: |X - AB|², few non-zeros in a code",
    algorithms={
        "lars": "codes by the lasso path, then the atoms one after the other by least squares",
        "cd": "the same with codes by coordinate descent",
        "ksvd": "codes by orthogonal matching pursuit, then each atom with its codes by an SVD of rank one",
        "approximate-ksvd": "one step of the power method in place of the SVD",
    },
    texts=["watermelon notes ch. 10, eq. 10.14-10.17"],
    peers=["sklearn.decomposition.DictionaryLearning", "dictlearn.DictionaryLearning"],
)
class DictionaryLearning(SparseCoding):
    """Dictionary learning: atoms of which rows are sparse combinations.

    Minimises |X - AB|²/2 + alpha |A|_1 over codes A and atoms B of length at most 1 (10.14), by turns: the codes
    of each row by the lasso (10.15), then one atom after the other by least squares (10.16). The objective cannot
    rise. K-SVD minimises |X - AB|² with at most so many atoms in a row, and changes the codes of an atom with it
    (10.17). Its atoms are of length 1, and no update of one can raise the error; the greedy codes of the next pass
    may, by a little.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms; by default that of the features. More than these is an overcomplete dictionary.
    alpha : float, default=1
        Strength of the penalty. The text's lambda (a loss without 1/2) is 2 alpha.
    max_iter : int, default=1000
        The most passes.
    tol : float, default=1e-8
        Stop when a pass lowers the objective by less than tol times its value.
    fit_algorithm : {"lars", "cd", "ksvd", "approximate-ksvd"}, default="lars"
        How the dictionary is learned. K-SVD gets its codes by `transform_algorithm`, as `transform` does.
    transform_algorithm : {"omp", "lasso_lars", "lasso_cd", "lars", "threshold"}, default="omp"
        How `transform` encodes rows; see `sparse_encode`.
    transform_n_nonzero_coefs : int, optional
        For "omp" and "lars": the most atoms of a row; by default a tenth of the features.
    transform_alpha : float, optional
        The strength of the penalty, or the threshold, of `transform`; by default `alpha`.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    code_init, dict_init : arrays of shapes (n_samples, n_components) and (n_components, n_features), optional
        Where to start. By default singular vectors; K-SVD starts from rows drawn at random, and takes a `dict_init`
        alone, too.
    callback : callable, optional
        Called every five passes with a dict of the pass, the dictionary, the code and the cost.
    verbose : bool, default=False
        Print a line for each pass.
    split_sign : bool, default=False
        Whether the positive and the negative parts of a code are columns of their own.
    random_state : int, optional
        Draws the rows that K-SVD starts from, and those that unused atoms are replaced by.
    positive_code, positive_dict : bool, default=False
        Whether codes, and atoms, must not be negative; not with "lars" and K-SVD.
    transform_max_iter : int, default=1000
        The most steps of the lasso for a row.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The atoms.
    error_ : list
        The objective after each pass.
    n_iter_ : int
        Passes made.
    history_ : dict
        The objective `loss`, the squared reconstruction `error` |X - AB|², the share of codes that are not zero and
        how many unused atoms were replaced, for each pass.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0, 2.0], [1.0, 0.0, 1.0], [0.0, 3.0, 0.0], [0.0, -1.0, 0.0]])
    >>> model = DictionaryLearning(2, fit_algorithm="ksvd", transform_n_nonzero_coefs=1, random_state=0)
    >>> code = model.fit_transform(X)
    >>> np.abs(model.components_).round(4)
    array([[0.    , 1.    , 0.    ],
           [0.7071, 0.    , 0.7071]])
    >>> np.allclose(code @ model.components_, X)
    True
    """

    fitted_shapes: ClassVar[Declarations] = {"components_": Floats("components features", finite=True)}
    width_checked_attributes = ("components_",)

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        alpha: NonNegative = 1,
        max_iter: CountOrZero = 1000,
        tol: NonNegative = 1e-8,
        fit_algorithm: Literal["lars", "cd", "ksvd", "approximate-ksvd"] = "lars",
        transform_algorithm: Literal["omp", "lasso_lars", "lasso_cd", "lars", "threshold"] = "omp",
        transform_n_nonzero_coefs: Count | None = None,
        transform_alpha: NonNegative | None = None,
        n_jobs: Jobs = None,
        code_init: np.ndarray | None = None,
        dict_init: np.ndarray | None = None,
        callback: Callable[..., Any] | None = None,
        verbose: int | bool = False,
        split_sign: bool = False,
        random_state: Seed = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        transform_max_iter: CountOrZero = 1000,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.fit_algorithm = fit_algorithm
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.n_jobs = n_jobs
        self.code_init = code_init
        self.dict_init = dict_init
        self.callback = callback
        self.verbose = verbose
        self.split_sign = split_sign
        self.random_state = random_state
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.transform_max_iter = transform_max_iter

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn the dictionary of the rows X, and return their codes of the last pass.

        `fit(X).transform(X)` encodes the rows by `transform_algorithm` instead: its codes differ unless that solves
        the same problem as `fit_algorithm`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The signals.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        code : array of shape (n_samples, n_components)
        """
        self._learn(X, y, keep_code=True)
        code = self.__dict__.pop("_code")
        return self.transform(X) if stopped_early(self) else self._split(code)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any, keep_code: bool = False) -> None:
        ksvd = self.fit_algorithm in KSVD
        refuse_positive(self.fit_algorithm, self.positive_code or (ksvd and self.positive_dict))
        rng, Z = random_numbers(self.random_state), X.astype(np.float64, copy=False)
        loop = self.steps(
            self.max_iter,
            unpack=lambda dictionary: {"components_": dictionary.astype(X.dtype)},
            hint="Raise max_iter or tol.",
        )
        with one_blas_thread():
            learn = self._ksvd if ksvd else self._alternate
            code, dictionary = learn(Z, loop, rng)
        self.components_ = dictionary.astype(X.dtype)
        self.error_ = [measures["loss"] for measures in loop.history]
        if keep_code:
            self._code = code.astype(X.dtype, copy=False)

    def _alternate(self, X: np.ndarray, loop: Steps, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes (10.15) and atoms (10.16) by turns."""
        code, dictionary = self._start(X)
        coder = self._coder(f"lasso_{self.fit_algorithm}", None, self.alpha, (X.shape[1], len(dictionary)))
        for step in loop:
            code = encode(X, dictionary, coder, init=code)
            replaced = update_atoms(dictionary, X, code, code.T @ code, code.T @ X, rng, self.positive_dict)
            error = float(((X - code @ dictionary) ** 2).sum())
            loss = 0.5 * error + self.alpha * float(np.abs(code).sum())
            if self._report(step, loss, error, code, dictionary, replaced):
                break
        return code, dictionary

    def _ksvd(self, X: np.ndarray, loop: Steps, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes by pursuit, and each atom with its codes by an SVD of rank one (10.17)."""
        k = self.n_components or X.shape[1]
        given = self._given(self.dict_init, "dict_init", (k, X.shape[1]))
        dictionary = random_atoms(X, k, rng) if given is None else unit_rows(given, rng)
        alpha = self.alpha if self.transform_alpha is None else self.transform_alpha
        size = X.shape[1], k
        coder = self._coder(self.transform_algorithm, self.transform_n_nonzero_coefs, alpha, size)
        penalty = alpha if coder.algorithm.startswith("lasso") else 0.0
        code: Any = None
        for step in loop:
            code = encode(X, dictionary, coder, init=code)
            residual = ksvd_pass(X, dictionary, code, exact=self.fit_algorithm == "ksvd")
            if merge_duplicates(dictionary, code):
                residual = X - code @ dictionary
            replaced = replace_unused(dictionary, X, code, residual)
            error = float((residual**2).sum())
            loss = 0.5 * error + penalty * float(np.abs(code).sum()) if penalty else error
            if self._report(step, loss, error, code, dictionary, replaced):
                break
        return np.zeros((len(X), k)) if code is None else code, dictionary

    def _report(
        self, step: Steps, loss: float, error: float, code: np.ndarray, dictionary: np.ndarray, replaced: int
    ) -> bool:
        """Tell what a pass came to; True where it was the last one."""
        before = step.history[-1]["loss"] if step.history else np.inf
        density = np.count_nonzero(code) / code.size
        step.report(dictionary.copy(), loss=loss, error=error, density=density, replaced=replaced)
        if self.verbose:
            print(f"Iteration {step.count}: loss {loss:.6g}, squared error {error:.6g}")
        if self.callback is not None and step.index % 5 == 0:
            self.callback({"iteration": step.index, "dictionary": dictionary, "code": code, "cost": loss})
        if self.fit_algorithm in KSVD:  # a greedy pursuit may lose a little of what the atoms have won
            return self.tol > 0 and step.converged(abs(before - loss) <= self.tol * loss)
        return step.count > 1 and step.converged(before - loss <= self.tol * loss)

    def _start(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes and atoms to start from: those given, or singular vectors with zeros where there are too few."""
        n, d = X.shape
        k = self.n_components or d
        if self.code_init is not None and self.dict_init is not None:
            code = self._given(self.code_init, "code_init", (n, len(self.dict_init)))
            dictionary = self._given(self.dict_init, "dict_init", (len(self.dict_init), d))
        else:
            U, s, Vt = linalg.svd(X, full_matrices=False, check_finite=False)
            code, Vt = svd_flip(U, Vt)
            dictionary = s[:, None] * Vt
        assert code is not None
        assert dictionary is not None
        missing = max(0, k - len(dictionary))
        code = np.pad(code[:, :k], ((0, 0), (0, missing)))
        return code.astype(np.float64), np.pad(dictionary[:k], ((0, missing), (0, 0))).astype(np.float64)

    def _given(self, table: Any, name: str, shape: tuple[int, int]) -> np.ndarray | None:
        return given_table(table, f"{type(self).__name__}: {name}", shape)

    def _coder(self, algorithm: str, many: int | None, alpha: float, size: tuple[int, int]) -> Coder:
        return make_coder(
            algorithm, many, alpha, self.transform_max_iter, self.positive_code, self.n_jobs, size
        )
