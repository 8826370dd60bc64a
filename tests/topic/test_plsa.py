"""PLSA: the EM algorithms against their plain forms, folding in, tempering, bad input."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from tercet.topic import (
    PLSA,
    cooccurrence_step,
    plsa_step,
    sample_documents,
    to_cooccurrence,
    to_generative,
)
from tercet.topic._plsa import expectation
from tercet.topic._plsa.expectation import Expectation


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.full(3, 0.3), 40)
    phi = rng.dirichlet(np.full(25, 0.2), 3)
    return theta, phi, sample_documents(theta, phi, rng.integers(5, 40, size=40), 1)


def start(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), n), rng.dirichlet(np.ones(d), k)


@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_passes_are_those_of_the_plain_form(corpus, beta):
    X = corpus[2]
    theta, phi = start(*X.shape, 3)
    model = PLSA(3, beta=beta, components_init=phi, doc_topic_init=theta, max_iter=3, tol=0).fit(X)
    values = []
    for _ in range(3):
        theta, phi, value = plsa_step(X, theta, phi, beta=beta)
        values.append(value)
    np.testing.assert_allclose(model.components_, phi, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(model.doc_topic_, theta, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(model.history_["log_likelihood"], values, rtol=1e-12)
    assert model.log_likelihood_ == pytest.approx(plsa_step(X, theta, phi)[2], rel=1e-12)


@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_passes_of_the_cooccurrence_model_are_those_of_its_plain_form(corpus, beta):
    X = corpus[2]
    theta, phi = start(*X.shape, 3)
    given = theta / theta.sum(axis=0)
    state = np.array([0.2, 0.3, 0.5]), phi, given.T
    model = PLSA(
        3,
        model="cooccurrence",
        beta=beta,
        components_init=phi,
        doc_topic_init=given,
        topic_weights_init=state[0],
        max_iter=3,
        tol=0,
    ).fit(X)
    for _ in range(3):
        state, _ = cooccurrence_step(X, state[0], state[2], state[1], beta=beta)
    found = model.cooccurrence()
    np.testing.assert_allclose(found.components, state.components, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(found.topic_weights, state.topic_weights, rtol=1e-10)
    np.testing.assert_allclose(found.topic_document, state.topic_document, rtol=1e-9, atol=1e-14)


def test_both_models_pass_the_same_points_from_equal_starts(corpus):
    X = corpus[2]
    theta, phi = start(*X.shape, 3)
    shares = X.sum(axis=1) / X.sum()
    same = to_cooccurrence(shares, theta, phi)
    one = PLSA(3, components_init=phi, doc_topic_init=theta, max_iter=5, tol=0).fit(X)
    other = PLSA(
        3,
        model="cooccurrence",
        components_init=phi,
        doc_topic_init=same.topic_document.T,
        topic_weights_init=same.topic_weights,
        max_iter=5,
        tol=0,
    ).fit(X)
    np.testing.assert_allclose(other.components_, one.components_, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(other.doc_topic_, one.doc_topic_, rtol=1e-9, atol=1e-14)
    # the text's likelihood leaves log P(d) out; that of the joint does not
    constant = float((X.sum(axis=1) * np.log(shares)).sum())
    assert other.log_likelihood_ == pytest.approx(one.log_likelihood_ + constant, rel=1e-12)
    back = to_generative(*(same[k] for k in (0, 2, 1)))
    np.testing.assert_allclose(back.doc_topic, theta)


def test_likelihood_never_falls_and_parameters_are_distributions(corpus):
    X = corpus[2]
    model = PLSA(4, random_state=0, max_iter=40, tol=0).fit(X)
    assert np.diff(model.history_["log_likelihood"]).min() > -1e-9
    for table in (
        model.components_,
        model.doc_topic_,
        model.topic_weights_[None],
        model.document_weights_[None],
    ):
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        assert table.min() >= 0
    np.testing.assert_allclose(model.topic_weights_, model.document_weights_ @ model.doc_topic_)
    inside = model.inverse_transform(model.doc_topic_)  # P(w|d) in the simplex of the words
    np.testing.assert_allclose(inside.sum(axis=1), 1.0)


def test_one_topic_is_the_frequency_of_words(corpus):
    X = corpus[2]
    model = PLSA(1).fit(X)
    np.testing.assert_allclose(model.components_[0], X.sum(axis=0) / X.sum())
    assert model.n_iter_ <= 3


def test_topics_of_a_made_corpus_are_found(corpus):
    theta, phi, _ = corpus
    X = sample_documents(theta, phi, 400, 2)
    model = PLSA(3, n_init=4, random_state=0, tol=1e-7, max_iter=500).fit(X)
    similar = (
        model.components_
        @ phi.T
        / np.outer(np.linalg.norm(model.components_, axis=1), np.linalg.norm(phi, axis=1))
    )
    assert similar.max(axis=1).min() > 0.97
    assert sorted(similar.argmax(axis=1)) == [0, 1, 2]
    np.testing.assert_allclose(model.transform(X), model.doc_topic_, atol=5e-3)


def test_several_starts_keep_the_best(corpus):
    X = corpus[2]
    single = [PLSA(4, random_state=rng, tol=1e-4) for rng in [np.random.default_rng(3)] * 3]
    values = [model.fit(X).log_likelihood_ for model in single]
    assert PLSA(4, n_init=3, random_state=np.random.default_rng(3), tol=1e-4).fit(X).log_likelihood_ == max(
        values
    )


def test_bits_do_not_depend_on_threads(corpus, monkeypatch):
    X = corpus[2]
    monkeypatch.setattr(expectation, "LEAST", 50)
    monkeypatch.setattr(expectation, "PER_WORD", 1)
    assert len(Expectation(X, 3, 1).chunks) > 3
    models = [PLSA(3, random_state=0, max_iter=5, tol=0, n_jobs=n_jobs).fit(X) for n_jobs in (1, 3)]
    assert models[0].log_likelihood_ == models[1].log_likelihood_
    np.testing.assert_array_equal(models[0].components_, models[1].components_)
    np.testing.assert_array_equal(models[0].transform(X), models[1].transform(X[::-1])[::-1])
    whole = PLSA(3, random_state=0, max_iter=5, tol=0)
    monkeypatch.undo()
    np.testing.assert_allclose(whole.fit(X).components_, models[0].components_, rtol=1e-9, atol=1e-15)


def test_weights_are_repetitions(corpus):
    X = corpus[2]
    weight = np.arange(X.shape[0]) % 3
    one = PLSA(3, random_state=0, max_iter=20, tol=0).fit(X, sample_weight=weight)
    other = PLSA(3, random_state=0, max_iter=20, tol=0).fit(X[np.repeat(np.arange(X.shape[0]), weight)])
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(one.doc_topic_[0], one.topic_weights_)  # a document without weight


def test_folding_in_maximises_the_likelihood_of_each_document(corpus):
    X = corpus[2]
    model = PLSA(3, random_state=0, mean_change_tol=1e-9, max_doc_update_iter=5000).fit(X)
    theta = model.transform(X[:5])
    # at the maximum of a concave function on the simplex, no gradient exceeds the mean gradient, which is n(d)
    P = theta @ model.components_
    ratio = np.divide(X[:5].toarray(), P, out=np.zeros(P.shape), where=P > 0)
    gradient = ratio @ model.components_.T
    assert (gradient < X[:5].sum(axis=1)[:, None] * (1 + 1e-4)).all()
    values = X[:5].toarray() * np.log(np.maximum(P, 1e-300))
    assert model.score(X[:5]) == pytest.approx(values.sum())
    assert model.perplexity(X[:5]) == pytest.approx(np.exp(-values.sum() / X[:5].sum()))


def test_folding_in_is_tempered_as_learning_was(corpus):
    X = corpus[2]
    model = PLSA(3, beta=0.8, random_state=0, tol=1e-12, max_iter=2000, mean_change_tol=1e-10).fit(X)
    np.testing.assert_allclose(model.transform(X), model.doc_topic_, atol=1e-4)


def test_documents_without_words_and_words_never_seen():
    tokens = [["a", "b", "a"], [], ["c", "d"], ["d", "c", "c"]]
    model = PLSA(2, random_state=0).fit(tokens)
    assert np.isfinite(model.components_).all()
    np.testing.assert_array_equal(model.doc_topic_[1], model.topic_weights_)
    np.testing.assert_array_equal(model.transform([[], ["zebra"]]), [model.topic_weights_] * 2)
    with pytest.raises(ValueError, match="perplexity needs a word that was seen in training"):
        model.perplexity([["zebra"]])
    # a column that training never had: its word is as good as unknown
    X = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    model = PLSA(2, random_state=0).fit(X)
    assert model.perplexity([[1.0, 1.0, 5.0]]) == pytest.approx(model.perplexity([[1.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(model.transform([[0.0, 0.0, 1.0]])[0], model.topic_weights_)


def test_a_corpus_of_one_word_and_of_one_document():
    model = PLSA(2, random_state=0).fit([[3.0], [1.0]])
    np.testing.assert_array_equal(model.components_, [[1.0], [1.0]])
    assert model.log_likelihood_ == 0.0
    assert PLSA(3, random_state=0).fit([[1.0, 2.0]]).log_likelihood_ == pytest.approx(
        np.log(1 / 3) + 2 * np.log(2 / 3)
    )


@pytest.mark.parametrize("unit", [1e-200, 0.5, 1e130])
def test_the_unit_of_the_counts_does_not_matter(corpus, unit):
    X = corpus[2].toarray()[:, :5] + 1.0
    one = PLSA(2, random_state=0, max_iter=10, tol=0).fit(X)
    other = PLSA(2, random_state=0, max_iter=10, tol=0).fit(X * unit)
    np.testing.assert_allclose(other.components_, one.components_, rtol=1e-9)
    assert other.log_likelihood_ == pytest.approx(one.log_likelihood_ * unit)


def test_a_start_with_zeros_stays_a_distribution():
    X = np.array([[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]])
    phi, theta = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    model = PLSA(3, components_init=phi, doc_topic_init=theta, max_iter=5, tol=0).fit(X)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)  # the third topic has no document
    np.testing.assert_allclose(model.doc_topic_.sum(axis=1), 1.0)
    assert np.isfinite(model.log_likelihood_)


def test_tempering_by_held_out_words_helps_against_overfitting(corpus):
    theta, phi, X = corpus
    new = sample_documents(theta, phi, 30, 9)
    plain = PLSA(8, random_state=0, max_iter=100, tol=1e-4)
    tempered = PLSA(8, beta="held-out", random_state=0, max_iter=200, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert tempered.fit(X).perplexity(X, new) < 0.9 * plain.fit(X).perplexity(X, new)
    assert tempered.beta_ < 1
    assert tempered.history_["beta"][0] == 1.0
    # which words are held out does not depend on the unit of the weights
    units = [
        PLSA(3, beta="held-out", random_state=0).fit(X, sample_weight=np.full(40, unit))
        for unit in (1.0, 1e60)
    ]
    np.testing.assert_allclose(units[0].components_, units[1].components_, rtol=1e-9, atol=1e-15)
    with pytest.raises(ValueError, match=r"validation_fraction=0\.1 of 1 words leaves none to hold out"):
        PLSA(1, beta="held-out", random_state=0).fit([[1.0]])


def test_float32_and_sparse_input(corpus):
    X = corpus[2]
    one = PLSA(3, random_state=0, max_iter=5, tol=0).fit(X)
    for other in (X.toarray(), sparse.csc_matrix(X), X.astype(np.int64)):
        model = PLSA(3, random_state=0, max_iter=5, tol=0).fit(other)
        np.testing.assert_array_equal(model.components_, one.components_)
    model = PLSA(3, random_state=0, max_iter=5, tol=0).fit(X.astype(np.float32))
    assert model.components_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.components_, one.components_, rtol=1e-6)


def test_samples_come_from_the_model(corpus):
    model = PLSA(3, random_state=0).fit(corpus[2])
    assert model.sample(3, [5, 0, 7], random_state=1).sum(axis=1).tolist() == [5.0, 0.0, 7.0]
    many = sample_documents([[1.0, 0.0, 0.0]], model.components_, 100_000, 0)
    np.testing.assert_allclose(many.toarray()[0] / 1e5, model.components_[0], atol=0.01)
    with pytest.raises(ValueError, match="n_words must be whole numbers"):
        model.sample(1, 2.5)


def test_callers_counts_are_left_as_they_are(corpus):
    X = corpus[2].copy()
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    PLSA(2, random_state=0, max_iter=2, tol=0).fit(X, sample_weight=np.arange(X.shape[0]) % 2)
    for array, old in zip((X.data, X.indices, X.indptr), before):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"n_components": 0}, "n_components"),
        (
            {"n_components": 10**12},
            "n_components=1000000000000 is too large: .* do not fit in memory",
        ),
        ({"beta": 0.0}, "beta"),
        ({"beta": "cold"}, "beta"),
        ({"model": "symmetric"}, "model"),
        (
            {"components_init": np.ones((2, 3))},
            r"the shape \(2, 4\); its shape is \(2, 3\)",
        ),
        ({"doc_topic_init": -np.ones((3, 2))}, r"PLSA \(doc_topic_init\)"),
        ({"components_init": np.zeros((2, 4))}, "components_init has a distribution that is all zero"),
        ({"topic_weights_init": [0.5, 0.5]}, "topic_weights_init is P"),
    ],
)
def test_bad_parameters(parameters, said):
    with pytest.raises(ValueError, match=said):
        PLSA(**{"n_components": 2, **parameters}).fit(np.ones((3, 4)))


def test_bad_input():
    with pytest.raises(ValueError, match="sample_weight is zero for every document that has words"):
        PLSA(2).fit([[1.0, 1.0], [0.0, 0.0]], sample_weight=[0.0, 1.0])
    model = PLSA(2, random_state=0).fit([[1.0, 2.0], [3.0, 1.0]])
    with pytest.raises(ValueError, match="held_out has 1 documents, and X 2"):
        model.perplexity([[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="X has 3 columns; expected are 2, one for each topic"):
        model.inverse_transform([[1.0, 0.0, 0.0]])
    with pytest.warns(ConvergenceWarning, match="max_doc_update_iter=1"):
        PLSA(2, max_doc_update_iter=1, random_state=0).fit([[1.0, 2.0], [3.0, 1.0]]).transform([[5.0, 0.0]])
    with pytest.raises(ValueError, match=r"must be of shapes \(N, K\) and \(K, M\)"):
        plsa_step(np.ones((2, 3)), np.ones((2, 2)), np.ones((3, 3)))


def test_logarithms_of_the_kernel():
    """The compiled `log_likelihoods` sums logarithms of its own making."""
    X = sparse.csr_array(np.array([[3.0, 0.5, 7.0, 1.0]]))
    for scale in (1e-250, 1e-3, 1.0, 0.7071067811865476):
        engine = Expectation(X, 1, 1, learns=False)
        phi = scale * np.array([[1.0], [0.3], [1e-30], [0.9999999]])
        found, seen = engine.log_likelihoods(engine.padded(np.ones((1, 1))), engine.padded(phi))
        assert found[0] == pytest.approx(float((X.toarray()[0] * np.log(phi[:, 0])).sum()), rel=1e-14)
        assert seen[0] == 11.5


def test_lists_of_documents_in_a_search():
    documents = [["cat", "dog", "cat"], ["dog", "cat"], ["sun", "moon"], ["moon", "sun", "sun"]] * 3
    search = GridSearchCV(PLSA(random_state=0), {"n_components": [1, 2]}, cv=2).fit(documents)
    assert search.best_params_ == {"n_components": 2}
    assert search.best_estimator_.vocabulary_ == {"cat": 0, "dog": 1, "moon": 2, "sun": 3}
