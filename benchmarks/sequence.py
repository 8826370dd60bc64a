"""Rows of hidden Markov models: Baum-Welch on symbols and on points, and Viterbi paths."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

# --- the chains ---------------------------------------------------------------------------------------------


def make_states(
    rng: np.random.Generator, sequences: int, length: int, states: int, stay: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Many paths of one chain, which stays with a chance of `stay` and else goes by its own random row."""
    start = rng.dirichlet(np.ones(states))
    trans = stay * np.eye(states) + (1.0 - stay) * rng.dirichlet(np.ones(states), size=states)
    ends, draws = np.cumsum(trans, axis=1), rng.random((length, sequences))
    paths = np.empty((length, sequences), dtype=np.int64)
    paths[0] = np.searchsorted(np.cumsum(start), draws[0] * start.sum())
    for t in range(1, length):
        paths[t] = (draws[t][:, None] > ends[paths[t - 1]]).sum(axis=1)
    return start, trans, np.minimum(paths, states - 1).T


def make_symbols(
    rng: np.random.Generator, sequences: int, length: int, states: int, symbols: int, stay: float
) -> Data:
    """Symbols of such chains, the model that made them, and another random model to start from."""
    start, trans, paths = make_states(rng, sequences, length, states, stay)
    emission = rng.dirichlet(np.full(symbols, 0.2), size=states) * 0.98 + 0.02 / symbols
    ends, draws = np.cumsum(emission, axis=1), rng.random(paths.shape)
    X = np.empty(paths.shape, dtype=np.int64)
    for i in range(states):
        X[paths == i] = np.searchsorted(ends[i], draws[paths == i])
    return {
        "X": np.minimum(X, symbols - 1).reshape(-1, 1),
        "lengths": np.full(sequences, length),
        "startprob": start,
        "transmat": trans,
        "emissionprob": emission,
        "startprob0": rng.dirichlet(np.full(states, 5.0)),
        "transmat0": rng.dirichlet(np.full(states, 5.0), size=states),
        "emissionprob0": rng.dirichlet(np.full(symbols, 5.0), size=states),
    }


def make_points(
    rng: np.random.Generator, sequences: int, length: int, states: int, d: int, stay: float, spread: float
) -> Data:
    """Points of such chains around a mean for each state, and a start that is off by about half the way."""
    start, trans, paths = make_states(rng, sequences, length, states, stay)
    means = spread * rng.standard_normal((states, d))
    covars = rng.uniform(0.5, 2.0, (states, d))
    at = paths.ravel()
    X = rng.standard_normal((at.size, d))
    X *= np.sqrt(covars)[at]
    X += means[at]
    return {
        "X": X,
        "lengths": np.full(sequences, length),
        "startprob": start,
        "transmat": trans,
        "means": means,
        "covars": covars,
        "startprob0": np.full(states, 1.0 / states),
        "transmat0": rng.dirichlet(np.full(states, 5.0), size=states),
        "means0": means + 0.5 * spread * rng.standard_normal((states, d)),
        "covars0": np.full((states, d), 2.0),
    }


# --- what the harness computes itself -----------------------------------------------------------------------


def log_like(model: Data, X: np.ndarray) -> np.ndarray:
    """Log-likelihood of rows in each state."""
    if "emissionprob" in model:
        return np.log(model["emissionprob"]).T[X[:, 0]]
    precision, means = 1.0 / model["covars"], model["means"]
    constant = -0.5 * (np.log(2 * np.pi * model["covars"]) + means**2 * precision).sum(axis=1)
    return X @ (precision * means).T - 0.5 * (X**2) @ precision.T + constant


def by_step(data: Data, model: Data) -> np.ndarray:
    """The same as a table (step, sequence, state): all sequences are of one length."""
    steps = int(data["lengths"][0])
    return log_like(model, data["X"]).reshape(-1, steps, model["startprob"].size).transpose(1, 0, 2)


def negative_log_likelihood(data: Data, result: Result) -> float:
    """Of the data under the returned parameters, by a forward pass over all sequences at once."""
    found, alpha = 0.0, np.empty(0)
    for t, row in enumerate(by_step(data, result)):
        top = row.max(axis=1, keepdims=True)
        before = result["startprob"] if t == 0 else alpha @ result["transmat"]
        alpha = before * np.exp(row - top)
        scale = alpha.sum(axis=1, keepdims=True)
        found += float((np.log(scale) + top).sum())
        alpha = alpha / scale
    return -found


def best_scores(data: Data, model: Data) -> np.ndarray:
    """The log probability of the best path of every sequence."""
    with np.errstate(divide="ignore"):
        start, trans = np.log(model["startprob"]), np.log(model["transmat"])
    rows = by_step(data, model)
    delta = start + rows[0]
    for row in rows[1:]:
        after = np.full_like(delta, -np.inf)
        for i in range(start.size):
            np.maximum(after, delta[:, i : i + 1] + trans[i], out=after)
        delta = after + row
    return delta.max(axis=1)


def path_scores(data: Data, model: Data, path: np.ndarray) -> np.ndarray:
    """The log probability of each sequence together with its path."""
    with np.errstate(divide="ignore"):
        start, trans = np.log(model["startprob"]), np.log(model["transmat"])
    steps = int(data["lengths"][0])
    path = path.astype(np.int64).reshape(-1, steps)
    here = np.take_along_axis(log_like(model, data["X"]), path.reshape(-1, 1), axis=1).reshape(path.shape)
    return start[path[:, 0]] + trans[path[:, :-1], path[:, 1:]].sum(axis=1) + here.sum(axis=1)


# --- hmm-discrete -------------------------------------------------------------------------------------------

PASSES = 10


def learn(kind: Any, data: Data, names: tuple[str, ...], **options: Any) -> Result:
    """Ten passes from the given start; tol=0 lets none end early."""
    states = data["startprob0"].size
    model = kind(n_components=states, n_iter=PASSES, tol=0.0, init_params="", **options)
    for name in names:
        setattr(model, f"{name}_", data[f"{name}0"].copy())
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten passes are not enough to converge
        model.fit(data["X"], lengths=data["lengths"])
    found = {name: np.asarray(getattr(model, f"{name}_")) for name in names}
    if "covars" in found and found["covars"].ndim == 3:  # hmmlearn shows diagonal covariances as matrices
        found["covars"] = np.diagonal(found["covars"], axis1=1, axis2=2).copy()
    return found


SYMBOLS = ("startprob", "transmat", "emissionprob")
POINTS = ("startprob", "transmat", "means", "covars")


def discrete_ours(data: Data) -> Result:
    from tercet.sequence import CategoricalHMM

    return learn(CategoricalHMM, data, SYMBOLS, n_jobs=2)


def discrete_scaling(data: Data) -> Result:
    from hmmlearn.hmm import CategoricalHMM

    return learn(CategoricalHMM, data, SYMBOLS, implementation="scaling")


def discrete_log(data: Data) -> Result:
    from hmmlearn.hmm import CategoricalHMM

    return learn(CategoricalHMM, data, SYMBOLS, implementation="log")


# --- hmm-gauss ----------------------------------------------------------------------------------------------


def gauss_ours(data: Data) -> Result:
    from tercet.sequence import GaussianHMM

    return learn(GaussianHMM, data, POINTS, covars_prior=0.0, n_jobs=2)


def gauss_scaling(data: Data) -> Result:
    from hmmlearn.hmm import GaussianHMM

    return learn(GaussianHMM, data, POINTS, covars_prior=0.0, implementation="scaling")


def gauss_log(data: Data) -> Result:
    from hmmlearn.hmm import GaussianHMM

    return learn(GaussianHMM, data, POINTS, covars_prior=0.0, implementation="log")


# --- viterbi ------------------------------------------------------------------------------------------------


def make_both(
    rng: np.random.Generator, sequences: int, discrete: dict[str, Any], gauss: dict[str, Any]
) -> Data:
    """Data of both models, and the scores of the best paths through them."""
    both: Data = {}
    for kind, parts in (
        ("discrete", make_symbols(rng, sequences, **discrete)),
        ("gauss", make_points(rng, sequences, **gauss)),
    ):
        both |= {f"{kind} {name}": value for name, value in parts.items() if name[-1] != "0"}
        both[f"{kind} best"] = best_scores(parts, parts)
    return both


def one_of(data: Data, kind: str) -> Data:
    return {
        name.removeprefix(f"{kind} "): value for name, value in data.items() if name.startswith(f"{kind} ")
    }


def paths(kinds: dict[str, Any], data: Data, **options: Any) -> Result:
    """The best paths of both models, whose parameters are given."""
    found = {}
    for kind, names in (("discrete", SYMBOLS), ("gauss", POINTS)):
        part = one_of(data, kind)
        model = kinds[kind](n_components=part["startprob"].size, **options)
        for name in names:
            setattr(model, f"{name}_", part[name].copy())
        found[kind] = np.asarray(model.predict(part["X"], part["lengths"])).astype(np.int8)
    return found


def viterbi_ours(data: Data) -> Result:
    from tercet.sequence import CategoricalHMM, GaussianHMM

    return paths({"discrete": CategoricalHMM, "gauss": GaussianHMM}, data, n_jobs=2)


def viterbi_hmmlearn(data: Data) -> Result:
    from hmmlearn.hmm import CategoricalHMM, GaussianHMM

    return paths({"discrete": CategoricalHMM, "gauss": GaussianHMM}, data)


def share_of_worse_paths(data: Data, result: Result) -> float:
    """The share of sequences whose path is less probable than the best: an equal one is as good."""
    worse, total = 0, 0
    for kind in ("discrete", "gauss"):
        part = one_of(data, kind)
        score = path_scores(part, part, result[kind])
        worse += int((score < part["best"] - 1e-9 * np.abs(part["best"])).sum())
        total += score.size
    return worse / total


DISCRETE = {
    "full": {"length": 200, "states": 20, "symbols": 100, "stay": 0.5},
    "smoke": {"length": 30, "states": 4, "symbols": 10, "stay": 0.5},
}
GAUSS = {
    "full": {"length": 500, "states": 8, "d": 10, "stay": 0.7, "spread": 0.7},
    "smoke": {"length": 40, "states": 3, "d": 4, "stay": 0.7, "spread": 1.0},
}
HMMLEARN = ("hmmlearn.hmm",)
ROWS = [
    Row(
        name="hmm-discrete",
        work="Baum-Welch, {states} states, {symbols} symbols, {sequences} x {length}, 10 passes, same start",
        sizes={
            "full": {"sequences": 1_000, **DISCRETE["full"]},
            "smoke": {"sequences": 20, **DISCRETE["smoke"]},
        },
        data=make_symbols,
        ours=Contender(discrete_ours, ("tercet.sequence",), "tercet"),
        peers={
            "hmmlearn scaling": Contender(discrete_scaling, HMMLEARN, "hmmlearn", threads=1),
            "hmmlearn log": Contender(discrete_log, HMMLEARN, "hmmlearn", threads=1, once=True),
        },
        quality=negative_log_likelihood,
        tolerance=1e-8,
        figure="negative log-likelihood",
    ),
    Row(
        name="hmm-gauss",
        work="Baum-Welch, {states} states, {d}-d diagonal, {sequences} x {length}, 10 passes, same start",
        sizes={
            "full": {"sequences": 1_000, **GAUSS["full"]},
            "smoke": {"sequences": 20, **GAUSS["smoke"]},
        },
        data=make_points,
        ours=Contender(gauss_ours, ("tercet.sequence",), "tercet"),
        peers={
            "hmmlearn scaling": Contender(gauss_scaling, HMMLEARN, "hmmlearn", threads=1),
            "hmmlearn log": Contender(gauss_log, HMMLEARN, "hmmlearn", threads=1, once=True),
        },
        quality=negative_log_likelihood,
        tolerance=1e-8,
        figure="negative log-likelihood",
    ),
    Row(
        name="viterbi",
        work="best paths of the models of hmm-discrete and hmm-gauss, {sequences} sequences each",
        sizes={
            "full": {"sequences": 20_000, "discrete": DISCRETE["full"], "gauss": GAUSS["full"]},
            "smoke": {"sequences": 20, "discrete": DISCRETE["smoke"], "gauss": GAUSS["smoke"]},
        },
        data=make_both,
        ours=Contender(viterbi_ours, ("tercet.sequence",), "tercet"),
        peers={"hmmlearn": Contender(viterbi_hmmlearn, HMMLEARN, "hmmlearn", threads=1)},
        quality=share_of_worse_paths,
        tolerance=0.0,
        figure="share of sequences whose path is not the best",
        relative=False,
    ),
]
