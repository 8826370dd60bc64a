"""A sparse matrix whose indices point outside of it gets no further than the door."""

import numpy as np
import pytest
from scipy import sparse

from tercet.core.validation import check_array, check_structure
from tests.conformance.population import CARDS, data, make


def matrix(kind="csr"):
    return sparse.random_array((6, 4), density=0.5, format=kind, rng=np.random.default_rng(0))


def with_index(value, kind="csr", at=0):
    X = matrix(kind)
    X.indices[at] = value
    return X


def with_indptr(*values):
    X = matrix()
    X.indptr = np.array(values, dtype=X.indptr.dtype)
    return X


def other_indices(dtype):
    X = matrix()
    X.indices = X.indices.astype(dtype)
    return X


def coordinates(row, column):
    X = matrix("coo")
    X.coords = (np.full_like(X.coords[0], row), np.full_like(X.coords[1], column))
    return X


def with_data(change):
    X = matrix()
    X.data = change(X.data)
    return X


def list_of_lists():
    X = matrix("lil")
    X.rows[0], X.data[0] = [9], [1.0]
    return X


def blocks():
    X = sparse.bsr_array(np.ones((6, 4)), blocksize=(3, 2))
    X.indices[1] = 2
    return X


FORGED = {
    "large": (lambda: with_index(4), r"indices must be from 0 to 3; got 4"),
    "huge": (lambda: with_index(2**31 - 1), "got 2147483647"),
    "negative": (lambda: with_index(-1), "got -1"),
    "columns": (
        lambda: with_index(6, "csc"),
        r"CSC matrix of shape \(6, 4\): indices must be from 0 to 5; got 6",
    ),
    "short indptr": (lambda: with_indptr(0, 1), "indptr must have 7 integers"),
    "late indptr": (lambda: with_indptr(1, 2, 3, 4, 5, 6, 7), "begin with 0"),
    "falling indptr": (lambda: with_indptr(0, 5, 2, 6, 7, 8, 9), "must not fall"),
    "long indptr": (lambda: with_indptr(0, 1, 2, 3, 4, 5, 10**6), "beyond the 12 entries"),
    "more data": (
        lambda: with_data(lambda data: np.r_[data, 1.0]),
        r"data of shape \(13,\) do not belong to indices of shape \(12,\)",
    ),
    "less data": (
        lambda: with_data(lambda data: data[1:]),
        r"data of shape \(11,\) do not belong to indices",
    ),
    "data in columns": (
        lambda: with_data(lambda data: data[:, None]),
        r"data of shape \(12, 1\) do not belong",
    ),
    "real indices": (lambda: other_indices(float), "indices must be integers; got float64"),
    "row": (lambda: coordinates(6, 0), "from 0 to 5; got 6"),
    "column": (lambda: coordinates(0, 4), "from 0 to 3; got 4"),
    "lists": (list_of_lists, "from 0 to 3; got 9"),
    "blocks": (blocks, "from 0 to 1; got 2"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_matrix_is_refused(name):
    make_it, words = FORGED[name]
    with pytest.raises(ValueError, match=words):
        check_array(make_it(), accept_sparse="csr")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_a_good_matrix_passes(kind):
    X = matrix(kind)
    assert check_structure(X) is X
    np.testing.assert_array_equal(check_array(X, accept_sparse="csr").toarray(), X.toarray())
    check_structure(sparse.csr_array((3, 0)))


def test_functions_and_lists_of_tables():
    from tercet.graph import pagerank_iteration, power_method
    from tercet.sequence import CRF

    square = sparse.csr_array(np.full((3, 3), 1 / 3))
    square.indices[0] = 9
    with pytest.raises(ValueError, match=r"M is not a valid CSR matrix of shape \(3, 3\)"):
        pagerank_iteration(square)
    with pytest.raises(ValueError, match=r"A is not a valid CSR matrix of shape \(3, 3\)"):
        power_method(square)
    with pytest.raises(ValueError, match=r"X\[1\] is not a valid CSR matrix of shape \(6, 4\)"):
        CRF().fit([matrix(), with_index(4)], [[0, 1, 0, 1, 0, 1]] * 2)


TAKES_SPARSE = [card for card in CARDS if make(card).__sklearn_tags__().input_tags.sparse]
QUESTIONS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "inverse_transform",
    "score_samples",
    "kneighbors",
)


@pytest.mark.parametrize("card", TAKES_SPARSE, ids=lambda card: card.name)
def test_no_estimator_lets_one_in(card):
    X, y = data(card, n=30)
    good = sparse.csr_array(X)
    model = make(card).fit(good, y)
    for kind in ("csr", "csc"):  # SciPy converts other formats, and looks as little where an index points
        bad = good.asformat(kind, copy=True)
        bad.indices[5] = 10**6
        words = f"not a valid {kind.upper()} matrix"
        with pytest.raises(ValueError, match=words):
            make(card).fit(bad, y)
        for name in QUESTIONS:
            if hasattr(model, name):
                with pytest.raises(ValueError, match=f"{words}|fit_inverse_transform parameter was not set"):
                    getattr(model, name)(bad)
