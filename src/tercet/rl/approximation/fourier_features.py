"""Fourier features (傅里叶基特征): cosines of growing frequency over the ranges of the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.kernel import kernel
from tercet.core.parameters import ArrayLike, Count
from tercet.core.rows import read_only
from tercet.rl.approximation.bounded_features import BoundedFeatures, scaled


@method(
    zh="傅里叶基特征",
    task="feature map",
    model="φ_c(x) = cos(π c·x), c in {0, ..., n}^d, inputs scaled to [0, 1]",
    strategy="a smooth function over a box is a sum of cosines, of which those of low frequency matter most",
    peers=["Konidaris, Osentoski & Thomas 2011", "Sutton & Barto, Reinforcement Learning, sec. 9.5.2"],
)
class FourierFeatures(BoundedFeatures):
    """Fourier features: the cosine basis of some order over the ranges of the inputs.

        φ_c(x) = cos(π c·x)

    where x is scaled by the ranges of the inputs to [0, 1], and c goes through all vectors of whole numbers
    from 0 to `order`; c = 0 is the constant feature 1. An input outside its range counts as the nearest end.

    Parameters
    ----------
    order : int, optional
        The highest frequency of an input. By default 3, or less where there would be more than 10 000 features.
    coupled : bool, default=True
        Whether features may depend on several inputs: (order + 1)^n_features of them. Otherwise each depends on one
        input alone, and there are 1 + order · n_features.
    scaled : bool, default=False
        Whether features but the constant one are divided by √|c|. A linear agent then learns the weights of high
        frequencies more slowly, with the step size α / |c| (Konidaris et al.).
    low, high : float or array of shape (n_features,), optional
        Range of the inputs; by default that of the rows given to `fit`. An agent takes it from the environment.

    Attributes
    ----------
    frequencies_ : array of shape (n_features_out, n_features)
        The vectors c.
    low_, high_ : arrays of shape (n_features,)
        The ranges.

    Examples
    --------
    >>> waves = FourierFeatures(order=2, low=0.0, high=4.0)
    >>> waves.fit_transform([[0.0], [1.0], [4.0]]).round(3)
    array([[ 1.   ,  1.   ,  1.   ],
           [ 1.   ,  0.707,  0.   ],
           [ 1.   , -1.   ,  1.   ]])
    >>> FourierFeatures(order=1).fit([[0, 0], [1, 1]]).frequencies_.astype(int).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """

    fitted_shapes: ClassVar[Declarations] = {"frequencies_": Floats("waves features", finite=True)}
    frequencies_: np.ndarray

    def __init__(
        self,
        order: Count | None = None,
        *,
        coupled: bool = True,
        scaled: bool = False,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> None:
        self.order = order
        self.coupled = coupled
        self.scaled = scaled
        self.low = low
        self.high = high

    def _prepare(self) -> None:
        d = self.n_features_in_
        usual = self._usual_steps(4) if self.coupled else 4
        n = usual if self.order is None else self.order + 1
        if self.coupled:
            self._refuse_too_many(float(np.float64(n) ** d), "lower order, or use coupled=False")
            grid = np.meshgrid(*[np.arange(n, dtype=np.float64)] * d, indexing="ij")
            self.frequencies_ = np.stack(grid, axis=-1).reshape(-1, d)
        else:
            self._refuse_too_many(1.0 + (n - 1.0) * d, "lower order")
            alone = np.eye(d)[:, None] * np.arange(1, n)[:, None]  # (d, order, d)
            self.frequencies_ = np.vstack([np.zeros((1, d)), alone.reshape(-1, d)])

    @property
    def _n_features_out(self) -> int:
        return len(self.frequencies_)

    @property
    def _n_entries(self) -> int:
        return len(self.frequencies_)

    def _writer(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], int]:
        (low, half_widths), frequencies, slower = self._ranges(), read_only(self.frequencies_), self.scaled
        every = np.arange(len(frequencies))

        def write(x: np.ndarray, columns: np.ndarray, values: np.ndarray) -> int:
            cosines(read_only(x[None]), low, half_widths, frequencies, slower, values[None])
            columns[:] = every
            return every.size

        return write

    def transform(self, X: Any) -> np.ndarray:
        """The cosines of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Observations.

        Returns
        -------
        array of shape (n_samples, n_features_out)
        """
        X, dtype = self._checked(X)
        found = np.empty((len(X), len(self.frequencies_)))
        cosines(X, *self._ranges(), read_only(self.frequencies_), self.scaled, found)
        return found.astype(dtype, copy=False)


@kernel
def cosines(X, low, half_widths, frequencies, slower, out):
    """cos(π c·x) of scaled rows, shape (n_samples, n_frequencies), divided by √|c| if they shall be learned
    more slowly."""
    for i in range(X.shape[0]):
        for k in range(frequencies.shape[0]):
            angle, square = 0.0, 0.0
            for j in range(low.size):
                c = frequencies[k, j]
                angle += c * scaled(X[i, j], low[j], half_widths[j])
                square += c * c
            out[i, k] = np.cos(np.pi * angle)
            if slower and square > 0.0:
                out[i, k] /= square**0.25
