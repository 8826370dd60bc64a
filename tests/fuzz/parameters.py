"""Parameters of an estimator, drawn from the type hints of its constructor.

What a hint allows is drawn with its ends and odd values among it; where a hint says no more than "a list" or
"anything", the name says what it is for. A value that the hint does not allow is drawn on purpose now and then: it
has to be refused by a sentence that names the parameter.
"""

import functools
import inspect
import types
import typing
from typing import Annotated, Any, Literal, Union

import numpy as np

from tercet.core.parameters import Range, allows, hints
from tests.conformance.population import NARROW, make

# Work grows with these without any limit of the data's: what takes long with a huge value is as it should be.
WORK = (
    "max_iter", "n_iter", "max_iterations", "n_init", "n_restarts", "n_jumps", "n_draws", "cv", "degree",
    "calibration_samples", "calibration_candidates", "calibration_max_trials", "n_bins", "alphas", "Cs",
    "max_components", "min_components", "num_memories", "n_mix", "verbose", "k", "min_categories", "n_features",
    "code_size", "n_estimators", "max_restarts", "max_samples", "n_components", "n_measurements",
    "n_resamples", "hidden_units", "n_constraints", "n_units", "max_units", "n_candidates", "n_steps",
)  # fmt: skip
# Left alone: they decide what is printed or kept, or take what only a test of their own can give.
LEFT = {
    "verbose",
    "memory",
    "estimator",
    "estimators",
    "random_state",
    "n_jobs",
    "record",
    "check_input",
    "time_limit",  # the clock decides then
    "input",  # texts are not paths
    "map",
}
# Candidates, folds, members and topics of a case: as many as show what more would.
FEW: dict[str, dict[str, Any]] = {
    **NARROW,
    "BisectingKMeans": {"n_clusters": 3},
    "CRF": {"max_iterations": 100},
    "ForwardStagewiseRegressor": {"n_estimators": 4},
    "GaussianMixtureIC": {"max_components": 2, "covariance_type": ["diag"], "cv": 2, "max_iter": 10},
    "GraphCRF": {"max_iter": 30},
    "HingeSVC": {"max_iter": 50},
    "KNeighborsClassifierCV": {"ks": [1, 3], "cv": 2},
    "KNeighborsRegressorCV": {"ks": [1, 3], "cv": 2},
    "LasVegasWrapper": {"max_failures": 2, "max_iter": 3, "cv": 2},
    "LMNN": {"max_iter": 30},
    "LatentDirichletAllocation": {"n_components": 3, "max_iter": 10},
    "LogisticRegressionCV": {"Cs": [1.0], "cv": 2, "max_iter": 100},
    "MaxEnt": {"max_iter": 200},
    "MiniBatchDictionaryLearning": {"max_iter": 20},
    "MiniBatchNMF": {"max_iter": 20},
    "ObliqueTreeClassifier": {"n_restarts": 2, "n_jumps": 1},
    "PenalizedClassifier": {"max_iter": 100},
    "PenalizedRegressor": {"max_iter": 200},
    "PLSA": {"n_components": 3, "max_iter": 300},
    "PolynomialRegression": {"max_degree": 3},
    "StackingClassifier": {"cv": 2},
    "StackingRegressor": {"cv": 2},
    "SemiSupervisedGaussianMixture": {"max_iter": 100},
    "SubsetSearch": {"cv": 2},
    "SVCCV": {"kernels": ("rbf",), "gammas": (1.0,), "Cs": (1.0,), "cv": 2},
}
CALM_FLOATS = (0.01, 0.1, 0.3, 0.5, 0.9, 1.0, 1.5, 2.0, 10.0, 100.0)
WILD_FLOATS = (0.0, 5e-324, 1e-300, 1e-12, 1e-3, 0.999999, 1.0, 1e3, 1e12, 1e154, 1e300, float("inf"))
INTEGERS = (1, 1, 2, 2, 3, 3, 4, 5, 7, 10)
ILLEGAL: tuple[Any, ...] = (-1e9, "no such value", 0.5, -3, None, float("nan"), 1e300, True, b"x", 1 + 2j)


@functools.cache
def signature_of(kind: type) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(kind).parameters)


def draw_parameters(
    card: Any, rng: np.random.Generator, *, wild: bool, share: float = 0.25
) -> dict[str, Any]:
    """Values for some of the parameters of a card's estimator; the others stay at their defaults."""
    kind = card.load()
    allowed = hints(kind)
    found: dict[str, Any] = dict(FEW.get(card.name, {}))
    for name, parameter in signature_of(kind).items():
        if name in LEFT or name not in allowed or rng.random() >= share:
            continue
        value = _by_name(name, card, rng, wild)
        if value is NOTHING:
            value = draw_value(allowed[name], rng, name, wild=wild)
        if value is not NOTHING and allows(allowed[name], value) and value is not parameter.default:
            found[name] = value
    if "random_state" in signature_of(kind):
        found["random_state"] = int(rng.integers(1000))
    if "estimator" in signature_of(kind):
        found["estimator"] = _member(card)
    if "estimators" in signature_of(kind):
        members = make(card).estimators
        if card.task == "classification":  # both give probabilities
            from tercet.linear_model import LogisticRegression
            from tercet.naive_bayes import GaussianNB

            members = [("logistic", LogisticRegression()), ("bayes", GaussianNB())]
        found["estimators"] = members
    return found


def _member(card: Any) -> Any:
    """What a meta-estimator is made of: cheap, since it is fitted many times."""
    from tercet.linear_model import LogisticRegression, Ridge
    from tercet.naive_bayes import GaussianNB

    if card.task == "regression":
        return Ridge()
    return LogisticRegression() if card.name == "StabilitySelection" else GaussianNB()


def draw_illegal(card: Any, rng: np.random.Generator) -> tuple[str, Any] | None:
    """A parameter and a value that its hint does not allow; None where everything is allowed."""
    allowed = hints(card.load())
    names = [name for name in allowed if name != "estimator"]
    if not names:
        return None
    name = names[rng.integers(len(names))]
    values = [value for value in ILLEGAL if not allows(allowed[name], value)]
    return (name, values[rng.integers(len(values))]) if values else None


NOTHING = object()


def draw_value(hint: Any, rng: np.random.Generator, name: str, *, wild: bool) -> Any:
    """A value that a hint allows, or NOTHING where the hint alone does not tell one."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        choices = [choice for choice in args if _tells(choice)]
        return draw_value(choices[rng.integers(len(choices))], rng, name, wild=wild) if choices else NOTHING
    if origin is Literal:
        return args[rng.integers(len(args))]
    if hint is None or hint is type(None):
        return None
    if hint is bool:
        return bool(rng.integers(2))
    limits = (
        next((note for note in args[1:] if isinstance(note, Range)), None) if origin is Annotated else None
    )
    base = args[0] if origin is Annotated else hint
    if base is int:
        return _integer(limits, rng, name, wild)
    if base is float:
        return _float(limits, rng, wild)
    return NOTHING


def _tells(hint: Any) -> bool:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return args[0] in (int, float)
    return origin is Literal or hint in (None, type(None), bool, int, float)


def _integer(limits: Range | None, rng: np.random.Generator, name: str, wild: bool) -> int:
    low = 0 if limits is None else int(limits.low)
    if wild and rng.random() < 0.1:
        few = name in WORK
        return (
            low if rng.random() < 0.5 or few else int((low + 50, 10_000, 2**31 - 1, 2**40)[rng.integers(4)])
        )
    value = low - 1 + INTEGERS[rng.integers(len(INTEGERS))]
    if name in ("max_iter", "n_iter", "max_iterations") and not wild:
        value = max(value, 50)
    return value if limits is None or value in limits else low


def _float(limits: Range | None, rng: np.random.Generator, wild: bool) -> float:
    values = WILD_FLOATS if wild and rng.random() < 0.3 else CALM_FLOATS
    value = values[rng.integers(len(values))]
    if limits is None or value in limits:
        return value
    if np.isfinite(limits.high) and np.isfinite(limits.low):
        return limits.low + (limits.high - limits.low) * (0.1 + 0.8 * rng.random())
    return limits.low + 1.0 if np.isfinite(limits.low) else 1.0


def _by_name(name: str, card: Any, rng: np.random.Generator, wild: bool) -> Any:
    """What a parameter of a vague type is for: folds, weights of classes, probabilities, codes."""
    if name == "cv":
        return int(rng.integers(2, 4))
    if name == "degree" and card.name == "PolynomialRegression":  # of several features: their number explodes
        return (0, 1, 2, 3, "cv")[rng.integers(5)]
    if name == "class_weight" and rng.random() < 0.4:
        return {0: 2.0, 1: 0.5, "b": 3.0}
    if name in ("priors", "class_prior") and card.task == "classification":
        k = int(rng.integers(2, 4))
        return (np.ones(k) / k).tolist() if rng.random() < 0.7 else [0.1, 0.9]
    if name == "l1_ratio" and card.name.endswith("CV"):
        return [0.2, 1.0]
    if name == "alphas":
        return [0.1, 1.0]
    if name in ("metric", "kernel") and not wild and card.family != "cluster":
        return NOTHING
    if name == "metric" and card.name in ("AgglomerativeClustering", "KMedoids"):
        return ("euclidean", "l1", "l2", "manhattan", "cosine", "precomputed")[rng.integers(6 if wild else 5)]
    if name == "categorical_features":
        return [None, "from_dtype", [0]][rng.integers(3)]
    return NOTHING
