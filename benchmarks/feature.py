"""Rows of feature selection and resampling."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

# --- relieff ------------------------------------------------------------------------------------------------


def make_classes(rng: np.random.Generator, n: int, d: int, informative: int, k: int) -> Data:
    """Standard normal columns, some of them shifted by 0.6 in the second of two classes, and their weights.

    Two classes: with more, skrebate weighs the misses of a class by another formula.
    """
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, d))
    X[:, :informative] += 0.6 * y[:, None]
    return {"X": X, "y": y, "k": np.array(k), "weights": plain_relieff(X, y, k)}


def plain_relieff(X: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """ReliefF of two classes by its definition, in double precision."""
    from scipy.spatial.distance import cdist

    Z, weights = X / np.ptp(X, axis=0), np.zeros(X.shape[1])
    for start in range(0, len(Z), 500):
        rows = np.arange(start, min(start + 500, len(Z)))
        distance = cdist(Z[rows], Z, "cityblock")
        distance[np.arange(len(rows)), rows] = np.inf
        for c in (0, 1):
            own = np.flatnonzero(y == c)
            near = own[np.argpartition(distance[:, own], k, axis=1)[:, :k]]
            sign = np.where(y[rows] == c, -1.0, 1.0)
            for i, some, side in zip(rows, near, sign):
                weights += side * np.abs(Z[i] - Z[some]).mean(axis=0)
    return weights / len(Z)


def weight_error(data: Data, result: Result) -> float:
    return float(np.abs(result["weights"] - data["weights"]).max())


def relieff_ours(data: Data) -> Result:
    from tercet.feature import ReliefF

    return {"weights": ReliefF(n_neighbors=int(data["k"]), n_jobs=2).fit(data["X"], data["y"]).scores_}


def relieff_fast_select(data: Data) -> Result:
    from fast_select import ReliefF

    model = ReliefF(n_neighbors=int(data["k"]), backend="cpu", n_jobs=2)
    return {"weights": model.fit(data["X"], data["y"]).feature_importances_}


def relieff_skrebate(data: Data) -> Result:
    from skrebate import ReliefF

    model = ReliefF(n_neighbors=int(data["k"]))  # its n_jobs are processes, which a contender cannot start
    return {"weights": model.fit(data["X"], data["y"]).feature_importances_}


# --- smote --------------------------------------------------------------------------------------------------

CHECKED = 400  # made rows that are compared with all segments


def make_rare(rng: np.random.Generator, n: int, d: int, ratio: int, k: int) -> Data:
    """Standard normal rows; those of the rare class, one to `ratio`, shifted by 0.5, and their neighbours."""
    from scipy.spatial import cKDTree

    y = np.zeros(n, dtype=np.int64)
    y[rng.permutation(n)[: n // (ratio + 1)]] = 1
    X = rng.standard_normal((n, d)) + 0.5 * y[:, None]
    rare = X[y == 1]
    near = cKDTree(rare).query(rare, k + 1)[1][:, 1:]
    return {"X": X, "y": y, "k": np.array(k), "near": near}


def off_segments(data: Data, result: Result) -> float:
    """How far a made row is from the nearest segment of a rare row and one of its k neighbours, at most."""
    X, y, near = data["X"], data["y"], data["near"]
    if np.ptp(np.bincount(result["y"])) or not np.array_equal(result["X"][: len(X)], X):
        return float("inf")
    rare, made = X[y == 1], result["X"][len(X) :]
    made = made[np.linspace(0, len(made) - 1, min(CHECKED, len(made))).astype(int)]
    start, way = np.repeat(rare, near.shape[1], axis=0), (rare[near] - rare[:, None]).reshape(-1, X.shape[1])
    length, worst = (way**2).sum(axis=1), 0.0
    for row in made:
        u = np.clip(((row - start) * way).sum(axis=1) / length, 0, 1)
        worst = max(worst, float(np.linalg.norm(row - start - u[:, None] * way, axis=1).min()))
    return worst


def smote_ours(data: Data) -> Result:
    from tercet.feature import SMOTE

    X, y = SMOTE(k_neighbors=int(data["k"]), random_state=0, n_jobs=2).fit_resample(data["X"], data["y"])
    return {"X": X, "y": y}


def smote_imblearn(data: Data) -> Result:
    from imblearn.over_sampling import SMOTE

    X, y = SMOTE(k_neighbors=int(data["k"]), random_state=0).fit_resample(data["X"], data["y"])
    return {"X": X, "y": y}


# --- mutual-information -------------------------------------------------------------------------------------


def make_numbers(rng: np.random.Generator, n: int, d: int, k: int) -> Data:
    """Standard normal columns, a target of some of them and noise, and the estimates."""
    X = rng.standard_normal((n, d))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.25 * X[:, 2] ** 2 + 0.3 * rng.standard_normal(n)
    return {"X": X, "y": y, "k": np.array(k), "information": plain_information(X, y, k)}


def plain_information(X: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """The estimate of Kraskov, Stögbauer and Grassberger for each column, by scipy's trees."""
    from scipy.spatial import cKDTree
    from scipy.special import digamma

    n, found, target = len(y), [], y / y.std()
    for column in (X / X.std(axis=0)).T:
        both = np.column_stack([column, target])
        # A little less, so that no sum below rounds up to the k-th nearest itself.
        far = cKDTree(both).query(both, k + 1, p=np.inf)[0][:, -1] * (1 - 1e-10)
        counts = []
        for values in (column, target):
            line = np.sort(values)
            counts.append(
                np.searchsorted(line, values + far, "right") - np.searchsorted(line, values - far, "left")
            )
        terms = [digamma(count).mean() for count in counts]
        found.append(max(0.0, digamma(n) + digamma(k) - sum(terms)))
    return np.array(found)


def information_error(data: Data, result: Result) -> float:
    return float(np.abs(result["information"] - data["information"]).max())


def information_ours(data: Data) -> Result:
    from tercet.feature import mutual_info_regression

    k = int(data["k"])
    return {
        "information": mutual_info_regression(data["X"], data["y"], n_neighbors=k, random_state=0, n_jobs=2)
    }


def information_sklearn(data: Data) -> Result:
    from sklearn.feature_selection import mutual_info_regression

    k = int(data["k"])  # its n_jobs are processes, which a contender cannot start
    return {"information": mutual_info_regression(data["X"], data["y"], n_neighbors=k, random_state=0)}


ROWS = [
    Row(
        name="relieff",
        work="ReliefF weights of the columns, {k} neighbours, 2 classes; {n} x {d}",
        sizes={
            "full": {"n": 5_000, "d": 200, "informative": 20, "k": 10},
            "smoke": {"n": 150, "d": 10, "informative": 3, "k": 5},
        },
        data=make_classes,
        ours=Contender(relieff_ours, ("tercet.feature",), "tercet"),
        peers={
            "fast-select": Contender(
                relieff_fast_select, ("fast_select",), "fast-select", note="single precision"
            ),
            "skrebate": Contender(relieff_skrebate, ("skrebate",), "skrebate", threads=1, once=True),
        },
        quality=weight_error,
        tolerance=1e-6,
        figure="largest error of a weight",
        relative=False,
    ),
    Row(
        name="smote",
        work="SMOTE until both classes are equal, {k} neighbours; {n} x {d}, 1 to {ratio}",
        sizes={
            "full": {"n": 200_000, "d": 20, "ratio": 50, "k": 5},
            "smoke": {"n": 3_000, "d": 5, "ratio": 20, "k": 5},
        },
        data=make_rare,
        ours=Contender(smote_ours, ("tercet.feature",), "tercet"),
        peers={"imbalanced-learn": Contender(smote_imblearn, ("imblearn",), "imbalanced-learn")},
        quality=off_segments,
        tolerance=1e-9,
        figure="largest distance of a made row from a segment between neighbours",
        relative=False,
    ),
    Row(
        name="mutual-information",
        work="mutual information of continuous columns and a continuous target, {k} neighbours; {n} x {d}",
        sizes={
            "full": {"n": 50_000, "d": 100, "k": 3},
            "smoke": {"n": 1_000, "d": 4, "k": 3},
        },
        data=make_numbers,
        ours=Contender(information_ours, ("tercet.feature",), "tercet"),
        peers={
            "scikit-learn": Contender(
                information_sklearn, ("sklearn.feature_selection",), "scikit-learn", threads=1
            )
        },
        quality=information_error,
        tolerance=1e-6,
        figure="largest error of an estimate",
        relative=False,
    ),
]
