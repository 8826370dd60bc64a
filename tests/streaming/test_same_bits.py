"""A fit of a source has the bits of the fit of the same rows in memory, for every estimator that streams."""

import importlib
import inspect

import numpy as np
import pytest
from sklearn.base import clone

import tercet
from tercet.cluster import KMeans
from tercet.core import chunks
from tercet.core.catalog import methods
from tercet.core.steps import fitted_attributes
from tercet.datasets import Source
from tercet.decomposition import PCA
from tercet.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tercet.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tercet.linear_model import (
    GammaRegressor,
    GeneralizedLinearRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from tercet.mixture import GaussianMixture
from tercet.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from tests.streaming.conftest import table, write_parts

CASES = [
    (LinearRegression(), "number"),
    (LinearRegression(solver="normal"), "number"),
    (LinearRegression(positive=True, fit_intercept=False), "number"),
    (Ridge(), "number"),
    (Ridge(solver="svd", fit_intercept=False), "number"),
    (LogisticRegression(), "two"),
    (LogisticRegression(solver="newton-cholesky", class_weight="balanced"), "two"),
    (LogisticRegression(solver="newton-cg", class_weight={"yes": 2.0}), "two"),
    (LogisticRegression(solver="auto", fit_intercept=False), "three"),
    (PoissonRegressor(), "count"),
    (GammaRegressor(solver="newton-cholesky"), "weight"),
    (TweedieRegressor(power=1.5, link="log"), "count"),
    (GeneralizedLinearRegressor(), "number"),
    (GaussianNB(), "three"),
    (MultinomialNB(), "two"),
    (BernoulliNB(binarize=1.0), "two"),
    (ComplementNB(norm=True), "three"),
    (LinearDiscriminantAnalysis(store_covariance=True), "three"),
    (LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1), "two"),
    (LinearDiscriminantAnalysis(solver="fisher"), "three"),
    (QuadraticDiscriminantAnalysis(reg_param=0.01), "three"),
    (KMeans(4, random_state=0, max_iter=30), None),
    (KMeans(15, random_state=1, algorithm="hamerly", max_iter=8), None),
    (KMeans(3, init="random", n_init=2, random_state=2, max_iter=10), None),
    (KMeans(4, init=[[k] * 20 for k in (0, 1, 50, 51)], max_iter=10), None),  # clusters run empty
    (GaussianMixture(3, random_state=0, max_iter=5), None),
    (GaussianMixture(2, covariance_type="diag", random_state=1, max_iter=5), None),
    (HistGradientBoostingClassifier(max_iter=3, random_state=0), "two"),  # more of it in test_boosting
    (HistGradientBoostingRegressor(max_iter=3, random_state=0), "number"),
    (PCA(5), None),
    (PCA(0.9, scale=True, whiten=True), None),
]


def prepared(rows, model):
    """The rows, as an estimator wants them: none negative, say."""
    return np.abs(rows["X"]) if model.positive_only else rows["X"]


def assert_same(streamed, whole):
    """All that was learned is the same, to the last bit."""
    left_out = {*whole.row_attributes, "feature_names_in_"}
    expected = {name: value for name, value in fitted_attributes(whole).items() if name not in left_out}
    found = {name: value for name, value in fitted_attributes(streamed).items() if name not in left_out}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray | float | int | dict):
            np.testing.assert_array_equal(found[name], value, err_msg=name)


def ident(case):
    return str(case[0])[:60]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_source_gives_the_bits_of_memory(case, weighted, rows, folder, names):
    model, target = case
    X = prepared(rows, model)
    where = folder
    if X is not rows["X"]:
        where = folder.parent / "positive"
        if not where.exists():
            where.mkdir()
            write_parts(where, rows, X)
    weights = {"sample_weight": rows["weight"]} if weighted else {}
    columns = {"sample_weight": "weight"} if weighted else {}
    if weighted and not takes_weights(model):
        return
    whole = clone(model).fit(X, *([] if target is None else [rows[target]]), **weights)
    used = [*names, *dict.fromkeys([*([target] if target else []), *(["weight"] if weighted else [])])]
    with tercet.engine("stream"):
        streamed = clone(model).fit(Source(where, columns=used), y=target, **columns)
    assert_same(streamed, whole)
    assert streamed.feature_names_in_.tolist() == names


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_a_start_from_a_sample_is_the_same(solver, tmp_path, monkeypatch):
    """From a million numbers on, logistic regression begins with a sample of the rows."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 21)
    rows = table(52_000)
    source = Source(write_parts(tmp_path, {"two": rows["two"]}, rows["X"]))
    model = LogisticRegression(solver=solver)
    whole = clone(model).fit(rows["X"], rows["two"])
    with tercet.engine("stream"):
        assert_same(clone(model).fit(source, y="two"), whole)


def takes_weights(model):
    return "sample_weight" in inspect.signature(model.fit).parameters


def test_every_streaming_estimator_is_here():
    streaming = {
        card.name
        for card in methods()
        if card.kind == "estimator"
        and getattr(getattr(importlib.import_module(card.module), card.name), "streaming", False)
    }
    assert streaming <= {type(model).__name__ for model, _ in CASES}
