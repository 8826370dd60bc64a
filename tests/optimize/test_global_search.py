"""Ways out of local minima."""

from itertools import pairwise

import numpy as np
import pytest

from tercet.optimize import genetic_algorithm, minimize, multi_start, noisy_descent, simulated_annealing


def wave(x):
    """Many valleys; the lowest is near -0.512."""
    return float(np.sin(3 * x[0]) + x[0] ** 2 / 10)


def slope(x):
    return 3 * np.cos(3 * x) + x / 5


def rastrigin(x):
    return float(10 * x.size + (x * x - 10 * np.cos(2 * np.pi * x)).sum())


LOWEST = -0.973180479


def test_one_start_stays_in_its_valley():
    assert minimize(wave, [3.0], jac=slope).fun > LOWEST + 0.5


def test_many_starts_find_the_lowest_valley():
    found = multi_start(wave, 12, bounds=[(-6, 6)], jac=slope, random_state=0)
    assert found.fun == pytest.approx(LOWEST, abs=1e-8)
    assert len(found.runs) == 12
    assert found.fun == min(run.fun for run in found.runs)


def test_given_starts_and_any_number_of_threads():
    starts = np.linspace(-6, 6, 9)[:, None]
    runs = [multi_start(wave, starts, jac=slope, method="bfgs", n_jobs=n) for n in (1, 2, 7)]
    for found in runs:
        np.testing.assert_array_equal(found.x, runs[0].x)
        np.testing.assert_array_equal([run.fun for run in found.runs], [run.fun for run in runs[0].runs])


@pytest.mark.parametrize("seed", range(3))
def test_annealing_leaves_the_valley(seed):
    found = simulated_annealing(wave, [5.0], random_state=seed, moves=40, cooling=0.9)
    assert found.fun == pytest.approx(LOWEST, abs=1e-4)
    assert found.fun == wave(found.x)
    assert found.criterion == "cold"


def test_annealing_accepts_worse_moves_at_the_stated_rate():
    # On f(x) = |x| at a constant T the walk has the density exp(-|x|/T) / 2T, whose mean of f is T.
    values = []
    minimize(
        lambda x: abs(float(x[0])),
        [0.0],
        method="annealing",
        temperature=0.5,
        cooling=1 - 1e-12,
        moves=20,
        max_iter=1000,
        random_state=0,
        callback=lambda step: values.append(step.measures["current"]) or step.index == 998,
    )
    assert np.mean(values[50:]) == pytest.approx(0.5, rel=0.1)


def test_annealing_cools_by_its_factor():
    found = minimize(wave, [5.0], method="annealing", temperature=2.0, cooling=0.5, tol=1e-2, random_state=1)
    np.testing.assert_allclose(found.history["temperature"], 2.0 * 0.5 ** np.arange(found.nit))
    assert found.nit == 7  # 0.5^7 is the first below 1e-2


def test_noise_leaves_the_valley_that_the_gradient_stays_in():
    options = {"step_size": 0.05, "noise": 100.0, "tol": 2.0, "max_iter": 2000}
    ends = [noisy_descent(wave, [3.0], random_state=seed, **options).fun for seed in range(8)]
    assert np.median(ends) < -0.9
    still = minimize(wave, [3.0], jac=slope, method="noisy-gd", step_size=0.05, noise=0.0)
    assert still.x == pytest.approx(minimize(wave, [3.0], jac=slope).x, abs=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_genes_of_real_numbers(seed):
    found = genetic_algorithm(rastrigin, [4.0, -3.0], bounds=[(-5, 5)] * 2, random_state=seed)
    assert found.fun < 1e-4
    values = found.history["fun"]
    assert all(after <= before for before, after in pairwise(values))  # the best pass on unchanged


def test_genes_stay_within_their_bounds():
    found = minimize(
        lambda x: float(x.sum()),
        [1.0, 1.0],
        method="genetic",
        bounds=[(0.5, 2), (-1, 3)],
        random_state=0,
        keep=True,
    )
    np.testing.assert_allclose(found.x, [0.5, -1.0], atol=1e-2)
    assert (np.array(found.trajectory) >= [0.5, -1.0]).all()


def test_genes_of_bits_solve_a_knapsack():
    rng = np.random.default_rng(0)
    value, weight = rng.integers(1, 20, size=(2, 12))

    def loss(bits):
        return -float(value @ bits) if weight @ bits <= 50 else 0.0

    every = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    best = min(loss(bits) for bits in every)
    found = genetic_algorithm(loss, np.zeros(12), bounds="binary", random_state=0)
    assert set(np.unique(found.x)) <= {0.0, 1.0}
    assert found.fun == best


@pytest.mark.parametrize("method", ["annealing", "noisy-gd", "genetic"])
def test_the_seed_decides(method):
    options = {"bounds": [(-6, 6)]} if method == "genetic" else {}
    stop = {"callback": lambda step: step.index == 5}
    a, b, c = (minimize(wave, [3.0], method=method, random_state=s, **options, **stop).x for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulated_annealing(wave, [1.0], cooling=1.0), r"cooling must be in \(0, 1\).*got 1.0"),
        (lambda: genetic_algorithm(wave, [1.0], bounds=[(2, 1)]), "bounds must be pairs"),
        (lambda: genetic_algorithm(wave, [1.0], bounds=[(0, 1)], elite=60), "elite must be in"),
        (lambda: multi_start(wave, 3), "bounds must be pairs"),
    ],
)
def test_errors_say_what_is_allowed(call, message):
    with pytest.raises(ValueError, match=message):
        call()


VALUE = np.array([60, 100, 120, 30, 75, 40, 90, 15, 55, 80], dtype=float)
WEIGHT = np.array([10, 20, 30, 5, 14, 9, 22, 4, 11, 19], dtype=float)
CAPACITY = 60.0


def take_out(bits):
    """Take out items of least value per weight until the knapsack is light enough."""
    for item in np.argsort(VALUE / WEIGHT):
        if bits @ WEIGHT > CAPACITY:
            bits[item] = 0
    return bits


def best_knapsack():
    every = (np.arange(2**10)[:, None] >> np.arange(10)) & 1
    return float((every @ VALUE)[every @ WEIGHT <= CAPACITY].max())


def on_simplex(x):
    """The Euclidean projection onto the points whose coordinates are not negative and sum to 1."""
    u = np.sort(x)[::-1]
    excess = (np.cumsum(u) - 1) / np.arange(1, x.size + 1)
    return np.maximum(x - excess[u > excess][-1], 0)


class Recorded:
    """A function that keeps the points at which it was called."""

    def __init__(self, function):
        self.function, self.points = function, []

    def __call__(self, x):
        self.points.append(x.copy())
        return self.function(x)


def test_a_repaired_population_fills_the_knapsack():
    f = Recorded(lambda bits: -float(bits @ VALUE))
    found = genetic_algorithm(f, np.ones(10), bounds="binary", repair=take_out, random_state=0)
    assert -found.fun == best_knapsack()
    points = np.array(f.points)
    assert (points @ WEIGHT <= CAPACITY).all()
    assert np.isin(points, (0, 1)).all()


def test_annealing_fills_the_knapsack_too():
    def rounded(x):
        return take_out((x > 0.5).astype(float))

    f = Recorded(lambda bits: -float(bits @ VALUE))
    found = simulated_annealing(f, np.ones(10), repair=rounded, random_state=0, moves=50, cooling=0.9)
    assert -found.fun == best_knapsack()
    assert (np.array(f.points) @ WEIGHT <= CAPACITY).all()


@pytest.mark.parametrize("method", ["annealing", "genetic"])
def test_repair_keeps_points_on_a_simplex(method):
    centre = np.array([0.7, 0.6, -0.4])
    f = Recorded(lambda x: float(((x - centre) ** 2).sum()))
    more = {"bounds": [(0, 1)] * 3, "patience": 60} if method == "genetic" else {"cooling": 0.9}
    found = minimize(f, [5.0, 0.0, 0.0], method=method, repair=on_simplex, random_state=1, **more)
    np.testing.assert_allclose(found.x, [0.55, 0.45, 0.0], atol=2e-3)
    points = np.array(f.points)
    assert points.min() >= 0
    np.testing.assert_allclose(points.sum(axis=1), 1, atol=1e-12)


def test_repair_that_changes_nothing_changes_nothing():
    for search in (
        lambda **more: simulated_annealing(wave, [5.0], random_state=0, cooling=0.8, **more),
        lambda **more: genetic_algorithm(wave, [5.0], bounds=[(-6, 6)], random_state=0, **more),
    ):
        plain, repaired = search(), search(repair=lambda x: x)
        assert plain.fun == repaired.fun
        np.testing.assert_array_equal(plain.x, repaired.x)


@pytest.mark.parametrize(
    "wrong", [lambda x: x * np.nan, lambda x: x[:1], lambda x: None, lambda x: "far", lambda x: x[None]]
)
def test_repair_must_return_a_point(wrong):
    message = r"repair must return finite numbers of the shape \(2,\); got .* for the point"
    for search in (
        lambda: simulated_annealing(rastrigin, [1.0, 1.0], repair=wrong),
        lambda: genetic_algorithm(rastrigin, [1.0, 1.0], bounds=[(-2, 2)] * 2, repair=wrong),
    ):
        with pytest.raises(ValueError, match=message):
            search()


def test_repair_of_bits_must_return_bits():
    with pytest.raises(ValueError, match="repair must return zeros and ones"):
        genetic_algorithm(lambda bits: 0.0, np.zeros(3), bounds="binary", repair=lambda bits: bits + 0.5)
