"""A fit of a source has the bits of the fit of the same rows in memory, for every estimator that streams."""

import importlib
import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import tercet
from tercet.cluster import KMeans, MiniBatchKMeans
from tercet.core import chunks
from tercet.core.catalog import methods
from tercet.core.columns import MixedColumns
from tercet.core.steps import fitted_attributes
from tercet.datasets import Source, SourceError
from tercet.decomposition import NMF, PCA, IncrementalPCA, MiniBatchNMF, TruncatedSVD
from tercet.decomposition._nmf import streamed_table
from tercet.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tercet.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from tercet.linear_model import (
    ElasticNet,
    GammaRegressor,
    GeneralizedLinearRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MaxEnt,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from tercet.mixture import (
    BayesianGaussianMixture,
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
)
from tercet.naive_bayes import (
    AODE,
    KDB,
    SPODE,
    TAN,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    OneDependenceClassifier,
)
from tercet.neural_network import SOM, MLPClassifier, MLPRegressor
from tercet.topic import PLSA, LatentDirichletAllocation
from tercet.topic._plsa import streamed_documents
from tercet.tree import Tree
from tests.streaming.conftest import table, write_parts

CASES = [
    (LinearRegression(), "number"),
    (LinearRegression(solver="normal"), "number"),
    (LinearRegression(positive=True, fit_intercept=False), "number"),
    (Ridge(), "number"),
    (Ridge(solver="svd", fit_intercept=False), "number"),
    (ElasticNet(alpha=0.1), "number"),
    (ElasticNet(alpha=0.1, solver="fista", max_iter=5), "number"),
    (Lasso(alpha=0.05, fit_intercept=False, precompute=True), "number"),
    (RidgeClassifier(class_weight="balanced"), "two"),
    (RidgeClassifier(solver="svd"), "three"),
    (LogisticRegression(), "two"),
    (LogisticRegression(solver="newton-cholesky", class_weight="balanced"), "two"),
    (LogisticRegression(solver="newton-cg", class_weight={"yes": 2.0}), "two"),
    (LogisticRegression(solver="auto", fit_intercept=False), "three"),
    (MaxEnt(class_weight="balanced"), "three"),
    (MaxEnt("newton-cg", C=10.0, fit_intercept=False), "two"),
    (PoissonRegressor(), "count"),
    (GammaRegressor(solver="newton-cholesky"), "weight"),
    (TweedieRegressor(power=1.5, link="log"), "count"),
    (GeneralizedLinearRegressor(), "number"),
    (GaussianNB(), "three"),
    (MultinomialNB(), "two"),
    (BernoulliNB(binarize=1.0), "two"),
    (ComplementNB(norm=True), "three"),
    (CategoricalNB(), "three"),
    (MixedNB(["gaussian"] * 18 + ["categorical"] * 2), "three"),
    (SPODE(parent=2), "two"),
    (AODE(), "three"),
    (TAN(categorical_features=[1, 3]), "two"),
    (KDB(), "two"),
    (OneDependenceClassifier(parents={1: 0}), "two"),
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
    (GaussianMixture(2, init_params="random_from_data", random_state=2, max_iter=3), None),
    (BayesianGaussianMixture(n_components=3, random_state=0, max_iter=5), None),
    (BernoulliMixture(3, binarize=0.5, random_state=0, max_iter=5), None),
    (MultinomialMixture(3, random_state=0, max_iter=5), None),
    (CategoricalMixture(3, random_state=0, max_iter=5), None),
    (CategoricalMixture(3, init_params="random_from_data", random_state=0, max_iter=5), None),
    (MiniBatchKMeans(5, random_state=0, max_iter=10), None),
    (MiniBatchKMeans(3, batch_size=100, compute_labels=False, init="random", n_init=2, random_state=1), None),
    (SOM((4, 5), max_iter=5), None),
    (SOM((2, 3), init="random", toroidal=True, max_iter=3, random_state=0), None),
    (IncrementalPCA(5, batch_size=700), None),
    (HistGradientBoostingClassifier(max_iter=3, random_state=0), "two"),  # more of it in test_boosting
    (HistGradientBoostingRegressor(max_iter=3, random_state=0), "number"),
    (MLPClassifier((7,), shuffle=False, max_iter=3, random_state=0), "three"),
    (MLPClassifier((5, 4), solver="lbfgs", max_iter=4, loss="squared_error", random_state=0), "two"),
    (
        MLPRegressor(
            "poisson", (6,), solver="accumulated-bp", learning_rate_init=0.05, max_iter=4, random_state=0
        ),
        "count",
    ),
    (PCA(5), None),
    (PCA(0.9, scale=True, whiten=True), None),
]


def prepared(rows, model):
    """The rows, as an estimator wants them: none negative, say, or whole numbers."""
    if isinstance(model, MixedColumns):
        return np.floor(np.abs(2 * rows["X"]))
    return np.abs(rows["X"]) if model.positive_only else rows["X"]


def assert_same(streamed, whole):
    """All that was learned is the same, to the last bit."""
    left_out = {*whole.row_attributes, "feature_names_in_"}
    expected = {name: value for name, value in fitted_attributes(whole).items() if name not in left_out}
    found = {name: value for name, value in fitted_attributes(streamed).items() if name not in left_out}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, dict) and name == "parts_":  # models of some of the columns
            for part in value:
                assert_same(found[name][part], value[part])
        elif isinstance(value, list):
            assert_equal_items(found[name], value, name)
        elif isinstance(value, np.ndarray | float | int | dict):
            np.testing.assert_array_equal(found[name], value, err_msg=name)


def assert_equal_items(found, expected, name):
    for mine, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, list):
            assert_equal_items(mine, theirs, name)
        elif isinstance(theirs, Tree):
            assert len(mine.value) == len(theirs.value)
            for part, value in theirs.__getstate__().items():
                np.testing.assert_array_equal(mine.__getstate__()[part], value, err_msg=f"{name}, {part}")
        else:
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


def ident(case):
    return str(case[0])[:60]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_source_gives_the_bits_of_memory(case, weighted, rows, folder, names):
    model, target = case
    X = prepared(rows, model)
    where = folder
    if X is not rows["X"]:
        where = folder.parent / ("whole" if isinstance(model, MixedColumns) else "positive")
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


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("method", ["online", "batch"])
def test_topics_of_a_source(method, weighted, rows, tmp_path):
    """Mini-batches give the same bits; over all documents at once, sums have another order."""
    X = np.floor(np.abs(2 * rows["X"]))
    source = Source(write_parts(tmp_path, {"weight": rows["weight"]}, X))
    model = LatentDirichletAllocation(
        4, learning_method=method, batch_size=500, max_iter=2, random_state=0, evaluate_every=1
    )
    whole = clone(model).fit(X, sample_weight=rows["weight"] if weighted else None)
    with tercet.engine("stream"):
        columns = [f"f{j}" for j in range(X.shape[1])]
        if weighted:
            streamed = clone(model).fit(source, sample_weight="weight")
        else:
            streamed = clone(model).fit(Source(tmp_path, columns=columns))
    if method == "online":
        np.testing.assert_array_equal(streamed.components_, whole.components_)
    np.testing.assert_allclose(streamed.components_, whole.components_, rtol=1e-9)
    np.testing.assert_allclose(streamed.bound_, whole.bound_, rtol=1e-9)
    assert streamed.n_iter_ == whole.n_iter_
    topics = streamed.transform(Source(tmp_path, columns=columns))
    np.testing.assert_allclose(np.asarray(topics), streamed.transform(X), rtol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_truncated_svd_of_a_source(kind, rows, folder, names):
    """The same subspaces, whose bases have other roundings."""
    X, source = rows["X"], Source(folder, columns=names)
    if kind == "sparse":
        X = sparse.random_array((20_000, 40), density=0.2, format="csr", rng=np.random.default_rng(0))
        source = Source(X)
    model = TruncatedSVD(4, n_iter=7, random_state=0)
    whole = clone(model).fit(X)
    with tercet.engine("stream"):
        streamed = clone(model).fit(source)
    for name in ("components_", "singular_values_", "explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(whole, name), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(np.asarray(streamed.transform(source)), streamed.transform(X), atol=1e-12)
    with pytest.raises(TypeError, match="Use algorithm='randomized'"):
        TruncatedSVD(4, algorithm="arpack").fit(source)


FACTORIZATIONS = [
    NMF(3, tol=0.0, max_iter=4),
    NMF(3, solver="mu", beta_loss="kullback-leibler", init="random", random_state=0, tol=0.0, max_iter=3),
    NMF(2, solver="hals", order="HW", alpha_W=1e-3, l1_ratio=0.5, normalize="rescale", tol=0.0, max_iter=3),
    NMF(2, solver="gradient", init="nndsvdar", shuffle=True, random_state=0, tol=0.0, max_iter=3),
    NMF(2, solver="mu", normalize="literal", norm="l1", tol=1e-2, max_iter=20),
    MiniBatchNMF(3, init="random", random_state=0, batch_size=1000, max_iter=2),
    MiniBatchNMF(2, fresh_restarts=True, beta_loss="kullback-leibler", batch_size=5000, max_iter=1),
]


@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*Maximum number of iterations")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("model", FACTORIZATIONS, ids=str)
def test_non_negative_factors_of_a_source(model, kind, rows, tmp_path, monkeypatch):
    """The factors of memory but for rounding, with W in temporary files where memory is short."""
    monkeypatch.setattr(streamed_table, "CHUNK_BYTES", 1 << 17)
    X = np.abs(rows["X"][:5000])
    if kind == "sparse":
        X = sparse.csr_array(np.where(X > 1, X, 0.0))
        source = Source(X)
    else:
        source = Source(write_parts(tmp_path, {}, X))
    whole = clone(model).fit(X)
    monkeypatch.setenv("TERCET_MEMORY", "200kB")
    with tercet.engine("stream"):
        streamed = clone(model).fit(source)
    np.testing.assert_allclose(streamed.components_, whole.components_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(streamed.reconstruction_err_, whole.reconstruction_err_, rtol=1e-9)
    assert streamed.n_iter_ == whole.n_iter_
    few = np.asarray(streamed.transform(Source(X[:700])))
    np.testing.assert_allclose(few, streamed.transform(X[:700]), rtol=1e-9, atol=1e-12)


def test_what_factorizations_need_in_memory(rows, tmp_path):
    source = Source(np.abs(rows["X"]))
    with pytest.raises(TypeError, match=r"init='custom' takes W of every row\. Use init='random'"):
        NMF(2, init="custom").fit(source)
    with pytest.raises(TypeError, match="Use a positive beta_loss"):
        MiniBatchNMF(2, beta_loss="itakura-saito").fit(source)
    gap = np.abs(rows["X"])
    gap[7000, 3] = np.nan
    with tercet.engine("stream"), pytest.raises(SourceError, match=r"NMF: column 3 has NaN .* row 7000"):
        NMF(2).fit(Source(gap))
    with pytest.raises(TypeError, match=r"beta='held-out' .* Use a number for beta"):
        PLSA(2, beta="held-out").fit(source)
    with pytest.raises(TypeError, match=r"doc_topic_init has numbers for every document"):
        PLSA(2, doc_topic_init=np.ones((12_000, 2))).fit(source)


ANALYSES = [
    PLSA(3, random_state=0, max_iter=4),
    PLSA(3, model="cooccurrence", random_state=0, max_iter=3),
    PLSA(2, model="cooccurrence", beta=0.9, topic_weights_init=[0.3, 0.7], random_state=0, max_iter=3),
    PLSA(2, beta=0.8, n_init=2, random_state=0, max_iter=3),
]


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("model", ANALYSES, ids=str)
def test_latent_semantics_of_a_source(model, kind, rows, tmp_path, monkeypatch):
    """The topics of memory but for rounding, with P(z|d) in temporary files where memory is short."""
    monkeypatch.setattr(streamed_documents, "CHUNK_BYTES", 1 << 17)
    X = np.floor(np.abs(2 * rows["X"][:6000]))
    weight = np.where(np.arange(6000) % 7, rows["weight"][:6000], 0.0)
    source = Source(write_parts(tmp_path, {"weight": weight}, X))
    column = "weight"
    if kind == "sparse":
        X = sparse.csr_array(X)
        source, column = Source(X), weight
    whole = clone(model).fit(X, sample_weight=weight)
    monkeypatch.setenv("TERCET_MEMORY", "200kB")
    with tercet.engine("stream"):
        streamed = clone(model).fit(source, sample_weight=column)
    for name in ("components_", "topic_weights_", "log_likelihood_", "beta_"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(whole, name), rtol=1e-9, err_msg=name)
    assert streamed.n_iter_ == whole.n_iter_
    assert not hasattr(streamed, "doc_topic_")
    with pytest.raises(NotFittedError, match="was fitted to a source"):
        streamed.cooccurrence()
    topics = streamed.transform(Source(X[:700]))
    np.testing.assert_allclose(np.asarray(topics), whole.transform(X[:700]), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*passes were too few")
def test_likelihood_of_documents_of_a_source(rows, tmp_path):
    """Sums over the same documents, whose P(z|d) have the bits of memory."""
    X = np.floor(np.abs(2 * rows["X"][:6000]))
    frame = pd.DataFrame(X).add_prefix("f")
    model = PLSA(3, beta=0.9, random_state=0, max_iter=2, max_doc_update_iter=20).fit(frame)
    source = Source(write_parts(tmp_path, {"label": rows["two"][:6000]}, X))
    np.testing.assert_allclose(model.score(source), model.score(frame), rtol=1e-12)
    np.testing.assert_allclose(model.perplexity(source), model.perplexity(frame), rtol=1e-12)
    np.testing.assert_allclose(
        model.score(Source(frame.assign(f3=0.0))), model.score(frame.assign(f3=0.0)), rtol=1e-12
    )
    with pytest.raises(TypeError, match="takes no held_out"):
        model.perplexity(source, held_out=source)
    with pytest.raises(ValueError, match="has 3 features"):
        PLSA(2, max_iter=2).fit(X).score(Source(X[:, :3]))


def takes_weights(model):
    return "sample_weight" in inspect.signature(model.fit).parameters


def test_every_streaming_estimator_is_here():
    streaming = {
        card.name
        for card in methods()
        if card.kind == "estimator"
        and getattr(getattr(importlib.import_module(card.module), card.name), "streaming", False)
    }
    others = {"LatentDirichletAllocation", "TruncatedSVD", "NMF", "MiniBatchNMF", "PLSA"}  # above
    others |= {"CRF", "MEMM", "CategoricalHMM", "GaussianHMM"}  # in test_sequences.py
    others |= {
        f"{kind}{task}" for kind in ("DecisionTree", "RandomForest") for task in ("Classifier", "Regressor")
    }
    assert streaming <= {type(model).__name__ for model, _ in CASES} | others
