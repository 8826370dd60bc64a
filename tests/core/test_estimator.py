"""The base of every estimator: labels, weights, checks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from tercet.cluster import KMeans
from tercet.core.estimator import Classifier, check_weight, distinct, generator
from tercet.kernel_machines import LSSVC, KernelLogisticRegression
from tercet.linear_model import MaxEnt, Perceptron, Ridge


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@given(
    st.sampled_from([np.int8, np.uint8, np.int32, np.int64, np.uint64]).flatmap(
        lambda kind: arrays(kind, st.integers(1, 40))
    )
)
def test_distinct_integers(y):
    classes, index = distinct(y)
    wanted, position = np.unique(y, return_inverse=True)
    assert classes.dtype == y.dtype
    np.testing.assert_array_equal(classes, wanted)
    np.testing.assert_array_equal(index, position)


@pytest.mark.parametrize("y", [["b", "a", "b"], [True, False, True], [2.0, 1.0, 2.0], [[1], [0], [1]]])
def test_distinct_of_other_labels(y):
    classes, index = distinct(np.asarray(y))
    np.testing.assert_array_equal(classes[index], np.ravel(y))


def test_numbers_with_fractions_are_no_labels():
    with pytest.raises(ValueError, match="continuous"):
        distinct(np.array([0.5, 1.5, 2.5]))


def test_weights():
    X = np.zeros((3, 2), dtype=np.float32)
    assert check_weight(None, X) is None
    assert check_weight(2, X).tolist() == [2, 2, 2]
    assert check_weight([1, 2, 3], X).dtype == np.float32
    for other in (np.float16, np.longdouble, object):
        assert check_weight([1, 2, 3], X.astype(other)).dtype == np.float64
    for wrong, message in [
        ([1, 2], "one weight for each row"),
        ([[1], [2], [3]], "one weight for each row"),
        ([1, -1, 1], r"must not be negative; its smallest value is -1\.0"),
        ([0, 0, 0], "zero for every row"),
        ([1, np.inf, 1], "infinity"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_weight(wrong, X)


def test_generator_from_anything():
    draws = [generator(seed).random() for seed in (3, np.int64(3))]
    assert draws[0] == draws[1]
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    assert generator(np.random.RandomState(1)).random() == generator(np.random.RandomState(1)).random()


def test_callers_sparse_matrix_is_left_alone():
    X = sparse.csr_matrix(([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 0], [0, 2, 3, 4]), shape=(3, 2))  # an entry twice
    before = X.data.copy(), X.indices.copy()
    model = Ridge().fit(X, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])
    np.testing.assert_allclose(model.coef_, Ridge().fit(X.toarray(), [1.0, 2.0, 3.0]).coef_)


def test_class_weight_may_name_classes_that_are_not_there():
    one = Perceptron(class_weight={0: 2.0, 1: 1.0}).fit([[0.0], [1.0]], [0, 1])
    two = Perceptron(class_weight={0: 2.0, 7: 5.0}).fit([[0.0], [1.0]], [0, 1])
    assert np.array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("wrong", [{7: 2.0}, {0: -1.0}, {0: 0, 1: 0}, {0: "a"}, {0: np.inf}, {0: np.nan}])
def test_class_weight_must_make_sense(wrong):
    with pytest.raises(ValueError, match=r"class_weight must give some of the classes \[0, 1\] weights"):
        Perceptron(class_weight=wrong).fit([[0.0], [1.0]], [0, 1])


def test_batches_before_and_after_a_mistake():
    model = Perceptron()
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit([[0.0]], [1])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([[np.nan]], [1], classes=[0, 1])
    assert not hasattr(model, "classes_")
    model.partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match=r"y holds \[5\]; the classes are \[0, 1\]"):
        model.partial_fit([[0.0]], [5])
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("shape", [(3, 4), (3, 6), (3, 0), (0, 5), (5,), (3, 5, 1)])
def test_arrays_that_kernels_read_have_the_width_of_the_rows(shape):
    X = np.random.default_rng(0).normal(size=(30, 5))
    model = KMeans(3).fit(X)
    model.cluster_centers_ = np.zeros(shape)
    for use in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="KMeans: cluster_centers_ has the shape"):
            use(X)


def test_what_is_learned_are_numbers():
    class Diverges(Classifier):
        def _fit(self, X, y, sample_weight):
            self.coef_ = np.array([1.0, np.nan])

    model = Diverges()
    with pytest.raises(ValueError, match="Diverges: coef_ is beyond floating-point numbers"):
        model.fit(np.eye(2), [0, 1])
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("unit", [4.0**-500, 4.0**-60, 1.0, 4.0**60, 4.0**500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_of_which_only_ratios_count(unit, dtype):
    found = check_weight(np.array([1.0, 2.0, 0.0]) * unit, np.zeros((3, 1), dtype=dtype), relative=True)
    assert found.dtype == dtype
    assert 1e-30 <= found.sum() <= 1e30 or dtype == np.float64
    np.testing.assert_array_equal(found / found[0], [1.0, 2.0, 0.0])


@pytest.mark.parametrize("weight", [1e-320, 1e-150, 1e150, 1e308])
def test_weights_that_overflow_or_vanish_are_refused(weight):
    with pytest.raises(
        ValueError, match=r"sample_weight adds up to .*; the sum must be from 1e-100 to 1e\+100"
    ):
        check_weight(np.full(4, weight), np.eye(4))


@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelLogisticRegression(gamma=1.0, class_weight="balanced"),
        lambda: LSSVC(gamma=1.0, class_weight="balanced"),
        lambda: MaxEnt(class_weight="balanced", tol=1e-10, max_iter=1000),
    ],
)
def test_balanced_classes_are_weighed(make):
    """A weight of 2 is as good as having a row twice, for the share of its class, too."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.random((20, 2)), np.arange(20) % 3, np.arange(20) % 4
    one = make().fit(X, y, sample_weight=weight)
    two = make().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), rtol=1e-4, atol=1e-6)
