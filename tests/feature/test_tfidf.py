"""Tf-idf weights: those of scikit-learn, and those of the texts."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer as PeerTransformer
from sklearn.feature_extraction.text import TfidfVectorizer as PeerVectorizer

from tercet.feature import TfidfTransformer, TfidfVectorizer
from tests.feature.test_count_vectorizer import POEMS

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.7, size=(12, 9)).astype(float)
COUNTS[3] = 0  # an empty document


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"norm": "l1"},
        {"norm": None, "smooth_idf": False},
        {"use_idf": False},
        {"sublinear_tf": True},
    ],
    ids=str,
)
def test_agrees_with_scikit_learn(parameters, dtype):
    X = COUNTS.astype(dtype)
    ours, theirs = TfidfTransformer(**parameters).fit(X), PeerTransformer(**parameters).fit(X)
    for given in (X, sparse.csr_array(X), sparse.csc_matrix(X)):
        one, other = ours.transform(given), theirs.transform(given)
        assert type(one) is type(other)
        assert one.dtype == other.dtype
        np.testing.assert_allclose(
            one.toarray(), other.toarray(), rtol=1e-6 if dtype == np.float32 else 1e-13
        )
    if ours.use_idf:
        np.testing.assert_allclose(ours.idf_, theirs.idf_, rtol=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"stop_words": "english", "ngram_range": (1, 2)},
        {"min_df": 2, "sublinear_tf": True},
        {"use_idf": False},
    ],
    ids=str,
)
def test_vectorizer_agrees_with_scikit_learn(parameters):
    ours, theirs = TfidfVectorizer(**parameters), PeerVectorizer(**parameters)
    np.testing.assert_allclose(
        ours.fit_transform(POEMS).toarray(), theirs.fit_transform(POEMS).toarray(), rtol=1e-13
    )
    assert ours.vocabulary_ == theirs.vocabulary_
    new = ["a rose by any other name", ""]
    np.testing.assert_allclose(ours.transform(new).toarray(), theirs.transform(new).toarray(), rtol=1e-13)


def test_the_weights_of_the_texts():
    """(17.2), with the weight 0 for terms of every document and of none."""
    X = np.array([[2.0, 1, 0], [0, 3, 0]])
    model = TfidfTransformer(tf="document", smooth_idf=False, idf_offset=0.0, norm=None).fit(X)
    np.testing.assert_allclose(model.idf_, [np.log(2), 0, 0])
    np.testing.assert_allclose(model.transform(X).toarray(), [[2 / 3 * np.log(2), 0, 0], [0, 0, 0]])
    new = model.transform([[1.0, 0, 1], [0, 0, 0]]).toarray()  # a term that no document had, and no term
    np.testing.assert_allclose(new, [[0.5 * np.log(2), 0, 0], [0, 0, 0]])


def test_without_smoothing_a_term_of_no_document_has_no_infinite_weight():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TfidfTransformer(smooth_idf=False).fit([[1, 0], [2, 0]])
    assert model.idf_.tolist() == [1.0, 0.0]


def test_weights_may_take_the_place_of_counts():
    X = sparse.csr_matrix(COUNTS)
    before = X.copy()
    model = TfidfTransformer().fit(X)
    found = model.transform(X)
    assert (before != X).nnz == 0
    again = model.transform(X, copy=False)
    assert np.shares_memory(again.data, X.data)
    assert (again != found).nnz == 0


def test_sizes_near_the_limits():
    X = np.array([[1e300, 1e300], [1e-310, 0.0]])
    found = TfidfTransformer(use_idf=False).fit_transform(X).toarray()
    np.testing.assert_allclose(found, [[0.5**0.5, 0.5**0.5], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: TfidfTransformer(tf="document").fit([[1.0, -1.0]]),
            "Negative values in data passed to Tfidf",
        ),
        (lambda: TfidfTransformer(sublinear_tf=True).fit([[1.0, -1.0]]), "sublinear_tf=True"),
        (lambda: TfidfTransformer(tf="words").fit([[1.0]]), "'tf' must be one of"),
        (lambda: TfidfTransformer().transform([[1.0]]), "not fitted"),
        (lambda: TfidfTransformer().fit([[1.0]]).transform([[1.0, 2.0]]), "2 features"),
        (lambda: TfidfVectorizer(use_idf=False).__setattr__("idf_", [1.0]), "cannot be set"),
        (lambda: TfidfVectorizer(vocabulary=["a"]).__setattr__("idf_", [1.0, 2.0]), "idf length = 2"),
        (lambda: TfidfVectorizer().transform(["a rose"]), "not fitted"),
        (lambda: TfidfVectorizer(norm="l3").fit(POEMS), "'norm' must be"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_entries_of_a_sparse_matrix_that_belong_together():
    twice = sparse.csr_array((np.array([1.0, 1.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    model = TfidfTransformer(use_idf=False).fit(twice)
    np.testing.assert_allclose(model.transform(twice).toarray(), [[2 / 5**0.5, 1 / 5**0.5]])
    assert twice.nnz == 3


def test_signed_counts_keep_their_sign():
    found = TfidfTransformer(use_idf=False).fit_transform([[3.0, -4.0]]).toarray()
    np.testing.assert_allclose(found, [[0.6, -0.8]])


def test_the_sum_of_counts_of_the_corpus():
    model = TfidfTransformer(tf="corpus", use_idf=False, norm=None).fit([[2, 1, 0], [0, 1, 0]])
    assert model.term_counts_.tolist() == [2, 2, 0]
    assert model.transform([[1, 1, 1]]).toarray().tolist() == [[0.5, 0.5, 0.0]]
