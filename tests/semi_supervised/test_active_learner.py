"""Active learning."""

import builtins

import numpy as np
import pytest

from tercet.linear_model import LogisticRegression
from tercet.naive_bayes import GaussianNB
from tercet.semi_supervised import (
    ActiveLearner,
    entropy_uncertainty,
    least_confident,
    margin_uncertainty,
    vote_entropy,
)

STRATEGIES = ["least-confident", "margin", "entropy", "committee", "random"]


def rows(n=150, seed=0, labelled=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    X = rng.normal(size=(n, 2)) + 3.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    y = np.full(n, -1)
    for c in range(3):
        y[np.flatnonzero(truth == c)[:labelled]] = c
    return X, y, truth


@pytest.mark.parametrize("algorithm", STRATEGIES)
@pytest.mark.parametrize("batch", [1, 4])
def test_the_oracle_is_asked(algorithm, batch):
    X, y, truth = rows()
    asked = []

    def oracle(i, row):
        np.testing.assert_array_equal(row, X[i])
        asked.append(i)
        return truth[i]

    options = {"algorithm": algorithm, "n_queries": 10, "batch_size": batch, "random_state": 0}
    model = ActiveLearner(GaussianNB(), oracle=oracle, **options).fit(X, y)
    assert model.queried_.tolist() == asked
    assert len(set(asked)) == 10
    assert (y[asked] == -1).all()
    known = model.transduction_ >= 0
    assert known.sum() == (y >= 0).sum() + 10
    np.testing.assert_array_equal(model.transduction_[known], truth[known])
    plain = GaussianNB().fit(X[known], truth[known])
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    by_list = ActiveLearner(GaussianNB(), oracle=truth.tolist(), **options).fit(X, y)
    assert by_list.queried_.tolist() == asked
    assert model.history_["labeled"][-1] == known.sum()


@pytest.mark.parametrize(
    ("algorithm", "measure"),
    [("least-confident", least_confident), ("margin", margin_uncertainty), ("entropy", entropy_uncertainty)],
)
def test_the_least_certain_row_is_asked_for(algorithm, measure):
    X, y, truth = rows()
    model = ActiveLearner(LogisticRegression(), algorithm=algorithm).fit(X, y)
    scores = measure(model.predict_proba(X))
    assert model.query(X, 3).tolist() == np.argsort(-scores, kind="stable")[:3].tolist()
    asked = ActiveLearner(LogisticRegression(), algorithm=algorithm, oracle=truth, n_queries=1).fit(X, y)
    rest = np.flatnonzero(y < 0)
    assert asked.queried_[0] == rest[scores[rest].argmax()]


def test_a_committee_and_a_function():
    X, y, truth = rows()
    model = ActiveLearner(GaussianNB(), algorithm="committee", committee_size=4, random_state=0).fit(X, y)
    votes = [member.predict(X) for member in model.committee_]
    assert len(votes) == 4
    assert model.query(X)[0] == vote_entropy(votes).argmax()
    far = ActiveLearner(
        GaussianNB(), algorithm=lambda estimator, rows: np.abs(rows).sum(axis=1), oracle=truth, n_queries=1
    ).fit(X, y)
    rest = np.flatnonzero(y < 0)
    assert far.queried_[0] == rest[np.abs(X[rest]).sum(axis=1).argmax()]
    with pytest.raises(ValueError, match="algorithm must give a number for each of 141 rows"):
        ActiveLearner(GaussianNB(), algorithm=lambda estimator, rows: [1.0], oracle=truth).fit(X, y)


def test_fewer_labels_do_than_at_random():
    X, y, truth = rows(n=600, labelled=2)

    def right(algorithm, seed):
        model = ActiveLearner(
            LogisticRegression(), algorithm=algorithm, oracle=truth, n_queries=25, random_state=seed
        )
        return (model.fit(X, y).predict(X) == truth).mean()

    assert right("margin", 0) >= np.mean([right("random", seed) for seed in range(5)])


def test_what_the_oracle_does_not_know():
    X, y, truth = rows()
    answers = [None if i % 2 else int(label) for i, label in enumerate(truth)]
    model = ActiveLearner(GaussianNB(), oracle=answers, n_queries=20).fit(X, y)
    assert len(set(model.queried_.tolist())) == 20
    np.testing.assert_array_equal(model.transduction_[model.queried_] >= 0, model.queried_ % 2 == 0)
    few = ActiveLearner(GaussianNB(), oracle=truth, n_queries=1000).fit(X, y)
    np.testing.assert_array_equal(few.transduction_, truth)
    fourth = ActiveLearner(GaussianNB(), oracle=lambda i, row: 3, n_queries=2).fit(X, y)
    assert fourth.classes_.tolist() == [0, 1, 2, 3]  # a class that nobody knew of
    with pytest.raises(
        ValueError, match=r"oracle must hold the label of each of 150 rows; got the shape \(3,\)"
    ):
        ActiveLearner(GaussianNB(), oracle=[0, 1, 2]).fit(X, y)
    with pytest.raises(ValueError, match=r"oracle must answer with labels like the given ones; got 'a'"):
        ActiveLearner(GaussianNB(), oracle=lambda i, row: "a").fit(X, y)


def test_the_console(monkeypatch, capsys):
    X, y, _ = rows()
    lines = iter(["5", "what", "2", "", "1"])
    shown = []
    monkeypatch.setattr(builtins, "input", lambda text: shown.append(text) or next(lines))
    model = ActiveLearner(GaussianNB(), oracle="console", n_queries=3).fit(X, y)
    assert model.transduction_[model.queried_].tolist() == [2, -1, 1]
    assert "Label of row" in shown[0]
    assert "one of [0, 1, 2] (empty: not known)" in shown[0]
    assert "'5' is not one of [0, 1, 2]." in capsys.readouterr().out
    words = np.array(["a", "b", "c"], dtype=object)
    named = [words[c] if c >= 0 else None for c in y]
    monkeypatch.setattr(builtins, "input", lambda text: "b")
    assert (
        ActiveLearner(GaussianNB(), oracle="console", n_queries=1)
        .fit(X, named)
        .transduction_.tolist()
        .count("b")
        == (y == 1).sum() + 1
    )

    def nobody(text):
        raise EOFError

    monkeypatch.setattr(builtins, "input", nobody)
    assert (
        ActiveLearner(GaussianNB(), oracle="console", n_queries=2).fit(X, y).transduction_ >= 0
    ).sum() == 9


def test_measures_of_uncertainty():
    P = np.array([[1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    np.testing.assert_allclose(least_confident(P), [2 / 3, 0, 0.5])
    np.testing.assert_allclose(margin_uncertainty(P), [1, 0, 1])
    np.testing.assert_allclose(entropy_uncertainty(P), [np.log(3), 0, np.log(2)])
    np.testing.assert_allclose(margin_uncertainty([[1.0]]), [0.0])
    np.testing.assert_allclose(vote_entropy([[0, 1, 1], [0, 1, 0]]), [0, 0, np.log(2)])
    with pytest.raises(ValueError, match="must not be negative"):
        least_confident([[1.5, -0.5]])
    with pytest.raises(ValueError, match=r"\(n_members, n_samples\)"):
        vote_entropy([0, 1])
