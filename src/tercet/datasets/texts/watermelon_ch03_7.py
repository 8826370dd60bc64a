"""Watermelon notes, chapter 3, section 3.5: competitive learning, SOM and ART."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

ROWS = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0]]
LINE = [[0.2, 0.6], [0.5, 0.5], [0.9, 0.1]]


def resonance(X: Any, vigilances: list[float]) -> dict[str, Any]:
    from tercet.neural_network import ART1

    models = {rho: ART1(rho, L=2).fit(X) for rho in vigilances}
    labels = {f"labels, ρ = {rho:g}": model.labels_.tolist() for rho, model in models.items()}
    return {**labels, "templates": models[vigilances[-1]].templates_.tolist()}


def map_step(W: Any, x: Any, eta: float, sigma: float) -> dict[str, Any]:
    from tercet.neural_network import SOM

    gaps = SOM(len(W), init=W, transform_to="distances", max_iter=1).fit(W)
    gaps.weights_ = np.array(W)[None]
    model = SOM(
        len(W), algorithm="online", init=W, eta0=eta, eta_decay="constant", sigma0=sigma, sigma_decay="constant",
        max_iter=1,
    ).fit([x])  # fmt: skip
    return {
        "squared distances": gaps.transform([x])[0] ** 2,
        "winner": gaps.winner(x)[1] + 1,
        "W": model.weights_[0],
    }


def winner_step(W: Any, x: Any, eta: float) -> dict[str, Any]:
    from tercet.neural_network import CompetitiveLearning

    model = CompetitiveLearning(len(W), init=W, eta0=eta, eta_decay="constant", max_iter=1).fit([x])
    return {"winner": int(model.labels_[0]) + 1, "W": model.cluster_centers_}


def fuzzy_resonance(X: Any, vigilances: list[float]) -> dict[str, Any]:
    from tercet.neural_network import FuzzyART

    found: dict[str, Any] = {}
    for rho in vigilances:
        model = FuzzyART(rho).fit(X)
        low, high = model.boxes()
        found[f"labels, ρ = {rho:g}"] = model.labels_.tolist()
        found[f"boxes, ρ = {rho:g}"] = np.hstack([low, high])
    return found


EXAMPLES = [
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="competitive learning: only the winner moves",
        zh="竞争型学习：只有获胜单元移动",
        given={"W": LINE, "x": [0.6, 0.3], "eta": 0.5},
        call=winner_step,
        expected={"winner": 2, "W": [[0.2, 0.6], [0.55, 0.4], [0.9, 0.1]]},
        note="derived: w += η (x - w)",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="a self-organising map of three units on a line sees one row",
        zh="排成一行的三个单元构成的自组织映射看到一个样本",
        given={"W": LINE, "x": [0.6, 0.3], "eta": 0.5, "sigma": 1.0},
        call=map_step,
        expected={
            "squared distances": [0.25, 0.05, 0.13],
            "winner": 2,
            "W": [[0.3213061319, 0.509020401], [0.55, 0.40], [0.809020401, 0.160653066]],
        },
        note="derived: w += η h (x - w) with h = exp(-d²/(2σ²)), d the distance on the line",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="ART1: a higher vigilance gives finer categories",
        zh="ART1：警戒参数越高，类别越细",
        given={"X": ROWS, "vigilances": [0.3, 0.5, 0.7]},
        call=resonance,
        expected={
            "labels, ρ = 0.3": [0, 0, 1, 1, 0],
            "labels, ρ = 0.5": [0, 0, 1, 1, 2],
            "labels, ρ = 0.7": [0, 0, 1, 2, 3],
            "templates": [[1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0]],
        },
        note="derived; each row is seen once, fast learning, L = 2",
    ),
    Example(
        place="watermelon notes ch. 3, sec. 3.5",
        title="fuzzy ART: categories are boxes, whose size the vigilance limits",
        zh="模糊 ART：类别是盒子，其大小受警戒参数限制",
        given={"X": [[0.1, 0.1], [0.2, 0.1], [0.8, 0.9], [0.9, 0.8]], "vigilances": [0.8, 0.95]},
        call=fuzzy_resonance,
        expected={
            "labels, ρ = 0.8": [0, 0, 1, 1],
            "boxes, ρ = 0.8": [[0.1, 0.1, 0.2, 0.1], [0.8, 0.8, 0.9, 0.9]],
            "labels, ρ = 0.95": [0, 0, 1, 2],
            "boxes, ρ = 0.95": [[0.1, 0.1, 0.2, 0.1], [0.8, 0.9, 0.8, 0.9], [0.9, 0.8, 0.9, 0.8]],
        },
        note="derived: a box of sides s passes where 2 - Σ s >= 2ρ; complement coding, β = 1",
    ),
]
