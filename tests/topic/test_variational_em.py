"""Variational EM in plain form: monotone bounds, priors, the generative process."""

import numpy as np
import pytest

from tercet.topic import generate_documents, infer_document, minka_alpha, newton_alpha, variational_em

DOCUMENTS = [[0, 1, 0, 2], [1, 0, 2], [3, 4, 3], [4, 5, 3, 5], []]


@pytest.mark.parametrize("eta", [None, 0.1])
@pytest.mark.parametrize("learn_alpha", [False, True])
def test_bound_never_falls(eta, learn_alpha):
    found = variational_em(
        DOCUMENTS, 2, eta=eta, learn_alpha=learn_alpha, random_state=0, n_words=7, max_iter=30
    )
    assert (np.diff(found.elbo) >= -1e-9).all()
    np.testing.assert_allclose(found.topic_word.sum(axis=1), 1)
    np.testing.assert_allclose(found.doc_topic.sum(axis=1), 1)
    assert [one.shape for one in found.z] == [(len(words), 2) for words in DOCUMENTS]
    if eta is None:  # without a prior a word that no document has gets no probability
        assert (found.topic_word[:, 6] == 0).all()
    else:
        np.testing.assert_allclose(found.pseudocounts.sum(), 14 + eta * 14)
        assert (found.topic_word[:, 6] > 0).all()
    if not learn_alpha:
        np.testing.assert_array_equal(found.alpha, [1, 1])


def test_bound_of_a_document_never_falls():
    phi = np.random.default_rng(0).dirichlet(np.ones(5), 3)
    found = infer_document([0, 4, 4, 2, 1], [0.1, 0.5, 0.2], np.log(phi))
    assert len(found.elbo) > 3
    assert (np.diff(found.elbo) >= -1e-12).all()
    np.testing.assert_allclose(found.gamma, np.array([0.1, 0.5, 0.2]) + found.z.sum(axis=0))


def test_two_blocks_of_words_are_found():
    runs = [variational_em(DOCUMENTS[:4], 2, alpha=0.1, learn_alpha=False, random_state=k) for k in range(6)]
    found = max(runs, key=lambda run: run.elbo[-1])  # EM stops at local maxima
    order = np.argsort(-found.topic_word[:, 0])
    assert found.topic_word[order][0, :3].sum() > 0.99
    assert found.topic_word[order][1, 3:].sum() > 0.99


def test_learned_alpha_is_a_stationary_point_or_capped():
    gamma = np.random.default_rng(0).gamma(2.0, 1.0, (50, 3)) + 0.05
    from scipy.special import psi

    alpha = newton_alpha(gamma, [1.0, 1.0, 1.0])
    logs = (psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))).mean(axis=0)
    np.testing.assert_allclose(psi(alpha) - psi(alpha.sum()), logs, atol=1e-8)
    np.testing.assert_allclose(newton_alpha(gamma, [50.0, 0.01, 3.0]), alpha, rtol=1e-6)
    np.testing.assert_allclose(minka_alpha(gamma, [50.0, 0.01, 3.0], max_iter=3000), alpha, rtol=1e-6)
    same = newton_alpha(np.full((4, 2), 1e12), [1.0, 1.0])  # all documents alike: no end to alpha
    assert np.isfinite(same).all()
    assert (same > 1e4).all()


def test_documents_of_the_generative_process():
    found = generate_documents(200, 30, [0.5, 2.0], [[5.0, 0.01, 0.01], [0.01, 0.01, 5.0]], random_state=0)
    again = generate_documents(200, 30, [0.5, 2.0], [[5.0, 0.01, 0.01], [0.01, 0.01, 5.0]], random_state=0)
    assert all((a == b).all() for a, b in zip(found.documents, again.documents))
    words, topics = np.concatenate(found.documents), np.concatenate(found.z)
    assert (words[topics == 0] == 0).mean() > 0.9
    assert (words[topics == 1] == 2).mean() > 0.9
    assert np.mean(topics == 1) == pytest.approx(0.8, abs=0.05)
    lengths = [len(one) for one in generate_documents(50, 8.0, [1.0], [1.0, 1.0], random_state=1).documents]
    assert 6 < np.mean(lengths) < 10


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: variational_em([], 2), "at least one document"),
        (lambda: variational_em([[0], [0.5]], 2), r"documents\[1\] is \[0\.5\]"),
        (lambda: variational_em([[-1]], 2), r"documents\[0\] is \[-1\]"),
        (lambda: variational_em([[3]], 2, n_words=3), "n_words=3 must be larger"),
        (lambda: variational_em([[0]], 2, alpha=0.0), "alpha must be finite numbers above 0; got 0.0"),
        (lambda: newton_alpha([[1.0, -1.0]], [1.0, 1.0]), "gamma must be rows of finite numbers above 0"),
        (lambda: generate_documents(2, -1, [1.0], [1.0]), "lengths must be whole numbers"),
    ],
)
def test_bad_input(call, said):
    with pytest.raises(ValueError, match=said):
        call()
