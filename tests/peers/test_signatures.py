"""Classes and functions that scikit-learn has too: parameters, defaults, values, methods, attributes, warnings.

Each difference is an entry of `DIFFERENCES` with its reason; an entry that is no difference any more is an error.
"""

import functools
import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression as PeerLogisticRegression
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint

from tercet.cluster import OPTICS
from tercet.core.lazy import own_names
from tercet.core.parameters import allows, hints
from tercet.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from tercet.linear_model import LogisticRegression, LogisticRegressionCV, Perceptron
from tests.peers.test_public_names import MODULES, public_names
from tests.peers.test_public_names import pair as modules

NUMBER = "iterations are counted for every solver, which scikit-learn's own checks of estimators ask for"

NEIGHBOURS = ("Classifier", "Regressor", "Transformer")
STATISTICS = ("get_n_calls", "get_tree_stats", "reset_n_calls")
PYFUNC = "'pyfunc' is what scikit-learn calls a callable inside: give that"
NO_NEIGHBOURS = "None passes scikit-learn's check of the value and fails after it"
NO_LOSS = "a number that the loss is not defined with, and that scikit-learn's check lets pass"
# "Class.parameter", "Class.method()", "Class.attribute_", "Class!parameter" (a warning), "Class?parameter" (values)
# or "function.parameter".
DISPLAYED = ("target_idx", "deciles")
DRAWN = ("line_kw", "contour_kw", "ice_lines_kw", "heatmap_kw", "bar_kw", "pd_line_kw", "pdp_lim", "centered")
DIFFERENCES: dict[str, str] = {
    **dict.fromkeys(
        (f"{tree}.{name}()" for tree in ("BallTree", "KDTree") for name in STATISTICS),
        "a search keeps no statistics of its own work",
    ),
    "RandomTreesEmbedding.one_hot_encoder_": "the columns are those of the leaves: there is nothing to encode",
    **dict.fromkeys(
        ("TargetEncoder!random_state", "TargetEncoder!shuffle"),
        "the warning of both libraries comes with fit_transform, which makes folds; fit makes none",
    ),
    "SparseCoder.dictionary": "has a default, the cosine basis, so that it can be built without arguments",
    "HDBSCAN!default": "the matrix of distances is never changed, whatever copy is: there is nothing to warn of",
    **dict.fromkeys(("Ridge.n_iter_", "RidgeClassifier.n_iter_"), NUMBER),
    **dict.fromkeys(
        ("GradientBoostingClassifier.init_", "GradientBoostingRegressor.init_"),
        "the constant that boosting starts from, not an estimator that predicts it",
    ),
    **dict.fromkeys(
        ("HistGradientBoostingClassifier.train_score_", "HistGradientBoostingRegressor.train_score_"),
        "there without early stopping, too",
    ),
    **dict.fromkeys(
        (
            *(f"{kind}?metric" for kind in ("KernelDensity", "NearestNeighbors")),
            *(f"{way}Neighbors{kind}?metric" for way in ("K", "Radius") for kind in NEIGHBOURS),
        ),
        PYFUNC,
    ),
    **dict.fromkeys((f"KNeighbors{kind}?n_neighbors" for kind in NEIGHBOURS), NO_NEIGHBOURS),
    **dict.fromkeys((f"{kind}?beta_loss" for kind in ("NMF", "MiniBatchNMF")), NO_LOSS),
    "LinearSVR?epsilon": NO_LOSS,
    "NuSVR?C": "an infinite C passes scikit-learn's check, and its solver fails",
    "DBSCAN?p": "a power of 0 is none of a distance: scikit-learn fails after its check",
    **dict.fromkeys(
        ("ElasticNet?max_iter", "Lasso?max_iter"), "None passes scikit-learn's check and fails after it"
    ),
    "IsolationForest?max_features": "scikit-learn takes 0 and less for 1",
    **dict.fromkeys(
        (
            *(f"PartialDependenceDisplay.{name}" for name in DISPLAYED),
            *(f"PartialDependenceDisplay.plot().{name}" for name in DRAWN),
        ),
        "a display is made by from_estimator, which takes the settings; output and deciles need not be given",
    ),
}

REGRESSION = ("Regress", "Ridge", "Lasso", "ElasticNet", "SVR")
ONLY_DATA = (
    "Mixture",
    "KMeans",
    "Clustering",
    "DBSCAN",
    "OPTICS",
    "OneClassSVM",
    "NearestNeighbors",
    "PCA",
    "TruncatedSVD",
    "NMF",
    "LatentDirichletAllocation",
    "MDS",
    "Isomap",
    "Embedding",
    "TSNE",
    "TfidfTransformer",
    "KBinsDiscretizer",
    "OrdinalEncoder",
)
# How many there are depends on the path to the solution, where it is not unique: only the axes are compared.
OF_THE_SOLUTION = ("support_", "support_vectors_", "dual_coef_")
# Values for parameters that scikit-learn deprecates.
DEPRECATED = {
    "penalty": "l2",
    "probability": True,
    "n_alphas": 3,
    "use_legacy_attributes": True,
    "l1_ratios": (0.0,),
    "scoring": "neg_log_loss",
    "n_jobs": 1,
    "shuffle": True,
    "random_state": 0,
    "copy": True,
    "alphas": 3,
    "algorithm": "SAMME",
    "criterion": "friedman_mse",
    "init": "random",
    "dissimilarity": "euclidean",
}
# Fewer fits than the defaults ask for: the shapes and warnings are compared at the same settings.
FEW = {
    "DictionaryLearning": {"max_iter": 3},
    "LogisticRegressionCV": {"Cs": 2, "cv": 2},
    "MiniBatchDictionaryLearning": {"max_iter": 3},
    "StackingClassifier": {"cv": 2},
    "TSNE": {"max_iter": 250},
}


def shared(kind):
    """Module and name of all that both have: classes, or functions; what several modules have, once."""
    found = {}
    for module in sorted(MODULES, key=lambda module: module.count(".")):
        for name in sorted(public_names(module) & {*own_names(f"tercet.{module}")}):
            thing, _ = pair(module, name)
            if kind(thing) and not inspect.isabstract(thing):
                found.setdefault(thing, pytest.param(module, name, id=name))
    return list(found.values())


def pair(module, name):
    return tuple(getattr(found, name) for found in modules(module))


CLASSES, FUNCTIONS = shared(inspect.isclass), shared(inspect.isroutine)


def same(a, b):
    return a is b or repr(a) == repr(b) or (type(a) is type(b) and np.array_equal(a, b))


def parameters_of(function):
    return {
        name: p
        for name, p in inspect.signature(function).parameters.items()
        if name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def positional(parameters):
    return [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def takes_any_keyword(function):
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def signature_differences(theirs, ours, name):
    """Parameters that ours lacks, with another default or place, or must be given though theirs need not."""
    wanted, there = parameters_of(theirs), parameters_of(ours)
    found = {}
    for key, p in wanted.items():
        if key not in there:
            if not takes_any_keyword(ours):
                found[f"{name}.{key}"] = "is not there"
        elif not same(p.default, there[key].default):
            found[f"{name}.{key}"] = f"default {there[key].default!r}, not {p.default!r}"
    order = positional(wanted)
    for k, key in enumerate(order):
        if key in there and positional(there)[k : k + 1] != [key]:
            found[f"{name}.{key}"] = "is at another place"
    if not wanted and takes_any_keyword(theirs):  # an extension type, whose signature says nothing
        return found
    for key, p in there.items():
        if p.default is p.empty and (key not in wanted or wanted[key].default is not p.empty):
            found[f"{name}.{key}"] = "must be given"
    return found


def method_differences(theirs, ours, name):
    found = {}
    for key in dir(theirs):
        if key.startswith("_") or not callable(getattr(theirs, key, None)):
            continue
        if not callable(getattr(ours, key, None)):
            found[f"{name}.{key}()"] = "is not there"
        elif not key.endswith("_request"):
            try:
                different = signature_differences(getattr(theirs, key), getattr(ours, key), f"{name}.{key}()")
            except ValueError:  # a method of an extension type without a signature
                continue
            found.update(different)
    return found


def instance(kind):
    """An estimator with as few arguments as possible; None for what is none."""
    if not hasattr(kind, "fit"):
        return None
    needed = [name for name, p in parameters_of(kind.__init__).items() if p.default is p.empty]
    if not needed and kind.__name__ != "SelfTrainingClassifier":  # whose default, None, cannot be fitted
        return kind()
    if needed in ([], ["estimator"]):
        from sklearn.linear_model import LogisticRegression

        return kind(LogisticRegression())
    if needed == ["estimators"]:
        from sklearn.linear_model import Lasso, LogisticRegression, Ridge
        from sklearn.naive_bayes import GaussianNB

        pair = (Ridge, Lasso) if is_named(kind.__name__, REGRESSION) else (LogisticRegression, GaussianNB)
        return kind([(member.__name__, member()) for member in pair])
    return None


def is_named(name, parts):
    return any(part in name for part in parts)


def data_for(name):
    if name == "FeatureHasher":
        return ([{"rose": 1, "lily": 2}, {"rose": 3}],)
    if name.endswith("Vectorizer"):
        return (["the rose is red", "the lily is white", "a red rose"],)
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 4)) + np.repeat([[0.0], [3.0], [6.0]], 20, axis=0)).round()
    if is_named(name, ONLY_DATA):
        return (X,)
    y = X @ [1.0, 2.0, 0.0, 1.0] + 1.0 if is_named(name, REGRESSION) else np.repeat([0, 1, 2], 20)
    return X, y


@functools.cache
def fitted(kind, name, **options):
    """An estimator fitted to a few rows, and the warnings of that."""
    model = instance(kind)
    if model is None:
        return None, []
    # boosting may end early, by chance: not with this seed
    seed = {"random_state": 1} if "random_state" in model.get_params(deep=False) else {}
    model.set_params(**{**seed, **FEW.get(name, {}), **options})
    X, *y = data_for(name)
    if y and is_classifier(model):
        y = [np.repeat([0, 1, 2], 20)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(model).fit(X, *y)
    return model, [str(w.message) for w in caught if issubclass(w.category, FutureWarning)]


def learned(model):
    """The shapes of what a model has learned."""
    shapes = {}
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # an attribute may be deprecated
                    value = getattr(model, name)
            except (AttributeError, NotImplementedError):
                continue
            if callable(value) and not hasattr(value, "fit"):
                continue
            shape = (len(value),) if isinstance(value, list | tuple) else np.shape(value)
            shapes[name] = len(shape) if name in OF_THE_SOLUTION else shape
    return shapes


def attribute_differences(theirs, ours, name):
    model, peer = fitted(ours, name)[0], fitted(theirs, name)[0]
    if peer is None:
        return {}
    wanted, there = learned(peer), learned(model)
    return {
        f"{name}.{key}": f"shape {there[key]}, not {shape}" if key in there else "is not there"
        for key, shape in wanted.items()
        if there.get(key, "absent") != shape
    }


def warning_differences(theirs, ours, name):
    """Deprecated parameters whose use does not give the warning that scikit-learn gives."""
    found = {}
    cases = {"default": {}}
    for key, p in parameters_of(theirs.__init__).items():
        if isinstance(p.default, str) and p.default in ("deprecated", "warn"):
            cases[key] = {key: DEPRECATED[key]}
    for key, options in cases.items():
        try:
            said, wanted = (fitted(kind, name, **options)[1] for kind in (ours, theirs))
        except ValueError:  # the parameter is not there, which `signature_differences` says
            continue
        named = parameters_of(theirs.__init__).get(key)
        unsaid = named and named.default == "deprecated" and not any(key in text for text in said)
        if len(said) != len(wanted) or unsaid:
            found[f"{name}!{key}"] = f"warns {said}, not {wanted}"
    return found


NUMBERS = (-1, 0, 1, 2, -0.5, 0.0, 0.5, 1.0, 2.5, np.inf, np.int64(2), np.float32(0.5))


def value_differences(theirs, ours, name):
    """Values that scikit-learn's class allows and ours refuses: plain ones, and the ends of ranges."""
    found, allowed = {}, hints(ours)
    for key, constraints in getattr(theirs, "_parameter_constraints", {}).items():
        if key not in allowed or isinstance(constraints, str):  # no constraint
            continue
        candidates = [
            None,
            *NUMBERS,
            *((True, False) if {"boolean", "verbose"} & {*map(str, constraints)} else ()),
        ]
        for constraint in constraints:
            if isinstance(constraint, StrOptions):
                candidates += constraint.options - {"warn", "deprecated"}
            if isinstance(constraint, Interval):
                candidates += [end for end in (constraint.left, constraint.right) if end is not None]
        checks = [make_constraint(constraint) for constraint in constraints]
        refused = {
            repr(value)
            for value in candidates
            if any(check.is_satisfied_by(value) for check in checks) and not allows(allowed[key], value)
        }
        if refused:
            found[f"{name}?{key}"] = f"refuses {', '.join(sorted(refused))}"
    return found


def compare(name, found, kinds):
    """The differences found are those that are listed for this test, and no others."""
    known = {
        key for key in DIFFERENCES if key.startswith((f"{name}.", f"{name}!", f"{name}?")) and kinds(key)
    }
    assert set(found) == known, {
        "not listed": {key: found[key] for key in set(found) - known},
        "listed, but no difference": sorted(known - set(found)),
    }


def is_method(key):
    return "()" in key


def is_attribute(key):
    return key.endswith("_") and not is_method(key)


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_constructor(module, name):
    theirs, ours = pair(module, name)
    try:
        found = signature_differences(theirs.__init__, ours.__init__, name)
    except ValueError:  # an extension type without a signature
        found = {}
    compare(name, found, lambda key: not {*"!?"} & {*key} and not is_method(key) and not is_attribute(key))


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_methods(module, name):
    compare(name, method_differences(*pair(module, name), name), is_method)


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_fitted_attributes(module, name):
    compare(name, attribute_differences(*pair(module, name), name), is_attribute)


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_deprecated_parameters_warn(module, name):
    theirs, ours = pair(module, name)
    compare(name, warning_differences(theirs, ours, name), lambda key: "!" in key)


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_values_that_scikit_learn_allows(module, name):
    compare(name, value_differences(*pair(module, name), name), lambda key: "?" in key)


@pytest.mark.parametrize("options", [{"C": np.inf}, {"C": np.inf, "l1_ratio": 1.0}])
def test_liblinear_refuses_no_penalty_as_in_scikit_learn(options):
    (X,), y = data_for("PCA"), np.arange(60) % 2
    for kind in (PeerLogisticRegression, LogisticRegression):
        with pytest.raises(ValueError, match=r"C=np\.inf as well as penalty=None is not supported"):
            kind(solver="liblinear", **options).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=3, n_iter_no_change=np.int64(2)),
        GradientBoostingRegressor(n_estimators=3, n_iter_no_change=np.int64(2)),
        LogisticRegressionCV(
            Cs=2, cv=2, max_iter=0, l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False
        ),
        OPTICS(eps=np.inf, cluster_method="dbscan"),
        Perceptron(verbose=True),
    ],
    ids=lambda model: type(model).__name__,
)
def test_values_that_were_refused_or_failed(model):
    X, y = data_for(type(model).__name__)[0], np.repeat([0, 1, 2], 20)
    found = (
        clone(model).fit_predict(X) if hasattr(model, "fit_predict") else clone(model).fit(X, y).predict(X)
    )
    assert np.isfinite(found).all()


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_functions(module, name):
    compare(name, signature_differences(*pair(module, name), name), lambda key: True)


def test_every_difference_is_of_something_that_both_have():
    names = {param.values[1] for param in CLASSES + FUNCTIONS}
    assert {re.sub("[!?]", ".", key).partition(".")[0] for key in DIFFERENCES} <= names
