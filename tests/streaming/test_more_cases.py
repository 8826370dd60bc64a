"""Streaming fits beyond the plain table: missing values, weights of zero, many or sparse columns; refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import tercet
from tercet.cluster import MiniBatchKMeans
from tercet.datasets import Source, SourceError
from tercet.discriminant_analysis import OneClassQuadraticDiscriminant
from tercet.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    MaxEnt,
    RidgeClassifier,
    RidgeClassifierCV,
)
from tercet.mixture import BernoulliMixture, CategoricalMixture
from tercet.multiclass import OneVsRestClassifier
from tercet.naive_bayes import SPODE, TAN, CategoricalNB, KernelDensityNB, MixedNB
from tercet.neural_network import BernoulliRBM, MLPClassifier, MultiStart, RBFNetworkClassifier
from tercet.topic import LatentDirichletAllocation
from tests.streaming.test_same_bits import assert_same


def streamed(model, X, *arguments, **options):
    with tercet.engine("stream"):
        return clone(model).fit(Source(X), *arguments, **options)


@pytest.mark.parametrize("model", [CategoricalNB(), CategoricalNB(categories="seen"), TAN()], ids=str)
def test_missing_values_and_weights_of_zero(model, rows):
    X, y, weight = np.floor(np.abs(2 * rows["X"])), rows["two"], rows["weight"].copy()
    X[::7, 3] = np.nan
    X[5::900, 1] = 40.0  # only in rows without weight
    weight[5::900] = 0.0
    assert_same(streamed(model, X, y=y, sample_weight=weight), clone(model).fit(X, y, weight))


@pytest.mark.parametrize("kind", ["wide", "sparse"])
def test_lasso_of_many_or_sparse_columns(kind):
    """The working set of more than 300 columns grows by passes over the rows."""
    rng = np.random.default_rng(0)
    if kind == "wide":
        X = rng.normal(size=(3000, 350))
    else:
        X = sparse.random_array((9000, 60), density=0.1, format="csr", rng=rng)
    y = X[:, :9] @ np.linspace(1, 2, 9) + rng.normal(size=X.shape[0])
    model = Lasso(alpha=0.02)
    whole = clone(model).fit(X, y)
    assert 0 < np.count_nonzero(whole.coef_) < X.shape[1]
    assert_same(streamed(model, X, y=y), whole)


def test_several_targets(rows):
    frame = pd.DataFrame(rows["X"]).add_prefix("f").assign(a=rows["number"], b=rows["count"])
    model = ElasticNet(alpha=0.1)
    with tercet.engine("stream"):
        found = clone(model).fit(Source(frame), y=["a", "b"])
    assert_same(found, clone(model).fit(rows["X"], frame[["a", "b"]].to_numpy()))
    with pytest.raises(ValueError, match="learns one target"):
        RidgeClassifier().fit(Source(frame), y=["a", "b"])


def test_sparse_contexts(rows):
    X = sparse.random_array((15_000, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
    y = (np.asarray(X.sum(axis=1)).ravel() > 3).astype(int)
    model = MaxEnt(tol=1e-8)
    np.testing.assert_allclose(
        streamed(model, X, y=y).coef_, clone(model).fit(X, y).coef_, rtol=1e-4, atol=1e-6
    )


def test_sparse_rows_of_a_mixture():
    X = sparse.random_array((15_000, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
    model = BernoulliMixture(
        2, binarize=0.5, init_params="random_from_data", random_state=0, max_iter=3, tol=0.0
    )
    with pytest.warns(Warning, match="did not converge"):
        np.testing.assert_allclose(streamed(model, X).probs_, clone(model).fit(X).probs_, rtol=1e-9)
    with pytest.raises(TypeError, match="Use init_params='random_from_data'"):
        streamed(BernoulliMixture(2, binarize=0.5), X)


REFUSALS = [
    (LassoCV(), "Use ElasticNet or Lasso"),
    (ElasticNetCV(), "Use ElasticNet or Lasso"),
    (Lasso(penalize_intercept=True), "Use penalize_intercept=False"),
    (RidgeClassifier(positive=True), "Use neither"),
    (RidgeClassifier(solver="sag"), "Use solver='cholesky' or 'svd'"),
    (RidgeClassifierCV(), "Use RidgeClassifier"),
    (MaxEnt("iis"), "Use 'lbfgs' or 'newton-cg'"),
    (MaxEnt(feature_functions=[max]), "Use columns of numbers"),
    (KernelDensityNB(), "Use GaussianNB"),
    (MixedNB(["kde", "kde"]), "Use 'gaussian'"),
    (SPODE(), "Give it .parent"),
    (CategoricalMixture(2, init_params="random"), "Use init_params='kmeans'"),
    (MiniBatchKMeans(2, tol=0.1), "Use tol=0"),
    (LatentDirichletAllocation(2, learning_method="gibbs"), "Use learning_method='online' or 'batch'"),
    (LatentDirichletAllocation(2, prior_update="newton"), "Use learning_method='online'"),
    (BernoulliRBM(), "Use partial_fit with pieces of the rows"),
    (RBFNetworkClassifier(), "Use MLPClassifier"),
    (OneClassQuadraticDiscriminant(), "Use GaussianMixture"),
]


@pytest.mark.parametrize(("model", "instead"), REFUSALS, ids=lambda case: str(case)[:40])
def test_what_needs_all_rows_names_what_does_not(model, instead):
    source = Source(pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0], "c": [0, 1]}))
    with pytest.raises(TypeError, match=f"{type(model).__name__} cannot learn from a source: .*{instead}"):
        model.fit(source, y="c")


@pytest.mark.parametrize("model", [MultiStart(MLPClassifier()), OneVsRestClassifier(SPODE())], ids=str)
def test_estimators_of_other_estimators_take_arrays(model, tmp_path):
    np.savetxt(tmp_path / "rows.csv", np.eye(3), delimiter=",", header="a,b,c", comments="")
    with pytest.raises(TypeError, match="X is a source; this takes arrays"):
        model.fit(Source(tmp_path / "rows.csv"), y="c")


@pytest.mark.parametrize("model", [Lasso(), MaxEnt(), MiniBatchKMeans(2), BernoulliMixture(2)], ids=str)
def test_bad_rows_are_named_by_column_and_row(model, rows):
    X = np.abs(rows["X"]) / 10
    X[7000, 4] = np.nan
    frame = pd.DataFrame(X).add_prefix("f").assign(c=rows["three"].astype(float))
    with pytest.raises(SourceError, match=f"{type(model).__name__}.* column 'f4' has NaN.* row 7000"):
        streamed(model, frame, y="c")


def test_too_many_numbers_for_quantiles(rows, monkeypatch):
    monkeypatch.setattr("tercet.naive_bayes.semi_naive_bayes.MOST_NUMBERS", 4000)
    with pytest.raises(ValueError, match="column 0 of the source has more than 4000 distinct numbers"):
        streamed(TAN(), rows["X"], y=rows["two"])
