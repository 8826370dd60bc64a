"""Random undersampling: fewer rows of the larger classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parameters import Seed
from tercet.feature.resampling.base import Sampler, Strategy, take


@method(
    zh="随机欠采样",
    task="resampling",
    model="the same rows, fewer of the larger classes",
    strategy="classes of the sizes wanted; by default all as large as the smallest",
    algorithms="rows of each class drawn at random",
    texts=["watermelon notes ch. 1"],
    peers=["imblearn.under_sampling.RandomUnderSampler"],
)
class RandomUnderSampler(Sampler):
    """Random undersampling: draws rows of the larger classes.

    Parameters
    ----------
    sampling_strategy : str, float, dict or callable, default="auto"
        Classes that lose rows until they are as large as the smallest: "majority", "not minority" (which is
        "auto"), "not majority" or "all". A number is the ratio of the smaller to the larger class of two. A dict
        has the rows wanted by class; a function makes it from y.
    random_state : int, optional
        Decides which rows stay.
    replacement : bool, default=False
        Whether a row may be drawn more than once.

    Attributes
    ----------
    sample_indices_ : array of shape (n_new,)
        The rows that stay.
    sampling_strategy_ : dict
        Rows of each class that was drawn from.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 0, 0, 0, 1, 1]
    >>> RandomUnderSampler(random_state=0).fit_resample(X, y)[1]
    array([0, 0, 1, 1])
    """

    def __init__(
        self, *, sampling_strategy: Strategy = "auto", random_state: Seed = None, replacement: bool = False
    ) -> None:
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state
        self.replacement = replacement

    adds = False

    def _resample(
        self, X: Any, y: Any, index: np.ndarray, classes: np.ndarray, counts: np.ndarray, wanted: np.ndarray
    ) -> tuple[Any, Any]:
        rng = generator(self.random_state)
        parts = []
        for k, size in enumerate(wanted):
            rows = np.flatnonzero(index == k)
            if classes.tolist()[k] in self.sampling_strategy_:
                rows = rng.choice(rows, int(size), replace=self.replacement)
            parts.append(rows)
        self.sample_indices_ = np.sort(np.concatenate(parts))
        return take(X, self.sample_indices_), take(y, self.sample_indices_)
