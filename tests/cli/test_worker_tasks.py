"""What a method gets to see of a table, and what it is asked."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from tercet.cli.compare.cross_validation import Unsuitable
from tercet.cli.compare.worker_tasks import QUADRATIC_MEMORY, WorkerTasks
from tercet.cli.pipelines import assemble, encoder_options
from tercet.datasets import Table
from tercet.feature import infer_schema
from tercet.mixture import BernoulliMixture, GaussianMixture
from tercet.naive_bayes import AODE, CategoricalNB, MultinomialNB
from tercet.tree import DecisionTreeClassifier, ObliqueTreeClassifier

RNG = np.random.default_rng(3)
N = 120
SIZE = RNG.normal(size=N)
FRAME = pl.DataFrame(
    {
        "size": [None if k % 11 == 0 else float(v) for k, v in enumerate(SIZE)],
        "colour": RNG.choice(["red", "green", "blue"], N),
        "kind": np.where(SIZE + 0.3 * RNG.normal(size=N) > 0, "large", "small"),
    }
)


def tasks(frame=FRAME, target="kind", task="classification", metric="accuracy"):
    schema = infer_schema(frame, target, task)
    y = schema.to_target(frame)[0] if target else None
    return WorkerTasks(
        records=schema.to_records(frame), y=y, schema=schema, task=task, metric=metric, cv=5, seed=0
    )


def test_everyone_gets_the_columns_as_suits_them():
    assert encoder_options(DecisionTreeClassifier()) == {
        "missing": "keep",
        "sparse": "auto",
        "scale": None,
        "categories": "keep",
    }
    assert encoder_options(CategoricalNB())["scale"] == "intervals"
    assert encoder_options(MultinomialNB())["scale"] == "minmax"
    # It takes categories only when it is told which columns they are.
    assert "categories" not in encoder_options(ObliqueTreeClassifier())
    # A feature for every category makes covariances singular.
    assert [encoder_options(kind())["redundant"] for kind in (GaussianMixture, BernoulliMixture)] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "estimator", [CategoricalNB(), AODE(), DecisionTreeClassifier(), ObliqueTreeClassifier()]
)
def test_tables_with_gaps_and_strings_are_learned(estimator):
    model = assemble(infer_schema(FRAME, "kind"), estimator).fit(FRAME, FRAME["kind"])
    assert model.score(FRAME, FRAME["kind"]) > 0.75
    strange = pl.DataFrame({"size": [None, 99.0], "colour": ["pink", None]})
    assert {*model.predict(strange)} <= {"large", "small"}


def test_numbers_are_no_categories_of_their_own():
    """A number that did not come before tells as much as its neighbours."""
    model = assemble(infer_schema(FRAME, "kind"), CategoricalNB()).fit(FRAME, FRAME["kind"])
    new = pl.DataFrame({"size": [-1.234567, 1.234567], "colour": ["red", "red"]})
    assert model.predict(new).tolist() == ["small", "large"]


def test_an_eps_that_leaves_few_rows_as_noise():
    rows = np.random.default_rng(0).normal(size=(90, 2)) * 0.01 + np.repeat([[0.0], [1.0], [2.0]], 30, axis=0)
    work = tasks(pl.DataFrame(rows, schema=["a", "b"]), None, "clustering", "silhouette")
    settings = work.trial("DBSCAN")["settings"]
    assert 0.001 < settings["eps"] < 0.5
    assert work.score("DBSCAN", settings, 0, 0)["measures"]["silhouette"] > 0.8


def test_a_radius_that_leaves_nobody_alone():
    for task, target in (("classification", "kind"), ("regression", "y")):
        frame = FRAME.with_columns(size=1e3 * pl.Series(SIZE), y=pl.Series(SIZE) * 2)
        name = "RadiusNeighborsClassifier" if task == "classification" else "RadiusNeighborsRegressor"
        work = tasks(frame, target, task, "accuracy" if task == "classification" else "r2")
        settings = work.trial(name)["settings"]
        for fold in range(5):
            assert work.score(name, settings, 0, fold)["measures"][work.measure.name] > 0


def test_a_regressor_without_an_answer_is_told_so():
    work = tasks(FRAME.with_columns(y=pl.Series(SIZE)), "y", "regression", "r2")
    refused = pytest.raises(Unsuitable, match=r"has no answer for \d+ of 24 rows")
    with pytest.warns(UserWarning, match="no neighbors"), refused:
        work.score("RadiusNeighborsRegressor", {"radius": 1e-9}, 0, 0)


def test_tables_of_values_are_not_for_sparse_blocks():
    words = sparse.random_array((60, 40), density=0.2, format="csr", rng=np.random.default_rng(0))
    table = Table(pl.DataFrame({"kind": ["a", "b"] * 30}), sparse=words)
    work = tasks(table, "kind")
    for name in ("AODE", "CategoricalNB"):
        with pytest.raises(Unsuitable, match="not for 40 sparse features"):
            work.trial(name)
    assert work.score("DecisionTreeClassifier", {}, 0, 0)["measures"]["accuracy"] >= 0
    assert work.score("MultinomialNB", {}, 0, 0)["measures"]["accuracy"] >= 0


def test_no_regions_of_intervals():
    with pytest.raises(Unsuitable):
        tasks().decision_regions("CategoricalNB", {}, ["size"])


def test_one_cluster_is_no_clustering():
    frame = pl.DataFrame({"a": SIZE, "b": RNG.normal(size=N)})
    work = tasks(frame, None, "clustering", "silhouette")
    settings = work.trial("GaussianMixtureIC")["settings"]
    assert settings == {}
    with pytest.raises(Unsuitable, match="finds no two clusters here"):
        work.score("GaussianMixtureIC", settings, 0, 0)
    settings = work.trial("GaussianMixture")["settings"]
    assert np.isfinite(work.score("GaussianMixture", settings, 0, 0)["measures"]["silhouette"])


@pytest.mark.parametrize("name", QUADRATIC_MEMORY)
def test_pairs_of_many_rows_are_too_many(name, monkeypatch):
    assert tasks().trial(name)["cost"] is not None
    monkeypatch.setattr(
        "tercet.cli.compare.worker_tasks.MAX_DENSE_BYTES", 8 * 96**2 - 1
    )  # four fifths of the rows
    with pytest.raises(Unsuitable, match="GB for the pairs of 96 rows"):
        tasks().trial(name)


def test_only_clusters_are_counted_beforehand():
    """The components of a discriminant are no clusters: there may be fewer of them than classes."""
    assert tasks().trial("LinearDiscriminantAnalysis")["settings"] == {}
    assert tasks().trial("KernelFisherDiscriminant")["settings"] == {}


def test_a_combination_is_the_mean_of_its_members():
    work = tasks(metric="log_loss")
    members = [("GaussianNB", {}), ("DecisionTreeClassifier", {"max_depth": 2}), ("Perceptron", {})]
    train, test = work.splits(0)[1]
    answer = work.combine(members, 0, 1)
    found, weights = answer["measures"], answer["weights"]
    assert weights[2] == 0  # a perceptron has no probabilities
    opinions = []
    for name, settings in members[:2]:
        X, Z = work.encode(name, train, test)
        opinions.append(work.fit(name, settings, X, work.y[train])[0].predict_proba(Z))
    mean = np.average(opinions, axis=0, weights=weights[:2])
    assert found["accuracy"] == np.mean(mean.argmax(axis=1) == work.y[test])
    assert found["log_loss"] == pytest.approx(
        -np.log(mean[np.arange(test.size), work.y[test]]).mean(), rel=1e-6
    )
    with pytest.raises(ValueError, match="none of its members"):
        work.combine([("Perceptron", {})], 0, 1)
    numbers = tasks(FRAME.with_columns(y=pl.Series(SIZE)), "y", "regression", "r2")
    assert set(numbers.combine([("Ridge", {}), ("DecisionTreeRegressor", {})], 0, 0)["measures"]) >= {"r2"}
