"""Topics of documents from a dictionary of topic words (按主题词统计)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.topic.documents import count_documents


@method(
    zh="按主题词统计",
    task="topic model",
    model="a list of words for each topic; a word may belong to several",
    strategy="the topic with most of its words in the document",
    algorithms="count the words of each topic",
    texts=["Machine Learning in Depth ch. 5, sec. 5.1"],
)
def count_topic_words(documents: Any, topics: Mapping[str, Any], smoothing: float = 0.0) -> np.ndarray:
    """How many words of each topic documents have; the largest count says what a document is about.

    Parameters
    ----------
    documents : list of lists of str
        Tokens.
    topics : dict of str to list of str
        The words of each topic. A word of several topics counts for each of them.
    smoothing : float, default=0.0
        Added to every count.

    Returns
    -------
    counts : array of shape (n_documents, n_topics)
        In the order of `topics`.

    Examples
    --------
    >>> count_topic_words([["ball", "goal", "song"], []], {"sport": ["ball", "goal"], "music": ["song"]})
    array([[2., 1.],
           [0., 0.]])
    """
    if not isinstance(topics, Mapping) or not topics:
        raise TypeError(f"topics must be a dict with the words of each topic; got {topics!r}.")
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be a finite number of at least 0; got {smoothing!r}.")
    for name, words in topics.items():
        if isinstance(words, str):
            raise TypeError(f"topics[{name!r}] must be a list of words; got the string {words!r}.")
    vocabulary = {
        word: k for k, word in enumerate(dict.fromkeys(w for words in topics.values() for w in words))
    }
    member = np.zeros((len(vocabulary), len(topics)))
    for k, words in enumerate(topics.values()):
        member[[vocabulary[word] for word in words], k] = 1.0
    return count_documents(documents, vocabulary, len(vocabulary)).counts @ member + smoothing
