"""Retrieval in the vector space: what is similar to a query, and in which order."""

import numpy as np
import pytest
from scipy import sparse

from tercet.feature import (
    CountVectorizer,
    TfidfVectorizer,
    VectorSpaceRetrieval,
    cosine_similarity,
    inner_product_similarity,
)
from tercet.feature.text import vector_space_retrieval
from tercet.feature.text.vector_space_retrieval import most_similar

RNG = np.random.default_rng(0)
X = RNG.poisson(0.6, size=(40, 8)).astype(float)
X *= RNG.random((40, 8))  # no two documents are equally similar
X[5] = 0  # an empty document
Q = RNG.poisson(0.6, size=(6, 8)).astype(float)


@pytest.mark.parametrize("similarity", ["cosine", "inner"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_the_best_of_all_documents(similarity, form):
    model = VectorSpaceRetrieval(similarity).fit(form(X))
    found = model.search(form(Q), n=7)
    scores = (cosine_similarity if similarity == "cosine" else inner_product_similarity)(Q, X)
    np.testing.assert_allclose(model.transform(form(Q)), scores, atol=1e-15)
    expected = np.lexsort((np.broadcast_to(np.arange(40), scores.shape), -scores.round(12)))[:, :7]
    assert found.indices.tolist() == expected.tolist()
    np.testing.assert_allclose(found.scores, np.take_along_axis(scores, expected, axis=1), atol=1e-15)
    assert found.names is None


def test_blocks_of_queries(monkeypatch):
    model = VectorSpaceRetrieval().fit(X)
    whole = model.search(Q, n=3)
    monkeypatch.setattr(vector_space_retrieval, "BLOCK", 2 * len(X))
    assert np.array_equal(model.search(Q, n=3).indices, whole.indices)


def test_names_that_are_pairs():
    model = VectorSpaceRetrieval().fit(np.eye(2), names=[("a", 1), ("b", 2)])
    assert model.search([[0.0, 1.0]], n=1).names[0, 0] == ("b", 2)


def test_equal_scores_come_in_the_order_of_the_documents():
    scores = np.tile([1.0, 0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 0.0, 0.0], (2, 1))
    for n in (1, 2, 3, 9):
        assert most_similar(scores, n)[0].tolist() == [[0, 2, 3, 5, 4, 1, 6, 7, 8][:n]] * 2


def test_raw_texts_and_names():
    texts = ["roses are red", "violets are blue", "sugar is sweet", ""]
    model = VectorSpaceRetrieval(vectorizer=TfidfVectorizer()).fit(texts, names=["r", "v", "s", "empty"])
    found = model.search(["sweet sugar", "unseen words"], n=9)
    assert found.names[0, 0] == "s"
    assert found.scores[0, 0] == pytest.approx((2 / 3) ** 0.5)
    assert found.indices.shape == (2, 4)
    assert found.scores[1].tolist() == [0.0] * 4
    again = VectorSpaceRetrieval().fit(texts_counts := CountVectorizer().fit_transform(texts))
    assert again.search(texts_counts[:1]).indices[0, 0] == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: VectorSpaceRetrieval().fit(X, names=["a"]), "names must have a name for each of the 40"),
        (
            lambda: VectorSpaceRetrieval().fit(X).search(Q, n=0),
            "n must be a whole number of at least 1; got 0",
        ),
        (lambda: VectorSpaceRetrieval().fit(X).search(Q[:, :3]), "3 features"),
        (lambda: VectorSpaceRetrieval("angle").fit(X), "'similarity' must be one of 'cosine', 'inner'"),
        (lambda: VectorSpaceRetrieval(vectorizer=TfidfVectorizer()).fit("a text"), "X is a single text"),
        (
            lambda: VectorSpaceRetrieval(vectorizer="tfidf").fit(["a rose"]),
            "'vectorizer' must be a transformer",
        ),
        (
            lambda: VectorSpaceRetrieval().fit(["a rose"]),
            "X holds the text 'a rose'; give vectors",
        ),
        (lambda: VectorSpaceRetrieval().search(Q), "not fitted"),
        (lambda: cosine_similarity(X, Q[:, :3]), "X has 8 features, Y has 3"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_cosines_of_any_size():
    tiny, huge = [[1e-310, 0.0], [0.0, 1.0]], [[1e308, 1e308]]
    np.testing.assert_allclose(cosine_similarity(tiny, huge), [[0.5**0.5], [0.5**0.5]])
    assert cosine_similarity([[0.0, 0.0]], huge).tolist() == [[0.0]]
