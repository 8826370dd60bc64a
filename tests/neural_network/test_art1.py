"""ART1: stable categories, the vigilance test, streams, limits, errors."""

import numpy as np
import pytest

from tercet.core.steps import ConvergenceWarning
from tercet.neural_network import ART1, FuzzyART
from tercet.neural_network.art1 import needed_ones, packed, unpacked


def plain_pass(X, templates, labels, rho, L, most=10**9):
    """The definition, category after category in the order of the scores."""
    changes = 0
    for i, x in enumerate(X):
        scores = [L * (T & x).sum() / (L - 1 + T.sum()) for T in templates]
        for j in sorted(range(len(templates)), key=lambda j: -scores[j]):
            common, size = (templates[j] & x).sum(), x.sum()
            if (common / size >= rho) if size else not templates[j].any():
                changes += (templates[j] & x).sum() != templates[j].sum()
                templates[j] = templates[j] & x
                break
        else:
            j = len(templates) if len(templates) < most else -1
            if j >= 0:
                templates.append(x.copy())
                changes += 1
        changes += labels[i] != j
        labels[i] = j
    return changes


@pytest.mark.parametrize("rho", [0.2, 0.5, 0.6, 0.7, 1.0])
@pytest.mark.parametrize(("d", "L"), [(6, 2.0), (70, 1.5)])
def test_a_fit_is_the_definition_until_nothing_changes(rho, d, L):
    X = (np.random.default_rng(d).random((40, d)) < 0.4).astype(int)
    X[3] = 0
    templates, labels = [], np.full(40, -1)
    while plain_pass(X, templates, labels, rho, L):
        pass
    model = ART1(rho, L=L, max_iter=100).fit(X)
    np.testing.assert_array_equal(model.templates_, templates)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("seed", range(5))
def test_fast_learning_stabilises(seed):
    """Templates only lose ones, each row passes the test of its category, and a stable pass ends the fit."""
    rng = np.random.default_rng(seed)
    X = (rng.random((120, 12)) < rng.uniform(0.2, 0.8)).astype(int)
    rho = rng.uniform(0.1, 1.0)
    model = ART1(rho, max_iter=100).fit(X)
    assert model.n_iter_ < 100
    assert model.history_["changes"][-1] == 0
    before = model.templates_
    model.partial_fit(X)
    np.testing.assert_array_equal(model.templates_, before)
    common = (model.templates_[model.labels_] & X).sum(axis=1)
    assert (common >= rho * X.sum(axis=1) - 1e-9).all()


def test_a_higher_vigilance_gives_more_categories():
    X = (np.random.default_rng(0).random((100, 16)) < 0.5).astype(int)
    counts = [len(ART1(rho, max_iter=100).fit(X).templates_) for rho in (0.1, 0.5, 0.9, 1.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == len(np.unique(X, axis=0))


def test_pieces_of_a_stream_are_one_pass():
    X = (np.random.default_rng(0).random((90, 9)) < 0.5).astype(int)
    model = ART1(0.6)
    labels = [model.partial_fit(X[k : k + 30]).labels_ for k in (0, 30, 60)]
    once = ART1(0.6).fit(X)
    np.testing.assert_array_equal(np.concatenate(labels), once.labels_)
    np.testing.assert_array_equal(model.templates_, once.templates_)


@pytest.mark.parametrize(
    ("rho", "labels"), [(0.3, [0, 0, 1, 1, 0]), (0.5, [0, 0, 1, 1, 2]), (0.7, [0, 0, 1, 2, 3])]
)
def test_by_default_rows_are_seen_once(rho, labels):
    X = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0]]
    model = ART1(rho).fit(X)
    assert model.labels_.tolist() == labels
    assert model.n_iter_ == 1


def test_rows_that_fit_nowhere():
    X = np.eye(5, dtype=int)
    model = ART1(1.0, max_categories=3).fit(X)
    assert model.labels_.tolist() == [0, 1, 2, -1, -1]
    assert model.predict(X).tolist() == [0, 1, 2, -1, -1]
    assert model.predict([[0, 0, 0, 0, 0]]).tolist() == [-1]


def test_a_fit_that_is_cut_short_warns():
    X = (np.random.default_rng(1).random((200, 20)) < 0.5).astype(int)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        ART1(0.6, max_iter=2).fit(X)


def test_ones_that_are_needed():
    for d in (1, 7, 49, 100):
        n = np.arange(1, d + 1)
        for rho in (0.1, 0.3, 0.6, 0.7, 1.0, 1 / 3):
            m = needed_ones(d, rho)[1:]
            assert (m / n >= rho).all()
            assert ((m - 1) / n < rho).all()


def test_bits_come_back():
    X = (np.random.default_rng(0).random((5, 130)) < 0.5).astype(np.int8)
    np.testing.assert_array_equal(unpacked(packed(X), 130), X)


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"'vigilance' must be a number in \(0, 1\]; got 0"):
        ART1(0).fit(np.eye(2))
    with pytest.raises(ValueError, match=r"'vigilance' must be a number in \(0, 1\]; got 1.2"):
        ART1(1.2).fit(np.eye(2))
    with pytest.raises(ValueError, match=r"zeros and ones; row 1 has 0.5 in column 0. Set binarize"):
        ART1().fit([[0, 1], [0.5, 1]])
    with pytest.raises(ValueError, match="'L'"):
        ART1(L=1).fit(np.eye(2))


@pytest.mark.parametrize("kind", [ART1, FuzzyART])
def test_parameters_that_are_set_after_fit_are_checked_too(kind):
    model = kind().fit(np.eye(2))
    with pytest.raises(ValueError, match=r"'vigilance' must be a number in \(0, 1\]; got 0"):
        model.set_params(vigilance=0).predict(np.eye(2))
