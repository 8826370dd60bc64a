"""Comparisons small enough for a test, of the shape that `tercet compare` hands to the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import accuracy_score, f1_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tercet
from tercet.core.messages import Message
from tercet.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tercet.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
)

NASTY = "<script>alert(1)</script>"
LABELS = ["a \"quoted\" & 'single' label", "恶性 <b>肿瘤</b>"]


@dataclass
class ReportDetails:
    """Everything the pictures may be made from."""

    best: str | None = None
    truth: Any = None
    predicted: Any = None
    proba: Any = None
    classes: Any = None
    curves: dict[str, Any] = field(default_factory=dict)
    importance: Any = None
    regions: Any = None
    models: dict[str, Any] = field(default_factory=dict)
    clusters: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    dependence: Any = None


def classification(*, nasty: bool = False) -> tuple[dict[str, Any], ReportDetails]:
    """Five classifiers on real data; `nasty` gives the columns and classes names that try to break out."""
    bunch = load_breast_cancer()
    X, y = bunch.data, bunch.target
    names = [str(name) for name in bunch.feature_names]
    classes = ["malignant", "benign"]
    if nasty:
        names[:4] = [NASTY, "x\x00\x1b[31m\ud800", '" onmouseover="alert(2)', "很长" * 200]
        classes = LABELS
    methods = [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), LogisticRegression(),
               Perceptron(random_state=0), RidgeClassifier()]  # fmt: skip
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    entries, held_out = _compare(methods, X, y, folds, accuracy_score)
    for entry in entries:
        f1 = float(f1_score(y, held_out[entry["name"]], average="macro"))
        entry["others"] = {
            "balanced_accuracy": f1 - 0.002,
            "macro_f1": f1,
            "roc_auc": 0.995,
            "log_loss": 0.07,
        }
    entries.append(_baseline("accuracy", _scores_of_constant(folds, X, y)))
    result = _result(
        "breast_cancer.csv", "classification", "accuracy", True, X, names, _ranked(entries, True)
    )
    result["data"]["target"] = _column("diagnosis <i>", y, kind="categorical")
    result["data"]["classes"] = [[label, int(np.sum(y == k))] for k, label in enumerate(classes)]
    result["data"]["notes"] = [Message("{n} rows", n=569), f"UTF-8; comma; {NASTY if nasty else 'header'}"]
    result["skipped"] = [{"name": "MaxEnt", "zh": "最大熵模型", "why": "the budget was spent"}]
    best = entries[0]["name"]
    model = make_pipeline(StandardScaler(), next(m for m in methods if type(m).__name__ == best))
    details = ReportDetails(best=best, truth=y, predicted=held_out[best], classes=classes)
    proba = np.full((len(y), 2), np.nan)
    for train, test in folds.split(X, y):
        smooth = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], y[train])
        proba[test] = smooth.predict_proba(X[test])
    details.proba = proba
    details.scores = {
        best: {"ranking": proba, "proba": proba},
        "Perceptron": {"ranking": np.stack([1 - X[:, 0], X[:, 0]], axis=1), "proba": None},
    }
    importance = np.abs(LogisticRegression().fit(StandardScaler().fit_transform(X), y).coef_[0])
    details.importance = {"names": names, "mean": importance / 50, "std": importance / 200}
    pair = clone(model).fit(X[:, :2], y)
    details.regions = (pair, X[:, :2], y, tuple(names[:2]))
    sizes = [50, 150, 300, 455]
    rise = np.array([0.9, 0.93, 0.95, 0.955])[:, None] + np.linspace(-0.01, 0.01, 5)
    details.curves = {best: {"sizes": sizes, "train": 1.94 - rise, "test": rise}}
    details.dependence = {
        names[0]: {"grid": np.linspace(7, 28, 20), "average": np.linspace(0.9, 0.1, 20)[None]},
        "stage": {
            "grid": np.array(["I", LABELS[1] if nasty else "II"], dtype=object),
            "average": np.array([[0.2, 0.7]]),
        },
    }
    _add_advice(result, details, names)
    details.models = {
        type(m).__name__: (clone(m).fit(StandardScaler().fit_transform(X), y), names) for m in methods[:3]
    }
    return result, details


def _add_advice(result: dict[str, Any], details: ReportDetails, names: list[str]) -> None:
    """Alerts, a recommendation, errors and thresholds, as `tercet compare` adds them."""
    worse = [e for e in result["leaderboard"] if not e["baseline"]][1]
    result["alerts"] = [
        {"kind": "determines", "severity": "serious", "title": f"{names[0]!r} alone determines it",
         "evidence": "A tree of it has 1.000.", "advice": f"Drop {names[0]}.", "columns": [names[0]]},
        {"kind": "rounds", "severity": "note", "title": "few rounds", "evidence": "1 of 10.", "advice": "Wait.",
         "columns": []},
    ]  # fmt: skip
    result["take"] = {
        "name": details.best,
        "command": f"tercet fit {details.best} 'a<b.csv' --output model.skops",
        "predict": "tercet predict model.skops NEW_DATA",
        "python": "import numpy as np\nprint('<b>')",
        "expected": {"score": 0.951, "low": 0.93, "high": 0.97, "corrected": True},
        "simplest": {
            "name": worse["name"],
            "score": worse["score"],
            "command": f"tercet fit {worse['name']}",
        },
    }
    result["errors"] = {
        "mean": 0.04,
        "segments": [
            {"column": names[0], "segment": (1.0, 2.5), "rows": 40, "error": 0.25, "others": 0.02, "p_value": 1e-5},
            {"column": names[1], "segment": None, "rows": 20, "error": 0.2, "others": 0.02, "p_value": 1e-5},
            {"column": "ward", "segment": NASTY, "rows": 20, "error": 0.2, "others": 0.02, "p_value": 1e-5},
        ],
        "rows": [
            {"row": 1234, "truth": details.classes[0], "predicted": details.classes[1], "sure": 0.987,
             "values": {names[0]: 1.5, names[1]: None, "ward": NASTY}}
        ],
        "confidence": {"rows": 569, "wrong": 23, "sure": 400, "sure_wrong": 4},
    }  # fmt: skip
    result["thresholds"] = {
        "positive": 0,
        "probabilities": True,
        "choices": [
            {"ratio": 5.0, "threshold": 0.1667, "found": 190, "missed": 22, "false_alarms": 31, "cost": 141.0,
             "never": 1060.0, "always": 357.0}
        ],
    }  # fmt: skip


def regression() -> tuple[dict[str, Any], ReportDetails]:
    """Three regressions on real data, without details of the slower kind."""
    bunch = load_diabetes()
    X, y = bunch.data, bunch.target
    folds = KFold(5, shuffle=True, random_state=0)
    entries, held_out = _compare([LinearRegression(), Ridge(), Lasso()], X, y, folds, r2_score)
    entries.append(_baseline("R2", [-0.01, -0.02, 0.0, -0.03, -0.01]))
    names = [str(name) for name in bunch.feature_names]
    result = _result("diabetes.csv", "regression", "R²", True, X, names, _ranked(entries, True))
    result["data"]["target"] = _column("progression", y)
    best = entries[0]["name"]
    model = LinearRegression().fit(X[:, [2]], y)
    return result, ReportDetails(
        best=best, truth=y, predicted=held_out[best], regions=(model, X[:, [2]], y, ("bmi",))
    )


def clustering() -> tuple[dict[str, Any], ReportDetails]:
    """Two clusterings of the iris, one of them by its true species."""
    bunch = load_iris()
    X, y = bunch.data, bunch.target
    points = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2].T
    rows = [
        {"name": name, "zh": zh, "baseline": False, "score": score, "spread": None, "low": None, "high": None,
         "scores": [], "others": {"Davies-Bouldin": 0.66, "adjusted Rand": 0.73}, "fit_time": 0.003,
         "predict_time": None, "rounds": 1, "difference": None, "outcome": None, "tied": False, "settings": {},
         "warnings": [], "card": None}
        for name, zh, score in (("KMeans", "k均值", 0.55), ("AgglomerativeClustering", "层次聚类", 0.52))
    ]  # fmt: skip
    names = [str(name) for name in bunch.feature_names]
    result = _result("iris.csv", "clustering", "silhouette", True, X, names, _ranked(rows, True))
    found = {"points": points, "labels": y, "truth": y, "silhouette": np.linspace(-0.1, 0.9, len(y))}
    return result, ReportDetails(best="KMeans", clusters={"KMeans": found})


def _compare(methods: list[Any], X: Any, y: Any, folds: Any, score: Any) -> tuple[list[dict[str, Any]], Any]:
    cards = {card.name: card for card in tercet.methods()}
    entries, held_out = [], {}
    for method in methods:
        name = type(method).__name__
        predicted, scores = np.empty_like(y), []
        for train, test in folds.split(X, y):
            model = make_pipeline(StandardScaler(), clone(method)).fit(X[train], y[train])
            predicted[test] = model.predict(X[test])
            scores.append(float(score(y[test], predicted[test])))
        mean, spread = float(np.mean(scores)), float(np.std(scores, ddof=1))
        entries.append(
            {"name": name, "zh": cards[name].zh, "baseline": False, "score": mean, "spread": spread,
             "low": mean - spread, "high": mean + spread, "scores": scores, "others": {}, "fit_time": 0.0042,
             "predict_time": 0.00031, "rounds": 1, "difference": 0.0, "outcome": None, "tied": False,
             "settings": {}, "warnings": [], "card": asdict(cards[name])}
        )  # fmt: skip
        held_out[name] = predicted
    return entries, held_out


def _ranked(entries: list[dict[str, Any]], greater: bool) -> list[dict[str, Any]]:
    entries.sort(key=lambda entry: -entry["score"] if greater else entry["score"])
    for k, entry in enumerate(entries):
        gap = abs(entry["score"] - entries[0]["score"])
        entry["rank"] = k + 1
        entry["difference"] = -gap
        if entry["scores"]:
            entry["outcome"] = "best" if k == 0 else "undecided" if gap < 0.015 else "worse"
            entry["tied"] = entry["outcome"] != "worse"
    if entries[-2]["card"]:
        entries[-2]["warnings"] = ["did not converge in 1000 passes"]
        entries[-2]["settings"] = {"max_iter": 1000}
    return entries


def _baseline(metric: str, scores: list[float]) -> dict[str, Any]:
    mean, spread = float(np.mean(scores)), float(np.std(scores, ddof=1))
    return {"name": "baseline", "zh": "基线", "baseline": True, "score": mean, "spread": spread,
            "low": mean - spread, "high": mean + spread, "scores": scores, "others": {}, "fit_time": 0.0001,
            "predict_time": 0.00001, "rounds": 1, "difference": 0.0, "outcome": None, "tied": False,
            "settings": {}, "warnings": [], "card": None}  # fmt: skip


def _scores_of_constant(folds: Any, X: Any, y: Any) -> list[float]:
    return [float(np.mean(y[test] == np.bincount(y[train]).argmax())) for train, test in folds.split(X, y)]


def _column(name: str, values: Any, kind: str = "numeric") -> dict[str, Any]:
    common = {"name": name, "kind": kind, "used": True, "missing": 0, "distinct": len(np.unique(values))}
    if kind != "numeric":
        pairs = [[str(v), int(n)] for v, n in zip(*np.unique(values, return_counts=True))]
        return {**common, "why": "few distinct values", "summary": {"top": pairs}}
    counts, edges = np.histogram(values, bins=16)
    summary = {
        "min": float(values.min()), "max": float(values.max()), "mean": float(values.mean()),
        "std": float(values.std()),
        "quartiles": [float(q) for q in np.quantile(values, [0.25, 0.5, 0.75])],
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }  # fmt: skip
    return {**common, "why": "all values are numbers", "summary": summary}


def _result(
    source: str, task: str, metric: str, greater: bool, X: Any, names: list[str], board: list[dict[str, Any]]
) -> dict[str, Any]:
    columns = [_column(name, X[:, k]) for k, name in enumerate(names)]
    columns.append(
        {"name": "patient", "kind": "identifier", "why": "a different value in every row", "used": False,
         "missing": 12, "distinct": len(X), "summary": {"top": [["a1", 1], ["a2", 1]]}}
    )  # fmt: skip
    colours = _column(
        "colour", np.array(["red", "green", "green", "blue", "green", "red"]), kind="categorical"
    )
    columns.insert(5, colours)
    return {
        "tercet": "0.1.0", "created": "2026-11-15T11:30:00", "command": f"tercet compare {source} --target 'y<z'",
        "data": {"source": source, "format": "CSV", "rows": len(X), "total_rows": len(X), "notes": ["UTF-8, comma"],
                 "columns": columns, "target": None, "classes": None, "n_sparse": 0},
        "task": task, "task_why": "the target has few distinct values", "metric": metric, "metric_title": metric,
        "margin": 0.01,
        "greater_is_better": greater, "cv": 5, "repeats": 1, "seed": 0, "budget": 50.0, "jobs": 2,
        "preprocessing": ["numbers are standardised"], "leaderboard": board, "skipped": [],
        "time": {"total": 31.4, "fits": 25.0, "reading": 0.2}, "interrupted": False,
    }  # fmt: skip
