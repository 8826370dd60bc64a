"""Random oversampling: rows of the smaller classes more than once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Seed
from tercet.feature.resampling.base import Sampler, Strategy, take


@method(
    zh="随机过采样",
    task="resampling",
    model="the same rows, those of the smaller classes more than once",
    strategy="classes of the sizes wanted; by default all as large as the largest",
    algorithms="rows of each class drawn at random, with replacement",
    texts=["002 ch. 1", "001 ch. 3"],
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
    """

    def __init__(self, *, sampling_strategy: Strategy = "auto", random_state: Seed = None) -> None:
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state

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
        return take(X, self.sample_indices_), take(y, self.sample_indices_)
