"""Latent Dirichlet allocation: scikit-learn's numbers, the ELBO, priors, new documents, perplexity."""

import warnings

import numpy as np
import pytest
from scipy import sparse, special
from sklearn.decomposition import LatentDirichletAllocation as Peer

import tercet.decomposition
from tercet.topic import (
    LatentDirichletAllocation,
    document_completion,
    document_elbo,
    generate_documents,
    infer_document,
    word_perplexity,
)
from tercet.topic._variational.corpus import Corpus, Topics, infer
from tercet.topic._variational.special_functions import digamma, dirichlet_terms
from tercet.topic.variational_em import topics_elbo


@pytest.fixture(scope="module")
def counts():
    """80 documents of up to 25 words on 300 columns: several pieces for the threads, one document empty."""
    found = generate_documents(80, 25, np.full(4, 0.2), np.full(300, 0.05), random_state=0)
    X = np.array([np.bincount(words, minlength=300) for words in found.documents], dtype=float)
    X[7] = 0
    return sparse.csr_array(X)


def test_is_found_where_scikit_learn_has_it():
    assert tercet.decomposition.LatentDirichletAllocation is LatentDirichletAllocation


@pytest.mark.parametrize(
    "options", [{}, {"learning_method": "online", "batch_size": 30, "evaluate_every": 2}]
)
def test_numbers_of_scikit_learn(counts, options):
    options = {"n_components": 4, "max_iter": 4, "random_state": 3, **options}
    ours, theirs = LatentDirichletAllocation(**options).fit(counts), Peer(**options).fit(counts)
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-5)
    np.testing.assert_allclose(ours.exp_dirichlet_component_, theirs.exp_dirichlet_component_, rtol=1e-5)
    np.testing.assert_allclose(ours.transform(counts), theirs.transform(counts), rtol=1e-5)
    unnormalized = ours.transform(counts, normalize=False), theirs.transform(counts, normalize=False)
    np.testing.assert_allclose(*unnormalized, rtol=1e-5)
    for name in ("bound_", "n_iter_", "n_batch_iter_", "doc_topic_prior_", "topic_word_prior_"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-7)
    assert ours.score(counts) == pytest.approx(theirs.score(counts), rel=1e-7)
    for sub_sampling in (False, True):
        assert ours.perplexity(counts, sub_sampling) == pytest.approx(theirs.perplexity(counts, sub_sampling))


def test_partial_fit_goes_on_as_scikit_learn(counts):
    options = {"n_components": 3, "batch_size": 32, "total_samples": 200, "random_state": 0}
    ours, theirs = LatentDirichletAllocation(**options), Peer(**options)
    for X in (counts, counts[:40]):
        ours.partial_fit(X)
        theirs.partial_fit(X)
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-5)
    assert ours.n_batch_iter_ == theirs.n_batch_iter_


def test_bits_do_not_depend_on_threads(counts):
    one, three = (
        LatentDirichletAllocation(4, max_iter=3, random_state=0, n_jobs=n_jobs).fit(counts)
        for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.components_, three.components_)
    np.testing.assert_array_equal(one.transform(counts), three.transform(counts))
    assert one.history_ == three.history_
    assert one.score(counts) == three.score(counts)


@pytest.mark.parametrize(("prior_update", "words"), [(None, False), ("newton", False), ("minka", True)])
def test_bound_does_not_fall(counts, prior_update, words):
    """With E steps that go to the end; the bound of a pass is that of its E step."""
    model = LatentDirichletAllocation(
        3,
        max_iter=12,
        mean_change_tol=1e-9,
        max_doc_update_iter=3000,
        random_state=1,
        prior_update=prior_update,
        word_prior_update=words,
    ).fit(counts)
    bounds = model.history_["elbo"]
    assert len(bounds) == 12
    assert (np.diff(bounds) > -1e-7).all()
    assert bounds[-1] <= model.score(counts) + 1e-7


def test_engine_agrees_with_the_plain_form():
    rng = np.random.default_rng(0)
    table, eta, alpha = rng.gamma(1.0, 1.0, (5, 3)) + 0.05, 0.3, np.array([0.4, 0.1, 1.5])
    documents = [[0, 1, 1, 4], [], [3, 3, 3]]
    X = sparse.csr_array([np.bincount(np.array(words, dtype=int), minlength=5) for words in documents])
    topics, corpus = Topics(table, np.full((1, 3), eta), None), Corpus(X)
    found = infer(corpus, topics.word_topic, alpha, np.ones((3, 3)), 5000, 1e-13, None)
    logs = special.psi(table.T) - special.psi(table.sum(axis=0))[:, None]
    np.testing.assert_allclose(np.log(topics.word_topic.T), logs, rtol=1e-12)
    plain = [infer_document(words, alpha, logs, gamma=np.ones(3), max_iter=5000) for words in documents]
    np.testing.assert_allclose(found.gamma, [one.gamma for one in plain], rtol=1e-9)
    bound = sum(
        document_elbo(words, one.gamma, one.z, alpha, logs) for words, one in zip(documents, plain)
    ) + topics_elbo(np.ascontiguousarray(table.T), eta)
    assert topics.document_bound(corpus, alpha, found) + topics.topic_bound() == pytest.approx(
        bound, rel=1e-11
    )


def test_special_functions():
    x = np.logspace(-12, 14, 200)
    np.testing.assert_allclose([digamma(v) for v in x], special.psi(x), rtol=1e-13, atol=1e-14)
    for p in (x, np.array([0.3]), np.array([7.9999, 8.0, 40.0])):
        prior, centre = np.full(p.size, 0.7), np.linspace(-3, 3, p.size)
        work = [np.empty(p.size) for _ in range(3)]
        found = dirichlet_terms(
            p, prior, centre, work[0], work[1], work[1].view(np.int64), work[2], work[2].view(np.int64)
        )
        terms = (prior - p) * (special.psi(p) - centre) + special.gammaln(p)
        assert found == pytest.approx(terms.sum(), rel=1e-13)


def test_forms_of_documents():
    tokens = [["b", "a", "b"], [], ["c", "b"], ["a", "c"]]
    dense = np.array([[1.0, 2, 0], [0, 0, 0], [0, 1, 1], [1, 0, 1]])
    bags = [[(1, 2), (0, 1)], [], [(2, 1), (1, 1)], [(0, 1), (2, 1)]]
    found = [
        LatentDirichletAllocation(2, random_state=0).fit(X).components_
        for X in (dense, sparse.csr_matrix(dense), tokens, bags)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_float32_stays(counts):
    model = LatentDirichletAllocation(2, max_iter=2, random_state=0).fit(counts.astype(np.float32))
    assert model.components_.dtype == model.transform(counts).dtype == np.float32


def test_documents_without_words_get_the_mean_of_the_prior():
    model = LatentDirichletAllocation(2, doc_topic_prior=[0.3, 0.1], random_state=0)
    model.fit([["a", "b"], ["b", "c", "c"], []])
    np.testing.assert_allclose(model.transform([[], ["unheard"], ["of"]]), [[0.75, 0.25]] * 3)
    assert model.unseen_words([[], ["unheard", "a"]]).tolist() == [0, 1]


@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.full((5, 1), 2.0), np.array([[0.0, 3.0]])])
def test_corpora_with_nothing_to_learn(X):
    model = LatentDirichletAllocation(3, random_state=0).fit(X)
    assert np.isfinite(model.bound_)
    assert np.isfinite(model.score(X))
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1)


def test_small_priors_and_large_counts():
    """exp(ψ(1e-6)) is zero in floating-point numbers: the bound still is a number, as scikit-learn's."""
    X = np.array([[5.0, 0, 0, 1], [0, 4, 0, 0], [0, 0, 1e9, 0]])
    options = {
        "n_components": 3,
        "doc_topic_prior": 1e-6,
        "topic_word_prior": 1e-6,
        "max_iter": 5,
        "random_state": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = LatentDirichletAllocation(**options).fit(X)
        new = np.array([[1.0, 1, 1, 1], [0, 0, 0, 7]])
        assert np.isfinite(ours.transform(new)).all()
        assert np.isfinite(ours.score(new))
    theirs = Peer(**options).fit(X)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-6)


def test_weights_of_documents(counts):
    """With E steps that go to the end, and to the same from all starts, a weight is as good as repetition."""
    X, weight = counts[:20], np.tile([1.0, 0.0, 2.0, 1.0], 5)
    options = {"max_iter": 1, "mean_change_tol": 1e-12, "max_doc_update_iter": 5000, "doc_topic_prior": 5.0}
    repeated = X[np.repeat(np.arange(20), weight.astype(int))]
    one = LatentDirichletAllocation(3, random_state=0, **options).fit(X, sample_weight=weight)
    other = LatentDirichletAllocation(3, random_state=0, **options).fit(repeated)
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-7)
    assert one.bound_ == pytest.approx(other.bound_)
    assert one.history_["elbo"] == pytest.approx(other.history_["elbo"])


def test_weights_of_documents_are_repetitions_for_gibbs(counts):
    X, weight = counts[:6], np.array([1.0, 0.0, 2.0, 1.0, 1.0, 3.0])
    options = {"learning_method": "gibbs", "max_iter": 3, "random_state": 0}
    one = LatentDirichletAllocation(2, **options).fit(X, sample_weight=weight)
    other = LatentDirichletAllocation(2, **options).fit(X[np.repeat(np.arange(6), weight.astype(int))])
    np.testing.assert_array_equal(one.components_, other.components_)
    with pytest.raises(ValueError, match=r"sample_weight must hold whole numbers.*; it has 0\.5"):
        LatentDirichletAllocation(2, **options).fit(X, sample_weight=weight / 2)


def test_learned_prior_is_asymmetric():
    found = generate_documents(60, 20, [2.0, 0.1], np.full(30, 0.05), random_state=3)
    X = [[f"w{w:02}" for w in words] for words in found.documents]
    fixed, learned = (
        LatentDirichletAllocation(2, max_iter=20, random_state=0, prior_update=update).fit(X)
        for update in (None, "newton")
    )
    assert fixed.doc_topic_prior_ == 0.5
    assert learned.doc_topic_prior_.shape == (2,)
    assert learned.doc_topic_prior_.max() > 3 * learned.doc_topic_prior_.min()
    assert learned.score(X) > fixed.score(X)


def test_seed_words():
    documents = [["sea", "ship"], ["ship", "sea", "sail"], ["tree", "leaf"], ["leaf", "tree", "wood"]] * 3
    for topic in (0, 1):
        model = LatentDirichletAllocation(2, random_state=0, seed_words={topic: ["ship", "sail"]})
        assert {"ship", "sail"} <= set(model.fit(documents).top_words(3)[topic])
        assert model.topic_word_prior_.shape == (2, 6)
    by_column = LatentDirichletAllocation(2, random_state=0, seed_words={1: [3, 1]}, max_iter=2).fit(
        documents
    )
    by_name = LatentDirichletAllocation(2, random_state=0, seed_words={1: ["ship", "sail"]}, max_iter=2).fit(
        documents
    )
    columns = sorted(by_name.vocabulary_[word] for word in ("ship", "sail"))
    assert columns == [1, 3]
    np.testing.assert_array_equal(by_column.components_, by_name.components_)


def test_priors_of_words():
    X = np.array([[2.0, 0, 1], [0, 2, 1], [1, 1, 0]])
    one = LatentDirichletAllocation(2, topic_word_prior=0.2, random_state=0).fit(X)
    for prior in (np.full(3, 0.2), np.full((2, 3), 0.2)):
        same = LatentDirichletAllocation(2, topic_word_prior=prior, random_state=0).fit(X)
        np.testing.assert_allclose(same.components_, one.components_, rtol=1e-12)
        assert same.score(X) == pytest.approx(one.score(X))
    strong = np.array([[50.0, 0.1, 0.1], [0.1, 50.0, 0.1]])
    guided = LatentDirichletAllocation(2, topic_word_prior=strong, random_state=0).fit(X)
    assert [words[0] for words in guided.top_words(1)] == ["x0", "x1"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"doc_topic_prior": 0.0}, r"'doc_topic_prior' must be .*above 0.*; got 0"),
        ({"doc_topic_prior": [1.0, 2.0]}, r"'doc_topic_prior' must be .*\(3,\).*shape \(2,\)"),
        ({"topic_word_prior": [[1.0]]}, r"'topic_word_prior' must be .*\(2,\) or \(3, 2\).*shape \(1, 1\)"),
        ({"topic_word_prior": [1.0, np.nan]}, "'topic_word_prior' must be .*; got nan"),
        ({"topic_word_prior": "auto"}, "'topic_word_prior' must be .*; got 'auto'"),
        ({"seed_words": {0: ["z"]}}, "seed_words holds 'z', which is neither a word"),
        ({"seed_words": {3: ["a"]}}, "seed_words must have topics from 0 to 2 as keys; got 3"),
        ({"seed_words": {0: "a"}}, "seed_words must have lists of words as values; got 'a'"),
        ({"word_prior_update": True, "seed_words": {0: ["a"]}}, "word_prior_update=True learns one number"),
        ({"learning_offset": 0.5}, "'learning_offset' must be a number in .*; got 0.5"),
        (
            {"learning_method": "gips"},
            "'learning_method' must be one of 'batch', 'online', 'gibbs'.*; got 'gips'",
        ),
    ],
)
def test_bad_parameters(options, said):
    with pytest.raises(ValueError, match=said):
        LatentDirichletAllocation(3, **options).fit([["a", "b"], ["b"]])


def test_perplexity_by_completion(counts):
    model = LatentDirichletAllocation(4, max_iter=20, random_state=0).fit(counts[:60])
    seen, held_out = document_completion(counts[60:])
    by_hand = word_perplexity(held_out, model.transform(seen), model.topic_word_distribution())
    found = model.perplexity(counts[60:], method="completion")
    assert found == pytest.approx(by_hand)
    unigram = np.asarray(counts[:60].sum(axis=0)).ravel() + 0.25
    assert found < word_perplexity(held_out, np.ones((20, 1)), unigram[None] / unigram.sum())


def test_perplexity_of_a_single_word(counts):
    """All of the cost of the topics falls on it: infinite by the bound, and nothing to complete."""
    model = LatentDirichletAllocation(8, max_iter=2, random_state=0).fit(counts)
    word = np.eye(1, 300)
    assert model.perplexity(word) == np.inf
    with pytest.raises(ValueError, match="needs documents of two words or more; X has none"):
        model.perplexity(word, method="completion")


def test_halves_of_documents(counts):
    seen, held_out = document_completion(counts)
    np.testing.assert_array_equal((seen + held_out).toarray(), counts.toarray())
    surplus = seen.sum(axis=1) - held_out.sum(axis=1)
    np.testing.assert_array_equal(surplus, np.asarray(counts.sum(axis=1)) % 2)


def test_bad_input_of_perplexity():
    model = LatentDirichletAllocation(2, max_iter=1, random_state=0).fit([[1.0, 2.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match="X has no words"):
        model.perplexity([[0.0, 0.0]])
    with pytest.raises(ValueError, match="method must be one of 'bound', 'completion'; got 'left'"):
        model.perplexity([[1.0, 0.0]], method="left")
    with pytest.raises(ValueError, match=r"whole counts of words; it has 0\.5"):
        model.perplexity([[0.5, 0.0]], method="completion")
    with pytest.raises(ValueError, match=r"shapes \(D, V\), \(D, K\) and \(K, V\); got \(1, 2\), \(1, 1\)"):
        word_perplexity([[1.0, 0.0]], [[1.0]], [[1.0, 0.0, 0.0]])
    assert word_perplexity([[1.0, 1.0]], [[1.0]], [[1.0, 0.0]]) == np.inf


def test_early_end_and_lines(capsys):
    X = np.array([[3.0, 0, 1], [0, 2, 1]])
    options = {"evaluate_every": 1, "perp_tol": 1e6, "verbose": 1, "random_state": 0}
    model = LatentDirichletAllocation(2, **options).fit(X)
    assert model.n_iter_ == Peer(2, **{**options, "verbose": 0}).fit(X).n_iter_ == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["iteration", "iteration"]
    assert lines[1].startswith("iteration: 2 of max_iter: 10, perplexity: ")
