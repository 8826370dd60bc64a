"""Models whose fitted attributes were changed, of every estimator: refused when they are loaded, or harmless.

Compiled kernels check no bounds, and a wrong index is not an error there but a read of other memory. So the changed
models are made only where kernels are plain Python (`TERCET_JIT=0`, in `make modes`) or check bounds (in `make
test-deep`).
"""

import copy
import inspect
import linecache

import numpy as np
import pytest
from scipy import sparse

from tercet.core.estimator import Estimator
from tercet.core.fitted_checks import declared
from tercet.core.kernel import BOUNDS, JIT
from tercet.tree import DecisionTreeClassifier
from tests.conformance.population import CARDS, data, make

ASKED = (
    "predict", "predict_proba", "decision_function", "transform", "score_samples", "kneighbors", "radius_neighbors",
    "apply", "cut",
)  # fmt: skip
RECORDS = ("history_", "n_iter_", "lower_bounds_", "feature_names_in_", "results_")  # for people to read
# Other kinds of attributes than those of the defaults on a table of numbers: parameters, and how X is given.
MORE = [
    ("AdaBoostClassifier", {"algorithm": "samme.r"}, "two classes"),
    ("BaggingClassifier", {"max_features": 0.5}, "words"),
    ("BayesianGaussianMixture", {"n_components": 2, "covariance_type": "tied"}, None),
    ("BayesianNetwork", {}, "words"),
    ("BayesianNetworkClassifier", {}, "words"),
    ("BernoulliMixture", {"n_components": 2}, None),
    ("CN2Classifier", {"algorithm": "unordered"}, "words"),
    ("CRF", {"algorithm": "ap", "transition_attributes": "x0"}, None),
    ("CategoricalMixture", {"n_components": 2}, "words"),
    ("CategoricalNB", {}, "words"),
    ("DecisionTreeClassifier", {"algorithm": "c45"}, "words"),
    ("DecisionTreeClassifier", {}, "outputs"),
    ("GaussianMixture", {"n_components": 2, "covariance_type": "diag"}, None),
    ("GradientBoostingClassifier", {"init": DecisionTreeClassifier()}, "two classes"),
    ("HMMTagger", {"unseen": "suffix"}, None),
    ("HistGradientBoostingClassifier", {}, "words"),
    ("IsolationForest", {"max_features": 0.5}, None),
    ("KNeighborsClassifier", {"algorithm": "kd_tree", "weights": "distance"}, "outputs"),
    ("KNeighborsClassifier", {}, "sparse"),
    ("KernelRidge", {"kernel": "precomputed"}, "gram"),
    ("KernelRidge", {}, "outputs"),
    ("LSSVR", {}, "outputs"),
    ("LinearDiscriminantAnalysis", {"solver": "eigen"}, None),
    ("LogisticRegression", {}, "two classes"),
    ("MaxEnt", {}, "sparse"),
    ("MixedNB", {}, "words"),
    ("MultinomialMixture", {"n_components": 2}, None),
    ("RIPPERClassifier", {}, "words"),
    ("RandomForestClassifier", {}, "outputs"),
    ("RandomForestClassifier", {}, "words"),
    ("RidgeClassifier", {}, "outputs"),
    ("RidgeClassifier", {}, "two classes"),
    ("SVC", {"calibration": "isotonic", "multi_class": "ecoc"}, None),
    ("SVC", {"calibration": "platt", "kernel": "linear"}, "sparse"),
    ("SVC", {"kernel": "precomputed"}, "gram"),
    ("TAN", {}, "words"),
]  # fmt: skip


def given(card, form):
    """Rows and targets that suit a card, in another form."""
    X, y = data(card, n=24)
    if form == "sparse":
        X = sparse.csr_array(np.where(X < 0.3, 0.0, X))
    elif form == "gram":
        X = X @ X.T
    elif form == "words":
        X = np.column_stack(
            [np.array(["a", "b", "c"])[(3 * X[:, :2]).astype(int).clip(0, 2)], X[:, 2:] > 0.5]
        )
    elif form == "outputs":
        y = np.column_stack([y > 0, y > 1]).astype(int)
    elif form == "two classes":
        y = y > 0
    return X, y


def forged_arrays(array):
    """An array with each of the changes that its shape and type allow."""
    for axis in range(array.ndim):
        one = np.ones_like(array, shape=[1 if k == axis else n for k, n in enumerate(array.shape)])
        yield f"longer along axis {axis}", np.concatenate([array, one], axis)
        yield f"50 times along axis {axis}", np.concatenate([array] * 50, axis)
        yield f"empty along axis {axis}", array.take([], axis)
        if array.shape[axis]:
            yield f"shorter along axis {axis}", array.take(range(array.shape[axis] - 1), axis)
    if array.dtype != object or not any(isinstance(item, np.ndarray) for item in array.flat):
        yield "as text", array.astype(str)
    yield "with more axes", array.reshape(-1)[:, None, None, None]
    last = (-1,) * array.ndim
    values = ()
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        values = (-1, max(-(10**6), limits.min), min(10**6, limits.max))
        yield "as floats", array + 0.5
    elif array.dtype.kind == "f":
        values = (np.nan, np.inf, -1e9)
        yield "as complex numbers", array + 1j
    for value in values if array.size else ():
        changed = array.copy()
        changed[last] = value
        yield f"with {value}", changed
        yield f"of {value}", np.full_like(array, value)


def forged(value):
    """What a fitted value might be in a forged file, each with a name."""
    if isinstance(value, np.ndarray):
        yield from forged_arrays(value)
        yield "None", None
        for place in {0, value.size - 1} if value.dtype == object and value.size else ():
            for name, other in forged(value.flat[place]):
                changed = value.copy()
                changed.flat[place] = other
                yield f"[{place}] {name}", changed
    elif sparse.issparse(value):
        for name, other in forged_arrays(value.toarray()):
            if other.ndim == 2 and other.dtype.kind == "f":
                yield name, type(value)(other)
        for end in (-1, 10**6):
            other = value.copy()
            other.indices = np.full_like(value.indices, end)
            yield f"with indices {end}", other
    elif isinstance(value, bool):
        yield "negated", not value
    elif isinstance(value, int | np.integer):
        for other in (value + 1, value - 1, -1, 0, 10**6, 0.5, None):
            yield f"{other}", other
    elif isinstance(value, float | np.floating):
        for other in (np.nan, np.inf, -1.0, "text", None, np.ones(3)):
            yield f"{other}", other
    elif isinstance(value, str):
        yield "another text", "another text"
    elif isinstance(value, list | tuple):
        kind = type(value)
        yield "an item more", kind([*value, *value[:1]])
        yield "an item less", kind(value[:-1])
        for place in {0, len(value) - 1} if value else ():
            for name, other in forged(value[place]):
                yield f"[{place}] {name}", kind([*value[:place], other, *value[place + 1 :]])
    elif isinstance(value, dict):
        for last in list(value)[-1:]:
            yield "a key less", {key: item for key, item in value.items() if key != last}
            for name, other in forged(value[last]):
                yield f"[{last!r}] {name}", {**value, last: other}
    elif type(value).__module__.startswith("tercet."):
        yield "None", None
        state = dict(value.__getstate__() or {})
        parameters = value.get_params(deep=False) if hasattr(value, "get_params") else ()
        for key in state.keys() - {*RECORDS, *parameters}:
            for name, other in forged(state[key]):
                yield f".{key} {name}", Saved(type(value), {**state, key: other})


class Saved:
    """The state of an object in a file."""

    def __init__(self, kind, state):
        self.kind, self.state = kind, state

    def load(self):
        """Restore the object as pickle, joblib and skops do."""
        thing, state = self.kind.__new__(self.kind), {key: loaded(value) for key, value in self.state.items()}
        if hasattr(thing, "__setstate__"):
            thing.__setstate__(state)
        else:
            vars(thing).update(state)
        return thing


def loaded(value):
    if isinstance(value, Saved):
        return value.load()
    if type(value) in (list, tuple):
        return type(value)(map(loaded, value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        made = np.empty_like(value)
        for place, item in enumerate(value.flat):
            made.flat[place] = loaded(item)
        return made
    if isinstance(value, dict) and any(isinstance(item, Saved) for item in value.values()):
        return {key: loaded(item) for key, item in value.items()}
    return copy.deepcopy(value)


def ask(model, X, y):
    """Whatever a model can be asked of rows, and a further batch."""
    for name in ASKED:
        if callable(getattr(model, name, None)):
            getattr(model, name)(2 if name == "cut" else X)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y)


def is_refusal(error):
    """Whether a `raise` of Tercet or of scikit-learn made an error, and not an operation that went wrong."""
    last = inspect.getinnerframes(error.__traceback__, context=0)[-1]
    package = last.frame.f_globals.get("__name__", "").split(".")[0]
    line = linecache.getline(last.filename, last.lineno)
    return isinstance(error, ValueError) and package in ("tercet", "sklearn") and "raise " in line


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_estimator_says_what_its_kernels_rely_on(card):
    kind = card.load()
    assert issubclass(kind, Estimator)
    if not card.name.endswith("HMM"):  # these check their parameters at every call: they are set by hand, too
        assert declared(kind).keys() > {"n_features_in_", "classes_"}


if BOUNDS or not JIT:

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize(
        ("name", "parameters", "form"),
        [*((card.name, {}, None) for card in CARDS), *MORE],
        ids=lambda value: value if isinstance(value, str) else ",".join(map(str, (value or {}).values())),
    )
    def test_forged_attributes_are_refused_or_harmless(name, parameters, form):
        (card,) = [card for card in CARDS if card.name == name]
        X, y = given(card, form)
        model = make(card, **parameters).fit(X, y)
        state, few = model.__getstate__(), slice(4 if form != "gram" else None)
        Saved(type(model), state).load()
        wrong = []
        for attribute in state.keys() - {*model.get_params(deep=False), *RECORDS}:
            for change, value in forged(state[attribute]):
                try:
                    again = Saved(type(model), {**state, attribute: value}).load()
                    with np.errstate(all="ignore"):
                        ask(again, X[few], y[few])
                except Exception as error:
                    if not is_refusal(error):
                        wrong.append(f"{attribute} {change}: {error!r}")
        assert not wrong, "\n".join(wrong)
