"""The oracle of robustness: anything goes in, an answer or a sentence comes out."""

import copy
import inspect
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from tests.conformance.population import TEXTS, is_sequential
from tests.fuzz import tables
from tests.fuzz.oracles import ASKED, build, note, oracle
from tests.fuzz.parameters import draw_illegal, draw_parameters
from tests.fuzz.verdicts import Failure, Refused, judged

# Transformers that make missing values: of outliers, of impossible values, of groups without values, of columns of
# words without dates.
MAKES_MISSING = {"OutlierCleaner", "RangeCleaner", "GroupStatistics", "DateTimeFeatures"}


@oracle
def answers(card: Any, rng: np.random.Generator) -> None:
    """Any rows, targets, weights and parameters: an answer that is finite, or a documented refusal.

    Applies to every estimator. Minus infinity is an answer of `score_samples` only: the logarithm of no density.
    """
    parameters = draw_parameters(card, rng, wild=True, share=float(rng.random() * 0.3))
    wrong = draw_illegal(card, rng) if rng.random() < 0.03 else None
    if wrong is not None:
        parameters[wrong[0]] = wrong[1]
    X, y, options, raw = _wild_input(card, rng, parameters)
    if wrong is not None:
        options.pop("sample_weight", None)  # which may be wrong, too
    model = build(card, parameters)
    before = _fingerprint(X), _fingerprint(y)
    note(X=X, y=y, options=options)
    try:
        with judged():
            model.fit(X, y, **options)
    except Refused as refusal:
        if wrong is not None and wrong[0] not in str(refusal) and not _data_is_wrong(raw):
            raise Failure("not named", f"{wrong} was refused with: {refusal}") from refusal
        raise
    if wrong is not None:
        raise Failure("illegal", f"{wrong[0]}={wrong[1]!r} was accepted", wrong[0])
    if (_fingerprint(X), _fingerprint(y)) != before and all(
        parameters.get(name, True) for name in ("copy_x", "copy_X")
    ):
        raise Failure("changed input", "fit changed the caller's data")
    check_answers(model, X, raw)
    for _ in range(2):
        fresh, numbers = _fresh_rows(card, rng, X, raw)
        note(asked=fresh)
        try:
            check_answers(model, fresh, numbers)
        except Refused:
            continue


KEEPS_MISSING = ("OrdinalEncoder", "HashBucketEncoder")  # words that are missing stay missing


def _data_is_wrong(raw: Any) -> bool:
    return raw is None or not isinstance(raw, np.ndarray) or not raw.size or not np.isfinite(raw).all()


def _fingerprint(thing: Any) -> Any:
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return thing.tobytes()
    if sparse.issparse(thing) and thing.format in ("csr", "csc"):
        return thing.data.tobytes(), thing.indices.tobytes()
    return None


def _wild_input(
    card: Any, rng: np.random.Generator, parameters: dict[str, Any]
) -> tuple[Any, Any, dict, Any]:
    """X, y, keyword arguments of fit, and X as the plain numbers it was made of (None for sequences)."""
    if is_sequential(card):
        return _wild_sequences(card, rng)
    n, d = tables.wild_shape(rng)
    if card.name in TEXTS and rng.random() < 0.9:
        return tables.wild_texts(rng, n), None, {}, None
    raw = tables.wild_numbers(rng, n, d)
    if "precomputed" in (parameters.get("kernel"), parameters.get("metric")) and rng.random() < 0.7:
        raw = (
            np.abs(raw @ raw.T)
            if d and np.isfinite(raw).all() and np.abs(raw).max(initial=0) < 1e100
            else raw
        )
    suits = tables.positive_only(card) or card.name.startswith(("Multinomial", "Complement"))
    if suits and rng.random() < 0.8:
        raw = np.abs(raw)
    y = tables.wild_target(rng, card, raw)
    X = tables.wild_container(rng, raw, sparse_share=0.2 if card.load().sparse_input else 0.02)
    options = {}
    if "sample_weight" in inspect.signature(card.load().fit).parameters:
        weight = tables.wild_weight(rng, n)
        if weight is not None:
            options["sample_weight"] = weight
    return X, y, options, raw


def _wild_sequences(card: Any, rng: np.random.Generator) -> tuple[Any, Any, dict, Any]:
    n = int(rng.integers(0, 41))
    raw = tables.wild_numbers(rng, n, int(rng.integers(1, 5)))
    if card.name in ("CategoricalHMM", "PoissonHMM") and rng.random() < 0.9:
        with np.errstate(all="ignore"):
            raw = np.floor(np.abs(np.nan_to_num(raw)).clip(0, 20))
        raw = raw[:, :1] if card.name == "CategoricalHMM" else raw
    states = rng.integers(tables.pick(rng, 1, 2, 3), size=n)
    X: Any = raw
    y: Any = states
    if card.name == "HMMTagger":
        X = [str(v)[:3] for v in raw[:, 0]]
        y = states.tolist()
    elif card.name in ("CRF", "MEMM", "StructuredPerceptron") and rng.random() < 0.5:
        X = [{"a": float(row[0]), f"w={int(10 * np.nan_to_num(row[-1].clip(-9, 9)))}": True} for row in raw]
        y = [("N", "V", "X")[s] for s in states]
    elif rng.random() < 0.5:
        y = np.where(rng.random(n) < 0.3, -1, states)
    borders = np.sort(rng.integers(0, n + 1, size=int(rng.integers(0, 5))))
    if isinstance(X, list) or rng.random() < 0.6:
        parts = np.split(np.arange(n), borders)
        if rng.random() < 0.9:
            parts = [part for part in parts if part.size]
        X = [[X[i] for i in part] if isinstance(X, list) else X[part] for part in parts]
        y = [[y[i] for i in part] if isinstance(y, list) else y[part] for part in parts]
        options = {}
    else:
        options = {"lengths": np.diff([0, *borders, n])} if rng.random() < 0.7 else {}
    if card.name.endswith("HMM") and rng.random() < 0.5:
        y = None
    if rng.random() < 0.3:
        weight = tables.wild_weight(rng, len(X) if isinstance(X, list) else len(options.get("lengths", [0])))
        if weight is not None:
            options["sample_weight"] = weight
    return X, y, options, None


def _fresh_rows(card: Any, rng: np.random.Generator, X: Any, raw: Any) -> tuple[Any, Any]:
    """Rows to ask about, and the plain numbers they were made of."""
    if raw is None:
        X = copy.copy(X)
        if isinstance(X, list):
            return X[: int(rng.integers(0, len(X) + 1))], None
        return X[: int(rng.integers(0, len(X) + 1))] * tables.pick(rng, 1.0, -1.0, 1e200), None
    wide = raw.shape[1] if rng.random() < 0.95 else raw.shape[1] + 1
    rows = tables.wild_numbers(rng, int(rng.integers(0, 12)), wide)
    if tables.positive_only(card):
        rows = np.abs(rows)
    return tables.wild_container(rng, rows, sparse_share=0.2 if card.load().sparse_input else 0.0), rows


def check_answers(model: Any, X: Any, raw: Any) -> None:
    """Ask a fitted model all that it can be asked about rows: finite, in shape, probabilities that add up."""
    n = X.shape[0] if hasattr(X, "shape") and X.shape else len(X) if hasattr(X, "__len__") else None
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":  # in half precision more is infinite
        raw = X
    elif isinstance(X, np.ndarray) and X.dtype.kind == "U" and (X == "nan").any():  # read as numbers
        raw = np.full(X.shape, np.nan)
    for name in ASKED:
        with judged() as caught:
            ask = getattr(model, name, None)
            if ask is None:
                continue
            found = ask(X)
        if isinstance(found, tuple):  # of an HMM: the score of all sequences, and posteriors
            check_answer(model, name, found[0], None, raw, False)
            continue
        flat = found if not isinstance(found, list) else _joined(found)
        warned = any(
            issubclass(note.category, UserWarning) for note in caught
        )  # such as: no neighbours, so NaN
        check_answer(model, name, flat, n if not isinstance(found, list) else None, raw, warned)


def _joined(found: list[Any]) -> Any:
    arrays = [np.asarray(part) for part in found]
    if arrays and len({part.shape[1:] for part in arrays}) == 1 and arrays[0].ndim:
        return np.concatenate(arrays)
    return np.concatenate([part.ravel() for part in arrays]) if arrays else np.zeros(0)


def check_answer(model: Any, name: str, found: Any, n: int | None, raw: Any, warned: bool) -> None:
    if sparse.issparse(found):
        found = found.toarray()
    if isinstance(found, pd.DataFrame | pl.DataFrame | pd.Series):
        found = found.to_numpy()
    found = np.asarray(found)
    place = f"{type(model).__name__}.{name}"
    if name == "transform" and found.ndim == 3 and not getattr(model, "flatten_transform", True):
        found = np.moveaxis(found, 1, 0)  # of each member
    if n is not None and found.shape[:1] != (n,):
        raise Failure("shape", f"{place} has the shape {found.shape} for {n} rows", place)
    if found.dtype.kind not in "fc":
        return
    if warned and not np.isfinite(found).all():
        return
    makes_missing = type(model).__name__ in MAKES_MISSING
    kept = name == "transform" and raw is not None and (makes_missing or not np.isfinite(raw).all())
    kept = kept or type(model).__name__ in KEEPS_MISSING
    if np.isnan(found).any() and not kept:
        raise Failure("not finite", f"{place} has NaN", place)
    if name == "score_samples":
        found = found[found != -np.inf]
    if np.isinf(found).any() and not kept:
        raise Failure("not finite", f"{place} has infinite values", place)
    if name == "predict_proba" and found.ndim == 2 and found.size and isinstance(n, int):
        total = found.sum(axis=1)
        # as scikit-learn's: zeros where every class says no, and of outliers whose label is no class
        if type(model).__name__ in ("OneVsRestClassifier", "RadiusNeighborsClassifier"):
            total[total == 0] = 1.0
        single = getattr(model, "multilabel_", getattr(model, "_is_multilabel", False))
        if found.min() < 0 or found.max() > 1 + 1e-6 or (not single and np.abs(total - 1).max() > 1e-4):
            raise Failure(
                "probabilities", f"{place}: from {found.min()} to {found.max()}, sums {total[:5]}", place
            )
