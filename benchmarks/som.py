"""Rows of self-organising maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row


def make_clouds(rng: np.random.Generator, n: int, d: int, side: int, clouds: int, passes: int) -> Data:
    """Overlapping clouds, and a start in the plane of the first two principal components."""
    centres = 2.0 * rng.standard_normal((clouds, d))
    X = centres[rng.integers(clouds, size=n)] + rng.standard_normal((n, d))
    values, vectors = np.linalg.eigh(np.cov(X.T))
    i, j = np.meshgrid(np.linspace(-2, 2, side), np.linspace(-2, 2, side), indexing="ij")
    axes = (vectors[:, -2:] * np.sqrt(values[-2:])).T
    start = X.mean(axis=0) + np.stack([i, j], axis=-1) @ axes
    return {"X": X, "start": start, "passes": np.array(passes)}


def quantization_error(data: Data, result: Result) -> float:
    """Mean distance from the nearest of the returned units, in float64."""
    X, units = data["X"], np.asarray(result["units"], dtype=float).reshape(-1, data["X"].shape[1])
    half, total = (units**2).sum(axis=1) / 2, 0.0
    for start in range(0, len(X), 2_000):
        some = X[start : start + 2_000]
        at = (half - some @ units.T).argmin(axis=1)
        total += float(np.sqrt(((some - units[at]) ** 2).sum(axis=1)).sum())
    return total / len(X)


def map_ours(data: Data, **options: Any) -> Result:
    from tercet.neural_network import SOM

    start = data["start"]
    model = SOM(
        start.shape[:2], init=start, max_iter=int(data["passes"]), random_state=0, n_jobs=2, **options
    )
    return {"units": model.fit(data["X"]).weights_}


def batch_ours(data: Data) -> Result:
    return map_ours(data)


def online_ours(data: Data) -> Result:
    """By the rates of MiniSom."""
    rates = {
        "eta_end": 1e-3,
        "eta_decay": "linear",
        "sigma0": 1.5,
        "sigma_end": 0.5,
        "sigma_decay": "inverse",
    }
    return map_ours(data, algorithm="online", **rates)


def map_minisom(data: Data) -> Any:
    from minisom import MiniSom

    rows, columns, d = data["start"].shape
    # its radius falls to a third: to the one that ours ends with
    model = MiniSom(
        rows, columns, d, sigma=1.5, learning_rate=0.5, random_seed=0, decay_function="linear_decay_to_zero"
    )
    model._weights = data["start"].copy()
    return model


def online_minisom(data: Data) -> Result:
    model = map_minisom(data)
    model.train(data["X"], int(data["passes"]) * len(data["X"]), random_order=True)
    return {"units": model.get_weights()}


def batch_minisom(data: Data) -> Result:
    model = map_minisom(data)
    model.train_batch_offline(data["X"], int(data["passes"]))
    return {"units": model.get_weights()}


def batch_somoclu(data: Data) -> Result:
    """The batch algorithm with the radii of ours. In pass t = 0 ... n - 1 its radius is r0 (rN / r0)^(t / n), twice
    the standard deviation: rN is such that the last pass has the standard deviation 0.5."""
    from somoclu import Somoclu

    rows, columns, d = data["start"].shape
    passes, widest = int(data["passes"]), float(max(rows, columns))
    start = data["start"].reshape(-1, d).astype(np.float32)
    model = Somoclu(columns, rows, initialcodebook=start, compactsupport=False, std_coeff=0.5)
    model.train(
        data["X"].astype(np.float32), epochs=passes, radius0=widest,
        radiusN=widest * widest ** (-passes / (passes - 1)), radiuscooling="exponential",
    )  # fmt: skip
    return {"units": model.codebook}


ONLINE = {"minisom": Contender(online_minisom, ("minisom",), "minisom", threads=1, once=True)}
PEERS = {
    **ONLINE,
    "minisom batch": Contender(batch_minisom, ("minisom",), "minisom", threads=1, once=True),
    "somoclu": Contender(batch_somoclu, ("somoclu",), "somoclu", note="float32"),
}
SIZES = {
    "full": {"n": 20_000, "d": 50, "side": 20, "clouds": 30, "passes": 10},
    "smoke": {"n": 600, "d": 6, "side": 5, "clouds": 8, "passes": 10},
}
ROWS = [
    Row(
        name="som",
        work="self-organising map, {side} x {side} units, {passes} passes from the same start; {n} x {d}",
        sizes=SIZES,
        data=make_clouds,
        ours=Contender(batch_ours, ("tercet.neural_network",), "tercet"),
        peers=PEERS,
        quality=quantization_error,
        tolerance=0.01,
        figure="quantisation error of the units, in float64",
    ),
    Row(
        name="som-online",
        work="self-organising map by the online rule, {side} x {side} units, {passes} passes; {n} x {d}",
        sizes=SIZES,
        data=make_clouds,
        ours=Contender(online_ours, ("tercet.neural_network",), "tercet", threads=1),
        peers=ONLINE,
        quality=quantization_error,
        tolerance=0.01,
        figure="quantisation error of the units, in float64",
    ),
]
