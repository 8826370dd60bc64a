"""Latent semantic analysis: the properties of both routes, folding in, retrieval."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from tercet.datasets.texts.ch17 import TITLE_WORDS, TITLES
from tercet.feature import TfidfVectorizer, VectorSpaceRetrieval, cosine_similarity
from tercet.io import load_model, save_model
from tercet.topic import LSA

X = np.transpose(TITLES).astype(float)  # 9 documents, 11 words
TIGHT = {"algorithm": "nmf", "tol": 1e-9, "max_iter": 5000}


@pytest.mark.parametrize("solver", ["randomized", "arpack", "lanczos"])
def test_the_decomposition(solver):
    model = LSA(3, svd_solver=solver, random_state=0).fit(sparse.csr_array(X))
    s = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(model.singular_values_, s[:3])
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-10)
    # folded-in documents are those of the training set, and the error is that of the values left out
    np.testing.assert_allclose(model.transform(X), model.documents_, atol=1e-12)
    np.testing.assert_allclose(model.documents_.T @ model.documents_, np.diag(s[:3] ** 2), atol=1e-9)
    assert model.reconstruction_err_**2 == pytest.approx((s[3:] ** 2).sum())
    rest = X - model.inverse_transform(model.documents_)
    assert np.linalg.norm(rest) == pytest.approx(model.reconstruction_err_)


def test_both_conventions_of_folding_in():
    plain, scaled = (LSA(3, fold_in=fold_in, random_state=0).fit(X) for fold_in in ("projection", "scaled"))
    np.testing.assert_allclose(scaled.documents_ * scaled.singular_values_, plain.documents_)
    np.testing.assert_allclose(scaled.documents_.T @ scaled.documents_, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(
        scaled.inverse_transform(scaled.documents_), plain.inverse_transform(plain.documents_), atol=1e-12
    )
    q = np.eye(11)[[9]]
    np.testing.assert_allclose(scaled.transform(q) * scaled.singular_values_, plain.transform(q))


def test_a_topic_without_weight_has_no_infinite_coordinates():
    model = LSA(2, fold_in="scaled", random_state=0).fit([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]])
    assert np.isfinite(model.transform([[0.0, 0.0, 1.0]])).all()


def test_the_nonnegative_route():
    model = LSA(3, random_state=0, **TIGHT).fit(X)
    assert model.components_.min() >= 0
    assert model.documents_.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    error = np.linalg.norm(X - model.documents_ @ model.components_)
    assert error == pytest.approx(model.reconstruction_err_, rel=1e-6)
    assert error >= LSA(3, random_state=0).fit(X).reconstruction_err_
    assert not hasattr(model, "singular_values_")
    np.testing.assert_allclose(model.transform(X), model.documents_, atol=1e-6)
    assert (model.transform(np.eye(11)[[9]]) >= 0).all()


@pytest.mark.parametrize("algorithm", ["svd", "nmf"])
def test_retrieval(algorithm):
    model = LSA(3, algorithm=algorithm, max_iter=2000, random_state=0).fit(X)
    query = np.eye(11)[[TITLE_WORDS.index("estate")]]
    found = model.search(query, n=2)
    assert sorted(found.indices[0] + 1) == [7, 9]  # the two titles on real estate
    scores = cosine_similarity(model.transform(query), model.documents_)
    np.testing.assert_allclose(found.scores[0], np.sort(scores[0])[::-1][:2])
    inner = LSA(3, algorithm=algorithm, similarity="inner", max_iter=2000, random_state=0).fit(X)
    np.testing.assert_allclose(
        inner.search(query, n=9).scores[0], np.sort((inner.transform(query) @ inner.documents_.T)[0])[::-1]
    )


def test_tokens_bags_and_unseen_words():
    titles = [[word for word, count in zip(TITLE_WORDS, row) for _ in range(int(count))] for row in X]
    model, plain = LSA(3, random_state=0).fit(titles), LSA(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.documents_, plain.documents_, atol=1e-12)
    assert model.top_words(1)[0] == ["investing"]
    np.testing.assert_allclose(model.transform([["stock", "unicorn"], []])[1], 0.0)
    np.testing.assert_allclose(
        model.transform([["stock", "unicorn"]]), plain.transform(np.eye(11)[[9]]), atol=1e-12
    )
    bags = LSA(3, random_state=0).fit([[(int(j), row[j]) for j in np.flatnonzero(row)] for row in X])
    np.testing.assert_allclose(bags.documents_, plain.documents_, atol=1e-12)


def test_retrieval_of_raw_texts(tmp_path):
    texts = [
        "roses are red",
        "red roses and thorns",
        "the sea and a ship",
        "a storm at sea",
        "ships in a storm",
    ]
    steps = make_pipeline(TfidfVectorizer(), LSA(2, random_state=0))
    model = VectorSpaceRetrieval(vectorizer=steps).fit(texts, names=["rose", "thorn", "sea", "storm", "ship"])
    found = model.search(["thorns", "a ship at sea"], n=2)
    assert set(found.names[0]) == {"rose", "thorn"}
    assert not set(found.names[1]) & {"rose", "thorn"}
    save_model(tmp_path / "model.skops", model, {})
    again = load_model(tmp_path / "model.skops")[0].search(["thorns", "a ship at sea"], n=2)
    assert np.array_equal(again.scores, found.scores)
    assert np.array_equal(again.names, found.names)


def test_empty_documents_and_one_word():
    model = LSA(1, random_state=0).fit([["rose"], [], ["rose", "rose"]])
    np.testing.assert_allclose(model.documents_, [[1.0], [0.0], [2.0]])
    assert model.search([["rose"]], n=3).indices.tolist() == [[0, 2, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LSA().fit(["a rose", "a lily"]), "is the text 'a rose'"),
        (lambda: LSA().fit([[], []]), "X"),
        (lambda: LSA(1).fit(np.zeros((3, 2))), "X has no words"),
        (
            lambda: LSA(5).fit([[1.0, 2.0], [2.0, 1.0]]),
            "LSA: n_components=5 must be at most the number",
        ),
        (lambda: LSA(1, algorithm="nmf").fit([[1.0, -2.0]]), "Negative values in data passed to LSA"),
        (lambda: LSA(algorithm="qr").fit(X), "'algorithm' must be one of 'svd', 'nmf'"),
        (lambda: LSA().fit(X).inverse_transform([[1.0]]), "X has 1 columns; expected are 2"),
        (lambda: LSA().fit(X).search(X[:1], n=-1), "n must be a whole number"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
