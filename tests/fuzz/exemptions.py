"""Where an oracle that compares two fits has nothing to say, and why."""

from typing import Any

from tests.fuzz.parameters import signature_of

TOLERANCE = 2e-3  # of the largest answer; iterations end at tol=1e-9
ROUNDING = 1e-9  # of the largest answer, of one and the same computation

ONLINE = "an online method: rows are visited one after the other"
DRAWS = "rows are drawn, or starts are chosen among them"
FLIPPED = "as in scikit-learn, the pseudo-likelihood flips a feature of each row, drawn by its place"
GIBBS = "Gibbs sampling draws numbers for rows by their place in mini-batches"
STORED = (
    "patterns are numbered by the order of the rows, and the Storkey rule stores one on top of the others"
)
BATCHES = "batches are cut by the order of the rows, and each forgets what its components do not have"
FOLDS = "folds are cut by the order of the rows"
LEFT_OUT = "a row is left out of its own neighbours; its copy is one of them, at distance 0"
COUNTS = "neighbours and rows are counted, not weighed"
BINS = "rows are counted in leaves, and bins are cut by them"
PLACES = "items of equal score are ranked by the order of the rows"
NUMBERED = "clusters are numbered by the order of the rows, which decides between equal distances, too"
WEIGHTLESS = "as in scikit-learn, a row of weight 0 may be a core row and connect others"
EQUAL = "rounding decides between equal distances, and with them which clusters part first"
TIES = "equal distances are decided by the order of the rows"
STEPS = "rounding decides on which side of an isotonic step a score falls"
INTERVAL = (
    "where no vector lies inside its bounds, an interval of intercepts is optimal, and rounding picks one"
)
SINGULAR = "the scatter of large powers is singular but for its regularisation, and rounding decides"
LEAST = "rounding decides whether the hessians of a leaf reach the least share"
UNDERFLOW = "weights of edges at the end of floating point have few digits, and rounding changes them"
DIVERGES = "rounds that step too far diverge, and roundings grow with them"
SIGNS = "rounding decides the sign of a residual that is 0, and with it the gradient of an absolute loss"
UNSTORED = "entries that are not stored are missing, not 0, and repeated ones are refused"
LOCAL = "not convex: it starts from rows or singular vectors, and rounding may lead to another local minimum"
SADDLES = "not convex: a rounding grows on the way, and may lead to another local minimum"
CHAOS = "gradient descent with gains: a rounding of the distances leads to another local minimum"
NEAREST = "equal distances are decided by the order of the rows, and a coordinate's sign by its largest entry"
NOT_UNIQUE = "hinges without a penalty have a face of optima, and the order of the sums decides between them"
INDEFINITE = "the kernel function is not positive definite: the dual has several local optima"

PATHS = "rounding changes the path on which a unit is trained, and all units after it"

SWITCHED = "labels are switched row by row, and a repeated row is two of them"
EMPTY = "an empty cluster takes the row that is farthest away: a repeated row twice, or another of equally far ones"
ROWS = "the weights are numbers of rows: tests and description lengths depend on their sum"

COUNTED = "as in scikit-learn, 'balanced' counts the rows of a class and does not weigh them"
UNWEIGHED = (
    "DecisionTreeClassifier",
    "ExtraTreeClassifier",
    "ObliqueTreeClassifier",
    "RidgeClassifier",
    "SVC",
    "NuSVC",
)

# By class, or by parameter and value: the oracles that do not apply.
CLASSES: dict[str, dict[str, str]] = {
    "Perceptron": dict.fromkeys(
        ("weights", "order", "sparse_rows"), ONLINE
    ),  # rounding makes a mistake, or none
    "Hopfield": dict.fromkeys(("weights", "order"), STORED),
    **dict.fromkeys(
        ("DBNClassifier", "DBNRegressor", "DeepBeliefNetwork", "GaussianRBM"),
        dict.fromkeys(("weights", "order", "sparse_rows"), GIBBS),
    ),
    "BernoulliRBM": {**dict.fromkeys(("weights", "order", "sparse_rows"), GIBBS), "batches": FLIPPED},
    "IncrementalPCA": {"order": BATCHES},
    "MLPClassifier": {"weights": ONLINE, "order": ONLINE, "sparse_rows": SADDLES},
    "MLPRegressor": {"weights": ONLINE, "order": ONLINE, "sparse_rows": SADDLES},
    "KernelPerceptron": dict.fromkeys(("weights", "order", "sparse_rows", "containers"), ONLINE),
    "LayeredPerceptron": dict.fromkeys(("weights", "order", "sparse_rows", "containers"), ONLINE),
    "StructuredPerceptron": {"order": ONLINE},
    "PiecewiseLinearDiscriminant": dict.fromkeys(("weights", "order", "sparse_rows"), ONLINE),
    "PiecewiseLinearDistance": dict.fromkeys(("weights", "order", "sparse_rows"), DRAWS),  # by k-means
    "ART1": {"order": ONLINE},
    "CompetitiveLearning": {"order": ONLINE, "weights": DRAWS},
    "FuzzyART": {"order": ONLINE},
    **dict.fromkeys(  # a rounding draws another row
        ("KMeans", "MiniBatchKMeans", "BisectingKMeans", "SphericalKMeans", "COPKMeans", "SeededKMeans"),
        dict.fromkeys(("weights", "order", "sparse_rows"), DRAWS),
    ),
    "ClusterEncoder": dict.fromkeys(("weights", "order"), DRAWS),
    "KMedoids": dict.fromkeys(("weights", "order", "sparse_rows"), DRAWS),
    "KModes": dict.fromkeys(("weights", "order"), DRAWS),
    "MDS": {"order": DRAWS},
    "TSNE": dict.fromkeys(("order", "sparse_rows", "containers"), CHAOS),
    "Isomap": {"order": NEAREST},
    "LabelPropagation": {"order": UNDERFLOW},
    "LabelSpreading": {"order": UNDERFLOW},
    "LocallyLinearEmbedding": {"order": NEAREST},
    "SpectralEmbedding": dict.fromkeys(("order", "sparse_rows"), NEAREST),
    "LatentDirichletAllocation": dict.fromkeys(("weights", "order"), DRAWS),
    "MiniBatchNMF": {"order": ONLINE},
    "NMF": {"order": DRAWS},
    "NeighborhoodComponentsAnalysis": {"weights": LEFT_OUT, "order": LOCAL},
    "LMNN": {"weights": COUNTS, "order": LOCAL},
    "VectorSpaceRetrieval": {"order": "its columns are the documents, in their order"},
    "DBSCAN": {"weights": WEIGHTLESS, "order": NUMBERED},
    "HDBSCAN": {"order": NUMBERED, "sparse_rows": EQUAL},
    "OPTICS": {"order": NUMBERED},
    "MulticategorySVC": dict.fromkeys(("weights", "order", "sparse_rows"), INTERVAL),
    "SVCCV": dict.fromkeys(("weights", "order"), FOLDS),
    "DivisiveClustering": {"order": NUMBERED},
    "ElasticNetCV": dict.fromkeys(("weights", "order"), FOLDS),
    "LasVegasWrapper": {"order": FOLDS},
    "LassoCV": dict.fromkeys(("weights", "order"), FOLDS),
    "LogisticRegressionCV": dict.fromkeys(("weights", "order"), FOLDS),
    "RidgeCV": {"weights": FOLDS, "order": FOLDS},
    "RidgeClassifierCV": {"weights": FOLDS, "order": FOLDS},
    "KNeighborsClassifierCV": dict.fromkeys(("weights", "order"), FOLDS),
    "KNeighborsRegressorCV": dict.fromkeys(("weights", "order"), FOLDS),
    "RReliefF": {"order": TIES},
    "SPODE": dict.fromkeys(("weights", "order"), FOLDS),
    "GaussianMixtureIC": dict.fromkeys(("weights", "order"), DRAWS),
    "HingeSVC": {},
    "AlternatingLeastSquares": {"sparse_rows": UNSTORED},
    "MatrixCompletion": {"sparse_rows": UNSTORED},
    "DictionaryLearning": {"order": LOCAL},
    "MiniBatchDictionaryLearning": {"order": ONLINE},
    **dict.fromkeys(
        ("RBFNetwork", "RBFNetworkClassifier"), dict.fromkeys(("weights", "order", "sparse_rows"), DRAWS)
    ),
    **dict.fromkeys(
        ("CascadeCorrelation", "CascadeCorrelationClassifier"),
        dict.fromkeys(("weights", "order", "sparse_rows", "containers"), PATHS),
    ),
    "ElmanNetwork": {"order": ONLINE},
    "ElmanNetworkClassifier": {"order": ONLINE},
    "BalanceCascadeClassifier": dict.fromkeys(("weights", "order"), DRAWS),
    "EasyEnsembleClassifier": dict.fromkeys(("weights", "order"), DRAWS),
    "Resampled": dict.fromkeys(("weights", "order"), DRAWS),
    "StabilitySelection": {"order": DRAWS},
    "SubsetSearch": {"order": FOLDS},
    "StackingClassifier": dict.fromkeys(("weights", "order"), FOLDS),
    "StackingRegressor": dict.fromkeys(("weights", "order"), FOLDS),
    **{
        f"{name}{kind}": dict.fromkeys(("weights", "order"), DRAWS)
        for name in ("RandomForest", "ExtraTrees", "Bagging")
        for kind in ("Classifier", "Regressor")
    },
    "AdaBoostRegressor": dict.fromkeys(("weights", "order"), DRAWS),
    "IsolationForest": dict.fromkeys(("weights", "order"), DRAWS),
    "OutputPerturbationClassifier": dict.fromkeys(("weights", "order"), DRAWS),
    "RandomTreesEmbedding": dict.fromkeys(("weights", "order"), DRAWS),
    "CoTrainingClassifier": dict.fromkeys(("weights", "order"), DRAWS),
    "TriTrainingClassifier": dict.fromkeys(("weights", "order"), DRAWS),
    "TransductiveSVC": {"weights": SWITCHED},
    "HistGradientBoostingRanker": {"order": PLACES},
    "HistGradientBoostingClassifier": {"weights": BINS},
    "HistGradientBoostingRegressor": {"weights": BINS},
}
VALUES: dict[tuple[str, Any], dict[str, str]] = {
    ("criterion", "k_best"): {"weights": COUNTS},
    ("degree", "cv"): dict.fromkeys(("weights", "order"), FOLDS),
    ("solver", "sgd"): dict.fromkeys(("weights", "order"), ONLINE),
    ("solver", "minibatch"): dict.fromkeys(("weights", "order"), ONLINE),
    ("solver", "subgradient"): dict.fromkeys(("weights", "order"), ONLINE),
    ("algorithm", "nmf"): {"order": DRAWS},
    ("algorithm", "subgradient"): dict.fromkeys(("weights", "order"), ONLINE),
    ("algorithm", "l2sgd"): dict.fromkeys(("weights", "order"), ONLINE),
    ("algorithm", "ap"): dict.fromkeys(("weights", "order"), ONLINE),
    ("algorithm", "pa"): dict.fromkeys(("weights", "order"), ONLINE),
    ("algorithm", "arow"): dict.fromkeys(("weights", "order"), ONLINE),
    ("beta", "held-out"): dict.fromkeys(("weights", "order"), "words are drawn, document after document"),
    ("kernel", "knn"): {"weights": COUNTS, "order": TIES},
    ("kernel", "sigmoid"): dict.fromkeys(("weights", "order"), INDEFINITE),
    ("loss", "absolute"): dict.fromkeys(("weights", "order", "sparse_rows", "containers"), SIGNS),
    ("strategy", "kmeans"): dict.fromkeys(("weights", "order"), EMPTY),
    ("strategy", "mdl"): {"weight_units": ROWS},
    ("strategy", "chimerge"): {"weight_units": ROWS},
    ("ties", "random"): dict.fromkeys(("weights", "order", "batches"), "ties are drawn, row after row"),
    ("sampling", "goss"): dict.fromkeys(("weights", "order"), DRAWS),
    ("sampling", "resample"): dict.fromkeys(("weights", "order"), DRAWS),
    ("early_stopping", True): dict.fromkeys(("weights", "order"), DRAWS),
    ("probability", True): dict.fromkeys(("weights", "order"), FOLDS),
    ("pruning", "cv"): dict.fromkeys(("weights", "order"), FOLDS),
    ("pruning", "validation"): dict.fromkeys(("weights", "order"), FOLDS),
    ("pruning", "reduced_error"): dict.fromkeys(("weights", "order"), FOLDS),
    ("pruning", "pre"): dict.fromkeys(("weights", "order"), FOLDS),
    ("calibration", "platt"): dict.fromkeys(("weights", "order"), FOLDS),
    ("calibration", "isotonic"): {
        **dict.fromkeys(("weights", "order"), FOLDS),
        **dict.fromkeys(("sparse_rows", "containers"), STEPS),
    },
}


def tied_share(card: Any) -> float:
    """The share of answers where rounding may decide between equally near rows."""
    return 0.2 if card.family == "neighbors" else 0.0


def reason(oracle: str, card: Any, parameters: dict[str, Any]) -> str:
    """Why an oracle says nothing of an estimator with these parameters; empty where it applies."""
    found = CLASSES.get(card.name, {}).get(oracle)
    if found:
        return found
    for name, value in parameters.items():
        if isinstance(value, str | bool | None) and oracle in VALUES.get((name, value), {}):
            return VALUES[name, value][oracle]
    drawn = parameters.get("algorithm") == "online" or str(parameters.get("init")) == "random"
    if card.name == "SOM" and drawn and oracle in ("order", "weights"):
        return DRAWS
    if oracle != "batches" and "Boosting" in card.name and (parameters.get("learning_rate") or 0.0) > 2:
        return DIVERGES
    if card.name == "KernelFisherDiscriminant" and oracle != "batches" and parameters.get("kernel") == "poly":
        return SINGULAR
    if (
        oracle in ("sparse_rows", "containers")
        and "mixture" in card.family
        and parameters.get("n_init", 1) > 1
    ):
        return LOCAL
    if oracle == "sparse_rows" and card.name == "NMF" and parameters.get("n_components", "auto") != "auto":
        return LOCAL
    if oracle not in ("weights", "order"):
        return ""
    if parameters.get("kernel") == "poly" and parameters.get("degree", 3) % 1:
        return INDEFINITE
    if parameters.get("loss") == "hinge" and parameters.get("penalty", "l2") is None:
        return NOT_UNIQUE
    if parameters.get("second_order") and parameters.get("min_weight_fraction_leaf"):
        return LEAST
    if card.name == "KBinsDiscretizer" and parameters.get("subsample") is not None:
        return DRAWS
    if parameters.get("n_iter_no_change") is not None or (parameters.get("subsample") or 1.0) < 1.0:
        return DRAWS
    if parameters.get("n_constraints") is not None:
        return DRAWS
    if parameters.get("n_rows") is not None:
        return DRAWS
    if card.name == "SemiSupervisedGaussianMixture" and parameters.get("n_components", 1) > 1:
        return DRAWS
    if "mixture" in card.family or card.name.endswith("HMM"):
        return DRAWS
    if oracle == "weights" and card.family == "neighbors" and card.name != "NearestCentroid":
        return COUNTS
    if oracle == "order" and card.family == "neighbors" and card.name != "NearestCentroid":
        return TIES
    if oracle == "weights" and parameters.get("class_weight") == "balanced" and card.name in UNWEIGHED:
        return COUNTED
    if oracle == "weights" and any(
        name.startswith("min_samples") or name == "max_bins" for name in parameters
    ):
        return COUNTS
    if "random_state" in signature_of(card.load()) and card.family == "svm":
        return ""
    return ""
