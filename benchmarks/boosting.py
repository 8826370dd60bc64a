"""Rows of histogram gradient boosting: 100 rounds of 63 leaves and 255 bins, and the rows through the trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

ROUNDS, LEAVES, RATE = 100, 63, 0.1
OURS = {"max_iter": ROUNDS, "max_leaf_nodes": LEAVES, "early_stopping": False}  # as scikit-learn calls them
LIGHTGBM = {
    "n_estimators": ROUNDS,
    "num_leaves": LEAVES,
    "learning_rate": RATE,
    "max_bin": 255,
    "n_jobs": 2,
    "verbose": -1,
}
QUANTISED = {"use_quantized_grad": True, "num_grad_quant_bins": 16, "quant_train_renew_leaf": True}
XGBOOST = {
    "n_estimators": ROUNDS,
    "max_leaves": LEAVES,
    "max_depth": 0,
    "grow_policy": "lossguide",
    "learning_rate": RATE,
    "max_bin": 255,
    "tree_method": "hist",
    "n_jobs": 2,
}
LINEAR_RATE, LINEAR_PENALTIES = 0.5, (1e-3, 1e-3)


# Data -----------------------------------------------------------------------------------------------------------


def scores(rng: np.random.Generator, X: np.ndarray, steep: float) -> np.ndarray:
    """Slopes, bends, products and steps in the first columns of normal rows."""
    d = min(X.shape[1], 20)
    total = 0.5 * X[:, : d // 2] @ rng.standard_normal(d // 2)
    total += np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] + np.abs(X[:, 4]) - 0.8
    return steep * (total + 2.0 * (X[:, 0] > 0.5) * (X[:, 1] < 0.3) - 0.6)


def make_binary(rng: np.random.Generator, n: int, d: int, tests: int, steep: float) -> Data:
    """Two classes drawn with the log odds of `scores`."""
    X = rng.standard_normal((n + tests, d))
    y = (rng.random(n + tests) < 1.0 / (1.0 + np.exp(-scores(rng, X, steep)))).astype(np.int64)
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def make_classes(rng: np.random.Generator, n: int, d: int, tests: int, steep: float, classes: int) -> Data:
    """Several classes, drawn with a softmax of as many scores of shifted columns."""
    X = rng.standard_normal((n + tests, d))
    every = np.column_stack([scores(rng, np.roll(X, -k, axis=1), steep) for k in range(classes)])
    y = (every + rng.gumbel(size=every.shape)).argmax(axis=1)
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def make_categories(
    rng: np.random.Generator, n: int, d: int, tests: int, steep: float, values: int, holes: float
) -> Data:
    """Two classes; the last column is a category, the common ones much more so, with an effect of its own; some of
    the other entries are missing."""
    X = rng.standard_normal((n + tests, d))
    share = 1.0 / np.arange(1.0, values + 1.0)
    X[:, -1] = rng.choice(values, size=n + tests, p=share / share.sum())
    odds = scores(rng, X[:, :-1], steep) + rng.standard_normal(values)[X[:, -1].astype(int)]
    y = (rng.random(n + tests) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)
    X[:, :-1][rng.random((n + tests, d - 1)) < holes] = np.nan
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def make_heavy_tails(rng: np.random.Generator, n: int, d: int, tests: int, freedom: float) -> Data:
    """Numbers whose mean has a long tail, with noise of Student's t distribution of few degrees of freedom."""
    X = rng.standard_normal((n + tests, d))
    mean = np.exp(0.35 * scores(rng, X, 1.0))
    y = mean + 0.5 * rng.standard_t(freedom, size=n + tests)
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def make_correlated(rng: np.random.Generator, n: int, d: int) -> Data:
    """Two classes by the scores of columns with common factors, most of which are of no use."""
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 5)) @ rng.standard_normal((5, d))
    w = rng.standard_normal(d) * (rng.random(d) < 0.3)
    return {"X": X, "y": (X @ w / np.sqrt(d) + rng.logistic(size=n) > 0).astype(np.int64)}


# Figures --------------------------------------------------------------------------------------------------------


def minus_auc(data: Data, result: Result) -> float:
    """Minus the share of pairs of unlike rows that the scores put in the right order."""
    y, score = data["y_test"], np.asarray(result["score"], dtype=np.float64)
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    ones = int(y.sum())
    return -float((rank[y == 1].sum() - ones * (ones + 1) / 2.0) / (ones * (len(y) - ones)))


def log_loss(data: Data, result: Result) -> float:
    proba = np.asarray(result["proba"], dtype=np.float64)
    own = proba[np.arange(len(proba)), data["y_test"]]
    return -float(np.log(np.maximum(own / proba.sum(axis=1), 1e-15)).mean())


def root_mean_square(data: Data, result: Result) -> float:
    return float(np.sqrt(np.mean((np.asarray(result["answer"]) - data["y_test"]) ** 2)))


# Contenders -----------------------------------------------------------------------------------------------------


def our_model(**more: Any) -> Any:
    from tercet.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(**OURS, n_jobs=2, **more)


def their_model(**more: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(**OURS, **more)


def lightgbm_model(**more: Any) -> Any:
    from lightgbm import LGBMClassifier  # type: ignore[import-not-found]

    return LGBMClassifier(**LIGHTGBM, **more)


def xgboost_model() -> Any:
    from xgboost import XGBClassifier  # type: ignore[import-not-found]

    return XGBClassifier(**XGBOOST)


def binary(model: Any, data: Data, **more: Any) -> Result:
    model.fit(data["X"], data["y"], **more)
    return {"score": np.asarray(model.predict_proba(data["X_test"]))[:, 1]}


def binary_ours(data: Data) -> Result:
    return binary(our_model(), data)


def binary_sklearn(data: Data) -> Result:
    return binary(their_model(), data)


def binary_lightgbm(data: Data) -> Result:
    return binary(lightgbm_model(), data)


def binary_lightgbm_quantised(data: Data) -> Result:
    return binary(lightgbm_model(**QUANTISED), data)


def binary_xgboost(data: Data) -> Result:
    return binary(xgboost_model(), data)


def classes(model: Any, data: Data) -> Result:
    return {"proba": np.asarray(model.fit(data["X"], data["y"]).predict_proba(data["X_test"]))}


def classes_ours(data: Data) -> Result:
    return classes(our_model(), data)


def classes_sklearn(data: Data) -> Result:
    return classes(their_model(), data)


def classes_lightgbm(data: Data) -> Result:
    return classes(lightgbm_model(), data)


def classes_xgboost(data: Data) -> Result:
    return classes(xgboost_model(), data)


def categories_ours(data: Data) -> Result:
    return binary(our_model(categorical_features=[data["X"].shape[1] - 1]), data)


def categories_sklearn(data: Data) -> Result:
    return binary(their_model(categorical_features=[data["X"].shape[1] - 1]), data)


def categories_lightgbm(data: Data) -> Result:
    return binary(lightgbm_model(), data, categorical_feature=[data["X"].shape[1] - 1])


def numbers(model: Any, data: Data) -> Result:
    return {"answer": np.asarray(model.fit(data["X"], data["y"]).predict(data["X_test"]))}


def numbers_ours(data: Data) -> Result:
    from tercet.ensemble import HistGradientBoostingRegressor

    return numbers(HistGradientBoostingRegressor(**OURS, n_jobs=2, random_state=0), data)


def numbers_sklearn(data: Data) -> Result:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return numbers(HistGradientBoostingRegressor(**OURS, random_state=0), data)


def numbers_lightgbm(data: Data) -> Result:
    from lightgbm import LGBMRegressor

    return numbers(LGBMRegressor(**LIGHTGBM), data)


def numbers_xgboost(data: Data) -> Result:
    from xgboost import XGBRegressor

    # a leaf of 20 rows and no penalty, as the others have at their defaults: rows whose mean is far out decide the
    # figure, and with leaves of one row XGBoost fits another model
    return numbers(XGBRegressor(**XGBOOST, min_child_weight=20, reg_lambda=0.0), data)


def trained(model: Any, data: Data) -> Data:
    """The data with a model that is fitted to them, before the clock starts."""
    return {**data, "model": model.fit(data["X"], data["y"])}


def trained_ours(data: Data) -> Data:
    return trained(our_model(), data)


def trained_sklearn(data: Data) -> Data:
    return trained(their_model(), data)


def trained_lightgbm(data: Data) -> Data:
    return trained(lightgbm_model(), data)


def trained_xgboost(data: Data) -> Data:
    return trained(xgboost_model(), data)


def predicted(data: Data) -> Result:
    return {"score": np.asarray(data["model"].predict_proba(data["X_test"]))[:, 1]}


def predicted_singly(data: Data) -> Result:
    """Every row by a call of its own."""
    model, X = data["model"], data["X_test"]
    return {"score": np.array([model.predict_proba(X[i : i + 1])[0, 1] for i in range(len(X))])}


def predicted_singly_lightgbm(data: Data) -> Result:
    """Past the scikit-learn interface, which takes longer than the trees."""
    booster, X = data["model"].booster_, data["X_test"]
    return {"score": np.array([booster.predict(X[i : i + 1], num_threads=1)[0] for i in range(len(X))])}


def predicted_singly_xgboost(data: Data) -> Result:
    booster, X = data["model"].get_booster(), data["X_test"]
    return {"score": np.array([booster.inplace_predict(X[i : i + 1])[0] for i in range(len(X))])}


def linear_result(model: Any, w: Any, margin: Any) -> Result:
    """The weights of the columns, and the score of a row of zeros."""
    w = np.asarray(w, dtype=np.float64).ravel()
    return {"w": w, "b": float(np.ravel(margin(model, np.zeros((1, len(w)))))[0])}


def linear_ours(data: Data) -> Result:
    from tercet.ensemble import LinearBoostingClassifier

    alpha, decay = (len(data["y"]) * penalty for penalty in LINEAR_PENALTIES)  # here of sums of losses
    penalties = {"l1_regularization": alpha, "l2_regularization": decay}
    model = LinearBoostingClassifier(learning_rate=LINEAR_RATE, max_iter=ROUNDS, tol=0.0, **penalties)
    model.fit(data["X"], data["y"])
    return linear_result(model, model.coef_, lambda model, rows: model.decision_function(rows))


def linear_xgboost(data: Data, jobs: int = 2) -> Result:
    from xgboost import XGBClassifier

    alpha, decay = LINEAR_PENALTIES  # there of means
    options = {
        "booster": "gblinear",
        "updater": "coord_descent",
        "feature_selector": "cyclic",
        "n_jobs": jobs,
    }
    penalties = {"reg_alpha": alpha, "reg_lambda": decay}
    model = XGBClassifier(learning_rate=LINEAR_RATE, n_estimators=ROUNDS, **options, **penalties)
    model.fit(data["X"], data["y"])
    return linear_result(model, model.coef_, lambda model, rows: model.predict(rows, output_margin=True))


def linear_xgboost_singly(data: Data) -> Result:
    return linear_xgboost(data, jobs=1)


def linear_objective(data: Data, result: Result) -> float:
    """The mean log loss of the rows with the penalties of the weights."""
    w, (alpha, decay) = result["w"], LINEAR_PENALTIES
    score = data["X"] @ w + result["b"]
    loss = np.logaddexp(0.0, np.where(data["y"] == 1, -score, score)).mean()
    return float(loss + alpha * np.abs(w).sum() + decay / 2 * w @ w)


# Rows -----------------------------------------------------------------------------------------------------------


def contenders(
    lightgbm: Any,
    xgboost: Any,
    sklearn: Any,
    prepare: tuple[Any, Any, Any] = (None, None, None),
    slow: tuple[str, ...] = (),
) -> dict[str, Contender]:
    found = {
        "LightGBM": Contender(lightgbm, ("lightgbm",), "lightgbm", prepare=prepare[0]),
        "XGBoost": Contender(xgboost, ("xgboost",), "xgboost", prepare=prepare[1]),
        "scikit-learn": Contender(sklearn, SKLEARN, "scikit-learn", prepare=prepare[2]),
    }
    found = {title: replace(contender, once=title in slow) for title, contender in found.items()}
    return {title: contender for title, contender in found.items() if contender.fit is not None}


def ours(fit: Any, prepare: Any = None) -> Contender:
    return Contender(fit, ("tercet.ensemble",), "tercet", prepare=prepare)


SKLEARN = ("sklearn.ensemble",)
AUC = {"quality": minus_auc, "tolerance": 0.002, "figure": "minus the AUC on fresh rows"}
TRAINED = (trained_lightgbm, trained_xgboost, trained_sklearn)
FULL = {"n": 500_000, "d": 28, "tests": 100_000, "steep": 1.0}
SMOKE = {"n": 1_500, "d": 6, "tests": 1_500, "steep": 5.0}
ROWS = [
    Row(
        name="boosting",
        work="100 rounds of 63 leaves and 255 bins, two classes; {n} x {d}",
        sizes={"full": FULL, "smoke": SMOKE},
        data=make_binary,
        ours=ours(binary_ours),
        peers={
            **contenders(binary_lightgbm, binary_xgboost, binary_sklearn),
            "LightGBM quantised": Contender(binary_lightgbm_quantised, ("lightgbm",), "lightgbm"),
        },
        **AUC,
    ),
    Row(
        name="boosting-multiclass",
        work="100 rounds of 63 leaves and 255 bins, {classes} classes; {n} x {d}",
        sizes={
            "full": {"n": 100_000, "d": 50, "tests": 20_000, "steep": 1.0, "classes": 7},
            "smoke": {"n": 800, "d": 8, "tests": 400, "steep": 1.0, "classes": 3},
        },
        data=make_classes,
        ours=ours(classes_ours),
        peers=contenders(classes_lightgbm, classes_xgboost, classes_sklearn),
        quality=log_loss,
        tolerance=0.01,
        figure="log loss on fresh rows",
    ),
    Row(
        name="boosting-wide",
        work="100 rounds of 63 leaves and 255 bins, two classes; {n} x {d}",
        sizes={
            "full": {"n": 20_000, "d": 2_000, "tests": 10_000, "steep": 1.0},
            "smoke": {**SMOKE, "d": 20},
        },
        data=make_binary,
        ours=ours(binary_ours),
        peers=contenders(binary_lightgbm, binary_xgboost, binary_sklearn, slow=("XGBoost", "scikit-learn")),
        **AUC,
    ),
    Row(
        name="boosting-categories",
        work="100 rounds of 63 leaves, two classes; {n} x {d}, one column of {values} categories, missing values",
        sizes={
            "full": {"n": 200_000, "d": 20, "tests": 50_000, "steep": 1.0, "values": 5_000, "holes": 0.1},
            "smoke": {**SMOKE, "d": 8, "steep": 40.0, "values": 4, "holes": 0.0},
        },
        data=make_categories,
        ours=ours(categories_ours),
        peers=contenders(categories_lightgbm, None, categories_sklearn),
        **AUC,
    ),
    Row(
        name="boosting-regression",
        work="100 rounds of 63 leaves and 255 bins, squared error, heavy-tailed noise; {n} x {d}",
        sizes={
            "full": {"n": 500_000, "d": 28, "tests": 100_000, "freedom": 3.0},
            "smoke": {"n": 1_500, "d": 6, "tests": 1_500, "freedom": 30.0},
        },
        data=make_heavy_tails,
        ours=ours(numbers_ours),
        peers=contenders(numbers_lightgbm, numbers_xgboost, numbers_sklearn),
        quality=root_mean_square,
        tolerance=0.005,
        figure="root mean squared error on fresh rows",
    ),
    Row(
        name="boosting-predict",
        work="{tests} rows through 100 trees of 63 leaves; {d} columns",
        sizes={"full": {**FULL, "tests": 1_000_000}, "smoke": SMOKE},
        data=make_binary,
        ours=ours(predicted, trained_ours),
        peers=contenders(predicted, predicted, predicted, TRAINED),
        **AUC,
    ),
    Row(
        name="boosting-predict-one",
        work="{tests} rows through 100 trees of 63 leaves, each by a call of its own; {d} columns",
        sizes={"full": {**FULL, "n": 100_000, "tests": 2_000}, "smoke": {**SMOKE, "tests": 200}},
        data=make_binary,
        ours=ours(predicted_singly, trained_ours),
        peers=contenders(predicted_singly_lightgbm, predicted_singly_xgboost, predicted_singly, TRAINED),
        **{**AUC, "tolerance": 0.01},
    ),
    Row(
        name="boosting-linear",
        work="100 rounds of linear boosting with L1 and L2 penalties, two classes; {n} x {d}",
        sizes={"full": {"n": 50_000, "d": 50}, "smoke": {"n": 1_500, "d": 6}},
        data=make_correlated,
        ours=ours(linear_ours),
        peers={  # its threads meet after each column, which takes long where the cores are not its own
            "XGBoost": Contender(linear_xgboost, ("xgboost",), "xgboost", once=True),
            "XGBoost, one thread": Contender(linear_xgboost_singly, ("xgboost",), "xgboost"),
        },
        quality=linear_objective,
        tolerance=1e-3,
        figure="objective",
    ),
]
