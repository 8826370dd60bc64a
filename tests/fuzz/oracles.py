"""What must hold of every estimator, whatever it is given. One function for each oracle.

An oracle draws a case from a generator and returns if all is well; otherwise it raises `Failure`. `Refused` says
that the estimator refused the case by a documented error, `DoesNotApply` that nothing can be said about it.
"""

import copy
import os
import pickle
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from tercet.core import chunks
from tercet.core.kernel import JIT
from tercet.io import load_model, save_model
from tests.conformance.population import cut, is_sequential, output
from tests.fuzz import exemptions, tables
from tests.fuzz.parameters import FEW, draw_parameters, signature_of
from tests.fuzz.verdicts import DoesNotApply, Failure, Refused, converged, judged

ORACLES: dict[str, Callable[[Any, np.random.Generator], None]] = {}
PASSES = 1000 if JIT else 200  # as plain Python, a thousand passes of some solvers take minutes
ASKED = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


def oracle(
    function: Callable[[Any, np.random.Generator], None],
) -> Callable[[Any, np.random.Generator], None]:
    ORACLES[function.__name__] = function
    return function


class Case:
    """An estimator with its parameters and data; `notes` say what was drawn, for the report of a failure."""

    notes: dict[str, Any] = {}


def note(**things: Any) -> None:
    Case.notes.update(things)


def build(card: Any, parameters: dict[str, Any]) -> Any:
    note(parameters=parameters)
    kind = card.load()
    return kind(**parameters)


def calm(
    card: Any, rng: np.random.Generator, *, tight: bool, rows: tuple[int, int] = (12, 29)
) -> tuple[Any, ...]:
    """Parameters and data of a case that compares; iterations go to the end where `tight` is asked for."""
    parameters = draw_parameters(card, rng, wild=False, share=float(rng.random() * 0.25))
    names = signature_of(card.load())
    for name in ("kernel", "metric"):
        if parameters.get(name) == "precomputed":
            del parameters[name]
    for name in ("degree", "power"):  # of a kernel or a variance: systems that are singular by rounding
        if isinstance(parameters.get(name), float):
            parameters[name] = min(parameters[name], 3.0)
    if tight:
        long = {"tol": 1e-9, "max_iter": PASSES}.items()
        parameters.update({k: v for k, v in long if k in names and k not in FEW.get(card.name, ())})
    X, y = tables.calm_problem(rng, card, rows)
    if card.name in ("SubsetSearch", "LasVegasWrapper"):  # of all subsets, or nearly
        X = np.ascontiguousarray(X[:, :3])
    note(X=X, y=y)
    return parameters, X, y


def fit(card: Any, parameters: dict[str, Any], X: Any, y: Any, **options: Any) -> tuple[Any, list[Any]]:
    model = build(card, copy.deepcopy(parameters))
    with judged() as caught:
        model.fit(X, y, **options)
    return model, caught


def said(model: Any, X: Any) -> np.ndarray:
    """What a model says of rows; labels that are words as numbers."""
    with judged():
        try:
            return output(model, X)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            found = model.predict(X) if hasattr(model, "predict") else model.transform(X)
            flat = np.concatenate([np.asarray(part) for part in found]) if isinstance(found, list) else found
            words = np.asarray(flat).astype(str)  # None, too, of a row that is rejected
            return np.unique(words, return_inverse=True)[1].reshape(-1).astype(float)


def close(one: np.ndarray, other: np.ndarray, what: str, *, rtol: float = 1e-4, share: float = 0.0) -> None:
    """Two answers agree to `rtol` of the larger, but for a share of rows where rounding may decide."""
    if one.shape != other.shape:
        raise Failure("differs", f"{what}: shapes {one.shape} and {other.shape}")
    scale = max(np.abs(one[np.isfinite(one)]).max(initial=0.0), 1e-8)
    with np.errstate(invalid="ignore"):
        gap = np.abs(one - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    gap[same] = 0.0
    bad = ~same & ~(gap <= rtol * (scale + np.abs(one)))
    if bad.mean() > share if bad.size else False:
        raise Failure("differs", f"{what}: by up to {np.nanmax(gap):.3g} where values reach {scale:.3g}")


def _applies(name: str, card: Any, parameters: dict[str, Any]) -> None:
    reason = exemptions.reason(name, card, parameters)
    if reason:
        raise DoesNotApply(reason)


def _is_converged(caught: list[Any]) -> None:
    if not converged(caught):
        raise DoesNotApply("not converged")


@oracle
def weights(card: Any, rng: np.random.Generator) -> None:
    """A weight of k is as good as k copies of a row, and 0 as none.

    Applies where `fit` takes `sample_weight` and the method is a sum over rows; not to online methods (a row twice
    is two visits), draws of rows, folds of rows, numbers of neighbours or rows, and sequences (see `exemptions`).
    """
    parameters, X, y = calm(card, rng, tight=True)
    _applies("weights", card, parameters)
    if "gamma" in signature_of(card.load()):
        parameters["gamma"] = 0.7  # 'scale' is of the rows as they come
    weight = rng.integers(0, 4, size=len(X))
    weight[rng.permutation(len(X))[: len(X) // 2]] += 1
    if card.task == "classification":
        for c in np.unique(y):
            weight[np.flatnonzero(y == c)[:2]] += 1
    one, first = fit(card, parameters, X, y, sample_weight=weight.astype(float))
    _is_converged(first)
    many, second = fit(card, parameters, np.repeat(X, weight, axis=0), np.repeat(y, weight))
    _is_converged(second)
    close(said(one, X), said(many, X), "weighted and repeated rows", rtol=exemptions.TOLERANCE)


@oracle
def weight_units(card: Any, rng: np.random.Generator) -> None:
    """Weights in another unit, up to where floating-point numbers lose digits, give the same model.

    Applies to estimators that say so (`relative_weights`).
    """
    parameters, X, y = calm(card, rng, tight=True)
    _applies("weight_units", card, parameters)
    weight = rng.random(len(X)) + 0.1
    one, first = fit(card, parameters, X, y, sample_weight=weight)
    _is_converged(first)
    unit = 4.0 ** int(rng.integers(-505, 510))
    note(unit=unit)
    two, second = fit(card, parameters, X, y, sample_weight=weight * unit)
    _is_converged(second)
    close(said(one, X), said(two, X), "weights in another unit", rtol=exemptions.TOLERANCE)


@oracle
def order(card: Any, rng: np.random.Generator) -> None:
    """The rows in another order give the same model.

    Applies where the method is a function of a set of rows; not to online methods, draws and folds of rows, or
    methods that begin at chosen rows (see `exemptions`). Sequences are permuted as wholes.
    """
    parameters, X, y = calm(card, rng, tight=True)
    _applies("order", card, parameters)
    if is_sequential(card):
        X, y = (X, y) if isinstance(X, list) else (cut(X), cut(y))
        shuffled = rng.permutation(len(X))
        X2, y2 = [X[i] for i in shuffled], [y[i] for i in shuffled]
    else:
        shuffled = rng.permutation(len(X))
        X2, y2 = X[shuffled], y[shuffled]
    one, first = fit(card, parameters, X, y)
    _is_converged(first)
    two, second = fit(card, parameters, X2, y2)
    _is_converged(second)
    if card.family == "cluster" and hasattr(one, "labels_"):  # groups, whatever their numbers
        groups = [np.asarray(labels) for labels in (one.labels_[shuffled], two.labels_)]
        together = [labels[:, None] == labels for labels in groups]
        close(together[0].astype(float), together[1].astype(float), "groups of rows in another order")
        return
    close(said(one, X), said(two, X), "rows in another order", rtol=exemptions.TOLERANCE)


@oracle
def sparse_rows(card: Any, rng: np.random.Generator) -> None:
    """A sparse matrix, of any format and structure, gives the model and the answers of the dense array.

    Applies to estimators that take sparse rows; others must refuse them by an error that says so.
    """
    if not card.load().sparse_input:
        X, y = tables.calm_problem(rng, card)
        with judged():
            try:
                build(card, draw_parameters(card, rng, wild=False)).fit(tables.odd_sparse(rng, X), y)
            except (TypeError, ValueError) as error:
                if "parse" not in str(error) and "parameter" not in str(error):
                    raise Failure("not named", f"sparse rows were refused with: {error}") from error
                raise
        raise Failure("accepted", "sparse rows were accepted by an estimator that does not take them")
    parameters, X, y = calm(card, rng, tight=True)
    _applies("sparse_rows", card, parameters)
    X = np.where(rng.random(X.shape) < 0.4, 0.0, X)
    one, first = fit(card, parameters, X, y)
    _is_converged(first)
    matrix = tables.odd_sparse(rng, X)
    note(sparse=matrix)
    try:
        two, second = fit(card, parameters, matrix, y)
    except Refused as refusal:
        if "parse" in str(refusal):
            raise
        raise Failure("refused", f"only sparse: {refusal}") from refusal
    _is_converged(second)
    answers = said(one, X), said(two, tables.odd_sparse(rng, X))
    close(*answers, "sparse and dense rows", rtol=exemptions.TOLERANCE, share=exemptions.tied_share(card))


@oracle
def jobs(card: Any, rng: np.random.Generator) -> None:
    """Any number of threads gives the same bits. Applies where there is an `n_jobs`; chunks are small here."""
    parameters, X, y = calm(card, rng, tight=False, rows=(12, 45))
    if is_sequential(card) and not isinstance(X, list):
        X, y = cut(X), cut(y)
    elif card.load().sparse_input and not is_sequential(card) and rng.random() < 0.4:
        X = sparse.csr_array(np.where(rng.random(X.shape) < 0.4, 0.0, X))
    before = chunks.CHUNK_BYTES, chunks.GRAIN
    chunks.CHUNK_BYTES, chunks.GRAIN = 256, 4
    try:
        one, _ = fit(card, {**parameters, "n_jobs": 1}, X, y)
        two, _ = fit(card, {**parameters, "n_jobs": tables.pick(rng, 2, 3, -1)}, X, y)
        first, second = said(one, X), said(two, X)
    finally:
        chunks.CHUNK_BYTES, chunks.GRAIN = before
    if not np.array_equal(first, second, equal_nan=True):
        raise Failure("differs", f"n_jobs: by up to {np.nanmax(np.abs(first - second)):.3g}")


@oracle
def saved(card: Any, rng: np.random.Generator) -> None:
    """A model that was saved (as a model file or a pickle) has the same parameters and answers, to the bit.

    Applies to every estimator; a model that holds a function of the user's may be refused by `save_model`.
    """
    parameters, X, y = calm(card, rng, tight=False)
    model, _ = fit(card, parameters, X, y)
    expected = said(model, X)
    if rng.random() < 0.9:  # a file takes ten times as long
        again = pickle.loads(pickle.dumps(model))
    else:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder, judged():
            save_model(f"{folder}/model.skops", model, {})
            again, _ = load_model(f"{folder}/model.skops")
    if not np.array_equal(said(again, X), expected, equal_nan=True):
        raise Failure("differs", "the loaded model gives other answers")
    for name, value in model.get_params(deep=False).items():
        other = again.get_params(deep=False)[name]
        plain = isinstance(value, str | int | float | bool | None)
        if plain and (type(other) is not type(value) or not (other == value or value != value)):
            raise Failure("differs", f"the loaded model has {name}={other!r}, not {value!r}")


MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


@oracle
def containers(card: Any, rng: np.random.Generator) -> None:
    """The same numbers in another container (list, frame, Fortran order, strides, read-only) give the same answers.

    Applies to tables. The order in memory decides how sums are rounded: there, both fits go to their ends.
    """
    kind = rng.integers(8)
    reordered = kind in (1, 2, 4, 5)
    parameters, X, y = calm(card, rng, tight=reordered)
    if reordered:
        _applies("containers", card, parameters)
    X = np.round(X * 8) / 8
    one, first = fit(card, parameters, X, y)
    if reordered:
        _is_converged(first)
    names = [f"c{k}" for k in range(X.shape[1])]
    if kind == 0:
        given: Any = X.tolist()
    elif kind == 1:
        given = np.asfortranarray(X)
    elif kind == 2:
        given = np.repeat(X, 2, axis=1)[:, ::2]
    elif kind == 3:
        given = X.copy()
        given.setflags(write=False)
    elif kind == 4:
        given = pd.DataFrame(X, columns=names)
    elif kind == 5:
        given = pl.DataFrame(X, schema=names)
    elif kind == 6:
        given = X.astype(object)
    else:
        given = X.astype(">f8")
    note(given=type(given), kind=int(kind))
    try:
        two, second = fit(card, parameters, given, y)
    except Refused as refusal:
        raise Failure("refused", f"only in this container: {refusal}") from refusal
    if reordered:
        _is_converged(second)
    close(
        said(one, X),
        said(two, given),
        f"container {kind}",
        rtol=exemptions.TOLERANCE if reordered else exemptions.ROUNDING,
        share=exemptions.tied_share(card) if reordered else 0.0,
    )


@oracle
def again(card: Any, rng: np.random.Generator) -> None:
    """The same fit gives the same bits: on a new object, and on the object that was fitted to other data before.

    Applies to every estimator whose `random_state` is set, but to `warm_start`, which begins where it ended.
    """
    parameters, X, y = calm(card, rng, tight=False)
    parameters.pop("warm_start", None)
    one, _ = fit(card, parameters, X, y)
    expected = said(one, X)
    two = build(card, copy.deepcopy(parameters))
    other_X, other_y = tables.calm_problem(rng, card, rows=(12, 17))
    try:
        with judged():
            two.fit(other_X, other_y)
    except Refused:
        pass
    with judged():
        two.fit(X, y)
    if not np.array_equal(said(two, X), expected, equal_nan=True):
        raise Failure("differs", "a second fit gives other bits")


def cancellation(model: Any, X: np.ndarray, answers: np.ndarray) -> float:
    """How much larger the terms of a kernel expansion are than the sum: rounding is relative to them."""
    kernel = getattr(model, "kernel_", None)
    if not hasattr(model, "dual_coef_") or not callable(kernel) or X.dtype == object:
        return 1.0
    terms = np.abs(np.asarray(model.dual_coef_, dtype=float)).sum() * np.abs(kernel(X)).max()
    terms += np.abs(getattr(model, "intercept_", 0.0)).max()
    return max(1.0, float(terms) / max(float(np.abs(answers).max(initial=0.0)), 1e-8))


def is_tied(model: Any, X: np.ndarray) -> np.ndarray:
    """The rows whose two best scores are equal but for rounding, so that either class may be said."""
    if not model.batch_rounding or not hasattr(model, "classes_") or not hasattr(model, "decision_function"):
        return np.zeros(len(X), dtype=bool)
    with judged():
        scores = np.asarray(model.decision_function(X), dtype=float)
    if scores.ndim == 1:
        scores = np.column_stack((scores, np.zeros(len(X))))  # of two classes: against the threshold
    best = np.sort(scores, axis=1)[:, -2:]
    scale = np.abs(scores).max(axis=1) * cancellation(model, X, scores)
    return best[:, 1] - best[:, 0] <= model.batch_rounding * 10 * scale


@oracle
def batches(card: Any, rng: np.random.Generator) -> None:
    """What is said of a row does not depend on the other rows that are asked about with it.

    Applies to tables; to the bit, or to what the estimator says of its BLAS products.
    """
    parameters, X, y = calm(card, rng, tight=False)
    _applies("batches", card, parameters)
    model, _ = fit(card, parameters, X, y)
    few = tables.pick(rng, 1, 1, 2, 7, int(rng.integers(1, len(X))))
    some = np.sort(rng.permutation(len(X))[:few])
    settled = some[~is_tied(model, X[some])]
    for name in ASKED:
        if not hasattr(model, name):
            continue
        asked = settled if name == "predict" else some
        if not len(asked):
            continue
        with judged():
            whole, part = getattr(model, name)(X), getattr(model, name)(X[asked])
        whole = whole.toarray() if sparse.issparse(whole) else np.asarray(whole)
        part = part.toarray() if sparse.issparse(part) else np.asarray(part)
        if len(whole) != len(X):  # of each member
            whole, part = np.moveaxis(whole, 1, 0), np.moveaxis(part, 1, 0)
        if whole.dtype.kind != "f" or not model.batch_rounding:
            if not np.array_equal(whole[asked], part, equal_nan=whole.dtype.kind == "f"):
                raise Failure("differs", f"{name} depends on the batch")
        else:
            # of a row that is a centre, a distance is the square root of rounding
            lost = cancellation(model, X, whole[asked])
            rtol = 1e-6 if name == "transform" else model.batch_rounding * 10 * lost
            close(whole[asked], part, f"{name} in another batch", rtol=rtol)
