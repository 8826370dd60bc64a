"""Random oversampling: rows of the smaller classes more than once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Seed
from tercet.feature.resampling.base import Sampler, Strategy, take


@method(
    zh="随机过采样",
    task="resampling",
    model="the same rows, those of the smaller classes more than once, as they are or augmented",
    strategy="classes of the sizes wanted; by default all as large as the largest",
    algorithms="rows of each class drawn at random, with replacement",
    texts=["watermelon notes ch. 1", "Machine Learning in Depth ch. 3"],
    peers=["imblearn.over_sampling.RandomOverSampler"],
)
class RandomOverSampler(Sampler):
    """Random oversampling: draws rows of the smaller classes once more.

    Parameters
    ----------
    sampling_strategy : str, float, dict or callable, default="auto"
        Classes that gain rows until they are as large as the largest: "minority", "not majority" (which is
        "auto"), "not minority" or "all". A number is the ratio of the smaller to the larger class of two. A dict
        has the rows wanted by class; a function makes it from y.
    random_state : int, optional
        Decides which rows are repeated.
    augment : callable, optional
        augment(rows, rng) gives the repeated rows another form: pictures that are turned or shifted, texts with
        synonyms. It gets them as X was given, and a NumPy Generator for its draws, and returns as many.

    Attributes
    ----------
    sample_indices_ : array of shape (n_new,)
        All rows, and then those that are repeated.
    sampling_strategy_ : dict
        Rows of each class that gains some.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 0, 0, 0, 1, 1]
    >>> RandomOverSampler(random_state=0).fit_resample(X, y)[1]
    array([0, 0, 0, 0, 1, 1, 1, 1])

    Pictures of the smaller class once more, turned by a quarter:

    >>> pictures = np.arange(12).reshape(3, 2, 2)
    >>> turn = RandomOverSampler(augment=lambda rows, rng: np.rot90(rows, axes=(1, 2)), random_state=0)
    >>> turn.fit_resample(pictures, [0, 0, 1])[0][2:].tolist()
    [[[8, 9], [10, 11]], [[9, 11], [8, 10]]]
    """

    def __init__(
        self,
        *,
        sampling_strategy: Strategy = "auto",
        random_state: Seed = None,
        augment: Callable | None = None,
    ) -> None:
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state
        self.augment = augment

    adds = True

    def _resample(
        self, X: Any, y: Any, index: np.ndarray, classes: np.ndarray, counts: np.ndarray, wanted: np.ndarray
    ) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        added = [
            rng.choice(np.flatnonzero(index == k), size)
            for k, size in enumerate((wanted - counts).tolist())
            if size
        ]
        self.sample_indices_ = np.concatenate([np.arange(len(index)), *added])
        labels = take(y, self.sample_indices_)
        if self.augment is None or not added:
            return take(X, self.sample_indices_), labels
        drawn = np.concatenate(added)
        made = self.augment(take(X, drawn), rng)
        if _n_rows(made) != len(drawn):
            raise ValueError(
                f"{type(self).__name__}: augment must give back a row for each of the {len(drawn)} that it got; "
                f"it gave {_n_rows(made)}."
            )
        return _stacked(take(X, np.arange(len(index))), made), labels


def _n_rows(rows: Any) -> int:
    return rows.shape[0] if hasattr(rows, "shape") else len(rows)


def _stacked(first: Any, second: Any) -> Any:
    """The rows of two tables of one kind."""
    if hasattr(first, "iloc"):
        import pandas

        return pandas.concat([first, second])
    if hasattr(first, "vstack"):  # polars
        return first.vstack(second)
    if isinstance(first, list):
        return [*first, *second]
    return sparse.vstack([first, second]) if sparse.issparse(first) else np.concatenate([first, second])
