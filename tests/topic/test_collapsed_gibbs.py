"""Collapsed Gibbs sampling: numbers of the texts, the plain form against enumeration, the samplers against both."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from tercet.topic import (
    lda_collapsed_gibbs,
    lda_conditional,
    lda_counts,
    lda_gibbs_sweep,
    lda_infer,
    lda_log_joint,
    lda_phi,
    lda_theta,
)
from tercet.topic._gibbs import sampler
from tercet.topic._gibbs.dense import DenseCounts
from tercet.topic._gibbs.inference import infer_documents
from tercet.topic._gibbs.packed import PackedCounts
from tercet.topic._gibbs.sampler import CollapsedGibbs
from tercet.topic._gibbs.tokens import blocks, shard_borders, tokens

TWO = [[0, 1, 0], [1, 2]]
PRIORS = np.full(2, 0.5), np.full(3, 0.1)
# Tables 13.3 and 13.4: words 0-2 stand together, and words 3-5
BLOCKS = [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]]


def corpus(n=30, n_words=12, length=15, seed=0):
    """Counts of documents about one of three groups of words, some of them empty."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    X = np.zeros((n, n_words), dtype=int)
    for d in range(n):
        words = rng.integers(4, size=rng.integers(length)) + 4 * group[d]
        np.add.at(X[d], words, 1)
    X[3] = 0
    return sparse.csr_array(X)


def lists(data, topics):
    """Tokens and topics as lists, for the plain form."""
    cut = data.starts[1:-1]
    return np.split(data.words, cut), np.split(topics, cut)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((0, 0), [0.1875, 0.8125]),
        ((0, 1), [0.1875, 0.8125]),
        ((0, 2), [0.982142857, 0.017857143]),
        ((1, 0), [0.785714286, 0.214285714]),
        ((1, 1), [0.25, 0.75]),
    ],
)
def test_conditional_of_the_text(place, expected):  # Machine Learning in Depth, (5.20)
    z = [[0, 0, 1], [1, 1]]
    np.testing.assert_allclose(lda_conditional(TWO, z, *PRIORS, *place), expected, atol=5e-10)


def test_numbers_of_the_texts():
    z = [[0, 0, 1], [1, 1]]  # Machine Learning in Depth ch. 5
    counts = lda_counts(TWO, z, 2)
    assert round(lda_log_joint(TWO, z, *PRIORS), 9) == -14.216035483
    np.testing.assert_allclose(lda_theta(counts.doc_topic, PRIORS[0]), [[0.625, 0.375], [1 / 6, 5 / 6]])
    np.testing.assert_allclose(
        lda_phi(counts.topic_word, PRIORS[1]),
        [[0.478260870, 0.478260870, 0.043478261], [1 / 3] * 3],
        atol=5e-10,
    )
    z = [[0, 1, 0], [1, 1]]  # Li ch. 20
    counts = lda_counts(TWO, z, 2)
    np.testing.assert_allclose(lda_conditional(TWO, z, *PRIORS, 0, 1), [0.3125, 0.6875])
    np.testing.assert_allclose(lda_log_joint(TWO, z, *PRIORS), -9.420244937843208)
    phi = [[0.9130434783, 0.0434782609, 0.0434782609], [0.0303030303, 0.6363636364, 0.3333333333]]
    np.testing.assert_allclose(lda_phi(counts.topic_word, PRIORS[1]), phi, atol=5e-11)
    docs, z = [[0, 0, 1], [1, 2, 2]], [[0, 1, 0], [1, 1, 0]]  # watermelon notes ch. 12
    p = lda_conditional(docs, z, np.full(2, 0.1), np.full(3, 0.01), 0, 1)
    np.testing.assert_allclose(p, [0.99929677, 0.00070323], atol=5e-9)
    theta = lda_theta(lda_counts(docs, z, 2).doc_topic, [0.1, 0.1])
    np.testing.assert_allclose(theta[0], [0.65625, 0.34375])


def posterior(documents, alpha, beta):
    """p(z | w) of every assignment, and log p(w)."""
    cut = np.cumsum([len(document) for document in documents])[:-1]
    every = list(itertools.product(range(len(alpha)), repeat=sum(map(len, documents))))
    logs = np.array([lda_log_joint(documents, np.split(np.array(z), cut), alpha, beta) for z in every])
    weights = np.exp(logs - logs.max())
    return every, weights / weights.sum(), float(logs.max() + np.log(weights.sum()))


def test_evidence_by_enumeration():
    every, p, evidence = posterior(TWO, *PRIORS)
    np.testing.assert_allclose(evidence, -7.6755985211196345)
    np.testing.assert_allclose(p[every.index((0, 1, 0, 1, 1))], 0.17470675143266529)


def test_conditional_is_the_ratio_of_joint_probabilities():
    alpha, beta = np.array([0.3, 1.2, 0.6]), np.array([[0.1, 0.4, 2.0], [0.7, 0.2, 0.3], [1.0, 1.0, 0.5]])
    z = [[0, 2, 1], [1, 0]]
    for m, i in [(0, 0), (0, 2), (1, 1)]:
        joint = []
        for k in range(3):
            other = [list(some) for some in z]
            other[m][i] = k
            joint.append(np.exp(lda_log_joint(TWO, other, alpha, beta)))
        np.testing.assert_allclose(
            lda_conditional(TWO, z, alpha, beta, m, i), np.array(joint) / np.sum(joint)
        )


@pytest.mark.parametrize("packed", [False, True])
def test_samples_come_from_the_posterior(packed, monkeypatch):
    monkeypatch.setattr(sampler, "MOST_DENSE", 1 if packed else 256)
    alpha, beta = np.array([0.5, 0.8]), np.array([0.1, 0.3, 0.2])
    counts = sparse.csr_array([[2, 1, 0], [0, 1, 1]])
    run = CollapsedGibbs(counts, 2, alpha, beta, np.random.default_rng(1))
    assert isinstance(run.counts, PackedCounts if packed else DenseCounts)
    documents, _ = lists(run.data, run.assignments)
    every, p, _ = posterior(documents, alpha, beta)
    code, seen = {z: k for k, z in enumerate(every)}, []
    for _ in range(3000):
        run.sweep()
        seen.append(code[tuple(run.assignments.tolist())])
    # standard errors from the means of 30 batches: neighbouring sweeps are correlated
    batches = np.stack([np.bincount(part, minlength=32) / 100 for part in np.split(np.array(seen), 30)])
    error = batches.std(axis=0, ddof=1) / np.sqrt(30)
    gap = np.abs(batches.mean(axis=0) - p)
    assert (gap < 4 * np.maximum(error, np.sqrt(p / 3000))).all()
    assert 0.5 * gap.sum() < 0.06


@pytest.mark.parametrize("prior", ["one number", "words", "topics and words"])
@pytest.mark.parametrize("n_topics", [2, 19, 37])
def test_dense_draws_are_those_of_the_plain_algorithm(n_topics, prior):
    rng = np.random.default_rng(n_topics)
    shape = {"one number": (), "words": (12,), "topics and words": (n_topics, 12)}[prior]
    alpha, beta = rng.uniform(0.05, 1.0, n_topics), rng.uniform(0.02, 0.5, shape)
    run = CollapsedGibbs(corpus(), n_topics, alpha, beta, np.random.default_rng(0))
    documents, topics = lists(run.data, run.assignments)
    rows = np.broadcast_to(beta, (n_topics, 12))
    for _ in range(2):
        uniforms = rng.random(run.data.words.size, dtype=np.float32)
        run.counts.sample(0, 0, run.data.n_documents, uniforms)
        topics = lda_gibbs_sweep(documents, topics, alpha, rows, uniforms=uniforms)
        np.testing.assert_array_equal(run.assignments, np.concatenate(topics))


def test_packed_weights_are_those_of_the_plain_algorithm(monkeypatch):
    # the parts of the packed sampler are in another order: the share of each topic is the same
    monkeypatch.setattr(sampler, "MOST_DENSE", 1)
    alpha, beta = np.array([0.3, 0.7, 0.2]), np.array([0.2, 0.5, 0.1, 0.4])
    counts = sparse.csr_array([[2, 1, 0, 0], [0, 0, 0, 1], [0, 3, 2, 0]])
    start = CollapsedGibbs(counts, 3, alpha, beta, np.random.default_rng(5))
    documents, topics = lists(start.data, start.assignments)
    expected = lda_conditional(documents, topics, alpha, beta, 1, 0)
    drawn = []
    for u in (np.arange(400) + 0.5) / 400:
        run = CollapsedGibbs(counts, 3, alpha, beta, np.random.default_rng(5))
        run.counts.sample(0, 1, 2, np.array([u]))
        drawn.append(run.assignments[3])
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 400, expected, atol=2 / 400)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shards", [1, 3])
def test_counts_are_those_of_the_assignment(packed, shards, monkeypatch):
    monkeypatch.setattr(sampler, "MOST_DENSE", 1 if packed else 256)
    X = corpus()
    run = CollapsedGibbs(X, 5, np.full(5, 0.3), 0.1, np.random.default_rng(0), shards=shards)
    for _ in range(4):
        run.sweep()
    documents, topics = lists(run.data, run.assignments)
    plain = lda_counts(documents, topics, 5, 12)
    np.testing.assert_array_equal(run.doc_topic, plain.doc_topic)
    np.testing.assert_array_equal(run.topic_word, plain.topic_word)
    np.testing.assert_array_equal(run.doc_topic.sum(axis=1), X.sum(axis=1))
    np.testing.assert_array_equal(run.topic_word.sum(axis=0), X.sum(axis=0))
    for copy in range(len(run.counts.totals)):  # what each shard draws from next
        np.testing.assert_array_equal(table_of(run.counts, copy), plain.topic_word)
    plain_value = lda_log_joint(documents, topics, np.full(5, 0.3), np.full(12, 0.1))
    np.testing.assert_allclose(run.log_likelihood(), plain_value)


def test_tables_become_lists_when_words_have_few_topics():
    # a word that stands alone in its documents, with a small prior, soon has few topics
    X = sparse.csr_array(np.kron(np.eye(6, dtype=int), np.full((3, 1), 40)))
    runs = [
        CollapsedGibbs(X, 60, np.full(60, 0.01), 0.01, np.random.default_rng(0), shards=2, n_jobs=n)
        for n in (1, 2)
    ]
    for run in runs:
        assert isinstance(run.counts, DenseCounts)
        for _ in range(40):
            run.sweep()
        assert isinstance(run.counts, PackedCounts)
        plain = lda_counts(*lists(run.data, run.assignments), 60, 6)
        np.testing.assert_array_equal(table_of(run.counts, 0), plain.topic_word)
    np.testing.assert_array_equal(runs[0].assignments, runs[1].assignments)
    priors = CollapsedGibbs(X, 60, np.full(60, 0.01), np.full((60, 6), 0.01), np.random.default_rng(0))
    for _ in range(8):
        priors.sweep()
    assert isinstance(priors.counts, DenseCounts)  # each topic has priors of its own


def table_of(counts, copy):
    """The counts that a copy of the table holds, of shape (K, V)."""
    if isinstance(counts, DenseCounts):
        return counts.tables[copy][:, counts.place].T
    out = np.zeros((counts.n_topics, counts.data.n_words), dtype=int)
    for w in range(counts.data.n_words):
        start = counts.offsets[w]
        entries = counts.entries[copy, start : start + counts.lengths[copy, w]]
        assert (entries >> 24 > 0).all()
        out[entries & (1 << 24) - 1, w] = entries >> 24
    return out


@pytest.mark.parametrize("packed", [False, True])
def test_any_number_of_threads(packed, monkeypatch):
    monkeypatch.setattr(sampler, "MOST_DENSE", 1 if packed else 256)
    found = []
    for n_jobs in (1, 2, 4):
        run = CollapsedGibbs(
            corpus(), 4, np.full(4, 0.3), 0.1, np.random.default_rng(0), shards=4, n_jobs=n_jobs
        )
        run.sweep()
        run.sweep()
        found.append(run.assignments)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_likelihood_with_priors_of_each_topic():
    rng = np.random.default_rng(0)
    alpha, beta = rng.uniform(0.1, 1, 4), rng.uniform(0.1, 1, (4, 12))
    run = CollapsedGibbs(corpus(), 4, alpha, beta, np.random.default_rng(0))
    plain = lda_log_joint(*lists(run.data, run.assignments), alpha, beta)
    np.testing.assert_allclose(run.log_likelihood(), plain)


def test_two_groups_of_words_part():  # tables 13.3 and 13.4
    found = lda_collapsed_gibbs(BLOCKS, [0.1, 0.1], np.full(6, 0.1), n_sweeps=80, burn_in=40, random_state=0)
    X = np.zeros((6, 6), dtype=int)
    for d, document in enumerate(BLOCKS):
        X[d, document] = 1
    run = CollapsedGibbs(sparse.csr_array(X), 2, np.full(2, 0.1), 0.1, np.random.default_rng(0))
    for _ in range(100):
        run.sweep()
    for phi, theta in (
        (found.phi, found.theta),
        (lda_phi(run.topic_word, np.full(6, 0.1)), lda_theta(run.doc_topic, [0.1, 0.1])),
    ):
        groups = phi.argmax(axis=0)
        assert len(set(groups[:3])) == len(set(groups[3:])) == 1
        assert groups[0] != groups[3]
        np.testing.assert_array_equal(theta.argmax(axis=1), groups[[0, 0, 0, 3, 3, 3]])
    assert found.log_joint.size == 80


def test_new_documents():
    phi, alpha = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]), np.array([0.5, 0.5])
    document = [0, 0, 1, 2]
    # the exact posterior mean of θ: n_k + α_k averaged over all assignments
    exact, total = np.zeros(2), 0.0
    for z in itertools.product(range(2), repeat=4):
        n = np.bincount(z, minlength=2)
        weight = np.prod([phi[k, v] for k, v in zip(z, document)])
        for k in range(2):
            weight *= np.prod(alpha[k] + np.arange(n[k]))
        exact, total = exact + weight * (n + alpha) / 5.0, total + weight
    exact /= total
    plain = lda_infer(document, phi, alpha, n_sweeps=4000, burn_in=100, random_state=0)
    np.testing.assert_allclose(plain, exact, atol=0.02)
    X = sparse.csr_array([[2, 1, 1]])
    fast = infer_documents(X, phi, alpha, n_sweeps=6000, seed=3)
    np.testing.assert_allclose(fast[0], exact, atol=0.02)


def test_new_documents_are_drawn_for_themselves():
    X = corpus()
    topic_word = np.random.default_rng(0).integers(20, size=(5, 12))
    call = {"topic_word": topic_word, "alpha": np.full(5, 0.2), "beta": 0.1, "n_sweeps": 6}
    whole = infer_documents(X, **call)
    order = np.random.default_rng(1).permutation(30)
    np.testing.assert_array_equal(infer_documents(X[order], **call), whole[order])
    np.testing.assert_array_equal(infer_documents(X[7:9], **call, n_jobs=2), whole[7:9])
    assert (infer_documents(X, **call, seed=1) != whole).any()
    np.testing.assert_allclose(whole.sum(axis=1), 1.0)
    np.testing.assert_allclose(whole[3], 0.2)  # an empty document: the prior


def test_shards_and_blocks():
    starts = np.array([0, 4, 4, 10, 11, 30, 31])
    np.testing.assert_array_equal(shard_borders(starts, 1), [0, 6])
    borders = shard_borders(starts, 3)
    assert borders[0] == 0
    assert borders[-1] == 6
    assert (np.diff(borders) >= 0).all()
    assert shard_borders(starts, 20).size == 21
    assert (np.diff(shard_borders(starts, 20)) >= 0).all()
    found = blocks(starts, 0, 6, (1 << 26) // 8)
    assert found[0][0] == 0
    assert found[-1][1] == 6
    assert all(a[1] == b[0] for a, b in itertools.pairwise(found))


def test_too_many_tokens(monkeypatch):
    monkeypatch.setenv("TERCET_MEMORY", "1e8")
    with pytest.raises(
        ValueError, match=r"X has 2e\+09 of them, which need some 56 GB of memory; 0\.1 GB are left"
    ):
        tokens(sparse.csr_array([[2.0e9, 0.0]]))


def test_only_whole_counts():
    with pytest.raises(ValueError, match=r"whole counts .* it has 0\.5"):
        tokens(sparse.csr_array([[1.0, 0.5]]))
    with pytest.raises(ValueError, match="it has -1"):
        tokens(sparse.csr_array([[1.0, -1.0]]))
    data = tokens(sparse.csr_array([[2.0, 0.0, 1.0], [0, 0, 0]]))
    np.testing.assert_array_equal(data.words, [0, 0, 2])
    np.testing.assert_array_equal(data.starts, [0, 3, 3])


def test_bad_input_of_the_plain_form():
    with pytest.raises(ValueError, match=r"alpha must be positive and finite; it has -1"):
        lda_conditional(TWO, TWO, [-1.0, 1.0], [0.1] * 3, 0, 0)
    with pytest.raises(ValueError, match=r"beta must have the shape \(n_words,\), or \(2, n_words\)"):
        lda_log_joint(TWO, TWO, [1.0, 1.0], np.ones((3, 3)))
    with pytest.raises(
        ValueError, match=r"assignments\[0\] has 5; allowed are whole numbers between 0 and 1"
    ):
        lda_log_joint(TWO, [[0, 5, 0], [1, 1]], *PRIORS)
    with pytest.raises(ValueError, match=r"documents\[1\] has 9"):
        lda_gibbs_sweep([[0, 1, 0], [1, 9]], [[0, 1, 0], [1, 1]], *PRIORS)
    with pytest.raises(ValueError, match="a topic for each word"):
        lda_counts(TWO, [[0, 1], [1, 1]], 2)
    with pytest.raises(TypeError, match=r"documents must hold lists of whole numbers; documents\[0\]"):
        lda_counts([["a"]], [[0]], 2)
    with pytest.raises(ValueError, match="thin must be a whole number of at least 1; got 0"):
        lda_collapsed_gibbs(TWO, *PRIORS, thin=0)
    with pytest.raises(ValueError, match="uniforms must have a number for each of the 5 words"):
        lda_gibbs_sweep(TWO, [[0, 1, 0], [1, 1]], *PRIORS, uniforms=[0.5])
