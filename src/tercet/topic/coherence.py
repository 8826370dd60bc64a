"""Coherence of topics (话题一致性): whether the top words of a topic occur together in documents.

Röder, Both and Hinneburg, "Exploring the space of topic coherence measures" (WSDM 2015): a measure is a way to
pair the words of a topic, a way to count where they occur, and a confirmation of one by the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.topic.base import TopicModel
from tercet.topic.documents import count_documents, listed_documents, without_zeros

Measure = Literal["u_mass", "c_uci", "c_npmi", "c_v"]
WINDOWS = {"u_mass": None, "c_uci": 10, "c_npmi": 10, "c_v": 110}  # tokens; None: whole documents
BATCH = 1 << 17  # tokens whose windows are counted together
EPSILON = 1e-12  # added to probabilities of pairs, as the published measures do


class Occurrences(NamedTuple):
    """In how many windows each word, and each pair of words, occurs.

    Attributes
    ----------
    together : array of shape (n_words, n_words)
        Windows with both words; on the diagonal, windows with the word.
    windows : int
    """

    together: np.ndarray
    windows: int


@method(
    zh="话题一致性",
    task="evaluation",
    model="how often the top words of a topic occur in the same documents, or windows of them",
    strategy="the mean confirmation of the words by each other; higher is better",
    algorithms={
        "u_mass": "log P(w_i | w_j) of each word and those before it, in documents",
        "c_uci": "pointwise mutual information of pairs, in windows of 10 tokens",
        "c_npmi": "normalised pointwise mutual information of pairs, in windows of 10 tokens",
        "c_v": "cosine of the NPMI vectors of each word and of all words, in windows of 110 tokens",
    },
    peers=["gensim.models.CoherenceModel"],
)
def coherence(
    topics: Any,
    documents: Any,
    measure: Measure = "c_v",
    *,
    n_words: int = 10,
    window: int | Literal["document"] | None = None,
    exact: bool = False,
    feature_names: Any = None,
    per_topic: bool = False,
) -> Any:
    """Coherence of topics: the mean confirmation of their top words by each other.

    The numbers are those of gensim's `CoherenceModel`. A word that occurs in no window confirms nothing: 0.

    Parameters
    ----------
    topics : fitted topic model, or list of lists of words
        The top words of each topic, those with most weight first.
    documents : list of lists of str, or counts of shape (n_documents, n_words)
        Where words are looked up: lists of tokens; or counts, or bags of words, in which a window is a document.
    measure : {"u_mass", "c_uci", "c_npmi", "c_v"}, default="c_v"
        UMass, UCI, NPMI, or the measure C_V.
    n_words : int, default=10
        How many words of each topic of a model.
    window : int or "document", optional
        The number of tokens in a window that slides over the documents; or whole documents. By default the
        measure's own: documents for "u_mass", 10 tokens for "c_uci" and "c_npmi", 110 for "c_v"; documents where
        there are only counts.
    exact : bool, default=False
        Count the windows that hold a word as published. By default they are counted as by gensim, whose window
        forgets a word as soon as one of its tokens leaves, though another may still be inside, and for which two
        words that are in every window have an NPMI of -1.
    feature_names : array of str of shape (n_words,), or dict of int to str, optional
        The names of the columns of `documents`, where these are counts; by default those of the model.
    per_topic : bool, default=False
        Give the coherence of each topic rather than their mean.

    Returns
    -------
    coherence : float, or array of shape (n_topics,)
        UMass is at most about 0; NPMI lies between -1 and 1, C_V between 0 and 1 as a rule.

    Examples
    --------
    >>> documents = [["cat", "dog"], ["cat", "dog", "moon"], ["moon", "star"], ["star", "moon", "cat"]]
    >>> coherence(
    ...     [["cat", "dog"], ["moon", "star"], ["dog", "star"]], documents, "u_mass", per_topic=True
    ... ).round(3)
    array([ -0.405,  -0.405, -26.938])
    >>> round(coherence([["cat", "dog"], ["moon", "star"]], documents, "c_npmi"), 3)
    0.415
    """
    if measure not in WINDOWS:
        raise ValueError(f"measure must be one of {', '.join(map(repr, WINDOWS))}; got {measure!r}.")
    words = _top_words(topics, n_words, feature_names)
    relevant = {word: k for k, word in enumerate(dict.fromkeys(w for topic in words for w in topic))}
    names = topics.words(feature_names) if isinstance(topics, TopicModel) else feature_names
    found = _counted(documents, relevant, names, _window(window, measure), exact)
    if not found.together.any():
        raise ValueError("None of the words of the topics occurs in documents.")
    values = []
    for topic in words:
        at = [relevant[word] for word in topic]
        values.append(CONFIRMATIONS[measure](found.together[np.ix_(at, at)], found.windows, exact))
    return np.array(values) if per_topic else float(np.mean(values))


def u_mass(together: np.ndarray, n: int, exact: bool) -> float:
    """Mean of log((P(w_i, w_j) + ε) / P(w_j)) over the pairs with j < i."""
    single = np.diag(together)
    found = [
        np.log((together[i, j] / n + EPSILON) / (single[j] / n)) if single[j] else 0.0
        for i in range(1, len(together))
        for j in range(i)
    ]
    return float(np.mean(found))


def pmi(together: np.ndarray, n: int) -> np.ndarray:
    """log((P(w_i, w_j) + ε) / (P(w_i) P(w_j))) of all pairs; 0 for words that do not occur."""
    single = np.diag(together) / n
    product = np.outer(single, single)
    return np.log(np.divide(together / n + EPSILON, product, out=np.ones(product.shape), where=product > 0))


def npmi(together: np.ndarray, n: int, exact: bool) -> np.ndarray:
    """PMI divided by -log(P(w_i, w_j) + ε), between -1 and 1."""
    values = pmi(together, n) / -np.log(together / n + EPSILON)
    # of words that are in every window it is 0/0: in the limit 1, and -1 by ε
    return np.where(together == n, 1.0, values) if exact else values


def mean_of_pairs(values: np.ndarray) -> float:
    """The mean over all pairs of different words."""
    return float(values[~np.eye(len(values), dtype=bool)].mean())


def c_v(together: np.ndarray, n: int, exact: bool) -> float:
    """Mean cosine of each word's vector of NPMI with all words of the topic, and the sum of these vectors."""
    vectors = npmi(together, n, exact)
    whole = vectors.sum(axis=0)
    lengths = np.sqrt((vectors**2).sum(axis=1) * (whole @ whole))
    return float(np.divide(vectors @ whole, lengths, out=np.zeros(len(vectors)), where=lengths > 0).mean())


CONFIRMATIONS = {
    "u_mass": u_mass,
    "c_uci": lambda together, n, exact: mean_of_pairs(pmi(together, n)),
    "c_npmi": lambda together, n, exact: mean_of_pairs(npmi(together, n, exact)),
    "c_v": c_v,
}


def _top_words(topics: Any, n_words: int, feature_names: Any) -> list[list[Any]]:
    words = topics.top_words(n_words, feature_names) if isinstance(topics, TopicModel) else topics
    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        raise TypeError(f"topics must be a fitted topic model or a list of lists of words; got {words!r}.")
    words = [topic if isinstance(topic, str) else list(topic) for topic in words]
    for k, topic in enumerate(words):
        if isinstance(topic, str) or len(set(topic)) < 2 or len(set(topic)) < len(topic):
            raise ValueError(
                f"topics must have two words or more each, all different; topic {k} is {topic!r}."
            )
    if not words:
        raise ValueError("topics has no topics; it must have one or more.")
    return words


def _window(window: Any, measure: str) -> int | None:
    """The number of tokens in a window; None for whole documents."""
    if window is None:
        return WINDOWS[measure]
    if window == "document":
        return None
    if not isinstance(window, int | np.integer) or isinstance(window, bool) or window < 1:
        raise ValueError(f'window must be a whole number of at least 1, or "document"; got {window!r}.')
    return int(window)


def _counted(
    documents: Any, relevant: dict[Any, int], names: Any, window: int | None, exact: bool
) -> Occurrences:
    """Windows with each of the relevant words, and with pairs of them."""
    listed = listed_documents(documents)
    tokens = listed is not None and any(isinstance(document[0], str) for document in listed if document)
    if tokens and listed is not None and window is not None:
        return _sliding(listed, relevant, window, exact)
    if tokens and listed is not None:
        table = count_documents(listed, relevant, len(relevant)).counts
    else:
        table = _columns(documents if listed is None else count_documents(listed).counts, relevant, names)
    here = sparse.csr_array((np.ones(table.nnz), table.indices, table.indptr), shape=table.shape)
    return Occurrences((here.T @ here).toarray(), table.shape[0])


def _columns(counts: Any, relevant: dict[Any, int], names: Any) -> sparse.csr_array:
    """The columns of the relevant words; their names are numbers of columns, where there are no others."""
    counts = without_zeros(counts)
    if names is None:
        names = range(counts.shape[1])
    elif hasattr(names, "get"):  # gensim's id2word
        names = [names.get(j) for j in range(counts.shape[1])]
    place = {name: column for column, name in enumerate(names) if name in relevant}
    unknown = [word for word in relevant if word not in place or place[word] >= counts.shape[1]]
    if unknown:
        raise ValueError(f"documents has no column for the word {unknown[0]!r}; give feature_names.")
    return sparse.csr_array(counts[:, [place[word] for word in relevant]])


def _sliding(documents: Sequence[Any], relevant: dict[Any, int], size: int, exact: bool) -> Occurrences:
    """Windows of so many tokens, one for each token to begin with; a shorter document is one window."""
    together, windows = np.zeros((len(relevant), len(relevant))), 0
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    batch = np.cumsum(lengths) // BATCH
    cuts = [0, *(np.flatnonzero(np.diff(batch)) + 1).tolist(), len(documents)]
    for first, last in itertools.pairwise(cuts):
        n, some = lengths[first:last], documents[first:last]
        many = np.maximum(n - size + 1, 1)
        windows += int(many[n > 0].sum() if exact else many.sum())  # gensim counts an empty document, too
        codes = np.array([relevant.get(token, -1) for document in some for token in document], dtype=np.int64)
        inside = _windows_with(codes, n, many, size, exact, len(relevant))
        together += (inside.T @ inside).toarray()
    return Occurrences(together, windows)


def _windows_with(
    codes: np.ndarray, lengths: np.ndarray, many: np.ndarray, size: int, exact: bool, n_words: int
) -> sparse.csc_array:
    """Which windows have which words: a column for each word, with a 1 for each window.

    `codes` are the words of documents of these `lengths`, with `many` windows each; -1 is a word of no interest.
    """
    at = np.flatnonzero(codes >= 0)
    at = at[np.argsort(codes[at], kind="stable")]  # word after word, and those of each in their order
    word, document = codes[at], np.repeat(np.arange(lengths.size), lengths)[at]
    start = (np.cumsum(lengths) - lengths)[document]
    place = at - start
    first, last = np.maximum(place - size + 1, 0), place
    if (
        not exact
    ):  # gensim's window forgets a word when its first token leaves, though another may still be inside
        last = place[np.searchsorted(word * codes.size + at, word * codes.size + start + first)]
    last = np.minimum(last, many[document] - 1)
    # of a word in a document, intervals begin and end in order: without what the one before has, none overlap
    again = (word[1:] == word[:-1]) & (document[1:] == document[:-1])
    first[1:] = np.where(again, np.maximum(first[1:], last[:-1] + 1), first[1:])
    width = np.maximum(last - first + 1, 0)
    ends = np.cumsum(width)
    begin = (np.cumsum(many) - many)[document] + first - (ends - width)
    windows = np.arange(int(width.sum())) + np.repeat(begin, width)
    columns = np.concatenate([[0], np.cumsum(np.bincount(word, width, n_words))]).astype(np.int64)
    return sparse.csc_array((np.ones(windows.size), windows, columns), shape=(int(many.sum()), n_words))
