"""LatentDirichletAllocation by Gibbs sampling: what it learns, its options and what it refuses."""

import numpy as np
import pytest
from scipy import sparse

from tercet.topic import LatentDirichletAllocation


def corpus(n=40, seed=0):
    """Counts of documents about one of two groups of four words, and the group of each."""
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=n)
    X = np.zeros((n, 8))
    for d in range(n):
        np.add.at(X[d], rng.integers(4, size=12) + 4 * group[d], 1)
    return sparse.csr_array(X), group


def model(**options):
    given = {"learning_method": "gibbs", "doc_topic_prior": 0.2, "topic_word_prior": 0.1, "max_iter": 30}
    given["max_doc_update_iter"] = 10
    return LatentDirichletAllocation(2, random_state=0, **{**given, **options})


@pytest.mark.parametrize("options", [{}, {"shards": 3}, {"thin": 5}, {"prior_update": "newton"}])
def test_groups_are_found(options):
    X, group = corpus()
    found = model(**options).fit(X)
    phi = found.topic_word_distribution()
    np.testing.assert_allclose(phi.sum(axis=1), 1.0)
    assert phi[:, :4].sum(axis=1).round(1).tolist() in ([1.0, 0.0], [0.0, 1.0])
    theta = found.transform(X)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    assert len(set(zip(theta.argmax(axis=1), group))) == 2
    assert found.components_.sum() == pytest.approx(X.sum() + 16 * 0.1)


def test_same_bits_for_any_number_of_threads():
    X, _ = corpus()
    one, two = (model(shards=4, n_jobs=n, max_iter=5).fit(X) for n in (1, 3))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    other = model(shards=4, max_iter=5).set_params(random_state=1).fit(X)
    assert (other.components_ != one.components_).any()


def test_forms_of_counts():
    # what scikit-learn's checks do not reach, whose numbers are no counts
    X, _ = corpus()
    found = model(max_iter=4, shards=2).fit(X)
    before, theta = found.components_.copy(), found.transform(X)
    np.testing.assert_array_equal(found.fit(X).components_, before)
    np.testing.assert_array_equal(found.transform(X[5:11]), theta[5:11])
    np.testing.assert_array_equal(found.fit_transform(X), theta)
    for other in (
        X.toarray(),
        X.toarray().astype(np.int32),
        np.asfortranarray(X.toarray()),
        X.tocsc(),
        X.tocoo(),
    ):
        again = model(max_iter=4, shards=2).fit(other)
        np.testing.assert_array_equal(again.components_, before)
        np.testing.assert_array_equal(again.transform(other), theta)
    single = model(max_iter=4, shards=2).fit(X.astype(np.float32))
    assert single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.components_, before, rtol=1e-6)


def test_history_and_perplexity():
    X, _ = corpus()
    found = model(evaluate_every=1).fit(X)
    history = found.history_
    assert len(history["log_likelihood"]) == len(history["perplexity"]) == found.n_iter_ == 30
    assert history["log_likelihood"][-1] > history["log_likelihood"][0]
    assert history["perplexity"][-1] == found.bound_
    assert 3.5 < found.bound_ < 6 < history["perplexity"][0] < 9  # of groups of four words, from all eight
    seldom = model(max_iter=25).fit(X).history_["log_likelihood"]
    assert np.flatnonzero(~np.isnan(seldom)).tolist() == [9, 19, 24]
    assert 3.5 < found.perplexity(corpus(seed=1)[0], method="completion") < 6
    assert found.score(X) < 0


def test_perplexity_is_that_of_the_counts():
    X, _ = corpus()
    found = model(max_iter=1, evaluate_every=1).fit(X)
    # one topic: the probabilities of words are those of the counts
    single = LatentDirichletAllocation(
        1, learning_method="gibbs", topic_word_prior=0.1, max_iter=1, random_state=0
    ).fit(X)
    counts = X.sum(axis=0)
    phi = (counts + 0.1) / (counts + 0.1).sum()
    assert single.bound_ == pytest.approx(np.exp(-(counts @ np.log(phi)) / counts.sum()), rel=1e-5)
    assert found.bound_ == found.history_["perplexity"][-1]


def test_priors_are_learned():
    X, _ = corpus()
    found = model(prior_update="newton", prior_interval=1, burn_in=5, word_prior_update=True).fit(X)
    assert found.doc_topic_prior_.shape == (2,)
    assert isinstance(found.topic_word_prior_, float)
    assert found.topic_word_prior_ != 0.1
    assert (found.doc_topic_prior_ < 0.2).all()
    minka = model(prior_update="minka", prior_interval=1, burn_in=5).fit(X)
    # each document has one topic: α goes to zero, in proportion to the number of documents
    np.testing.assert_allclose(share(minka.doc_topic_prior_), share(found.doc_topic_prior_), rtol=0.1)
    early = model(prior_update="newton", burn_in=30).fit(X)
    assert early.doc_topic_prior_ == 0.2


def share(alpha):
    return alpha / alpha.sum()


def test_samples_are_averaged():
    X, _ = corpus(n=5)
    mean = model(thin=1, burn_in=0, max_iter=40).fit(X).components_ - 0.1
    last = model(burn_in=0, max_iter=40).fit(X).components_ - 0.1
    np.testing.assert_allclose(last, last.round(), atol=1e-9)  # counts
    assert np.abs(mean - mean.round()).max() > 0.01
    np.testing.assert_allclose(mean.sum(axis=0), last.sum(axis=0))


def test_seed_words_and_word_priors():
    documents = [
        ["ship", "sea", "sea"],
        ["sea", "wave", "ship"],
        ["tree", "leaf"],
        ["leaf", "wood", "tree"],
    ] * 3
    for topic in (0, 1):
        found = model(seed_words={topic: ["sea"]}, seed_weight=20.0).fit(documents)
        assert "sea" in found.top_words(1)[topic]
    eta = np.full((2, 8), 0.05)
    eta[1, :4] = 30.0
    phi = model(topic_word_prior=eta).fit(corpus()[0]).topic_word_distribution()
    assert phi[1, :4].sum() > 0.9 > 0.1 > phi[0, :4].sum()


def test_many_topics_take_the_packed_sampler():
    X, _ = corpus()
    found = LatentDirichletAllocation(
        300, learning_method="gibbs", doc_topic_prior=0.01, topic_word_prior=0.05, max_iter=4, random_state=0
    ).fit(X)
    assert found.components_.sum() == pytest.approx(X.sum() + 300 * 8 * 0.05)
    theta = found.set_params(max_doc_update_iter=2).transform(X[:4])
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)


def test_odd_documents():
    X, _ = corpus()
    X = sparse.vstack([X, sparse.csr_array((2, 8))]).tocsr()  # two empty documents
    found = model(max_iter=5).fit(X)
    np.testing.assert_allclose(found.transform(X)[-2:], 0.5)
    one_word = model(max_iter=5).fit([[3], [1]])
    np.testing.assert_allclose(one_word.topic_word_distribution(), 1.0)
    nothing = model(max_iter=2).fit(np.zeros((3, 4)))
    np.testing.assert_allclose(nothing.topic_word_distribution(), 0.25)
    np.testing.assert_allclose(nothing.transform(np.zeros((1, 4))), 0.5)
    short = model(max_iter=0).fit(X)  # a random assignment
    assert short.components_.sum() == pytest.approx(X.sum() + 1.6)
    more_shards = model(max_iter=2, shards=60).fit(X)  # than documents
    assert more_shards.components_.sum() == pytest.approx(X.sum() + 1.6)


def test_weights_are_repeated_documents():
    X, _ = corpus()
    weight = np.arange(40) % 3
    twice = model(max_iter=3).fit(X[np.repeat(np.arange(40), weight)])
    np.testing.assert_array_equal(
        model(max_iter=3).fit(X, sample_weight=weight).components_, twice.components_
    )


def test_priors_far_from_one():
    X, _ = corpus()
    for prior in (1e-200, 1e100):
        found = model(doc_topic_prior=prior, topic_word_prior=prior, max_iter=3).fit(X)
        assert np.isfinite(found.components_).all()
        assert np.isfinite(found.transform(X)).all()


def test_what_is_refused():
    X, _ = corpus()
    with pytest.raises(ValueError, match=r"X must hold whole counts of 0 or more; it has 1\.5"):
        model().fit(X * 0.5)
    with pytest.raises(ValueError, match=r"X must hold whole counts"):
        model(max_iter=2).fit(X).transform(X * 0.5)
    with pytest.raises(ValueError, match="word_prior_update=True learns one number"):
        model(word_prior_update=True, topic_word_prior=np.ones(8)).fit(X)
    with pytest.raises(ValueError, match=r"sample_weight must hold whole numbers; it has 0\.5"):
        model().fit(X, sample_weight=np.full(40, 0.5))
    with pytest.raises(ValueError, match="'shards' must be"):
        model(shards=0).fit(X)


def test_an_update_of_priors_leaves_the_sample():
    X, _ = corpus()
    found = model(prior_update="newton", burn_in=29, prior_interval=1).fit(X)
    assert (found.doc_topic_prior_ > 0).all()
    # from the same sample, without a further sweep
    again = model(max_iter=30, burn_in=30).fit(X)
    np.testing.assert_array_equal(found.components_, again.components_)
