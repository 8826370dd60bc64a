"""The row of the conditional random field.

Everyone minimises CRFsuite's objective over the weights of the pairs that the data show,

    sum over sequences of -log P(y|x) + c2 |w|^2, c2 = 1, without an L1 penalty.

A peer's weights come back by the names of attributes and labels; the figure is computed from them in NumPy alone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import THREADS, Contender, Data, Result, Row

C2 = 1.0
# CRFsuite stops when its objective fell by less than DELTA of itself in PERIOD passes: as early as it may.
PERIOD, DELTA = 10, 4e-4


def make_crf(
    rng: np.random.Generator, n: int, length: int, labels: int, attributes: int, active: int, exponent: float
) -> Data:
    """Tokens of `active` Zipf-drawn attributes; labels drawn from left to right by random weights."""
    frequency = (np.arange(attributes) + 50.0) ** -exponent
    columns = rng.choice(attributes, size=(n, length, active), p=frequency / frequency.sum())
    weights = rng.normal(size=(attributes, labels)).astype(np.float32)
    steps = rng.normal(size=(labels, labels))
    y = np.empty((n, length), dtype=np.int64)
    for t in range(length):
        score = weights[columns[:, t]].sum(axis=1) + (steps[y[:, t - 1]] if t else 0.0)
        y[:, t] = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    return {"columns": columns.astype(np.int32), "y": y, "attributes": attributes, "labels": labels}


def as_tokens(data: Data) -> Data:
    """Sentences as both libraries take them: lists of strings, and labels that are strings."""
    names = np.array([f"a{j}" for j in range(int(data["attributes"]))], dtype=object)
    labels = np.array([f"l{k:02}" for k in range(int(data["labels"]))], dtype=object)
    X = [[names[token].tolist() for token in sentence] for sentence in data["columns"]]
    return {
        "X": X,
        "y": [labels[sentence].tolist() for sentence in data["y"]],
        "shape": (names.size, labels.size),
    }


def crf_ours(data: Data) -> Result:
    from tercet.sequence import CRF

    model = CRF(c2=C2, period=3, delta=1e-4, n_jobs=THREADS).fit(data["X"], data["y"])
    names = np.array([int(name[1:]) for name in model.attributes_])
    labels = np.array([int(label[1:]) for label in model.classes_])
    state, step = np.zeros(data["shape"]), np.zeros((data["shape"][1],) * 2)
    attribute, label = model.state_pairs_.T
    state[names[attribute], labels[label]] = model.state_weights_
    step[tuple(labels[model.transition_pairs_].T)] = model.transition_weights_
    return {"state": state, "step": step}


def crf_crfsuite(data: Data, period: int = PERIOD, delta: float = DELTA) -> Result:
    import pycrfsuite

    settings = {"c1": 0.0, "c2": C2, "period": period, "delta": delta}
    trainer = pycrfsuite.Trainer("lbfgs", settings, verbose=False)
    for sentence, labels in zip(data["X"], data["y"]):
        trainer.append(sentence, labels)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        trainer.train(str(file))
        return {"file": np.frombuffer(file.read_bytes(), dtype=np.uint8)}


def crf_optimum(data: Data) -> Result:
    return crf_crfsuite(as_tokens(data), delta=1e-8)


def tables(data: Data, result: Result) -> Result:
    """The weights as tables. To read those of CRFsuite's file takes long, and is not counted."""
    if "file" not in result:
        return result
    import pycrfsuite

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        file.write_bytes(np.asarray(result["file"]).tobytes())
        tagger = pycrfsuite.Tagger()
        with tagger.open(str(file)):
            info = tagger.info()
    labels = int(data["labels"])
    state, step = np.zeros((int(data["attributes"]), labels)), np.zeros((labels, labels))
    for (name, label), w in info.state_features.items():
        state[int(name[1:]), int(label[1:])] = w
    for (before, label), w in info.transitions.items():
        step[int(before[1:]), int(label[1:])] = w
    return {"state": state, "step": step}


def objective_crf(data: Data, result: Result) -> float:
    """The objective at the returned weights, by a forward pass over all sentences at a time."""
    weights = tables(data, result)
    columns, y, state, step = data["columns"], data["y"], weights["state"], weights["step"]
    n, length = y.shape
    everyone = np.arange(n)
    value, alpha = C2 * float((state**2).sum() + (step**2).sum()), None
    for t in range(length):
        score = state[columns[:, t]].sum(axis=1)
        value -= float(score[everyone, y[:, t]].sum())
        if alpha is None:
            alpha = score
            continue
        value -= float(step[y[:, t - 1], y[:, t]].sum())
        top = alpha.max(axis=1, keepdims=True)
        alpha = np.log(np.exp(alpha - top) @ np.exp(step)) + top + score
    top = alpha.max(axis=1)
    return value + float((np.log(np.exp(alpha - top[:, None]).sum(axis=1)) + top).sum())


ROWS = [
    Row(
        name="crf",
        work="conditional random field, L2, c2=1; {n} sentences of {length}, {labels} labels, "
        "{attributes} attributes, {active} per token",
        sizes={
            "full": {
                "n": 5_000,
                "length": 20,
                "labels": 20,
                "attributes": 100_000,
                "active": 10,
                "exponent": 0.8,
            },
            "smoke": {"n": 60, "length": 6, "labels": 4, "attributes": 200, "active": 4, "exponent": 0.8},
        },
        data=make_crf,
        ours=Contender(crf_ours, ("tercet.sequence",), "tercet", prepare=as_tokens),
        peers={
            "python-crfsuite": Contender(
                crf_crfsuite, ("pycrfsuite",), "python-crfsuite", threads=1, prepare=as_tokens
            ),
        },
        quality=objective_crf,
        optimum=crf_optimum,
        tolerance=1e-4,
        figure="objective",
    )
]
