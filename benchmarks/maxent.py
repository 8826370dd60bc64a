"""The row of the maximum entropy model.

Every feature is seen with every label, so the model over the seen (feature, label) pairs and multinomial
logistic regression without intercept have the same parameters and the same objective,

    mean negative log-likelihood + |w|^2 / (2 C n), C = 1, over the seen pairs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row
from benchmarks.linear import SKLEARN, objective_softmax, sklearn_logistic

NLTK_ITERATIONS = 5


def make_maxent(
    rng: np.random.Generator, n: int, features: int, labels: int, active: int, exponent: float, spread: float
) -> Data:
    """Contexts of `active` Zipf-drawn indicator features, labels drawn from a random model of that form."""
    frequency = np.arange(20, features + 20) ** -exponent
    columns = rng.choice(features, size=(n, active), p=frequency / frequency.sum())
    X = sparse.lil_matrix((n, features))
    for i in range(n):
        X[i, columns[i]] = 1.0
    X = X.tocsr()
    score = np.asarray(X @ rng.normal(scale=spread, size=(features, labels)))
    y = (score + rng.gumbel(size=score.shape)).argmax(axis=1)  # a draw from the softmax of the scores
    seen = sparse.csr_matrix((np.ones(n), (y, np.arange(n))), (labels, n)) @ X
    label, feature = np.nonzero(seen.toarray() == 0)
    context = [rng.choice(np.flatnonzero(y == k)) for k in label]  # give each unseen pair one context
    X = X + sparse.csr_matrix((np.ones(label.size), (context, feature)), (n, features))
    X.data[:] = 1.0
    return {"X": X.tocsr(), "y": y}


def maxent_ours(data: Data) -> Result:
    from tercet.linear_model import MaxEnt

    model = MaxEnt(algorithm="newton-cg", C=1.0, fit_intercept=False, tol=5e-5, max_iter=1000)
    return {"coef": np.asarray(model.fit(data["X"], data["y"]).coef_)}


def maxent_lbfgs(data: Data) -> Result:
    model = sklearn_logistic(solver="lbfgs", fit_intercept=False, tol=2e-5, max_iter=1000)
    return {"coef": model.fit(data["X"], data["y"]).coef_}


def maxent_newton(data: Data) -> Result:
    model = sklearn_logistic(solver="newton-cg", fit_intercept=False, tol=1e-4, max_iter=1000)
    return {"coef": model.fit(data["X"], data["y"]).coef_}


def maxent_optimum(data: Data) -> Result:
    model = sklearn_logistic(solver="newton-cg", fit_intercept=False, tol=1e-8, max_iter=1000)
    return {"coef": model.fit(data["X"], data["y"]).coef_}


def as_dicts(data: Data) -> Data:
    """nltk's form of the contexts: dicts of named features, each with its label."""
    X = data["X"]
    contexts = [dict.fromkeys(X.indices[a:b].tolist(), True) for a, b in zip(X.indptr[:-1], X.indptr[1:])]
    return {"pairs": list(zip(contexts, data["y"].tolist())), "shape": (int(data["y"].max()) + 1, X.shape[1])}


def maxent_nltk(data: Data, algorithm: str) -> Result:
    from nltk.classify.maxent import BinaryMaxentFeatureEncoding, GISEncoding, MaxentClassifier

    encoder = {"iis": BinaryMaxentFeatureEncoding, "gis": GISEncoding}[algorithm]
    encoding = encoder.train(data["pairs"])
    model = MaxentClassifier.train(
        data["pairs"], algorithm=algorithm, trace=0, encoding=encoding, max_iter=NLTK_ITERATIONS
    )
    weights = np.asarray(model.weights()) * np.log(2.0)  # nltk works in powers of two
    coef = np.zeros(data["shape"])
    for (feature, _, label), index in encoding._mapping.items():
        coef[label, feature] = weights[index]
    return {"coef": coef}


def maxent_iis(data: Data) -> Result:
    return maxent_nltk(data, "iis")


def maxent_gis(data: Data) -> Result:
    return maxent_nltk(data, "gis")


def nltk(fit: Callable[[Data], Result]) -> Contender:
    note = f"stopped after {NLTK_ITERATIONS} iterations; knows no prior"
    return Contender(fit, ("nltk.classify.maxent",), "nltk", 1, prepare=as_dicts, once=True, note=note)


ROWS = [
    Row(
        name="maxent",
        work="maximum entropy model, L2 prior, C=1; {n} contexts, {labels} labels, {features} features",
        sizes={
            "full": {
                "n": 5_000,
                "features": 5_000,
                "labels": 10,
                "active": 40,
                "exponent": 0.5,
                "spread": 0.3,
            },
            "smoke": {"n": 300, "features": 40, "labels": 4, "active": 6, "exponent": 0.5, "spread": 0.5},
        },
        data=make_maxent,
        ours=Contender(maxent_ours, ("tercet.linear_model",), "tercet"),
        peers={
            "scikit-learn lbfgs": Contender(maxent_lbfgs, SKLEARN, "scikit-learn"),
            "scikit-learn newton-cg": Contender(maxent_newton, SKLEARN, "scikit-learn"),
            "nltk iis": nltk(maxent_iis),
            "nltk gis": nltk(maxent_gis),
        },
        quality=objective_softmax,
        optimum=maxent_optimum,
        tolerance=1e-4,
        figure="objective",
    )
]
