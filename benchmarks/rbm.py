"""The row of restricted Boltzmann machines: persistent contrastive divergence on binary images."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row


def make_images(rng: np.random.Generator, n: int, d: int, prototypes: int, units: int, passes: int) -> Data:
    """Binary images: a prototype each, a smooth pattern of strokes, with every twentieth pixel flipped."""
    side = int(np.sqrt(d))
    noise = rng.normal(size=(prototypes, side, side))
    waves = np.fft.rfft2(noise)
    frequencies = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None, :])
    smooth = np.fft.irfft2(waves * np.exp(-((frequencies * side / 4.0) ** 2)), s=(side, side))
    masks = smooth.reshape(prototypes, -1) > 0.8 * smooth.std()
    X = masks[rng.integers(prototypes, size=n)] ^ (rng.random((n, side * side)) < 0.05)
    return {"X": X.astype(np.float32), "stop": np.array([units, passes])}


def one_fit(kind: Any, data: Data) -> Result:
    """All passes, with the same seed."""
    units, passes = (int(value) for value in data["stop"])
    model = kind(units, learning_rate=0.05, n_iter=passes, random_state=0).fit(data["X"])
    return {
        "W": np.asarray(model.components_),
        "b": np.asarray(model.intercept_visible_),
        "c": np.asarray(model.intercept_hidden_),
    }


def fit_ours(data: Data) -> Result:
    from tercet.neural_network import BernoulliRBM

    return one_fit(BernoulliRBM, data)


def fit_sklearn(data: Data) -> Result:
    from sklearn.neural_network import BernoulliRBM

    return one_fit(BernoulliRBM, data)


def pseudo_likelihood(data: Data, result: Result) -> float:
    """Mean of -d log P(v_i | all others), for one pixel i of each of 2000 images."""
    X, W = data["X"][:2000].astype(float), result["W"].astype(float)
    flipped = np.random.default_rng(1).integers(X.shape[1], size=len(X))
    rows = np.arange(len(X))
    other = X.copy()
    other[rows, flipped] = 1 - other[rows, flipped]

    def free_energy(V: np.ndarray) -> np.ndarray:
        return -(V @ result["b"]) - np.logaddexp(0, V @ W.T + result["c"]).sum(axis=1)

    return float(X.shape[1] * np.logaddexp(0, free_energy(X) - free_energy(other)).mean())


ROWS = [
    Row(
        name="rbm",
        work="RBM of {units} units, {passes} passes of persistent CD, batches of 10; {n} x {d} binary float32",
        sizes={
            "full": {"n": 20_000, "d": 784, "prototypes": 50, "units": 256, "passes": 5},
            "smoke": {"n": 200, "d": 64, "prototypes": 5, "units": 16, "passes": 2},
        },
        data=make_images,
        ours=Contender(fit_ours, ("numpy", "scipy.linalg", "tercet.neural_network"), "tercet"),
        peers={"scikit-learn": Contender(fit_sklearn, ("numpy", "sklearn.neural_network"), "scikit-learn")},
        quality=pseudo_likelihood,
        tolerance=0.01,
        figure="-pseudo-likelihood",
    )
]
