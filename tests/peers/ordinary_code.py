"""Ordinary scikit-learn code, a function for each of its modules.

`test_import_change.py` runs this file as it is, and with `sklearn` replaced by `tercet`. What a function returns
must be the same both times; what chance decides, it asserts by itself.
"""

import warnings

import numpy as np
import pandas as pd

IRIS_NAMES = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"]


def iris():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def numbers(n=60, d=5, seed=0):
    from sklearn.datasets import make_regression

    return make_regression(n_samples=n, n_features=d, noise=2.0, random_state=seed)


def base():
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        TransformerMixin,
        clone,
        is_classifier,
        is_regressor,
    )
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.validation import check_is_fitted, validate_data

    class Centred(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.means_ = validate_data(self, X).mean(axis=0)
            return self

        def transform(self, X):
            check_is_fitted(self)
            return validate_data(self, X, reset=False) - self.means_

    class NearestMean(ClassifierMixin, BaseEstimator):
        def __init__(self, shrink=0.0):
            self.shrink = shrink

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            self.means_ = (1 - self.shrink) * np.array(
                [X[y == label].mean(axis=0) for label in self.classes_]
            )
            return self

        def predict(self, X):
            return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]

    X, y = iris()
    model = make_pipeline(Centred(), NearestMean(shrink=0.1))
    twin = clone(model).set_params(nearestmean__shrink=0.0)
    assert is_classifier(model)
    assert is_regressor(LinearRegression())
    return {"scores": cross_val_score(twin, X, y), "parameters": sorted(model.get_params(deep=False))}


def calibration():
    from sklearn.calibration import CalibratedClassifierCV, calibration_curve
    from sklearn.datasets import make_classification
    from sklearn.metrics import brier_score_loss
    from sklearn.svm import LinearSVC

    X, y = make_classification(n_samples=200, random_state=0)
    svm = LinearSVC(random_state=0, tol=1e-8, max_iter=100_000)
    p = CalibratedClassifierCV(svm, cv=3).fit(X[:150], y[:150]).predict_proba(X[150:])[:, 1]
    assert brier_score_loss(y[150:], p) < 0.15
    return {"p": p.round(3), "curve": calibration_curve(y[150:], p, n_bins=3)[0]}


def callback():
    from sklearn.callback import ScoringMonitor
    from sklearn.linear_model import LogisticRegression

    X, y = iris()
    monitor = ScoringMonitor(scoring="accuracy")
    model = LogisticRegression(max_iter=1000).set_callbacks(monitor).fit(X, y)
    return {"kind": type(monitor).__name__, "labels": model.predict(X)}


def cluster():
    from sklearn.cluster import (
        DBSCAN,
        AgglomerativeClustering,
        Birch,
        KMeans,
        MeanShift,
        SpectralClustering,
        estimate_bandwidth,
    )
    from sklearn.datasets import make_blobs
    from sklearn.metrics import adjusted_rand_score

    X, y = make_blobs(n_samples=90, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    models = [
        KMeans(3, n_init=3, random_state=0),
        DBSCAN(eps=1.5),
        AgglomerativeClustering(3, linkage="average"),
        Birch(n_clusters=3),
        MeanShift(bandwidth=estimate_bandwidth(X, quantile=0.3)),
        SpectralClustering(3, random_state=0),
    ]
    return {type(model).__name__: adjusted_rand_score(y, model.fit_predict(X)) for model in models}


def compose():
    from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.uniform(20, 120, 40), "town": rng.choice(["Ulm", "Jena", "Bonn"], 40)})
    price = np.exp(table["size"] / 50 + (table["town"] == "Bonn"))
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), make_column_selector(dtype_include=np.number)),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["town"]),
        ]
    )
    model = TransformedTargetRegressor(make_pipeline(columns, Ridge(0.01)), func=np.log, inverse_func=np.exp)
    model.fit(table, price)
    assert model.score(table, price) > 0.99
    return {"names": list(columns.fit(table).get_feature_names_out()), "prices": model.predict(table.head())}


def configuration():
    from sklearn import config_context, get_config, set_config
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV, cross_validate
    from sklearn.preprocessing import StandardScaler

    X, y = iris()
    with config_context(transform_output="pandas"):
        frame = StandardScaler().fit_transform(pd.DataFrame(X, columns=IRIS_NAMES))
    weight = np.where(y == 0, 0.1, 1.0)
    set_config(enable_metadata_routing=True)
    try:
        model = LogisticRegression(max_iter=1000).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        found = cross_validate(model, X, y, params={"sample_weight": weight})
        ridge = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(ridge, {"alpha": [0.1, 1.0]}).fit(X, y, sample_weight=weight)
    finally:
        set_config(enable_metadata_routing=False)
    return {
        "columns": list(frame.columns),
        "scores": found["test_score"],
        "best": search.best_params_,
        "routing": get_config()["enable_metadata_routing"],
    }


def covariance():
    from sklearn.covariance import EllipticEnvelope, EmpiricalCovariance, GraphicalLasso, LedoitWolf

    X, _ = iris()
    outliers = EllipticEnvelope(random_state=0, contamination=0.1).fit_predict(X)
    return {
        "empirical": EmpiricalCovariance().fit(X).covariance_,
        "shrinkage": LedoitWolf().fit(X).shrinkage_,
        "precision": GraphicalLasso(alpha=0.5).fit(X).precision_,
        "outliers": (outliers == -1).sum(),
    }


def cross_decomposition():
    from sklearn.cross_decomposition import CCA, PLSRegression

    X, y = numbers()
    return {"pls": PLSRegression(2).fit(X, y).predict(X), "cca": abs(CCA(1).fit(X, y).x_weights_)}


def datasets():
    from sklearn import datasets as toys
    from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_moons

    frame = load_iris(as_frame=True).frame
    X, labels = make_moons(20, noise=0.1, random_state=0)
    return {
        "columns": list(frame.columns),
        "digits": load_digits().images.shape,
        "wine": load_wine()["feature_names"][:2],
        "moons": X,
        "labels": labels,
        "blobs": make_blobs(10, random_state=0)[0],
        "friedman": toys.make_friedman1(10, random_state=0)[1],
    }


def decomposition():
    from sklearn.decomposition import NMF, PCA, FactorAnalysis, FastICA, KernelPCA, TruncatedSVD

    X, _ = iris()
    W = NMF(2, init="nndsvda", tol=1e-8, max_iter=2000).fit_transform(X)
    assert W.min() >= 0
    sources = FastICA(2, whiten="unit-variance", random_state=0).fit_transform(X)
    np.testing.assert_allclose(np.cov(sources, rowvar=False, bias=True), np.eye(2), atol=1e-6)
    return {
        "ratio": PCA(2).fit(X).explained_variance_ratio_,
        "scores": abs(PCA(2).fit_transform(X)),
        "values": TruncatedSVD(2, algorithm="arpack", random_state=0).fit(X).singular_values_,
        "noise": FactorAnalysis(1).fit(X).noise_variance_,
        "kernel": KernelPCA(2, kernel="rbf", gamma=0.1).fit(X).eigenvalues_,
    }


def discriminant_analysis():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

    X, y = iris()
    linear = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
    return {
        "linear": linear.predict_proba(X),
        "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, y).predict_proba(X),
    }


def dummy():
    from sklearn.dummy import DummyClassifier, DummyRegressor

    X, y = iris()
    return {
        "share": DummyClassifier(strategy="prior").fit(X, y).predict_proba(X[:2]),
        "median": DummyRegressor(strategy="median").fit(X, y).predict(X[:2]),
    }


def ensemble():
    from sklearn.ensemble import (
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
        StackingClassifier,
        VotingClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    X, y = iris()
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)  # no distances are equal
    forest = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_score_ > 0.9
    assert forest.feature_importances_[2:].sum() > 0.6
    assert HistGradientBoostingClassifier(max_iter=10).fit(X, y).score(X, y) > 0.95
    members = [("bayes", GaussianNB()), ("near", KNeighborsClassifier())]
    stack = StackingClassifier(members, LogisticRegression(C=1e-2, tol=1e-8), cv=3).fit(X, y)
    vote = VotingClassifier(members, voting="soft", weights=[2, 1]).fit(X, y)
    boosted = GradientBoostingRegressor(n_estimators=5, max_depth=2).fit(X[:, :3], X[:, 3])
    return {
        "stack": stack.predict(X),
        "vote": vote.predict_proba(X),
        "boosted": boosted.predict(X[:, :3]),
        "loss": boosted.train_score_,
    }


def exceptions():
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.linear_model import Lasso
    from sklearn.svm import SVC

    X, y = numbers()
    try:
        SVC().predict(X)
    except NotFittedError as error:
        said = "not fitted yet" in str(error)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        Lasso(alpha=1e-4, max_iter=1).fit(X, y)
    return {"said": said, "warned": [warning.category.__name__ for warning in caught]}


def feature_extraction():
    from sklearn.feature_extraction import DictVectorizer, FeatureHasher
    from sklearn.feature_extraction.image import extract_patches_2d, grid_to_graph
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = ["the rose is red", "a red red rose", "the sea and the ship", "a storm on the sea"]
    labels = ["poem", "poem", "travel", "travel"]
    model = make_pipeline(TfidfVectorizer(stop_words="english"), LogisticRegression(tol=1e-8)).fit(
        texts, labels
    )
    counts = CountVectorizer(ngram_range=(1, 2), min_df=2).fit(texts)
    rows = [{"town": "Ulm", "size": 3}, {"town": "Jena"}]
    return {
        "labels": model.predict(["a ship in the storm", "roses are red"]),
        "p": model.predict_proba(texts),
        "words": counts.get_feature_names_out(),
        "counts": counts.transform(texts).toarray(),
        "stop": "the" in ENGLISH_STOP_WORDS,
        "dicts": DictVectorizer(sparse=False).fit_transform(rows),
        "hashed": FeatureHasher(8).transform(rows).toarray(),
        "patches": extract_patches_2d(np.arange(16.0).reshape(4, 4), (2, 2)),
        "graph": grid_to_graph(2, 2).toarray(),
    }


def feature_selection():
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.feature_selection import (
        RFE,
        SelectFromModel,
        SelectKBest,
        SequentialFeatureSelector,
        VarianceThreshold,
        chi2,
        f_classif,
        mutual_info_classif,
    )
    from sklearn.linear_model import Lasso, LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    X, y = iris()
    forest = SelectFromModel(ExtraTreesClassifier(20, random_state=0)).fit(X, y)
    assert forest.get_support()[2:].any()
    information = mutual_info_classif(X, y, random_state=0)
    assert information.argmax() in (2, 3)
    forward = SequentialFeatureSelector(KNeighborsClassifier(), n_features_to_select=2)
    return {
        "chi2": SelectKBest(chi2, k=2).fit(X, y).scores_,
        "f": f_classif(X, y),
        "variances": VarianceThreshold(0.2).fit(X).variances_,
        "rfe": RFE(LogisticRegression(max_iter=1000), n_features_to_select=2).fit(X, y).ranking_,
        "lasso": SelectFromModel(Lasso(alpha=0.1)).fit(X, y).get_support(),
        "forward": forward.fit(X, y).get_support(),
    }


def frozen():
    from sklearn.ensemble import VotingClassifier
    from sklearn.frozen import FrozenEstimator
    from sklearn.naive_bayes import GaussianNB

    X, y = iris()
    fitted = GaussianNB().fit(X[::2], y[::2])
    vote = VotingClassifier(
        [("frozen", FrozenEstimator(fitted)), ("other", GaussianNB())], voting="soft"
    ).fit(X, y)
    return {"p": vote.predict_proba(X)}


def gaussian_process():
    from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    X = np.linspace(0, 5, 20)[:, None]
    y = np.sin(X).ravel() + 0.1 * np.random.default_rng(0).normal(size=20)
    kernel = ConstantKernel() * RBF() + WhiteKernel(0.01)
    mean, std = GaussianProcessRegressor(kernel, random_state=0).fit(X, y).predict(X, return_std=True)
    assert abs(mean - np.sin(X).ravel()).max() < 0.2
    p = GaussianProcessClassifier(RBF()).fit(X, y > 0).predict_proba(X)
    return {"mean": mean, "std": std, "p": p}


def impute():
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
    from sklearn.linear_model import Ridge

    X, _ = iris()
    X = X[::3].copy()
    X[::7, 1] = np.nan
    filled = IterativeImputer(Ridge(1e-3), max_iter=20, random_state=0).fit_transform(X)
    return {
        "mean": SimpleImputer().fit_transform(X),
        "near": KNNImputer(n_neighbors=3).fit_transform(X),
        "regression": filled,
        "missing": MissingIndicator().fit_transform(X),
    }


def inspection():
    from sklearn.inspection import partial_dependence, permutation_importance
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeRegressor

    X, y = numbers()
    model = LinearRegression().fit(X, y)
    importances = permutation_importance(model, X, y, n_repeats=5, random_state=0)
    assert importances.importances_mean.argmax() == abs(model.coef_ * X.std(axis=0)).argmax()
    tree = DecisionTreeRegressor(min_samples_leaf=8, random_state=0).fit(X, y)
    curve = partial_dependence(tree, X, [0], kind="average", grid_resolution=5, method="brute")
    return {"curve": curve["average"], "grid": curve["grid_values"][0]}


def isotonic():
    from sklearn.isotonic import IsotonicRegression, isotonic_regression

    x, y = np.arange(8.0), np.array([1.0, 2, 2, 1, 4, 3, 6, 5])
    model = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    return {"steps": isotonic_regression(y), "predicted": model.predict([-1.0, 2.5, 9.0])}


def kernel_approximation():
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import RidgeClassifier, SGDClassifier
    from sklearn.pipeline import make_pipeline

    X, y = iris()
    model = make_pipeline(RBFSampler(gamma=0.2, random_state=0), SGDClassifier(random_state=0)).fit(X, y)
    near = make_pipeline(Nystroem(n_components=20, random_state=0), RidgeClassifier()).fit(X, y)
    assert model.score(X, y) > 0.8
    return {"sgd": model.predict(X), "ridge": near.predict(X)}


def kernel_ridge():
    from sklearn.kernel_ridge import KernelRidge

    X, y = numbers()
    return {"predicted": KernelRidge(kernel="rbf", gamma=0.1, alpha=0.5).fit(X, y).predict(X)}


def linear_model():
    from sklearn.linear_model import (
        ElasticNet,
        HuberRegressor,
        LassoCV,
        LinearRegression,
        LogisticRegression,
        PoissonRegressor,
        Ridge,
        SGDRegressor,
        lars_path,
        lasso_path,
    )
    from sklearn.preprocessing import scale

    X, y = numbers()
    assert SGDRegressor(random_state=0).fit(scale(X), y).score(scale(X), y) > 0.9
    return {
        "least squares": LinearRegression().fit(X, y).coef_,
        "ridge": Ridge(2.0).fit(X, y).coef_,
        "elastic net": ElasticNet(0.5, tol=1e-8).fit(X, y).coef_,
        "alpha": LassoCV(cv=3, alphas=20, tol=1e-6).fit(X, y).alpha_,
        "logistic": LogisticRegression(tol=1e-10).fit(X, y > 0).coef_,
        "poisson": PoissonRegressor(tol=1e-8).fit(X, np.round(np.exp(y / 200))).coef_,
        "huber": HuberRegressor().fit(X, y).coef_,
        "lars": lars_path(X, y, method="lasso")[2],
        "path": lasso_path(X, y, alphas=[10.0, 1.0], tol=1e-8)[1],
    }


def manifold():
    from sklearn.datasets import make_swiss_roll
    from sklearn.manifold import MDS, TSNE, Isomap, trustworthiness

    X, _ = iris()
    spread = TSNE(perplexity=10, init="pca", random_state=0, max_iter=300).fit_transform(X[::3])
    assert trustworthiness(X[::3], spread) > 0.95
    assert MDS(n_init=1, init="random", random_state=0).fit(X[::3]).embedding_.shape == (50, 2)
    roll, _ = make_swiss_roll(60, random_state=0)
    return {"distances": Isomap(n_neighbors=8).fit(roll).dist_matrix_}


def metrics():
    from sklearn import metrics as measures
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import (
        classification_report,
        confusion_matrix,
        get_scorer,
        make_scorer,
        roc_auc_score,
    )
    from sklearn.metrics.cluster import contingency_matrix
    from sklearn.metrics.pairwise import cosine_similarity, pairwise_distances, rbf_kernel

    X, y = iris()
    model = LogisticRegression(C=0.01, tol=1e-8).fit(X, y)
    found, p = model.predict(X), model.predict_proba(X)
    scorer = make_scorer(measures.fbeta_score, beta=2, average="macro")
    return {
        "report": classification_report(y, found),
        "matrix": confusion_matrix(y, found, normalize="true"),
        "auc": roc_auc_score(y, p, multi_class="ovr"),
        "f2": scorer(model, X, y),
        "loss": get_scorer("neg_log_loss")(model, X, y),
        "table": contingency_matrix(y, found),
        "silhouette": measures.silhouette_score(X, y),
        "rand": measures.adjusted_rand_score(y, found),
        "r2": measures.r2_score(X[:, 0], X[:, 2]),
        "cosine": cosine_similarity(X[:3]),
        "kernel": rbf_kernel(X[:3], gamma=0.1),
        "distances": pairwise_distances(X[:3], metric="cityblock"),
        "squares": pairwise_distances(X[:3], squared=True),
        "roc": measures.roc_curve(y > 0, p[:, 0], pos_label=False)[0],
    }


def mixture():
    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

    X, _ = iris()
    starts = {"means_init": X[[0, 60, 120]], "precisions_init": [np.eye(4)] * 3, "weights_init": [1 / 3] * 3}
    model = GaussianMixture(3, tol=1e-8, max_iter=500, **starts).fit(X)
    bayes = BayesianGaussianMixture(n_components=3, random_state=0, max_iter=500, tol=1e-6).fit(X)
    assert bayes.predict(X).shape == (150,)
    return {"means": model.means_.round(3), "bic": model.bic(X), "labels": model.predict(X)}


def model_selection():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import (
        GridSearchCV,
        GroupKFold,
        RandomizedSearchCV,
        StratifiedKFold,
        TimeSeriesSplit,
        TunedThresholdClassifierCV,
        cross_val_predict,
        cross_validate,
        learning_curve,
        train_test_split,
    )
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    X, y = iris()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0], "kernel": ["linear", "rbf"]}, cv=3).fit(X_train, y_train)
    draws = RandomizedSearchCV(SVC(), {"C": [0.01, 0.1, 1.0, 10.0]}, n_iter=3, random_state=0, cv=3).fit(X, y)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    plain = LogisticRegression(max_iter=1000)
    tuned = TunedThresholdClassifierCV(plain, cv=3, scoring="balanced_accuracy")
    sizes, _, scores = learning_curve(plain, X, y, train_sizes=[0.5, 1.0], cv=3, shuffle=True, random_state=0)
    groups = np.repeat(np.arange(15), 10)
    return {
        "best": search.best_params_,
        "score": search.score(X_test, y_test),
        "drawn": draws.best_params_,
        "folds": cross_validate(SVC(), X, y, cv=folds, return_train_score=True)["train_score"],
        "predicted": cross_val_predict(DecisionTreeClassifier(max_depth=2, random_state=0), X, y, cv=3),
        "times": [len(train) for train, _ in TimeSeriesSplit(3).split(X)],
        "groups": [groups[test] for _, test in GroupKFold(3).split(X, y, groups)],
        "threshold": round(tuned.fit(X, y == 2).best_threshold_, 3),
        "sizes": sizes,
        "curve": scores,
    }


def multiclass():
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
    from sklearn.svm import SVC

    X, y = iris()
    return {
        "one": OneVsOneClassifier(SVC()).fit(X, y).predict(X),
        "rest": OneVsRestClassifier(SVC(tol=1e-8)).fit(X, y).decision_function(X),
    }


def multioutput():
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.multioutput import (
        ClassifierChain,
        MultiOutputClassifier,
        MultiOutputRegressor,
        RegressorChain,
    )
    from sklearn.naive_bayes import GaussianNB

    X, y = iris()
    Y = np.column_stack([y == 0, y == 2]).astype(int)
    return {
        "chain": ClassifierChain(LogisticRegression(tol=1e-8), order=[1, 0]).fit(X, Y).predict(X),
        "several": MultiOutputClassifier(GaussianNB()).fit(X, Y).predict(X),
        "ridge": MultiOutputRegressor(Ridge()).fit(X[:, :2], X[:, 2:]).predict(X[:, :2]),
        "chained": RegressorChain(Ridge()).fit(X[:, :2], X[:, 2:]).predict(X[:, :2]),
    }


def naive_bayes():
    from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

    X, y = iris()
    model = GaussianNB()
    for part in np.array_split(np.random.default_rng(0).permutation(150), 3):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    return {
        "gaussian": model.predict_proba(X),
        "multinomial": MultinomialNB().fit(X, y).feature_log_prob_,
        "bernoulli": BernoulliNB(binarize=2.0).fit(X, y).predict(X),
    }


def neighbors():
    from sklearn.neighbors import (
        KDTree,
        KNeighborsClassifier,
        LocalOutlierFactor,
        NearestNeighbors,
        kneighbors_graph,
    )

    X, y = iris()
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)  # no distances are equal
    return {
        "labels": KNeighborsClassifier(7, weights="distance").fit(X, y).predict(X),
        "near": NearestNeighbors(n_neighbors=3).fit(X).kneighbors(X[:5]),
        "tree": KDTree(X, leaf_size=10).query(X[:5], k=4)[1],
        "graph": kneighbors_graph(X, 3).sum(axis=0),
        "outliers": LocalOutlierFactor(20).fit_predict(X),
    }


def neural_network():
    from sklearn.datasets import load_digits
    from sklearn.neural_network import BernoulliRBM, MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = iris()
    model = make_pipeline(StandardScaler(), MLPClassifier((8,), solver="lbfgs", random_state=0, max_iter=200))
    assert model.fit(X, y).score(X, y) > 0.95
    pixels = load_digits().data[:200] / 16
    rbm = BernoulliRBM(20, random_state=0, n_iter=3).fit(pixels)
    # (the last digits of BLAS decide which of several flat minima is found: probabilities differ by 1e-3)
    labels = model.predict_proba(X).argmax(1)
    return {"labels": labels, "h": rbm.transform(pixels), "score": rbm.score_samples(pixels)}


def pipeline():
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = iris()
    both = FeatureUnion([("components", PCA(2)), ("columns", SelectKBest(k=1))])
    model = Pipeline([("scale", StandardScaler()), ("features", both), ("model", SVC(C=2.0))])
    model.set_params(features__components__n_components=1, model__C=1.0).fit(X, y)
    short = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)).fit(X, y)
    return {
        "labels": model.predict(X),
        "names": list(model[:-1].get_feature_names_out()),
        "steps": list(short.named_steps),
        "coefficients": short[-1].coef_,
    }


def preprocessing():
    from sklearn import preprocessing as scalers
    from sklearn.preprocessing import (
        FunctionTransformer,
        KBinsDiscretizer,
        LabelEncoder,
        OneHotEncoder,
        OrdinalEncoder,
        PolynomialFeatures,
        PowerTransformer,
        QuantileTransformer,
        SplineTransformer,
        TargetEncoder,
    )

    X, _ = iris()
    towns = np.array([["Ulm"], ["Jena"], ["Ulm"], ["Bonn"]] * 5, dtype=object)
    return {
        "scaled": scalers.MinMaxScaler().fit_transform(scalers.scale(X)),
        "robust": scalers.RobustScaler().fit_transform(X),
        "hot": OneHotEncoder(drop="first", sparse_output=False).fit_transform(towns),
        "codes": OrdinalEncoder().fit_transform(towns),
        "labels": LabelEncoder().fit_transform(towns.ravel()),
        "bins": KBinsDiscretizer(4, encode="ordinal", strategy="uniform").fit_transform(X),
        "target": TargetEncoder(smooth=2.0).fit(towns, np.arange(20.0)).transform(towns),
        "powers": PolynomialFeatures(2, interaction_only=True).fit(X).get_feature_names_out(IRIS_NAMES),
        "power": PowerTransformer().fit_transform(X),
        "quantiles": QuantileTransformer(n_quantiles=10).fit_transform(X),
        "splines": SplineTransformer(n_knots=4).fit_transform(X[:, :1]),
        "logs": FunctionTransformer(np.log1p).fit_transform(X),
        "normal": scalers.normalize(X, norm="l1"),
    }


def random_projection():
    from sklearn.random_projection import GaussianRandomProjection, johnson_lindenstrauss_min_dim

    X = np.random.default_rng(0).normal(size=(20, 100))
    return {
        "projected": GaussianRandomProjection(5, random_state=0).fit_transform(X),
        "needed": johnson_lindenstrauss_min_dim(1000, eps=0.2),
    }


def semi_supervised():
    from sklearn.naive_bayes import GaussianNB
    from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

    X, y = iris()
    known = np.where(np.arange(150) % 5 == 0, y, -1)
    spread = LabelSpreading(kernel="rbf", gamma=2.0).fit(X, known)
    trained = SelfTrainingClassifier(GaussianNB(), threshold=0.9).fit(X, known)
    return {"labels": spread.transduction_, "trained": trained.predict(X)}


def svm():
    from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

    X, y = iris()
    model = SVC(tol=1e-8, class_weight="balanced").fit(X, y)
    return {
        "decision": model.decision_function(X),
        "support": model.n_support_,
        "linear": LinearSVC(tol=1e-8, max_iter=100_000, random_state=0).fit(X, y).coef_,
        "regression": SVR(C=10.0, tol=1e-8).fit(X[:, :3], X[:, 3]).predict(X[:, :3]),
        "one class": OneClassSVM(nu=0.1, tol=1e-8).fit(X).decision_function(X),
    }


def tree():
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz, export_text

    X, y = iris()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:, :2], y)
    return {
        "text": export_text(model, feature_names=IRIS_NAMES[:2]),
        "nodes": export_graphviz(model).count("label"),
        "alphas": model.cost_complexity_pruning_path(X[:, 2:3], y).ccp_alphas,
        "depth": model.get_depth(),
        "numbers": DecisionTreeRegressor(max_leaf_nodes=5).fit(X[:, 2:3], X[:, 0]).predict(X[:, 2:3]),
    }


def utils():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import Ridge
    from sklearn.utils import Bunch, check_random_state, resample, shuffle
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.estimator_checks import check_estimator_cloneable
    from sklearn.utils.extmath import randomized_svd, softmax
    from sklearn.utils.multiclass import type_of_target, unique_labels
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import check_array, check_is_fitted, check_X_y

    X, y = iris()
    check_is_fitted(RandomForestClassifier(2).fit(X, y))
    check_estimator_cloneable("Ridge", Ridge())
    return {
        "bunch": Bunch(a=1).a,
        "draw": check_random_state(0).randint(10, size=3),
        "shuffled": shuffle(X, y, random_state=0)[1],
        "drawn": resample(y, n_samples=9, stratify=y, random_state=0),
        "weights": compute_class_weight("balanced", classes=np.unique(y), y=y[:120]),
        "values": randomized_svd(X, 2, random_state=0)[1],
        "softmax": softmax(X[:2]),
        "kind": type_of_target(y),
        "labels": unique_labels(y),
        "powers": Parallel(n_jobs=2, backend="threading")(delayed(pow)(2, k) for k in range(4)),
        "checked": check_X_y(X, y)[0].shape + check_array([[1, 2]]).shape,
    }
