"""scikit-learn's own conformance suite over every estimator of the catalogue.

All of it at the defaults; with each other algorithm of the estimator, the checks that run its learning on data.
"""

import traceback
import typing
import unittest
import warnings
from unittest import mock

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

from tercet.core.parameters import hints
from tercet.tree import DecisionTreeClassifier
from tests.conformance.population import CARDS, make

# Parameters whose values are different code.
CHOICES = (
    "solver",
    "svd_solver",
    "algorithm",
    "form",
    "variant",
    "decoding",
    "strategy",
    "linkage",
    "learning_method",
    "fit_algorithm",
)
# Values of other parameters that are different code, where one is enough.
MORE = {
    "LinearSVC": [{"loss": "hinge"}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}],
    "LinearSVR": [{"loss": "squared_epsilon_insensitive"}],
    "SVC": [{"kernel": "precomputed"}, {"multi_class": "ecoc"}, {"calibration": "platt"}],
}
# The checks whose outcome another algorithm can change; the rest is about interface, tags, names and input, which
# all algorithms of a class share.
LEARNING = {
    "check_class_weight_balanced_linear_classifier",
    "check_class_weight_classifiers",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_clustering",
    "check_estimator_sparse_array",
    "check_estimators_dtypes",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_outliers_train",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_transformer_general",
}
# Checks that the generator yields several times: on rows that may be written to, on the same rows read-only, and on
# those as float32. Whoever learns from read-only rows learns from others (`test_kinds_of_arrays` checks that a fit
# leaves those as they are). Another algorithm of a class gets float32 here, and float64 in the other checks.
READ_ONLY = {"readonly_memmap": True}
SINGLE = {"readonly_memmap": True, "X_dtype": "float32"}
SEVERAL = {
    "check_classifiers_train": [READ_ONLY, SINGLE],
    "check_regressors_train": [READ_ONLY, SINGLE],
    "check_clustering": [READ_ONLY],
    "check_outliers_train": [READ_ONLY],
    "check_transformer_general": [READ_ONLY],
}
# Classes whose other algorithms are those of a class that is tested with them, by the same code; what is left here
# once failed for them alone.
REPEATED = {
    "KNeighborsClassifierCV": (),
    "KNeighborsRegressorCV": (),
    "LogisticRegressionCV": ("liblinear", "newton-cg", "dfp"),
    "RidgeClassifier": ("lbfgs",),
    "SVCCV": (),
}
# What a variant cannot do without, and less of what it need not do at full length.
FEW = {"Cs": [0.1, 1.0], "cv": 3}
# Not all of these are for speed. Like scikit-learn's, LogisticRegressionCV misses the class-weight check at its
# defaults with liblinear; the averaged perceptron misses it when tol ends it early. (A name alone is for all
# variants but the first; "default" is for that one.)
WITH = {
    ("AdaBoostClassifier", "m1"): {
        "estimator": DecisionTreeClassifier(max_depth=4)
    },  # its error must be < 1/2
    # each number of the checks occurs once, so that columns determine each other and all are joined
    ("BayesianNetwork", "pc"): {"max_parents": 1},
    ("BayesianNetworkClassifier", "pc"): {"max_parents": 1},
    ("CRF", "gd"): {"max_iterations": 20},
    ("CRF", "iis"): {"max_iterations": 20},
    ("CRF", "iis-s"): {"max_iterations": 20},
    ("CRF", "iis-t"): {"max_iterations": 20},
    # steps of logistic units are small: at the default they need more epochs
    ("DBNClassifier", "sgd"): {"learning_rate": 0.5, "batch_size": 32},
    ("DBNRegressor", "sgd"): {"learning_rate": 0.1, "batch_size": 32},
    # fit_transform has the codes of the fit: `transform` must find the same ones
    ("DictionaryLearning", "default"): {"transform_algorithm": "lasso_lars", "max_iter": 20},
    ("DictionaryLearning", "cd"): {"transform_algorithm": "lasso_cd", "max_iter": 20},
    ("DictionaryLearning", "ksvd"): {"max_iter": 20},
    ("DictionaryLearning", "approximate-ksvd"): {"max_iter": 20},
    ("MiniBatchDictionaryLearning", "default"): {"transform_algorithm": "lasso_lars", "max_iter": 20},
    ("HingeSVC", "subgradient"): {"max_iter": 50},
    ("LSA", "arpack"): {"n_components": 1},
    ("LinearSVC", "l1"): {"tol": 1e-10, "C": 0.1},
    ("MiniBatchNMF", "default"): {"fresh_restarts": True, "max_iter": 20},  # else W is not that of the last H
    ("NuSVC", "default"): {"nu": 0.3},  # the weights of a check leave no room for 0.5
    ("SVC", "primal-qp"): {"kernel": "linear"},  # it needs the feature space
    ("SVC", "penalty"): {"kernel": "linear"},
    ("LinearRegression", "minibatch"): {"max_iter": 100},
    ("LinearRegression", "sgd"): {"max_iter": 100},
    ("PenalizedClassifier", "admm"): {"max_iter": 100, "tol": 1e-2},
    ("MaxEnt", "gis"): {"negative": "shift", "max_iter": 20},
    ("MaxEnt", "iis"): {"negative": "shift", "max_iter": 20},
    # all components are as many as there are rows, of which repeated ones are more
    ("PCA", "default"): {"n_components": 1},
    "PCA": {"n_components": 1},
    ("MaxEnt", "gd"): {"max_iter": 50},
    ("MaxEnt", "newton"): {"max_iter": 20},
    ("Perceptron", "averaged"): {"tol": None, "max_iter": 100},
    ("Ridge", "lbfgs"): {"positive": True},
    ("RidgeClassifier", "lbfgs"): {"positive": True},
    ("TruncatedSVD", "arpack"): {"n_components": 1},
    "LogisticRegressionCV": FEW,
}

# Parameters for the checks that compare two ways to one optimum, which both must reach: weighted and repeated rows
# (of which SAG and SAGA draw other ones), and W of `fit_transform` and `transform`. The rest need no optimum.
COMPARISONS = {
    "check_all_zero_sample_weights_error",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
}
TIGHT = {"tol": 1e-11}
CLOSE = {"tol": 1e-12, "max_iter": 20_000}
TO_THE_OPTIMUM = {
    ("ITML", "projections"): {"tol": 1e-13, "max_iter": 20_000},
    ("LSA", "nmf"): {"tol": 1e-7, "max_iter": 5000},
    ("LinearSVC", "crammer_singer"): TIGHT,
    ("LogisticRegression", "sag"): CLOSE,
    ("LogisticRegression", "saga"): CLOSE,
    ("MulticategorySVC", "default"): TIGHT,
    ("NMF", "default"): {"tol": 1e-6, "max_iter": 2000},
    "NMF": {"tol": 1e-7, "max_iter": 5000},
    ("PenalizedClassifier", "admm"): {"tol": 1e-10},  # its default
    ("Ridge", "sag"): TIGHT,
    ("Ridge", "saga"): TIGHT,
    ("SVC", "coordinate-ascent"): {"tol": 1e-9},
    ("SVC", "penalty"): {"tol": 1e-9},
    ("SVC", "smo"): {"tol": 1e-9},
    ("SVR", "coordinate-ascent"): {"tol": 1e-9},
    ("SVR", "smo"): {"tol": 1e-9},
}

ORDER = "an online method: the result depends on the order of the rows, and a repeated row is two visits"
FLAT = "the check's data leave a class no density: its covariance has no inverse, and the method says so"
POSITIVE = "weights that may not be negative cannot tell the check's classes apart"
ALONE = "rows of weight 0 that the check asks about have no neighbour within the radius: an error by default"
ORDERED = "the rows of a table are a sequence: what is said of a row depends on those around it"
WHOLE = "a weight belongs to a whole sequence, and a table of rows is one sequence"
PATHS = "rounding changes the path on which a candidate is trained, and all units after it"
ONE_STATE = "the check sets n_components=1 and gives labels of several states"
UNLABELLED = "the check wants a column of predict_proba for each class of a y that a mixture never sees"
FOLDS = "probabilities or scores come from held-out folds of rows, and a repeated row lies in two of them"
FEW_OF_A_CLASS = "nu is a part of all rows, and of a class that weighs next to nothing there is no such part"
DRAWN = "rows are drawn by their weights, and other numbers come of a draw among repeated rows"
STARTS = "each document starts from random numbers: those of repeated ones are others"
COUNTED = (
    "rows are drawn until classes have as many as wanted, and a repeated row counts twice, whatever it weighs"
)
LEFT_OUT = "a row is left out of its own neighbours; its copy is one of them, at distance 0"
COUNTED_NEIGHBOURS = "the k target neighbours are counted, not weighed"
ONE_CLUSTER = "the check sets n_clusters to less than there are labels, which are those of the seeds"
NOTHING_SHARED = "numbers are categories, and no two of the check's rows have one in common"
TOKENS = (
    "a topic is drawn for each single word: counts are whole numbers, and the numbers of the check are not"
)
MANY = "the check's 30 columns are too many for an exact search, which looks at all their subsets"
NO_LABEL = "-1, a label of the check, says that there is none"
NO_PASS = "the check's rows all have labels: there is nothing to do for a pass"
EMPTY = "a cluster without rows takes the row that is farthest away, and a repeated row can be taken twice"
UNITS = "labels are units of a grid, of which many lie in a cloud and some have no rows"
FLIPPED = (
    "the pseudo-likelihood flips a feature of each row, the next of a row of random numbers, as the peer's"
)
CHAINS = "Gibbs sampling draws other numbers for repeated rows, which also make other mini-batches"
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
SEQUENCES = {
    "check_methods_sample_order_invariance": ORDERED,
    "check_methods_subset_invariance": ORDERED,
    "check_sample_weight_equivalence_on_dense_data": WHOLE,
    "check_sample_weight_equivalence_on_sparse_data": WHOLE,
    "check_sample_weights_list": WHOLE,
    "check_sample_weights_not_an_array": WHOLE,
    "check_sample_weights_not_overwritten": WHOLE,
    "check_sample_weights_pandas_series": WHOLE,
    "check_sample_weights_shape": WHOLE,
}
STATES = dict.fromkeys(
    ("check_dont_overwrite_parameters", "check_fit2d_1feature", "check_fit2d_predict1d"), ONE_STATE
)
SPARSE = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
# By family, by class, or by class and the value of a parameter.
EXEMPT = {
    "sequence": SEQUENCES,
    ("CascadeCorrelation", "quickprop"): dict.fromkeys(WEIGHTS, PATHS),
    "RBFNetwork": dict.fromkeys(WEIGHTS[1:], DRAWN),
    "RBFNetworkClassifier": dict.fromkeys(WEIGHTS[1:], DRAWN),
    "ElmanNetwork": SEQUENCES,
    "ElmanNetworkClassifier": SEQUENCES,
    "ActiveLearner": {"check_classifiers_classes": NO_LABEL},
    "CoTrainingClassifier": {"check_classifiers_classes": NO_LABEL},
    "SelfTrainingClassifier": {"check_non_transformer_estimators_n_iter": NO_PASS},
    "SemiSupervisedGaussianMixture": {"check_classifiers_classes": NO_LABEL},
    "SemiSupervisedNB": {"check_classifiers_classes": NO_LABEL},
    "TransductiveSVC": {"check_classifiers_classes": NO_LABEL},
    "TriTrainingClassifier": {"check_classifiers_classes": NO_LABEL, **dict.fromkeys(WEIGHTS, DRAWN)},
    "LatentDirichletAllocation": dict.fromkeys(WEIGHTS, STARTS),
    ("LatentDirichletAllocation", "gibbs"): dict.fromkeys(
        (
            "check_estimators_dtypes",
            "check_estimator_sparse_array",
            "check_transformer_general",
            "check_methods_subset_invariance",
            "check_fit_idempotent",
        ),
        TOKENS,
    ),
    "GaussianHMM": STATES,
    "GMMHMM": STATES,
    "PoissonHMM": STATES,
    "BaggingClassifier": dict.fromkeys(WEIGHTS, DRAWN),
    "BaggingRegressor": dict.fromkeys(WEIGHTS, DRAWN),
    "BalanceCascadeClassifier": dict.fromkeys(WEIGHTS, COUNTED),
    "EasyEnsembleClassifier": dict.fromkeys(WEIGHTS, COUNTED),
    **dict.fromkeys(
        ("DBNClassifier", "DBNRegressor", "DeepBeliefNetwork", "GaussianRBM"),
        dict.fromkeys(WEIGHTS, CHAINS),
    ),
    "BernoulliRBM": {
        "check_methods_sample_order_invariance": FLIPPED,
        "check_methods_subset_invariance": FLIPPED,
        **dict.fromkeys(WEIGHTS, CHAINS),
    },
    "BernoulliMixture": dict.fromkeys(SPARSE, UNLABELLED),
    "MultinomialMixture": dict.fromkeys(SPARSE, UNLABELLED),
    "QuadraticDiscriminantAnalysis": {
        "check_sample_weights_shape": FLAT,
        "check_sample_weights_not_overwritten": FLAT,
        "check_sample_weight_equivalence_on_dense_data": FLAT,
    },
    "OneClassQuadraticDiscriminant": dict.fromkeys(WEIGHTS[:1], FLAT),
    "CompetitiveLearning": dict.fromkeys(WEIGHTS, DRAWN),
    "HiddenSizeSearch": dict.fromkeys(WEIGHTS, FOLDS),
    "IsolationForest": dict.fromkeys(WEIGHTS, DRAWN),
    "MiniBatchKMeans": dict.fromkeys(WEIGHTS, DRAWN),
    "OutputPerturbationClassifier": dict.fromkeys(WEIGHTS, DRAWN),
    "KModes": {"check_clustering": NOTHING_SHARED},
    "KernelPerceptron": dict.fromkeys(WEIGHTS, ORDER),
    "LayeredPerceptron": dict.fromkeys(WEIGHTS, ORDER),
    "LMNN": dict.fromkeys(WEIGHTS, COUNTED_NEIGHBOURS),
    "NeighborhoodComponentsAnalysis": dict.fromkeys(WEIGHTS, LEFT_OUT),
    "NuSVC": {"check_class_weight_classifiers": FEW_OF_A_CLASS},
    "Perceptron": dict.fromkeys(WEIGHTS, ORDER),
    "PiecewiseLinearDiscriminant": dict.fromkeys(WEIGHTS, ORDER),
    "RandomForestClassifier": dict.fromkeys(WEIGHTS, DRAWN),
    "RandomForestRegressor": dict.fromkeys(WEIGHTS, DRAWN),
    "Resampled": dict.fromkeys(WEIGHTS, COUNTED),
    "SeededKMeans": dict.fromkeys(
        (
            "check_dont_overwrite_parameters",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_fit2d_1feature",
            "check_fit2d_predict1d",
        ),
        ONE_CLUSTER,
    ),
    "SOM": {"check_clustering": UNITS},
    ("SOM", "online"): dict.fromkeys(WEIGHTS, DRAWN),
    "RadiusNeighborsClassifier": dict.fromkeys(WEIGHTS, ALONE),
    ("BayesianNetwork", "exact"): dict.fromkeys(WEIGHTS[:1], MANY),
    ("BayesianNetworkClassifier", "exact"): dict.fromkeys(WEIGHTS[:1], MANY),
    ("BoltzmannMachine", "exact"): dict.fromkeys(WEIGHTS[:1], MANY),
    ("KBinsDiscretizer", "kmeans"): dict.fromkeys(WEIGHTS[:1], EMPTY),
    ("HingeSVC", "subgradient"): dict.fromkeys(WEIGHTS, ORDER),
    ("LVQ", "lvq2.1"): dict.fromkeys(WEIGHTS, ORDER),
    ("LinearRegression", "sgd"): dict.fromkeys(WEIGHTS, ORDER),
    ("LogisticRegression", "sgd"): dict.fromkeys(WEIGHTS, ORDER),
    ("MLPClassifier", "bp"): dict.fromkeys(WEIGHTS, ORDER),
    ("MLPRegressor", "bp"): dict.fromkeys(WEIGHTS, ORDER),
    ("SVC", "platt"): dict.fromkeys(WEIGHTS, FOLDS),
    ("RidgeClassifier", "lbfgs"): {"check_classifiers_train": POSITIVE},
}


def choices(card):
    """Parameters beside the defaults: none, then each other value of one of `CHOICES`, and `MORE`."""
    default = make(card)
    return [
        {},
        *(
            {name: value}
            for name in CHOICES
            for value in typing.get_args(hints(card.load()).get(name))
            if isinstance(value, str)
            and value != getattr(default, name)
            and value in REPEATED.get(card.name, (value,))
        ),
        *MORE.get(card.name, []),
    ]


def of_choice(table, card, choice):
    """What a table has for a card with chosen parameters."""
    (value,) = choice.values() or ("default",)
    return table.get((card.name, value), table.get(card.name, {}) if choice else {})


def exempt(estimator):
    name = type(estimator).__name__
    values = [value for value in estimator.get_params(deep=False).values() if isinstance(value, str)]
    return {
        **EXEMPT.get(type(estimator).__module__.split(".")[1], {}),
        **EXEMPT.get(name, {}),
        **{check: why for value in values for check, why in EXEMPT.get((name, value), {}).items()},
    }


def of_formats(check, formats):
    """A check of sparse rows on those of some formats alone; what the others come in as, all algorithms share."""
    every = getattr(estimator_checks, "_generate_sparse_data", None)
    if every is None:
        return check

    def few(X):
        return (pair for pair in every(X) if pair[0] in formats)

    def run(estimator):
        with mock.patch.object(estimator_checks, every.__name__, few):
            check(estimator)

    return run


def checks(estimator, learning):
    """The checks of an estimator as (name, name with arguments, function); `learning`: only those in `LEARNING`."""
    for _, check in estimator_checks_generator(estimator):
        name, keywords = check.func.__name__, check.keywords
        if learning and name not in LEARNING:
            continue
        wanted = SEVERAL.get(name, [keywords])
        if keywords not in (wanted[-1:] if learning else wanted):
            continue
        if name == "check_estimator_sparse_array" and learning:
            check = of_formats(check, ["csr"])
        elif name == "check_estimator_sparse_matrix":
            check = of_formats(check, ["csr", "csc"])  # as an array it comes in all ten
        given = ",".join(f"{key}={value}" for key, value in keywords.items())
        yield name, name + (f"({given})" if given else ""), check


def failure(check, estimator, why):
    """What is wrong: the traceback of a check that fails, or that one with a reason to fail passes; else None."""
    np.random.seed(0)  # noqa: NPY002 - some of the checks draw from the global generator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            check(estimator)
        except unittest.SkipTest:
            return None
        except Exception:
            return None if why else traceback.format_exc()
    return f"passes, but must not: {why}\n" if why else None


def title(value):
    """The name of a card, or of chosen parameters."""
    if isinstance(value, dict):
        return ",".join(f"{name}={chosen}" for name, chosen in value.items()) or "default"
    return value.name


@pytest.mark.parametrize(
    ("card", "choice"), [(card, choice) for card in CARDS for choice in choices(card)], ids=title
)
def test_scikit_learn_conformance(card, choice):
    """One test runs all checks of an estimator, and names each that fails."""
    estimator = make(card, **choice, **of_choice(WITH, card, choice))
    converged = clone(estimator).set_params(**of_choice(TO_THE_OPTIMUM, card, choice))
    reasons, failures = exempt(estimator), {}
    for name, call, check in checks(estimator, learning=bool(choice)):
        wrong = failure(check, converged if name in COMPARISONS else estimator, reasons.get(name))
        if wrong:
            failures[call] = wrong
    if failures:
        texts = [f"{call}: {wrong}" for call, wrong in failures.items()]
        pytest.fail("\n\n".join([", ".join(failures), *texts]), pytrace=False)
