"""The linear transformations that metric learners start from."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_random_state

from tercet.core.validation import check_array
from tercet.decomposition import PCA
from tercet.discriminant_analysis import LinearDiscriminantAnalysis

Start = Literal["auto", "pca", "lda", "identity", "random"] | np.ndarray


def random_numbers(random_state: Any) -> Any:
    """What draws the numbers that scikit-learn would draw for the same random_state."""
    return random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)


def check_start(name: str, init: Any, n_components: int | None, d: int) -> None:
    """Refuse a number of components, or a given transformation, that does not fit d features."""
    if n_components is not None and n_components > d:
        raise ValueError(
            f"{name}: The preferred dimensionality of the projected space `n_components` ({n_components}) cannot "
            "be "
            f"greater than the given data dimensionality ({d})!"
        )
    if not isinstance(init, np.ndarray):
        return
    given = check_array(init, input_name="init")
    if given.shape[1] != d:
        raise ValueError(
            f"{name}: The input dimensionality ({given.shape[1]}) of the given linear transformation `init` must "
            "match "
            f"the dimensionality of the given inputs `X` ({d})."
        )
    if given.shape[0] > d:
        raise ValueError(
            f"{name}: The output dimensionality ({given.shape[0]}) of the given linear transformation `init` "
            "cannot be "
            f"greater than its input dimensionality ({d})."
        )
    if n_components is not None and n_components != given.shape[0]:
        raise ValueError(
            f"{name}: The preferred dimensionality of the projected space `n_components` ({n_components}) does not "
            f"match the output dimensionality of the given linear transformation `init` ({given.shape[0]})!"
        )


def initial_components(
    X: np.ndarray,
    y: np.ndarray | None,
    n_components: int | None,
    init: Start,
    rng: Any,
    *,
    weight: np.ndarray | None = None,
    verbose: int = 0,
) -> np.ndarray:
    """The transformation to start from, of shape (n_components, n_features).

    "auto" is "lda" where there are fewer components than classes (y given), else "pca" where there are fewer than
    features and rows, else "identity".
    """
    if isinstance(init, np.ndarray):
        return np.array(init, dtype=np.float64)
    (n, d), n_classes = X.shape, 0 if y is None else np.unique(y).size
    k = d if n_components is None else n_components
    if init == "auto":
        init = "lda" if k <= min(d, n_classes - 1) else "pca" if k < min(d, n) else "identity"
    if init == "identity":
        return np.eye(k, d)
    if init == "random":
        return rng.standard_normal(size=(k, d))
    begun = time.perf_counter()
    if verbose:
        names = {"pca": "principal components", "lda": "most discriminative components"}
        print(f"Finding {names[init]}... ", end="", flush=True)
    if init == "pca":
        seed = rng if isinstance(rng, np.random.RandomState) else None
        found = PCA(k, random_state=seed).fit(X).components_
    else:
        model = LinearDiscriminantAnalysis(n_components=k).fit(X, y, weight)
        found = model.scalings_.T[:k]
    if verbose:
        print(f"done in {time.perf_counter() - begun:5.2f}s")
    rows = np.eye(k, d)  # for directions that there are not, of rows without spread
    rows[: len(found)] = found
    return rows
