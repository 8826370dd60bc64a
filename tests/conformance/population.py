"""The estimators under test: whatever the catalogue holds. Nobody registers anything here."""

import functools
import inspect
import warnings

import numpy as np
from scipy import sparse
from sklearn.base import clone

import tercet
from tercet.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from tercet.neural_network import MLPClassifier

CARDS = [card for card in tercet.methods() if card.kind == "estimator"]
# A search need not be wide to be tested, nor a path long, nor an ensemble large.
NARROW = {
    "ART1": {"binarize": 0.5},  # by default it takes zeros and ones alone
    "AdaBoostClassifier": {"n_estimators": 3},
    "AdaBoostRegressor": {"n_estimators": 3},
    "BaggingClassifier": {"n_estimators": 2},
    "BaggingRegressor": {"n_estimators": 2},
    "BalanceCascadeClassifier": {"n_estimators": 3, "estimator": AdaBoostClassifier(n_estimators=3)},
    "BoltzmannMachine": {"binarize": 0.5},  # by default it takes zeros and ones alone
    "CascadeCorrelation": {"max_units": 3, "n_candidates": 3},
    "CascadeCorrelationClassifier": {"max_units": 3, "n_candidates": 3},
    "EasyEnsembleClassifier": {"n_estimators": 3, "estimator": AdaBoostClassifier(n_estimators=3)},
    "ElmanNetwork": {"max_iter": 50},
    "ElmanNetworkClassifier": {"max_iter": 50},
    "ElasticNetCV": {"alphas": 10, "cv": 3},
    "ExtraTreesClassifier": {"n_estimators": 3},
    "ExtraTreesRegressor": {"n_estimators": 3},
    "FeatureHasher": {"n_features": 64},
    "ForwardStagewiseRegressor": {"n_estimators": 10},
    "FuzzyART": {"scale": "minmax"},  # by default it takes values from 0 to 1 alone
    "GaussianMixtureIC": {"max_components": 3},
    "GradientBoostingClassifier": {"n_estimators": 3},
    "GradientBoostingRegressor": {"n_estimators": 5},
    "HashingVectorizer": {"n_features": 64},
    "HistGradientBoostingClassifier": {"max_iter": 3},
    "HistGradientBoostingRanker": {"max_iter": 3},
    "HiddenSizeSearch": {
        "estimator": MLPClassifier(solver="lbfgs", alpha=1.0, max_iter=1000, random_state=0),
        "sizes": (2, 3),
        "cv": 2,
    },
    "HistGradientBoostingRegressor": {"max_iter": 5},
    "Hopfield": {"binarize": 0.0},  # by default it takes -1 and 1 alone
    "IsolationForest": {"n_estimators": 3},
    "KNeighborsClassifierCV": {"cv": 3},
    "KNeighborsRegressorCV": {"cv": 3},
    "LasVegasWrapper": {"max_failures": 2, "max_iter": 3, "cv": 3},
    "LassoCV": {"alphas": 10, "cv": 3},
    "LogisticRegressionCV": {"Cs": 3, "cv": 3},
    "MDS": {"init": "random"},  # its default warns, as with the peer
    "MiniBatchNMF": {"max_iter": 20},
    "MultiStart": {"n_starts": 3},
    "NegativeCorrelationRegressor": {"n_estimators": 2, "max_iter": 100},
    "OrdinalEncoder": {"handle_unknown": "use_encoded_value", "unknown_value": -1},  # its default is an error
    "OutputPerturbationClassifier": {"n_estimators": 5},
    "RandomForestClassifier": {"n_estimators": 3},
    "RandomForestRegressor": {"n_estimators": 3},
    "RandomTreesEmbedding": {"n_estimators": 3},
    "StabilitySelection": {"n_resamples": 3},
    "StackingClassifier": {"cv": 2},
    "StackingRegressor": {"cv": 2},
    "TSNE": {"perplexity": 5.0, "max_iter": 20, "learning_rate": 10.0},  # 30 is more than the rows of a test
    "TreeLeafEncoder": {"estimator": GradientBoostingClassifier(n_estimators=3)},
    "SVCCV": {"gammas": (1.0,), "Cs": (1.0, 10.0), "cv": 3},
}

# They take categories.
CATEGORIES = (
    "ClusterEncoder",
    "CountEncoder",
    "DummyEncoder",
    "FeatureCross",
    "HashBucketEncoder",
    "OrdinalEncoder",
    "TargetEncoder",
)
# They take raw texts.
TEXTS = ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer")
# They take records of named features.
RECORDS = ("FeatureHasher",)


def make(card, **parameters):
    """An estimator of a card with default parameters (a meta-estimator gets a base of ours, or two members)."""
    from tercet.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier

    kind = card.load()
    names = inspect.signature(kind).parameters
    parameters = {**clone(NARROW.get(card.name, {}), safe=False), **parameters}
    # (the default of SelfTrainingClassifier is None, and none to learn with, as the peer's)
    required = inspect.Parameter.empty if card.name != "SelfTrainingClassifier" else None
    if "estimator" in names and names["estimator"].default is required:
        parameters.setdefault("estimator", LogisticRegression())
    if "dictionary" in names:
        parameters.setdefault("dictionary", "dct")  # of as many atoms as the rows of a test have features
    if "estimators" in names:
        pair = (
            (LinearRegression, Ridge) if card.task == "regression" else (LogisticRegression, RidgeClassifier)
        )
        parameters.setdefault("estimators", [(member.__name__.lower(), member()) for member in pair])
    if "random_state" in names:
        parameters.setdefault("random_state", 0)
    return kind(**parameters)


def takes(card, name):
    return name in inspect.signature(card.load()).parameters


def data(card, n=60, d=4, dtype=np.float64, seed=0):
    """Rows and targets that suit a card: non-negative features and positive numbers suit everyone."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)).round(3) + 0.01
    score = X @ np.linspace(-1, 2, d) + 0.1 * rng.normal(size=n)
    if card.name in TEXTS:
        return texts(n, seed), np.digitize(score, np.quantile(score, [0.4, 0.7]))
    if card.name in RECORDS:
        names = [f"x{j}" for j in range(d)]
        return [dict(zip(names, row)) for row in X.tolist()], np.digitize(
            score, np.quantile(score, [0.4, 0.7])
        )
    if card.name in CATEGORIES:
        X = np.floor(5 * X)
    if card.family == "sequence":
        return of_sequences(card, X.astype(dtype), np.digitize(score, np.quantile(score, [0.4, 0.7])))
    if card.family == "semi_supervised":  # a third of the labels are not known
        y = np.digitize(score, np.quantile(score, [0.4, 0.7]))
        return X.astype(dtype), np.where(np.arange(n) % 3 == 1, -1, y)
    if card.task != "regression":
        return X.astype(dtype), np.digitize(score, np.quantile(score, [0.4, 0.7]))
    return X.astype(dtype), np.exp(score).astype(dtype)


def texts(n, seed=0):
    """Texts of a few words each."""
    rng = np.random.default_rng(seed)
    words = np.array(
        [
            "rose",
            "lily",
            "violet",
            "red",
            "blue",
            "sweet",
            "sugar",
            "sea",
            "storm",
            "ship",
            "poem",
            "line",
            "three",
        ]
    )
    return [" ".join(rng.choice(words, size=size)) for size in rng.integers(1, 9, size=n)]


def fitted(card):
    """The estimator of a card, fitted on `data(card)`; shared by the tests, which must leave it as it is."""
    return _fitted(card.name)


@functools.cache
def _fitted(name):
    (card,) = [card for card in CARDS if card.name == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(card).fit(*data(card))


def of_sequences(card, X, y):
    """The same as one sequence: symbols or counts where a model wants them, a third of the states not known."""
    if card.name == "HMMTagger":  # takes no tables, but lists of whatever can be hashed
        words = [f"w{int(10 * x)}" for x in X[:, 0]]
        return cut(words), cut(y.tolist())
    if card.name == "CategoricalHMM":
        X = np.floor(10 * X[:, :1])
    elif card.name == "PoissonHMM":
        X = np.floor(10 * X)
    if card.name.endswith("HMM"):
        y = np.where(np.arange(len(y)) % 3 == 1, -1, y)
    return X, y


def is_sequential(card):
    """Whether the rows of a table are a sequence."""
    from tercet.sequence import SequenceEstimator

    return issubclass(card.load(), SequenceEstimator)


def cut(rows):
    """Rows as a list of sequences of ten."""
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    return [rows[k : k + 10] for k in range(0, n, 10)]


def is_tabular(card):
    """Whether rows of numbers, in any kind of table, are what an estimator takes."""
    return make(card).__sklearn_tags__().input_tags.two_d_array


def output(model, X):
    """What a fitted model says of rows, as numbers; of its own rows where it cannot tell of others."""
    for name in ("predict_proba", "decision_function", "predict", "transform", "score_samples"):
        if hasattr(model, name):
            found = getattr(model, name)(X)
            found = found.toarray() if sparse.issparse(found) else found
            return np.asarray(np.concatenate(found) if isinstance(found, list) else found, dtype=float)
    if hasattr(model, "kneighbors"):
        return np.hstack(model.kneighbors(X))
    if hasattr(model, "labels_") and len(model.labels_) == np.shape(X)[0]:
        return model.labels_.astype(float)
    if hasattr(model, "embedding_"):
        return model.embedding_.astype(float)
    raise AssertionError(f"{type(model).__name__} cannot predict or transform")
