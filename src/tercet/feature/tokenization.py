"""Tokenization: texts as counts of words; Chinese, which has no blanks between words, as character bigrams."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from scipy import sparse

_HAN = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff"
_RUN = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)?")
_IS_HAN = re.compile(f"[{_HAN}]")


def tokenize(text: str) -> list[str]:
    """The words of a text.

    Examples
    --------
    >>> tokenize("A tercet: 三行诗")
    ['a', 'tercet', '三行', '行诗']
    """
    found = []
    for run in _RUN.findall(text.lower()):
        if len(run) > 1 and _IS_HAN.match(run):
            found += [run[k : k + 2] for k in range(len(run) - 1)]
        else:
            found.append(run)
    return found


def length_in_words(text: str) -> float:
    """About how many words a reader would count: what stands between blanks, two Chinese characters as one."""
    han = len(_IS_HAN.findall(text))
    return len(text.split()) - (han > 0) + han / 2


def count_words(texts: Iterable[str | None]) -> tuple[sparse.csr_array, np.ndarray]:
    """How often every word occurs in every text, and the words, in order."""
    number: dict[str, int] = {}
    indices: list[int] = []
    indptr = [0]
    for text in texts:
        if text:
            indices += [number.setdefault(word, len(number)) for word in tokenize(text)]
        indptr.append(len(indices))
    vocabulary = np.array(sorted(number), dtype=object)
    place = np.empty(len(number), dtype=np.int32)
    place[[number[word] for word in vocabulary]] = np.arange(len(number))
    entries = place[np.asarray(indices, dtype=np.int64)]
    shape = (len(indptr) - 1, len(number))
    counts = sparse.csr_array(
        (np.ones(len(indices)), entries, np.asarray(indptr, dtype=np.int64)), shape=shape
    )
    counts.sum_duplicates()
    return counts, vocabulary
