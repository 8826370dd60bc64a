"""Every model has its own picture, and the picture has the model's numbers."""

import importlib
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tercet.plot
from tercet.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, DivisiveClustering
from tercet.datasets import two_moons
from tercet.discriminant_analysis import QuadraticDiscriminantAnalysis
from tercet.ensemble import StackingClassifier, VotingClassifier
from tercet.feature import MRMR
from tercet.linear_model import (
    ElasticNetCV,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PolynomialRegression,
)
from tercet.multiclass import OneVsRestClassifier
from tercet.neighbors import KNeighborsClassifier
from tercet.plot import (
    match_colours,
    plot_clusters,
    plot_coefficients,
    plot_dendrogram,
    plot_fit,
    plot_model,
    plot_reachability,
    plot_regions,
    plot_silhouette,
    to_svg,
)
from tercet.plot.models import _pictures, picture
from tercet.tree import DecisionTreeClassifier
from tests.conformance.population import CARDS, data, make
from tests.plot.words import ticks


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 4)) + np.eye(3, 4)[y] * 2, y


# They keep the rows and learn nothing about them; or choose, clean, map or encode columns, or words; or learn a
# single test.
BLANK = {
    "CountVectorizer",
    "DecisionStump",
    "ClusterEncoder",
    "CompressedSensing",
    "CountEncoder",
    "DateTimeFeatures",
    "DummyEncoder",
    "FeatureCross",
    "FeatureHasher",
    "GroupImputer",
    "GroupStatistics",
    "HashBucketEncoder",
    "HashingVectorizer",
    "KBinsDiscretizer",
    "LogTransformer",
    "MissingThreshold",
    "OrdinalEncoder",
    "OutlierCleaner",
    "RangeCleaner",
    "RowStatistics",
    "SparseCoder",
    "TargetEncoder",
    "FeatureMap",
    "FourierFeatures",
    "RadialBasisFeatures",
    "TileCoding",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KNeighborsTransformer",
    "KernelDensity",
    "KernelPCA",
    "LasVegasWrapper",
    "NearestCentroid",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RadiusNeighborsTransformer",
    "InformationSelector",
    "TfidfTransformer",
    "TfidfVectorizer",
    "VectorSpaceRetrieval",
    "SubsetSearch",
}


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_model_has_a_picture(card):
    X, y = data(card)
    model = make(card).fit(X, y)
    names = ["first", "$second$", "第三", "fourth"][: X.shape[1]] if hasattr(X, "shape") else None
    ax = plot_model(model, names)
    assert (ax is None) == (card.name in BLANK)
    if ax is None:
        return
    assert to_svg(ax).startswith("<svg")


@pytest.fixture
def not_imported():
    """The package as it is before anything of it is used."""

    def ours():
        return {name for name in sys.modules if name == "tercet.plot" or name.startswith("tercet.plot.")}

    loaded = {name: sys.modules.pop(name) for name in ours()}
    yield
    for name in ours():
        del sys.modules[name]
    sys.modules.update(loaded)
    tercet.plot = loaded["tercet.plot"]


@pytest.mark.parametrize("first", ["plot_model", "plot_tree"])
def test_pictures_of_other_modules_are_there_from_the_start(first, not_imported):
    """The package is lazy: whatever is used first, a tree is drawn as a tree, and a newcomer comes first."""
    plot = importlib.import_module("tercet.plot")
    assert "tercet.plot.trees" not in sys.modules
    getattr(plot, first)
    plot.picture("mine_")(lambda model, feature_names, labels, ax: "mine")
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    assert plot.plot_model(model) is not None
    assert plot.plot_model(SimpleNamespace(mine_=1, coef_=[1.0], tree_=1)) == "mine"


def test_scores_of_a_selector_are_bars():
    model = MRMR(2).fit([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]] * 3, [0, 0, 1, 1] * 3)
    ax = plot_model(model, ["a", "b", "c"])
    assert ticks(ax, "y") == ["a", "b", "c"]
    assert [bar.get_width() for bar in ax.patches] == model.scores_.tolist()


def test_coefficients_of_one_row_are_bars():
    model = SimpleNamespace(coef_=[0.5, -2.0, 1.0])
    ax = plot_coefficients(model, ["a", "b", "c"], top=2)
    assert ticks(ax, "y") == ["b", "c"]
    assert [bar.get_width() for bar in ax.patches] == [-2, 1]
    with pytest.raises(ValueError, match="feature_names has 2 names; the model has 3 features"):
        plot_coefficients(model, ["a", "b"])


def test_coefficients_of_classes_are_a_map(three_classes):
    model = LogisticRegression().fit(*three_classes)
    ax = plot_coefficients(model, list("abcd"), top=3, labels=["red", "green", "blue"])
    order = ["abcd".index(word) for word in ticks(ax, "y")]
    np.testing.assert_array_equal(ax.images[0].get_array(), model.coef_[:, order].T)
    assert order == np.argsort(-np.abs(model.coef_).max(axis=0)).tolist()[:3]
    assert ticks(ax, "x") == ["red", "green", "blue"]
    with pytest.raises(ValueError, match="labels has 1 names; the model has 3 classes"):
        plot_coefficients(model, labels=["red"])


def test_two_classes_say_which_way_is_which(three_classes):
    X, y = three_classes
    model = LogisticRegression().fit(X[:40], y[:40])
    assert plot_model(model, labels=["no", "yes"]).get_xlabel() == "coefficient (above 0: yes)"
    assert plot_model(model).get_xlabel() == "coefficient (above 0: 1)"


def test_class_means(three_classes):
    X, y = three_classes
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    ax = plot_model(model, list("abcd"))
    order = ["abcd".index(word) for word in ticks(ax, "y")]
    from_the_mean = model.means_ - X.mean(axis=0)
    np.testing.assert_allclose(ax.images[0].get_array(), from_the_mean[:, order].T)


def test_one_against_the_rest_shows_all_its_parts(three_classes):
    model = OneVsRestClassifier(LogisticRegression()).fit(*three_classes)
    ax = plot_model(model, list("abcd"))
    order = ["abcd".index(word) for word in ticks(ax, "y")]
    rows = np.vstack([part.coef_ for part in model.estimators_])
    np.testing.assert_array_equal(ax.images[0].get_array(), rows[:, order].T)
    assert ticks(ax, "x") == ["0", "1", "2"]


def test_ensembles_show_how_their_members_count(three_classes):
    X, y = three_classes
    members = [("line", LogisticRegression()), ("gone", "drop"), ("near", KNeighborsClassifier())]
    vote = VotingClassifier(members, weights=[1, 9, 2]).fit(X, y)
    ax = plot_model(vote)
    assert {word: bar.get_width() for word, bar in zip(ticks(ax, "y"), ax.patches)} == {"near": 2, "line": 1}
    ax = plot_model(vote.set_params(weights=None))
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.5]
    stack = StackingClassifier(members).fit(X, y)
    ax = plot_model(stack, labels=["a", "b", "c"])
    assert sorted(ticks(ax, "y")) == [f"{name}{k}" for name in ("line", "near") for k in range(3)]
    assert ticks(ax, "x") == ["a", "b", "c"]


def test_paths_of_cross_validation(three_classes):
    X, y = three_classes
    lasso = LassoCV(alphas=20, cv=3).fit(X, y)
    ax = plot_model(lasso)
    *folds, mean, chosen = ax.get_lines()
    assert len(folds) == 3
    np.testing.assert_allclose(mean.get_ydata(), lasso.mse_path_.mean(axis=1)[::-1])
    assert chosen.get_xdata()[0] == lasso.alpha_

    mixed = ElasticNetCV(l1_ratio=[0.2, 0.9], alphas=10, cv=3).fit(X, y)
    mean = plot_model(mixed).get_lines()[-2]
    best = mixed.mse_path_.mean(axis=2).min()
    assert mean.get_ydata().min() == pytest.approx(best)
    assert mean.get_xdata()[np.argmin(mean.get_ydata())] == pytest.approx(mixed.alpha_)

    logistic = LogisticRegressionCV(Cs=5, cv=3).fit(X, y)
    mean = plot_model(logistic).get_lines()[-2]
    np.testing.assert_allclose(mean.get_ydata(), logistic.scores_[1].mean(axis=0))
    assert mean.get_xdata()[np.argmax(mean.get_ydata())] == pytest.approx(np.ravel(logistic.C_)[0])


def test_polynomial_names_its_terms():
    x = np.linspace(-1, 1, 30)[:, None]
    model = PolynomialRegression(degree=2).fit(x, 5 + 3 * x.ravel() - 4 * x.ravel() ** 2)
    ax = plot_model(model, ["height"])
    assert ticks(ax, "y") == ["height²", "height"]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [-4, 3], atol=1e-6)


def test_centres_and_mergers():
    points = np.array([[0.0, 0], [0, 1], [5, 5], [5, 6.5], [20, 0]])
    centres = SimpleNamespace(cluster_centers_=points[:2], labels_=[0, 1])
    np.testing.assert_allclose(plot_model(centres).images[0].get_array(), [[-0.5, 0.5], [0, 0]])

    merges = linkage(points, "single")
    model = SimpleNamespace(children_=merges[:, :2].astype(int), distances_=merges[:, 2], n_clusters_=2)
    ax = plot_model(model)
    tops = [line[:, 1].max() for line in ax.collections[0].get_segments()]
    assert sorted(tops) == sorted(merges[:, 2])
    assert {*ticks(ax, "x")} == {"0", "1", "2", "3", "4"}
    cut = ax.get_lines()[0].get_ydata()[0]
    assert merges[-2, 2] < cut < merges[-1, 2]


def test_dendrograms_are_cut_by_number_and_height():
    points = np.array([[0.0], [1.0], [5.0], [7.0]])
    for model in (AgglomerativeClustering(linkage="single"), DivisiveClustering(compute_full_tree=True)):
        model.fit(points)
        (line,) = plot_dendrogram(model, n_clusters=3).lines
        assert model.distances_[0] < line.get_ydata()[0] < model.distances_[1]
        (line,) = plot_dendrogram(model, height=1.25).lines
        assert line.get_ydata()[0] == 1.25
        assert sorted(ticks(plot_dendrogram(model), "x")) == ["0", "1", "2", "3"]
    some = DivisiveClustering(3).fit(points[:, [0]])
    assert sorted(ticks(plot_dendrogram(some), "x")) == ["(2)", "2", "3"]


def test_a_long_dendrogram_is_cut_to_its_top():
    points = np.arange(3000.0)[:, None] ** 1.01  # a chain: every row joins the same cluster
    merges = linkage(points, "single")
    model = SimpleNamespace(children_=merges[:, :2].astype(int), distances_=merges[:, 2])
    words = ticks(plot_dendrogram(model, leaves=10), "x")
    assert len(words) == 10
    rows = sum(int(word.strip("()")) if word.startswith("(") else 1 for word in words)
    assert rows == 3000


def test_pipelines_and_newcomers(three_classes):
    X, y = three_classes
    ax = plot_model(make_pipeline(StandardScaler(), LinearRegression()).fit(X, y), list("abcd"))
    assert {*ticks(ax, "y")} == {*"abcd"}
    assert plot_model(object()) is None
    before = list(_pictures)
    try:
        picture("coef_")(lambda model, feature_names, labels, ax: "mine")
        assert plot_model(SimpleNamespace(coef_=[1.0])) == "mine"
    finally:
        _pictures[:] = before


def test_regions_of_anything_that_predicts():
    X, _ = two_moons(60, random_state=0)

    class Halves:
        def predict(self, X):
            return np.where(X[:, 0] > 0.5, "right", "left")

    sides = Halves().predict(X)
    ax = plot_regions(Halves(), X, sides, ["east", "north"], resolution=20)
    shown = np.asarray(ax.images[0].get_array())
    assert (shown[0, 0], shown[0, -1]) == (0, 1)
    assert [len(dots.get_offsets()) for dots in ax.collections] == [
        (sides == "left").sum(),
        (sides == "right").sum(),
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("east", "north")
    model = LogisticRegression().fit(X, sides)
    with pytest.raises(ValueError, match="y has 'up', which the model does not know"):
        plot_regions(model, X, np.full(60, "up"))

    surface = plot_regions(LinearRegression().fit(X, X.sum(axis=1)), X, X.sum(axis=1), resolution=20)
    grid = np.asarray(surface.images[0].get_array())
    assert grid[0, 0] == pytest.approx(surface.get_xlim()[0] + surface.get_ylim()[0])


def test_one_feature_is_a_line():
    x = np.linspace(0, 1, 20)[:, None]
    model = LinearRegression().fit(x, 2 * x.ravel())
    for ax in (plot_fit(model, x, x.ravel(), ["age"]), plot_regions(model, x, x.ravel(), ["age"])):
        line = ax.get_lines()[0].get_xydata()
        np.testing.assert_allclose(line[:, 1], 2 * line[:, 0], atol=1e-12)
        assert ax.get_xlabel() == "age"
    with pytest.raises(ValueError, match="one feature"):
        plot_fit(model, np.ones((3, 2)), np.ones(3))


def test_clusters_have_the_colours_of_their_classes():
    truth = np.repeat([0, 1, 2], 30)
    labels = np.repeat([2, 0, 1, 1], [30, 25, 5, 30])
    colours = match_colours(labels, truth)
    assert colours == {2: 0, 0: 1, 1: 2}
    points = np.random.default_rng(0).normal(size=(90, 2))
    named = {name: plot_clusters(points, y, colours=c).collections for name, y, c in
             (("truth", truth, None), ("found", labels, colours))}  # fmt: skip
    shade = {name: [tuple(dots.get_facecolor()[0]) for dots in drawn] for name, drawn in named.items()}
    assert [shade["found"][k] for k in (2, 0, 1)] == shade["truth"]
    blades = plot_silhouette(np.ones(90), labels, colours=colours).collections
    assert [tuple(b.get_facecolor()[0][:3]) for b in blades] == [colour[:3] for colour in shade["found"]]
    # More clusters than classes, noise, and classes that no cluster has.
    assert match_colours([3, 3, 1, 2, -1], list("aabbc")) == {1: 1, 2: 3, 3: 0}
    assert match_colours([7, 7], [1, 0]) in ({7: 0}, {7: 1})


def test_fit_names_its_axes():
    X, y = np.arange(5.0)[:, None], np.arange(5.0)
    model = SimpleNamespace(predict=lambda X: X.ravel())
    ax = plot_fit(model, X, y, ["bmi"], target_name="progression")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bmi", "progression")


def test_clusters_and_noise():
    points = np.arange(12.0).reshape(6, 2)
    ax = plot_clusters(points, [0, 0, 1, 1, 1, -1])
    assert [len(dots.get_offsets()) for dots in ax.collections] == [1, 2, 3]
    assert ax.get_title(loc="left") == "2 clusters"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["noise", "0", "1"]
    named = plot_clusters(points, list("aabbcc"))
    assert [text.get_text() for text in named.get_legend().get_texts()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="two columns"):
        plot_clusters(np.ones((3, 3)), [0, 1, 2])


def test_silhouette_blades():
    values, labels = np.array([0.9, 0.5, -0.1, 0.4]), np.array([0, 0, 1, 1])
    ax = plot_silhouette(values, labels)
    widths = [blade.get_paths()[0].get_extents().x1 for blade in ax.collections]
    assert widths == [0.9, 0.4]
    assert ax.get_lines()[0].get_xdata()[0] == pytest.approx(values.mean())
    assert (
        len(plot_silhouette(np.linspace(-1, 1, 5000), np.zeros(5000)).collections[0].get_paths()[0].vertices)
        < 500
    )
    with pytest.raises(ValueError, match="no cluster"):
        plot_silhouette([0.1], [-1])


def test_reachability_and_dense_regions():
    X = np.r_[np.arange(6) * 0.1, 10 + np.arange(6) * 0.1, 30.0][:, None]
    ax = plot_model(OPTICS(min_samples=3, max_eps=5.0, cluster_method="dbscan", eps=1.0).fit(X))
    assert (ax.get_ylabel(), ax.get_title(loc="left")) == ("reachability", "2 clusters")
    assert sum(len(lines.get_segments()) for lines in ax.collections) == 13
    for model in (DBSCAN(min_samples=3), HDBSCAN(min_cluster_size=3)):
        for rows in (X, np.c_[X, X], np.c_[X, X, -X]):
            ax = plot_model(model.fit(rows))
            assert ax.get_title(loc="left") == "2 clusters"
            assert sum(len(dots.get_offsets()) for dots in ax.collections) == 13
    with pytest.raises(ValueError, match="infinite"):
        plot_reachability(SimpleNamespace(reachability_=[np.inf], ordering_=[0], labels_=[-1]))
