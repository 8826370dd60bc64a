"""The linear methods side by side on embedded data: `python -m tercet.linear_model`, or `make run`."""

from __future__ import annotations

import inspect
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tercet.core.catalog import methods

FAMILIES = ("linear_model", "discriminant_analysis", "multiclass")
# Cubic terms of ten features would be almost as many as there are rows.
SETTINGS = {"PolynomialRegression": {"degree": 2}}
SHOWN = ("method", "方法", "score", "±", "fit s", "model")


METRIC = {"classification": "accuracy", "regression": "r2"}


def compare(task: str, X: np.ndarray, y: np.ndarray, dummy: Any, folds: int = 5) -> list[tuple]:
    """Cross-validated scores of every suitable method, best first."""
    cards = [c for c in methods(task=task) if c.kind == "estimator" and c.family in FAMILIES]
    entries = [(c.name, c.zh, c.model, c.load()) for c in cards]
    rows = []
    for name, zh, model, kind in [*entries, ("(always the same)", "基准", "a constant", dummy)]:
        if "estimator" in inspect.signature(kind).parameters:
            continue  # built on one of the others
        settings = SETTINGS.get(name, {})
        name = " ".join([name, *(f"{key}={value}" for key, value in settings.items())])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                pipe = make_pipeline(StandardScaler(), kind(**settings))
                result = cross_validate(pipe, X, y, cv=folds, scoring=METRIC[task])
            except ValueError:  # not for these data, as a model of positive numbers is not for zeros
                continue
        score, spread = result["test_score"].mean(), result["test_score"].std()
        rows.append((name, zh, f"{score:.4f}", f"{spread:.4f}", f"{result['fit_time'].mean():.4f}", model))
    return sorted(rows, key=lambda row: -float(row[2]))


def width(text: str) -> int:
    """Columns on a terminal: a Chinese character takes two."""
    return sum(2 if "\u2e80" <= letter <= "\uffef" else 1 for letter in text)


def table(rows: list[tuple]) -> str:
    """Rows under their heads."""
    lines = [SHOWN, *rows]
    widths = [max(width(line[k]) for line in lines) for k in range(len(SHOWN))]
    return "\n".join(
        "  ".join(cell + " " * (w - width(cell)) for cell, w in zip(line, widths)).rstrip() for line in lines
    )


def main() -> None:
    """Print both tables."""
    start = time.perf_counter()
    X, y = load_breast_cancer(return_X_y=True)
    print(f"Breast cancer, {X.shape[0]} rows, {X.shape[1]} columns: accuracy in 5-fold cross-validation\n")
    print(table(compare("classification", X, y, DummyClassifier)))
    X, y = load_diabetes(return_X_y=True)
    print(f"\nDiabetes, {X.shape[0]} rows, {X.shape[1]} columns: R² in 5-fold cross-validation\n")
    print(table(compare("regression", X, y, DummyRegressor)))
    print(
        f"\n{time.perf_counter() - start:.1f} s. Each of these is a class: from tercet.linear_model import ..."
    )


if __name__ == "__main__":
    main()
