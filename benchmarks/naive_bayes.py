"""Rows of the Bayes family: multinomial naive Bayes on texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row

# --- nb-text ------------------------------------------------------------------------------------------------


def make_text(
    rng: np.random.Generator, n: int, d: int, classes: int, tokens: int, exponent: float, own: float
) -> Data:
    """Bags of words: tokens by Zipf's law, a share `own` of them by the class's own shuffle of it. Frequent words
    stand anywhere in the vocabulary, as in one that is sorted. The labels are those that scikit-learn predicts."""
    y = rng.permutation(np.arange(n) % classes)  # every class is populated
    law = np.cumsum(np.arange(1, d + 1) ** -exponent)
    words = np.searchsorted(law, rng.random(n * tokens) * law[-1]).astype(np.int32).reshape(n, tokens)
    for c in range(classes):
        rows = np.flatnonzero(y == c)
        some = words[rows]
        mine = rng.random(some.shape) < own
        some[mine] = rng.permutation(d)[some[mine]]
        words[rows] = some
    words = rng.permutation(d).astype(np.int32)[words]
    ends = np.arange(0, n * tokens + 1, tokens)
    X = sparse.csr_matrix((np.ones(n * tokens), words.ravel(), ends), (n, d))
    X.sum_duplicates()
    data = {"X": X, "y": y}
    return {**data, "labels": text_sklearn(data)["labels"]}


def fit_and_predict(kind: Any, data: Data, **options: Any) -> Result:
    return {"labels": kind(**options).fit(data["X"], data["y"]).predict(data["X"])}


def text_ours(data: Data) -> Result:
    from tercet.naive_bayes import MultinomialNB

    return fit_and_predict(MultinomialNB, data, n_jobs=2)


def text_sklearn(data: Data) -> Result:
    from sklearn.naive_bayes import MultinomialNB

    return fit_and_predict(MultinomialNB, data)


def share_of_others(data: Data, result: Result) -> float:
    """The share of rows that get another label than from scikit-learn."""
    return float(np.mean(result["labels"] != data["labels"]))


ROWS = [
    Row(
        name="nb-text",
        work="multinomial naive Bayes, fit and predict; {n} x {d} CSR, {tokens} Zipf tokens, {classes} classes",
        sizes={
            "full": {
                "n": 1_000_000,
                "d": 100_000,
                "classes": 20,
                "tokens": 45,
                "exponent": 1.0,
                "own": 0.15,
            },
            "smoke": {"n": 2_000, "d": 500, "classes": 20, "tokens": 20, "exponent": 1.0, "own": 0.3},
        },
        data=make_text,
        ours=Contender(text_ours, ("tercet.naive_bayes",), "tercet"),
        peers={"scikit-learn": Contender(text_sklearn, ("sklearn.naive_bayes",), "scikit-learn", threads=1)},
        quality=share_of_others,
        tolerance=1e-6,
        figure="share of rows with another label than scikit-learn's",
        relative=False,
    )
]
