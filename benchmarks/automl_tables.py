"""Tables for `benchmarks.automl`: training rows, and fresh rows from the same source to score on.

Of the embedded tables one half is learned from and the other half is scored on, drawn anew for each seed; the made
ones have as many fresh rows as make the noise of the score small.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

Rows = tuple[pl.DataFrame, pl.DataFrame]
FRESH = 10_000  # rows of made tables that are scored on


@dataclass(frozen=True)
class Source:
    """Where the rows of a table come from.

    Attributes
    ----------
    task, metric : what is predicted, and the measure that everybody is told to choose by.
    rows : int
        Rows to learn from.
    draw : callable
        (generator, training rows, fresh rows) -> the two tables; the target is the column "target".
    """

    task: str
    metric: str
    rows: int
    draw: Callable[[np.random.Generator, int, int], Rows]


def halves(name: str) -> Callable[[np.random.Generator, int, int], Rows]:
    """An embedded table, split at random. Its columns have plain names: LightGBM refuses commas in them."""

    def draw(rng: np.random.Generator, n: int, fresh: int) -> Rows:
        from tercet.cli.embedded_datasets import EMBEDDED, embedded

        frame = embedded(name).frame.rename({EMBEDDED[name]: "target"})
        frame = frame.rename(lambda column: re.sub(r"\W", "_", column))
        order = rng.permutation(frame.height)
        return frame[order[:n].tolist()], frame[order[n : n + fresh].tolist()]

    return draw


def made(
    make: Callable[[np.random.Generator, int], pl.DataFrame],
) -> Callable[[np.random.Generator, int, int], Rows]:
    """A made table, which has any number of rows."""

    def draw(rng: np.random.Generator, n: int, fresh: int) -> Rows:
        frame = make(rng, n + fresh)
        return frame[:n], frame[n:]

    return draw


def _frame(X: np.ndarray, target: np.ndarray, **more: np.ndarray) -> pl.DataFrame:
    columns = {f"x{j}": X[:, j].round(6) for j in range(X.shape[1])}
    return pl.DataFrame({**columns, **more, "target": target})


def _labels(rng: np.random.Generator, logit: np.ndarray) -> np.ndarray:
    return np.where(rng.random(logit.size) < 1 / (1 + np.exp(-logit)), "yes", "no")


def sparse_logistic(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Five of thirty columns matter, additively."""
    X = rng.normal(size=(n, 30))
    return _frame(X, _labels(rng, X[:, :5] @ np.array([1.5, -1.0, 1.0, 0.7, -0.7])))


def sparse_linear(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Six of forty correlated columns matter, additively."""
    X = 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, 40))
    return _frame(
        X, (X[:, :6] @ np.array([3.0, -2.0, 1.5, 1.0, -1.0, 0.5]) + 2 * rng.normal(size=n)).round(6)
    )


def friedman(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Friedman's first function, with five columns that do not matter."""
    X = rng.random(size=(n, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return _frame(X, (y + rng.normal(size=n)).round(6))


def thresholds(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """A sum of interactions with jumps, of heavy-tailed columns, with noise that grows with the level."""
    X = rng.standard_t(4, size=(n, 12))
    y = 4 * (X[:, 0] > 0.3) * (X[:, 1] < 0.5) + 3 * np.where(X[:, 2] > 0, X[:, 3], -X[:, 4])
    y = y + 2 * (np.abs(X[:, 5]) > 1) + X[:, 6].clip(-2, 2)
    return _frame(X, (y + (0.5 + 0.3 * np.abs(y)) * rng.normal(size=n)).round(6))


def sphere(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Whether ten normal numbers are farther from zero than usual, with a tenth of the labels drawn by lot."""
    X = rng.normal(size=(n, 10))
    label = (X**2).sum(axis=1) > 9.34
    return _frame(X, np.where(label ^ (rng.random(n) < 0.1), "far", "near"))


def clouds(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Five classes of four Gaussian clouds each, among columns that do not matter."""
    fixed = np.random.default_rng(7)  # the clouds are the source; the rows are drawn
    centres, spread = 1.7 * fixed.normal(size=(20, 8)), fixed.normal(size=(20, 8, 8)) / 3
    which = rng.integers(20, size=n)
    X = centres[which] + np.einsum("nij,nj->ni", spread[which], rng.normal(size=(n, 8)))
    X = X + 0.4 * rng.normal(size=X.shape)
    return _frame(np.column_stack([X, rng.normal(size=(n, 12))]), np.array(list("abcde"))[which % 5])


def rare(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Three rows in a hundred are positive; interactions and a column of categories decide."""
    X, kind = rng.normal(size=(n, 8)), rng.integers(6, size=n)
    effect = np.array([0.0, 0.8, -0.6, 0.3, 1.2, -1.0])[kind]
    logit = -5.1 + 1.2 * X[:, 0] + X[:, 1] * X[:, 2] + effect + np.maximum(X[:, 3], 0)
    return _frame(X, _labels(rng, logit), kind=np.array(list("ABCDEF"))[kind])


def _mixed(rng: np.random.Generator, n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Columns of an application for a loan, and what they come to: gaps, skew, categories with many levels."""
    fixed = np.random.default_rng(3)
    towns = fixed.normal(size=60)
    town = np.minimum(rng.geometric(0.06, size=n) - 1, 59)
    job, owner = rng.integers(8, size=n), rng.integers(3, size=n)
    income = np.exp(rng.normal(10, 0.6, size=n))
    debt = income * rng.beta(2, 5, size=n)
    age = rng.integers(18, 80, size=n).astype(float)
    late = rng.poisson(0.6, size=n).astype(float)
    jobs = np.array([0.0, 0.5, -0.5, 0.2, 0.8, -0.3, 0.0, 0.4])[job]
    score = 1.2 * np.log(income) - 12 + jobs + 0.8 * towns[town] - 3 * debt / income
    score = score - 0.5 * late * (age < 40) + 0.4 * (owner == 2) - 0.01 * np.abs(age - 50)
    income[rng.random(n) < 0.1] = np.nan
    age[rng.random(n) < 0.05] = np.nan
    columns = {
        "income": income.round(0),
        "debt": debt.round(0),
        "age": age,
        "late": late,
        "job": np.array([f"job {k}" for k in "abcdefgh"])[job],
        "home": np.array(["rents", "parents", "owns"])[owner],
        "town": np.array([f"town {k}" for k in range(60)])[town],
        "noise": rng.normal(size=n).round(4),
    }
    return columns, score


def _with_gaps(columns: dict[str, np.ndarray]) -> pl.DataFrame:
    return pl.DataFrame(columns).with_columns(pl.col("income", "age").fill_nan(None))


def loans(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Two classes from mixed columns."""
    columns, score = _mixed(rng, n)
    return _with_gaps({**columns, "target": _labels(rng, 2.0 * (score + 0.9))})


def limits(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """A skewed number from the same columns."""
    columns, score = _mixed(rng, n)
    return _with_gaps({**columns, "target": np.exp(0.5 * score + 0.3 * rng.normal(size=n) + 7).round(2)})


def steps(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Axis-parallel boxes and products decide between two classes, in rows enough for boosting."""
    X = rng.random(size=(n, 15))
    logit = (
        5 * ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)) + 4 * (X[:, 2] * X[:, 3] > 0.3) + 3 * np.sin(6 * X[:, 4]) - 4
    )
    return _frame(X, _labels(rng, logit))


SOURCES: dict[str, Source] = {
    "breast_cancer": Source("classification", "accuracy", 285, halves("breast_cancer")),
    "digits": Source("classification", "accuracy", 900, halves("digits")),
    "diabetes": Source("regression", "r2", 221, halves("diabetes")),
    "sparse_logistic": Source("classification", "accuracy", 300, made(sparse_logistic)),
    "sparse_linear": Source("regression", "r2", 250, made(sparse_linear)),
    "friedman": Source("regression", "r2", 1_000, made(friedman)),
    "thresholds": Source("regression", "r2", 8_000, made(thresholds)),
    "sphere": Source("classification", "accuracy", 3_000, made(sphere)),
    "clouds": Source("classification", "accuracy", 2_500, made(clouds)),
    "rare": Source("classification", "roc_auc", 5_000, made(rare)),
    "loans": Source("classification", "log_loss", 3_000, made(loans)),
    "limits": Source("regression", "r2", 2_000, made(limits)),
    "steps": Source("classification", "accuracy", 12_000, made(steps)),
}
