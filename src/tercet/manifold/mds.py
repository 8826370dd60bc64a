"""Multidimensional scaling by stress majorisation (多维缩放)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.memory import available
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.scaling import scale_exponent, times_power
from tercet.core.steps import Steps
from tercet.core.validation import check_array
from tercet.manifold._smacof.majorization import Disparities, Majorization
from tercet.manifold.classical_mds import ClassicalMDS
from tercet.manifold.dissimilarities import dissimilarities as dissimilarity_matrix
from tercet.manifold.embedding import Embedding


@method(
    zh="多维缩放",
    task="embedding",
    model="points z_i in few dimensions whose distances are near the dissimilarities D_ij",
    strategy="stress Σ_{i<j} (|z_i - z_j| - f(D_ij))², f the identity, or any function that does not fall",
    algorithms={
        "metric": "SMACOF: Guttman transforms, which cannot raise the stress",
        "non-metric": "SMACOF and isotonic regression of the distances, by turns",
    },
    texts=["watermelon notes ch. 8, eq. 8.1-8.6"],
    peers=["sklearn.manifold.MDS"],
)
class MDS(Embedding):
    """Multidimensional scaling: points whose distances are near given dissimilarities.

    Minimises the stress Σ_{i<j} (|z_i - z_j| - d_ij)² by Guttman transforms (see `guttman_transform`), under which
    it cannot rise. Metric: d_ij are the dissimilarities. Non-metric: only their order counts; d_ij are the numbers
    in that order that are nearest to the distances (`isotonic_values`). See `ClassicalMDS` for the solution by
    eigenvectors.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the points.
    metric_mds : bool, default=True
        Metric or non-metric scaling. For the latter a dissimilarity of 0 is a missing one.
    n_init : int, default=1
        How many random starts to try; the one with the least stress is kept.
    init : {"random", "classical_mds"}, default="random"
        The start: at random, or the points of `ClassicalMDS`. To leave it out is deprecated, as in scikit-learn,
        whose default will change.
    max_iter : int, default=300
        The most passes of one start.
    verbose : int, default=0
        Print a line for each pass if it is 2 or more, for each start if it is 1.
    eps : float, default=1e-6
        Stop when a pass lowers the stress by less than eps times the sum of the squared distances. 0 leaves only
        max_iter.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.
    random_state : int, optional
        Decides the random starts.
    dissimilarity : {"euclidean", "precomputed"}
        Deprecated, as in scikit-learn: use `metric`.
    metric : str or callable, default="euclidean"
        The dissimilarity of two rows, by its name in scikit-learn or SciPy, or a function of two rows;
        "precomputed": X is the dissimilarity matrix, symmetric, which need not keep the triangle inequality.
    metric_params : dict, optional
        More arguments of the metric.
    normalized_stress : bool or "auto", default="auto"
        Whether `stress_` is Kruskal's stress-1, the root of the stress over the sum of the squared distances.
        "auto": for non-metric scaling only.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The points.
    stress_ : float
        The stress at the end.
    dissimilarity_matrix_ : array of shape (n_samples, n_samples)
        The dissimilarities D.
    n_iter_ : int
        Passes of the start that was kept.

    Examples
    --------
    >>> D = [[0, 3, 5], [3, 0, 4], [5, 4, 0]]
    >>> model = MDS(metric="precomputed", init="classical_mds").fit(D)
    >>> round(model.stress_, 6)
    0.0
    """

    fitted_shapes: ClassVar[Declarations] = {
        "embedding_": Floats("rows components", finite=True),
        "stress_": "",
        "dissimilarity_matrix_": Floats("rows rows"),
    }
    embedding_: np.ndarray
    stress_: float
    dissimilarity_matrix_: np.ndarray

    def __init__(
        self,
        n_components: Count = 2,
        *,
        metric_mds: bool = True,
        n_init: Count = 1,
        init: Literal["random", "classical_mds", "warn"] = "warn",
        max_iter: Count = 300,
        verbose: int | bool = 0,
        eps: NonNegative = 1e-6,
        n_jobs: Jobs = None,
        random_state: Seed = None,
        dissimilarity: Literal["euclidean", "precomputed", "deprecated"] = "deprecated",
        metric: str | Callable | bool = "euclidean",
        metric_params: dict | None = None,
        normalized_stress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress

    def fit(self, X: Any, y: Any = None, init: Any = None) -> Self:
        """Find the points of the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples, n_samples) with metric="precomputed"
            The rows, or the dissimilarities.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        init : array of shape (n_samples, n_components), optional
            Where to start, in place of what the parameter says.

        Returns
        -------
        self
        """
        return self._learn(X, y, init=init)

    def fit_transform(self, X: Any, y: Any = None, init: Any = None) -> np.ndarray:
        """Find the points of the rows X, and return them; see `fit`."""
        return self.fit(X, y, init=init).embedding_

    def _fit(self, X: np.ndarray, y: None, sample_weight: Any, init: Any = None) -> None:
        metric, is_metric = self._settle_deprecated()
        if X.shape[0] == X.shape[1] and metric != "precomputed":
            self._warn(
                "The provided input is a square matrix. Note that ``fit`` constructs a dissimilarity matrix from "
                "data and will treat rows as samples and columns as features. To use a pre-computed dissimilarity "
                "matrix, set ``metric='precomputed'``.",
                UserWarning,
            )
        D = dissimilarity_matrix(X, metric, self.metric_params, type(self).__name__, self.n_jobs)
        self.dissimilarity_matrix_ = D
        exponent = scale_exponent(float(D.max(initial=0.0)))  # squares must neither overflow nor vanish
        D = times_power(D, -exponent)
        work = Majorization(D, all_cores(self.n_jobs))
        best: tuple[np.ndarray, float, float] | None = None
        for loop, Z in self._starts(D, init, exponent):
            found = self._majorize(work, Z, loop, is_metric)
            if best is None or found[1] < best[1]:
                best, passes = found, loop.count
        assert best is not None
        self._keep(*best, exponent=exponent if is_metric else 0, is_metric=is_metric)
        self.n_iter_ = passes

    def _majorize(
        self, work: Majorization, Z: np.ndarray, loop: Steps, is_metric: bool
    ) -> tuple[np.ndarray, float, float]:
        """SMACOF from one start: the points, their stress and the sum of their squared distances."""
        disparities = None if is_metric else Disparities(work.D)
        wanted = work.D if disparities is None else disparities.table()
        ahead, before, stress, squares = None, np.inf, np.inf, 0.0
        for step in loop:
            if disparities is not None and step.count > 1:
                wanted = disparities.regress(Z)
            # the transform finds the stress of where it begins: of metric scaling it is one pass ahead
            Z = work.guttman(Z, wanted)[0] if ahead is None else ahead
            following, stress, squares = work.guttman(Z, wanted)
            ahead = following if is_metric else None
            step.report(Z, stress=stress)
            if self.verbose >= 2:
                print(f"Iteration {step.count}, stress {stress:.6g}")
            small = step.count > 1 and before - stress < self.eps * squares
            if self.eps > 0 and step.converged(small or squares == 0):
                if self.verbose:
                    print(f"Convergence criterion reached (iteration {step.count}).")
                break
            before = stress
        return Z, stress, squares

    def _starts(self, D: np.ndarray, init: Any, exponent: int) -> Iterable[tuple[Steps, np.ndarray]]:
        """The loops of passes, each with its first points."""
        n, k = len(D), self.n_components
        if 8 * n * k > available():
            raise ValueError(
                f"{type(self).__name__}: n_components={k} is too large: so many coordinates of {n} points do not "
                "fit in memory."
            )
        given = None
        if init is not None:
            given = check_array(init, dtype=np.float64, input_name="init")
            if given.shape != (n, k):
                raise ValueError(
                    f"{type(self).__name__}: init must be of shape ({n}, {k}); got {given.shape}. init matrix "
                    "should be of shape (n_samples, n_components)."
                )
            given = times_power(given, -exponent)
        elif self.init == "classical_mds":
            given = np.zeros((n, k))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = ClassicalMDS(min(k, n), metric="precomputed").fit(D).embedding_
            given[:, : found.shape[1]] = found
        if given is not None:
            if self.n_init != 1:
                self._warn(
                    "Explicit initial positions passed: performing only one init of the MDS instead of "
                    f"{self.n_init}",
                    UserWarning,
                )
            yield self._loop(exponent), given
            return
        rng = self.random_state
        rng = rng if isinstance(rng, np.random.Generator) else check_random_state(rng)
        if self.n_init == 1:
            yield self._loop(exponent), rng.uniform(size=n * k).reshape(n, k)
            return
        for start in self.steps(self.n_init, name="start", inner=self.max_iter):
            yield self._loop(exponent, start), rng.uniform(size=n * k).reshape(n, k)

    def _loop(self, exponent: int, outer: Any = None) -> Steps:
        return (outer or self).steps(
            self.max_iter,
            unpack=lambda Z: {"embedding_": times_power(Z, exponent)},
            hint="Raise max_iter or eps.",
        )

    def _keep(self, Z: np.ndarray, stress: float, squares: float, *, exponent: int, is_metric: bool) -> None:
        """Set the fitted attributes, in the unit of the dissimilarities."""
        self.embedding_ = np.array(times_power(Z, exponent))
        normalized = not is_metric if isinstance(self.normalized_stress, str) else self.normalized_stress
        if normalized:
            self.stress_ = float(np.sqrt(stress / squares)) if squares > 0 else 0.0
        else:
            self.stress_ = float(np.ldexp(stress, 2 * exponent))
            if stress > 0 and not 0 < self.stress_ < np.inf:
                self._warn(
                    f"{type(self).__name__}: stress_ is {self.stress_}: it is beyond floating point. The points "
                    "are right; normalized_stress=True gives a number.",
                    RuntimeWarning,
                )

    def _settle_deprecated(self) -> tuple[Any, bool]:
        """The metric, and whether scaling is metric, with the warnings of scikit-learn."""
        if self.init == "warn":
            self._warn(
                "The default value of `init` will change from 'random' to 'classical_mds' in 1.10. To suppress "
                "this warning, provide some value of `init`."
            )
        metric, is_metric = self.metric, self.metric_mds
        if self.dissimilarity != "deprecated":
            if not isinstance(metric, bool | np.bool_) and metric != "euclidean":
                raise ValueError("You provided both `dissimilarity` and `metric`. Please use only `metric`.")
            self._warn(
                "The `dissimilarity` parameter is deprecated and will be removed in 1.10. Use `metric` instead."
            )
        if isinstance(metric, bool | np.bool_):
            self._warn(
                f"Use metric_mds={metric} instead of metric={metric}. The support for metric={{True/False}} will "
                "be dropped in 1.10."
            )
            metric, is_metric = "euclidean", bool(metric)
        return self.dissimilarity if self.dissimilarity != "deprecated" else metric, is_metric

    def _warn(self, message: str, kind: type[Warning] = FutureWarning) -> None:
        warnings.warn(message, kind, stacklevel=6)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.dissimilarity == "precomputed" or (
            isinstance(self.metric, str) and self.metric == "precomputed"
        )
        return tags


def smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Any = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: Any = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: Any = "auto",
) -> tuple:
    """Multidimensional scaling of a dissimilarity matrix in one call; see `MDS`.

    Parameters
    ----------
    dissimilarities : array of shape (n, n)
        Symmetric, numbers of at least 0.
    metric : bool, default=True
        Metric scaling; without it, only the order of the dissimilarities counts, and 0 is a missing one.
    n_components : int, default=2
        Dimensions of the points; those of `init`, where it is given.
    init : array of shape (n, n_components), optional
        Where to start; by default at random.
    n_init, n_jobs, max_iter, verbose, eps, random_state, normalized_stress : as in `MDS`
    return_n_iter : bool, default=False
        Give the number of passes, too.

    Returns
    -------
    X : array of shape (n, n_components)
    stress : float
    n_iter : int
        Only with `return_n_iter`.

    Examples
    --------
    >>> Z, stress = smacof([[0, 3, 5], [3, 0, 4], [5, 4, 0]], random_state=0, eps=1e-12)
    >>> round(stress, 6)
    0.0
    """
    if init is not None:
        init = check_array(init, dtype=np.float64, input_name="init")
        n_components = init.shape[1]
    options: dict[str, Any] = {"n_init": n_init, "max_iter": max_iter, "verbose": verbose, "eps": eps}
    options.update(n_jobs=n_jobs, random_state=random_state, normalized_stress=normalized_stress)
    model = MDS(n_components, metric_mds=metric, init="random", metric="precomputed", **options)
    model.fit(dissimilarities, init=init)
    found = model.embedding_, model.stress_
    return (*found, model.n_iter_) if return_n_iter else found
