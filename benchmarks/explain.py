"""Rows of the contributions: exact Shapley values of a boosted model's trees, one for each row and feature.

Every contender explains a model of its own library or, where it has none, of scikit-learn, of the same number of
trees and leaves; models are fitted before the clock starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

TREES, LEAVES = 100, 31


def make_rows(rng: np.random.Generator, n: int, d: int, train: int, background: int) -> Data:
    """Normal rows, and a class that depends on most columns and on products of some."""
    X = rng.standard_normal((n + train, d))
    score = X[:, : d // 2] @ rng.standard_normal(d // 2) + X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]
    y = (score + rng.standard_normal(n + train) > 0).astype(np.int64)
    return {"X": X[:n], "X_train": X[n:], "y_train": y[n:], "background": X[n : n + background]}


def largest_gap(data: Data, result: Result) -> float:
    """How far base and contributions are from the score of the model, at most, over the size of the scores."""
    total = result["base"] + result["values"].sum(axis=1)
    return float(np.abs(total - result["scores"]).max() / np.abs(result["scores"]).max())


def model_ours(data: Data) -> Data:
    from tercet.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=TREES, max_leaf_nodes=LEAVES, early_stopping=False)
    model.fit(data["X_train"], data["y_train"])
    return {**data, "model": model, "scores": model.decision_function(data["X"])}


def model_lightgbm(data: Data) -> Data:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=TREES, num_leaves=LEAVES, n_jobs=2, verbose=-1)
    model.fit(data["X_train"], data["y_train"])
    scores = model.booster_.predict(data["X"], raw_score=True)
    return {**data, "model": model, "scores": scores}


def model_xgboost(data: Data) -> Data:
    import xgboost

    settings = {"max_leaves": LEAVES, "grow_policy": "lossguide", "max_depth": 0}
    model = xgboost.XGBClassifier(n_estimators=TREES, learning_rate=0.1, n_jobs=2, **settings)
    model.fit(data["X_train"], data["y_train"])
    scores = model.predict(data["X"], output_margin=True)
    return {**data, "model": model, "scores": scores, "matrix": xgboost.DMatrix(data["X"])}


def model_sklearn(data: Data) -> Data:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=TREES, max_leaf_nodes=LEAVES, early_stopping=False)
    model.fit(data["X_train"], data["y_train"])
    return {**data, "model": model, "scores": model.decision_function(data["X"])}


def frames(data: Data) -> Data:
    """A model of LightGBM, and rows as frames, which Woodelf asks for."""
    import pandas as pd

    names = [f"x{j}" for j in range(data["X"].shape[1])]
    given = model_lightgbm(data)
    tables = {name: pd.DataFrame(given[name], columns=names) for name in ("X", "background")}
    return {**given, "frame": tables["X"], "background_frame": tables["background"]}


def result(data: Data, values: Any, base: Any) -> Result:
    return {"values": np.asarray(values), "base": np.asarray(base), "scores": data["scores"]}


def explain_ours(data: Data) -> Result:
    from tercet.inspection import contributions

    found = contributions(data["model"], data["X"], n_jobs=2)
    return result(data, found.values, found.base_values)


def explain_ours_background(data: Data) -> Result:
    from tercet.inspection import contributions

    found = contributions(data["model"], data["X"], background=data["background"], n_jobs=2)
    return result(data, found.values, found.base_values)


def explain_lightgbm(data: Data) -> Result:
    found = data["model"].booster_.predict(data["X"], pred_contrib=True, num_threads=2)
    return result(data, found[:, :-1], found[:, -1])


def explain_xgboost(data: Data) -> Result:
    found = data["model"].get_booster().predict(data["matrix"], pred_contribs=True)
    return result(data, found[:, :-1], found[:, -1])


def explain_shap(data: Data) -> Result:
    import shap

    explainer = shap.TreeExplainer(data["model"], feature_perturbation="tree_path_dependent")
    return result(data, explainer.shap_values(data["X"], check_additivity=False), explainer.expected_value)


def explain_shap_background(data: Data) -> Result:
    import shap

    background = shap.maskers.Independent(data["background"], max_samples=len(data["background"]))
    explainer = shap.TreeExplainer(data["model"], background, feature_perturbation="interventional")
    return result(data, explainer.shap_values(data["X"], check_additivity=False), explainer.expected_value)


def explain_woodelf(data: Data) -> Result:
    from woodelf import WoodelfExplainer

    values = WoodelfExplainer(data["model"]).shap_values(data["frame"], verbose=False)
    return woodelf_result(data, values)


def explain_woodelf_background(data: Data) -> Result:
    from woodelf import WoodelfExplainer

    explainer = WoodelfExplainer(data["model"], data["background_frame"])
    return woodelf_result(data, explainer.shap_values(data["frame"], verbose=False))


def woodelf_result(data: Data, values: Any) -> Result:
    """Woodelf gives no base value: it is taken from the first row."""
    values = np.asarray(values)
    return result(data, values, data["scores"][0] - values[0].sum())


FULL = {"n": 20_000, "d": 20, "train": 50_000, "background": 100}
SMOKE = {"n": 200, "d": 6, "train": 500, "background": 20}
ROWS = [
    Row(
        name="contributions",
        work=f"path-dependent TreeSHAP of {TREES} boosted trees of {LEAVES} leaves; {{n}} x {{d}}",
        sizes={"full": FULL, "smoke": SMOKE},
        data=make_rows,
        ours=Contender(explain_ours, ("tercet.inspection", "tercet.ensemble"), "tercet", prepare=model_ours),
        peers={
            "LightGBM": Contender(explain_lightgbm, ("lightgbm",), "lightgbm", prepare=model_lightgbm),
            "XGBoost": Contender(explain_xgboost, ("xgboost",), "xgboost", prepare=model_xgboost),
            "shap": Contender(explain_shap, ("shap",), "shap", threads=1, prepare=model_sklearn),
            "Woodelf": Contender(
                explain_woodelf, ("woodelf",), "woodelf-explainer", threads=1, prepare=frames
            ),
        },
        quality=largest_gap,
        tolerance=1e-5,
        figure="largest gap between sum and score",
        relative=False,
    ),
    Row(
        name="contributions-background",
        work=f"interventional TreeSHAP, {{background}} background rows, of {TREES} boosted trees; {{n}} x {{d}}",
        sizes={"full": FULL, "smoke": SMOKE},
        data=make_rows,
        ours=Contender(
            explain_ours_background, ("tercet.inspection", "tercet.ensemble"), "tercet", prepare=model_ours
        ),
        peers={
            "Woodelf": Contender(
                explain_woodelf_background, ("woodelf",), "woodelf-explainer", threads=1, prepare=frames
            ),
            "shap": Contender(
                explain_shap_background, ("shap",), "shap", threads=1, prepare=model_sklearn, once=True
            ),
        },
        quality=largest_gap,
        tolerance=1e-5,
        figure="largest gap between sum and score",
        relative=False,
    ),
]
