"""Documents and topics as the kernels see them, and the E and M steps over them in threads.

The E step goes over documents, the M step over words: each sum over documents is made by one thread in the order of
the documents, with nothing to merge. The cuts come from the data alone, so that the bits are the same for any
`n_jobs`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln, psi

from tercet.core.parallel import each
from tercet.core.rows import Sparse, kernel_form, read_only
from tercet.topic._variational.document_kernels import document_bounds, infer_documents
from tercet.topic._variational.topic_kernels import expect_words, topic_bounds, update_words

CUTS = 256  # the most pieces of a corpus
DOCUMENTS, WORDS = 32, 256  # the smallest piece


class Corpus:
    """Documents by rows and, for the M step, by words.

    Parameters
    ----------
    counts : CSR array of shape (n_documents, n_words)
        Each word of a document once.
    weight : array of shape (n_documents,), optional
        How much each document counts.
    """

    def __init__(self, counts: Any, weight: np.ndarray | None = None) -> None:
        self.shape = counts.shape
        self.weighted = weight is not None
        self.weight = kernel_form(np.ones(counts.shape[0]) if weight is None else weight)
        self.rows = Sparse(
            kernel_form(counts.data),
            read_only(np.ascontiguousarray(counts.indices, dtype=np.int32)),
            read_only(np.ascontiguousarray(counts.indptr, dtype=np.int64)),
            counts.shape[1],
        )
        self.size = float(self.weight.sum())  # documents
        self.total = float(self.weight @ counts.sum(axis=1)) if self.weighted else float(self.rows.data.sum())
        self.spans = _spans(self.shape[0], DOCUMENTS)
        self._by_word: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @property
    def by_word(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """indptr, and for each entry of a word its document and its place among the entries of the rows."""
        if self._by_word is None:
            places = np.arange(self.rows.data.size, dtype=np.int64)
            turned = sparse.csr_array((places, self.rows.indices, self.rows.indptr), shape=self.shape).tocsc()
            self._by_word = (
                read_only(turned.indptr.astype(np.int64)),
                read_only(turned.indices.astype(np.int32)),
                read_only(turned.data),
            )
        return self._by_word


class Posterior(NamedTuple):
    """Variational posterior of documents.

    Attributes
    ----------
    gamma : array of shape (n_documents, n_topics)
        Parameters of the Dirichlet distributions of θ.
    exp_theta : array of shape (n_documents, n_topics)
        exp(E[log θ]).
    ratios : array of shape (n_entries,) or (0,)
        What each entry of the corpus is multiplied by in the M step.
    """

    gamma: np.ndarray
    exp_theta: np.ndarray
    ratios: np.ndarray


class Topics:
    """Variational posterior of topics: φ_k ~ Dirichlet(λ_k).

    Parameters
    ----------
    pseudocounts : array of shape (n_words, n_topics)
        λ, transposed.
    prior : array of shape (1 or n_words, n_topics)
        η, transposed.
    n_jobs : int or None
        Threads.
    """

    def __init__(self, pseudocounts: np.ndarray, prior: np.ndarray, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self.set_prior(prior)
        self.spans = _spans(len(pseudocounts), WORDS)
        self._tables = [np.array(pseudocounts, dtype=np.float64, order="C")]
        self.pseudocounts = self._tables[0]
        self._kept: np.ndarray | None = None
        self.word_topic = np.empty_like(self.pseudocounts)
        self._set_totals(self.pseudocounts.sum(axis=0))

    def set_prior(self, prior: np.ndarray) -> None:
        """Another η, of shape (1 or n_words, n_topics)."""
        self.prior = kernel_form(prior)

    def mean_log(self) -> float:
        """The mean of E[log φ] over words and topics."""
        return float(psi(self.pseudocounts).mean() - psi(self.totals).mean())

    def keep(self) -> np.ndarray:
        """λ as it is now, which later updates leave alone until the next call."""
        self._kept = self.pseudocounts
        return self._kept

    def update(
        self, corpus: Corpus, posterior: Posterior, keep: float = 0.0, fresh: float = 1.0, scale: float = 1.0
    ) -> None:
        """λ = keep λ + fresh (η + scale × expected counts): the M step."""
        free = [one for one in self._tables if one is not self.pseudocounts and one is not self._kept]
        if not free:
            free = [np.empty_like(self.pseudocounts)]
            self._tables += free
        before, after = read_only(self.pseudocounts), free[0]
        exp_theta = posterior.exp_theta
        if corpus.weighted:
            exp_theta = exp_theta * corpus.weight[:, None]

        indptr, documents, entries = corpus.by_word

        def words(span: tuple[int, int]) -> np.ndarray:
            return update_words(
                indptr,
                documents,
                entries,
                *span,
                read_only(posterior.ratios),
                read_only(exp_theta),
                read_only(self.word_topic),
                self.prior,
                before,
                after,
                keep,
                fresh,
                scale,
            )

        totals = np.sum(each(words, self.spans, n_jobs=self.n_jobs), axis=0)
        self.pseudocounts = after
        self._set_totals(totals)

    def expected_counts(self, corpus: Corpus, posterior: Posterior, counts: np.ndarray) -> np.ndarray:
        """A table of expected counts with those of a corpus added: a part of the M step."""
        exp_theta = posterior.exp_theta * corpus.weight[:, None] if corpus.weighted else posterior.exp_theta
        after = np.empty_like(counts)
        given = (
            read_only(posterior.ratios),
            read_only(exp_theta),
            read_only(self.word_topic),
            kernel_form(np.zeros((1, counts.shape[1]))),
            read_only(counts),
        )

        def words(span: tuple[int, int]) -> None:
            update_words(*corpus.by_word, *span, *given, after, 1.0, 1.0, 1.0)

        each(words, self.spans, n_jobs=self.n_jobs)
        return after

    def set_counts(self, counts: np.ndarray) -> None:
        """λ = η + expected counts of all documents."""
        self._tables = [self.prior + counts]
        self.pseudocounts = self._tables[0]
        self._set_totals(self.pseudocounts.sum(axis=0))

    def _set_totals(self, totals: np.ndarray) -> None:
        """exp(E[log φ]) of all words."""
        self.totals = totals
        self.digamma = kernel_form(psi(totals))
        growth, shift = (kernel_form(part) for part in total_parts(totals))
        table = read_only(self.pseudocounts)
        each(
            lambda span: expect_words(table, span[0], span[1], growth, shift, self.word_topic),
            self.spans,
            n_jobs=self.n_jobs,
        )

    def document_bound(self, corpus: Corpus, alpha: np.ndarray, posterior: Posterior) -> float:
        """The part of the ELBO that belongs to documents."""
        given = (
            corpus.weight,
            read_only(self.word_topic),
            read_only(self.pseudocounts),
            self.digamma,
            kernel_form(alpha),
            kernel_form(posterior.gamma),
            kernel_form(posterior.exp_theta),
            kernel_form(posterior.ratios),
        )
        bounds = each(
            lambda span: document_bounds(corpus.rows, span[0], span[1], *given),
            corpus.spans,
            n_jobs=self.n_jobs,
        )
        return float(sum(bounds)) + corpus.size * float(gammaln(alpha.sum()) - gammaln(alpha).sum())

    def topic_bound(self) -> float:
        """The part of the ELBO that belongs to topics: E[log p(φ) - log q(φ)]."""
        table, n = read_only(self.pseudocounts), len(self.pseudocounts)
        parts = each(
            lambda span: topic_bounds(table, span[0], span[1], self.prior, self.digamma),
            self.spans,
            n_jobs=self.n_jobs,
        )
        times = n if len(self.prior) == 1 else 1
        constant = gammaln(self.prior.sum(axis=0) * times).sum() - times * gammaln(self.prior).sum()
        return float(sum(parts)) + float(constant - gammaln(self.totals).sum())


def infer(
    corpus: Corpus,
    word_topic: np.ndarray,
    alpha: np.ndarray,
    gamma: np.ndarray,
    limit: int,
    tol: float,
    n_jobs: int | None,
    *,
    ratios: bool = False,
) -> Posterior:
    """The E step: variational posterior of documents, from the given γ, which are changed.

    word_topic (V, K): exp(E[log φ]); `ratios` are what the M step needs.
    """
    found = Posterior(gamma, np.empty_like(gamma), np.empty(corpus.rows.data.size if ratios else 0))
    given = kernel_form(word_topic), kernel_form(alpha)
    each(
        lambda span: infer_documents(corpus.rows, span[0], span[1], *given, *found, int(limit), float(tol)),
        corpus.spans,
        n_jobs=n_jobs,
    )
    return found


def total_parts(totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(g, s) with ψ = log(g) - s, of the sums of λ: at x + 1 where x is small, so that g is no zero.

    Examples
    --------
    >>> growth, shift = total_parts(np.array([0.001, 5.0]))
    >>> bool(np.allclose(np.log(growth) - shift, psi([0.001, 5.0])))
    True
    """
    small = totals < 1.0
    growth = np.exp(psi(np.where(small, totals + 1.0, totals)))
    return growth, np.where(small, 1.0 / totals, 0.0)


def _spans(n: int, least: int) -> list[tuple[int, int]]:
    """Pieces of n rows: some 256 at most, and not too small; from n alone."""
    size = max(least, -(-n // CUTS))
    return [(start, min(n, start + size)) for start in range(0, max(n, 1), size)]
