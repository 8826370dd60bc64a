"""Rows of the neural networks: a multilayer perceptron on many rows, and one on few rows to convergence."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

# --- mlp ----------------------------------------------------------------------------------------------------


def make_rows(rng: np.random.Generator, n: int, d: int, classes: int, epochs: int, hidden: int) -> Data:
    """Classes are the largest of some smooth functions of a few directions, with noise."""
    X = rng.standard_normal((n, d))
    scores = np.tanh(X @ rng.standard_normal((d, 5)) / np.sqrt(d)) @ rng.standard_normal((5, classes))
    y = (scores + 0.2 * rng.standard_normal((n, classes))).argmax(axis=1)
    return {"X": X, "y": y, "epochs": np.array(epochs), "hidden": np.array(hidden)}


def log_loss(data: Data, result: Result) -> float:
    """Mean negative log-probability of the classes of the training rows."""
    p = result["proba"][np.arange(len(data["y"])), data["y"]]
    return float(-np.log(np.maximum(p, 1e-300)).mean())


def adam_options(data: Data) -> dict[str, Any]:
    epochs, hidden = int(data["epochs"]), int(data["hidden"])
    return {"hidden_layer_sizes": (hidden, hidden), "max_iter": epochs, "tol": 0.0, "random_state": 0}


def fitted(kind: Any, data: Data, **options: Any) -> Result:
    model = kind(**options).fit(data["X"], data["y"])
    return {"proba": model.predict_proba(data["X"])}


def adam_ours(data: Data) -> Result:
    from tercet.neural_network import MLPClassifier

    return fitted(MLPClassifier, data, **adam_options(data))


def adam_sklearn(data: Data) -> Result:
    from sklearn.neural_network import MLPClassifier

    return fitted(MLPClassifier, data, **adam_options(data))


def torch_network(sizes: list[int], rng: np.random.RandomState, dtype: Any) -> Any:
    """Layers of ReLU units with the initial weights that the others draw: with other numbers the loss differs by up
    to 4 %."""
    import torch
    from torch import nn

    torch.set_num_threads(2)
    layers: list[Any] = []
    for below, above in itertools.pairwise(sizes):
        bound, layer = np.sqrt(6 / (below + above)), nn.Linear(below, above).to(dtype)
        layer.weight.data = torch.from_numpy(rng.uniform(-bound, bound, (below, above)).T.copy())
        layer.bias.data = torch.from_numpy(rng.uniform(-bound, bound, above))
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def adam_torch(data: Data) -> Result:
    """The plain loop that everybody writes, in the same type of numbers and in the same order of rows."""
    import torch

    rng = np.random.RandomState(0)
    X, y = torch.from_numpy(data["X"]), torch.from_numpy(data["y"])
    hidden = int(data["hidden"])
    net = torch_network([X.shape[1], hidden, hidden, int(data["y"].max()) + 1], rng, X.dtype)
    order = np.arange(len(X))
    optimiser, loss = torch.optim.Adam(net.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss()
    for _ in range(int(data["epochs"])):
        order = order[rng.permutation(len(X))]
        for rows in torch.from_numpy(order).split(200):
            optimiser.zero_grad()
            loss(net(X[rows]), y[rows]).backward()
            optimiser.step()
    with torch.no_grad():
        return {"proba": net(X).softmax(dim=1).numpy()}


# --- mlp-small ----------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"hidden_layer_sizes": (20,), "max_iter": 2000, "alpha": 1e-2, "random_state": 0}


def small_ours(data: Data) -> Result:
    from tercet.neural_network import MLPClassifier

    return fitted(MLPClassifier, data, **SMALL)


def small_sklearn(data: Data) -> Result:
    from sklearn.neural_network import MLPClassifier

    return fitted(MLPClassifier, data, **SMALL)


def small_torch(data: Data) -> Result:
    """The plain loop with the penalty and the stopping rule of the others."""
    import torch

    rng = np.random.RandomState(0)
    X, y = torch.from_numpy(data["X"]), torch.from_numpy(data["y"])
    net = torch_network([X.shape[1], *SMALL["hidden_layer_sizes"], int(data["y"].max()) + 1], rng, X.dtype)
    weights = [layer.weight for layer in net if hasattr(layer, "weight")]
    order, least, idle = np.arange(len(X)), np.inf, 0
    optimiser, loss = torch.optim.Adam(net.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss()
    for _ in range(SMALL["max_iter"]):
        order, total = order[rng.permutation(len(X))], 0.0
        for rows in torch.from_numpy(order).split(200):
            optimiser.zero_grad()
            penalty = SMALL["alpha"] / (2 * len(rows)) * sum((weight**2).sum() for weight in weights)
            objective = loss(net(X[rows]), y[rows]) + penalty
            objective.backward()
            optimiser.step()
            total += len(rows) * objective.item() / len(X)
        idle = idle + 1 if total > least - 1e-4 else 0
        least = min(least, total)
        if idle > 10:
            break
    with torch.no_grad():
        return {"proba": net(X).softmax(dim=1).numpy()}


OURS, SKLEARN = ("tercet.neural_network",), ("sklearn.neural_network",)
ROWS = [
    Row(
        name="mlp",
        work="multilayer perceptron, Adam, {epochs} epochs; {n} x {d}, two hidden layers of {hidden}",
        sizes={
            "full": {"n": 50_000, "d": 100, "classes": 10, "epochs": 10, "hidden": 100},
            "smoke": {"n": 500, "d": 10, "classes": 3, "epochs": 20, "hidden": 10},
        },
        data=make_rows,
        ours=Contender(adam_ours, OURS, "tercet"),
        peers={
            "scikit-learn": Contender(adam_sklearn, SKLEARN, "scikit-learn"),
            "torch": Contender(adam_torch, ("torch",), "torch"),
        },
        quality=log_loss,
        tolerance=0.01,
        figure="mean log loss on the training rows",
    ),
    Row(
        name="mlp-small",
        work="multilayer perceptron, Adam to convergence; {n} x {d}, 20 hidden units",
        sizes={
            "full": {"n": 1_000, "d": 20, "classes": 3, "epochs": 0, "hidden": 0},
            "smoke": {"n": 200, "d": 5, "classes": 3, "epochs": 0, "hidden": 0},
        },
        data=make_rows,
        ours=Contender(small_ours, OURS, "tercet"),
        peers={
            "scikit-learn": Contender(small_sklearn, SKLEARN, "scikit-learn"),
            "torch": Contender(small_torch, ("torch",), "torch"),
        },
        quality=log_loss,
        tolerance=0.01,
        figure="mean log loss on the training rows",
    ),
]
