"""Bootstrap samples (自助采样): rows drawn with replacement, and the rows that are not among them."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator

MOST_TRIES = 1000  # samples until some row is left out


class BootstrapSample(NamedTuple):
    """Indices of the rows that were drawn, some several times, and of those that were not, in order.

    Examples
    --------
    >>> sample = next(Bootstrap(random_state=0).samples(4))
    >>> sorted(set(sample.in_bag) | set(sample.out_of_bag)) == [0, 1, 2, 3]
    True
    """

    in_bag: np.ndarray
    out_of_bag: np.ndarray


@method(
    zh="自助采样",
    task="model selection",
    model="m of m rows drawn with replacement, and those that are not drawn",
    strategy="1 - 1/e = 0.632 of the rows are in the bag on average, 0.368 out of it",
    texts=["Machine Learning in Depth ch. 8", "watermelon notes ch. 6, 6.3"],
    peers=["sklearn.utils.resample"],
)
@dataclass(frozen=True)
class Bootstrap:
    """Bootstrap sampling: indices of rows that are drawn with replacement, and of the rows left out.

    Of m rows m are drawn, so that a row is not drawn with probability (1 - 1/m)^m, which tends to 1/e = 0.368: the
    rows out of the bag are new to a model that learned from those in the bag. It is a splitter, too: with it as
    `cv=` models learn from the rows in the bag and are scored on the others.

    Parameters
    ----------
    n_splits : int, default=10
        The number of samples.
    max_samples : int or float, optional
        How many rows are drawn; a float is a fraction of all rows. By default as many as there are.
    random_state : int, RandomState, Generator or None
        Decides the draws; an int gives the same samples each time.

    Examples
    --------
    >>> bootstrap = Bootstrap(n_splits=2, random_state=0)
    >>> for in_bag, out_of_bag in bootstrap.split(np.zeros((5, 2))):
    ...     print(in_bag, out_of_bag)
    [4 3 2 1 1] [0]
    [0 0 0 0 4] [1 2 3]
    >>> [round(share, 3) for share in bootstrap.expected_shares(17)]
    [0.643, 0.357]
    """

    n_splits: int = 10
    max_samples: int | float | None = None
    random_state: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.n_splits, numbers.Integral) or self.n_splits < 1:
            raise ValueError(f"n_splits must be an integer of at least 1; got {self.n_splits!r}.")
        some, whole = self.max_samples, isinstance(self.max_samples, numbers.Integral)
        if some is None or (whole and not isinstance(some, bool) and some >= 1):
            return
        if whole or not isinstance(some, numbers.Real) or not 0 < some <= 1:
            raise ValueError(
                f"max_samples must be an integer of at least 1, a fraction in (0, 1], or None; got {some!r}."
            )

    def n_drawn(self, n_samples: int) -> int:
        """How many of so many rows are drawn.

        Parameters
        ----------
        n_samples : int

        Returns
        -------
        int
        """
        if self.max_samples is None:
            return int(n_samples)
        whole = isinstance(self.max_samples, numbers.Integral)
        return int(self.max_samples) if whole else max(1, int(self.max_samples * n_samples))

    def samples(self, n_samples: int) -> Iterator[BootstrapSample]:
        """Samples of so many rows; a sample may leave none of them out.

        Parameters
        ----------
        n_samples : int
            The number of rows.

        Yields
        ------
        BootstrapSample
            `in_bag` and `out_of_bag`.
        """
        random, count = generator(self.random_state), self.n_drawn(n_samples)
        for _ in range(self.n_splits):
            yield drawn_sample(random, n_samples, count)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows to learn from and those to score, which are at least one: other samples are drawn again.

        Parameters
        ----------
        X : array, frame or list of n_samples rows
            The rows.
        y, groups : optional
            Ignored.

        Yields
        ------
        in_bag, out_of_bag : arrays of indices
        """
        n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        if n < 2:
            raise ValueError(f"Bootstrap needs at least 2 rows, of which one can be left out; got {n}.")
        random, count = generator(self.random_state), self.n_drawn(n)
        for _ in range(self.n_splits):
            for _ in range(MOST_TRIES):
                sample = drawn_sample(random, n, count)
                if sample.out_of_bag.size:
                    break
            else:
                raise ValueError(
                    f"Bootstrap: {MOST_TRIES} samples of {count} rows left none of the {n} rows out. Use a smaller "
                    f"max_samples; got {self.max_samples!r}."
                )
            yield sample.in_bag, sample.out_of_bag

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of samples.

        Parameters
        ----------
        X, y, groups : optional
            Ignored.

        Returns
        -------
        int
        """
        return int(self.n_splits)

    def expected_shares(self, n_samples: int) -> tuple[float, float]:
        """The shares of the rows that are in the bag and out of it, on average: 1 - p and p = (1 - 1/m)^drawn.

        Parameters
        ----------
        n_samples : int
            m, the number of rows.

        Returns
        -------
        in_bag, out_of_bag : float
        """
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1; got {n_samples!r}.")
        left = float((1.0 - 1.0 / n_samples) ** self.n_drawn(n_samples))
        return 1.0 - left, left


def drawn_sample(random: np.random.Generator, n: int, count: int) -> BootstrapSample:
    """So many of n rows drawn with replacement, and the others."""
    in_bag = random.integers(n, size=count)
    return BootstrapSample(in_bag, np.flatnonzero(np.bincount(in_bag, minlength=n) == 0))
