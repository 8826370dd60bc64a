"""Global search (跳出局部极小): simulated annealing, noisy gradient descent and a genetic algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method as card
from tercet.core.estimator import generator
from tercet.core.steps import Steps
from tercet.optimize.descent import check_start, initial_point, make_result, takes_shared_options
from tercet.optimize.objective import as_objective

Repair = Callable[[np.ndarray], Any]  # maps a point to a feasible one


@card(
    zh="模拟退火",
    task="optimisation",
    model="f(x)",
    strategy="the global minimum of f",
    algorithms="random moves; a worse one is accepted with probability exp(-Δf/T), T falls",
    texts=["watermelon notes ch. 3"],
    peers=["scipy.optimize.dual_annealing"],
)
@takes_shared_options
def simulated_annealing(
    objective: Any,
    x0: Any,
    *,
    temperature: float | None = None,
    cooling: float = 0.95,
    moves: int = 100,
    spread: Any = 1.0,
    repair: Repair | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """Simulated annealing: random moves that are accepted by the Metropolis criterion at a falling temperature.

    One pass is `moves` normal proposals at one temperature T. A proposal that changes f by Δf is accepted
    with probability min(1, exp(-Δf/T)). Every other proposal has the width `spread`, to reach other basins; the
    width of the rest is adapted so that near half of them are accepted. Then T is multiplied by `cooling`, until
    it has fallen to tol times its first value. The result is the lowest point seen.

    Parameters
    ----------
    objective : callable or Objective
        f; no gradient is needed.
    x0 : array of shape (n,)
        The start.
    temperature : float, optional
        The first T; by default the spread of f over random moves from x0.
    cooling : float, default=0.95
        What T is multiplied by, in (0, 1).
    moves : int, default=100
        Proposals at each temperature.
    spread : float or array of shape (n,), default=1.0
        The standard deviation of wide proposals.
    repair : callable, optional
        Constraints: a function that maps any point to a feasible one. It is applied to x0 and to every proposal, so
        that f is evaluated at feasible points only.
    tol, max_iter, steps
        As in `minimize`; tol is the share of the first temperature at which the search ends.
    random_state : int, Generator or None
        Seed.

    Examples
    --------
    >>> wave = lambda x: float(np.sin(3 * x[0]) + x[0] ** 2 / 10)
    >>> simulated_annealing(wave, [5.0], random_state=0).x.round(2)
    array([-0.51])

    The point nearest to (1, 2) whose coordinates are not negative and sum to 1:

    >>> def onto_simplex(x):
    ...     x = np.maximum(x, 0)
    ...     return x / x.sum() if x.any() else np.full(x.size, 1 / x.size)
    >>> far = lambda x: float((x[0] - 1) ** 2 + (x[1] - 2) ** 2)
    >>> found = simulated_annealing(far, [3.0, 1.0], repair=onto_simplex, random_state=0)
    >>> found.x.round(3), round(float(found.x.sum()), 12)
    (array([0., 1.]), 1.0)
    """
    if not 0 < cooling < 1 or moves < 2:
        raise ValueError(f"cooling must be in (0, 1) and moves in [2, inf); got {cooling!r} and {moves!r}.")
    objective, rng, x = as_objective(objective), generator(random_state), feasible(initial_point(x0), repair)
    spread = np.broadcast_to(np.asarray(spread, dtype=float), x.shape)
    f = objective.value(x)
    check_start(f, np.zeros(0))
    if temperature is None:
        nearby = (x + spread * rng.standard_normal(x.size) for _ in range(20))
        around = [objective.value(feasible(point, repair)) for point in nearby]
        temperature = float(np.std([f, *filter(math.isfinite, around)])) or 1.0
    best, lowest, T, width, reason = x, f, temperature, 1.0, None
    loop = (steps or Steps)(max_iter, hint="Raise max_iter or tol, or lower cooling.")
    for step in loop:
        accepted = 0
        for k, (direction, u) in enumerate(zip(rng.standard_normal((moves, x.size)), rng.random(moves))):
            trial = feasible(x + (width if k % 2 else 1.0) * spread * direction, repair)
            value = objective.value(trial)
            if value <= f or u < math.exp((f - value) / T):
                x, f, accepted = trial, value, accepted + k % 2
                if f < lowest:
                    best, lowest = x, f
        step.report(best, fun=lowest, current=f, temperature=T, accepted=accepted / (moves / 2))
        T *= cooling
        width = min(width * math.exp(accepted / (moves / 2) - 0.44), 1.0)
        reason = "cold" if tol * temperature >= T else None
        if step.converged(reason):
            break
    return make_result(loop, reason, objective, x=best, fun=lowest, nit=loop.count)


@card(
    zh="随机梯度（带噪声的梯度下降）",
    task="optimisation",
    model="f(x)",
    strategy="a low minimum of f",
    algorithms="gradient steps with decaying random noise",
    texts=["watermelon notes ch. 3"],
)
@takes_shared_options
def noisy_descent(
    objective: Any,
    x0: Any,
    *,
    step_size: float = 0.01,
    noise: float = 1.0,
    decay: float = 0.55,
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """Gradient descent with decaying Gaussian noise, which lets it leave local minima.

    x moves by -η(g + ε) with ε normal of standard deviation noise / (1 + k)^decay in pass k. The result is
    the lowest point seen.

    Parameters
    ----------
    objective, x0, max_iter, steps
        As in `minimize`.
    step_size : float, default=0.01
        η.
    noise, decay : float, default=1.0, 0.55
        Initial standard deviation of the noise, and its decay.
    tol : float, default=1e-6
        Stop when both the gradient and the noise are smaller.
    random_state : int, Generator or None
        Seed of the noise.

    Examples
    --------
    >>> wave = lambda x: float(np.sin(3 * x[0]) + x[0] ** 2 / 10)
    >>> options = {"step_size": 0.05, "noise": 100.0, "random_state": 0, "tol": 3.0}
    >>> noisy_descent(wave, [3.0], **options).x.round(1)
    array([-0.5])
    """
    objective, rng, x = as_objective(objective), generator(random_state), initial_point(x0)
    f, g = objective.value_and_gradient(x)
    check_start(f, g)
    best, lowest, reason = x, f, None
    loop = (steps or Steps)(max_iter, hint="Raise max_iter, tol or decay.")
    for step in loop:
        sigma = noise / (1 + step.index) ** decay
        x = x - step_size * (g + sigma * rng.standard_normal(x.size))
        f, g = objective.value_and_gradient(x)
        if f < lowest:
            best, lowest = x, f
        size = float(np.abs(g).max())
        step.report(best, fun=lowest, current=f, grad_norm=size, noise=sigma)
        if not math.isfinite(f + size):
            reason = "diverged"
            break
        reason = "gradient" if max(size, sigma) <= tol else None
        if step.converged(reason):
            break
    return make_result(loop, reason, objective, x=best, fun=lowest, nit=loop.count)


@card(
    zh="遗传算法",
    task="optimisation",
    model="f(x) on a box, or on vectors of bits",
    strategy="the global minimum of f",
    algorithms="tournament selection, crossover, mutation, elitism",
    texts=["watermelon notes ch. 3"],
    peers=["scipy.optimize.differential_evolution"],
)
@takes_shared_options
def genetic_algorithm(
    objective: Any,
    x0: Any,
    *,
    bounds: Any,
    population: int = 60,
    crossover: float = 0.9,
    mutation: float | None = None,
    tournament: int = 3,
    elite: int = 2,
    patience: int = 50,
    repair: Repair | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """Genetic algorithm: tournament selection, crossover and mutation of a population.

    Parents are chosen by tournament. Real vectors have blend crossover (BLX: each variable of a child is drawn from
    the parents' interval, extended by a quarter on both sides) and Gaussian mutation of random width, from a third
    of the bounds down to a millionth; bit vectors have uniform crossover and bit-flip mutation. The elite survives
    unchanged.

    Parameters
    ----------
    objective : callable or Objective
        f; no gradient is needed.
    x0 : array of shape (n,)
        One member of the initial population; the others are random.
    bounds : array of shape (n, 2) or "binary"
        The ends of each variable, or vectors of zeros and ones.
    population, tournament, elite : int, default=60, 3, 2
        The size of the population, of a tournament and of the elite.
    crossover : float, default=0.9
        The probability that two parents recombine.
    mutation : float, optional
        The probability that a variable mutates; 1/n by default.
    patience : int, default=50
        Stop after so many generations without an improvement of more than tol.
    repair : callable, optional
        Constraints: a function that maps any member to a feasible one. It is applied to x0, to the random members
        of the first population and to every child after crossover, mutation and the bounds. Of a vector of bits it
        must return bits.
    tol, max_iter, steps
        As in `minimize`; one pass is one generation.
    random_state : int, Generator or None
        Seed.

    Examples
    --------
    >>> ones = lambda bits: -float(bits.sum())
    >>> genetic_algorithm(ones, np.zeros(20), bounds="binary", random_state=0).fun
    -20.0

    A knapsack that holds 10: items are taken out, those of least value per weight first, until it is light enough.

    >>> value, weight = np.array([10.0, 40.0, 30.0, 50.0]), np.array([5.0, 4.0, 6.0, 3.0])
    >>> def fits(bits):
    ...     for item in np.argsort(value / weight):
    ...         bits[item] = bits[item] and weight @ bits <= 10
    ...     return bits
    >>> genetic_algorithm(
    ...     lambda bits: -(value @ bits), np.zeros(4), bounds="binary", repair=fits, random_state=0
    ... ).x
    array([0., 1., 0., 1.])
    """
    objective, rng, x = as_objective(objective), generator(random_state), initial_point(x0)
    if not 1 <= elite < population or not 1 <= tournament <= population:
        raise ValueError(
            f"elite must be in [1, population) and tournament in [1, population]; "
            f"got elite={elite}, tournament={tournament}, population={population}."
        )
    binary = isinstance(bounds, str) and bounds == "binary"
    low, high = (np.zeros(x.size), np.ones(x.size)) if binary else check_bounds(bounds)
    shape = (population, x.size)
    members = rng.integers(0, 2, shape) if binary else rng.uniform(low, high, shape)
    members = feasible(np.vstack([x, members[1:]]).astype(float), repair, binary=binary)
    members, values = _sorted(members, np.array([objective.value(member) for member in members]))
    rate, children = 1 / x.size if mutation is None else mutation, population - elite
    waited, best, reason = 0, values[0], None
    loop = (steps or Steps)(max_iter, hint="Raise max_iter or lower patience.")
    for step in loop:
        mothers, fathers = (_select(members, children, tournament, rng) for _ in "mf")
        if binary:
            offspring = _recombine_bits(mothers, fathers, crossover, rate, rng)
        else:
            offspring = _recombine_reals(mothers, fathers, crossover, rate, low, high, rng)
        offspring = feasible(offspring, repair, binary=binary)
        members, values = _sorted(
            np.vstack([members[:elite], offspring]),
            np.concatenate([values[:elite], [objective.value(child) for child in offspring]]),
        )
        step.report(members[0].copy(), fun=float(values[0]), mean=float(values.mean()))
        waited, best = (0, values[0]) if values[0] < best - tol else (waited + 1, best)
        reason = "value" if waited >= patience else None
        if step.converged(reason):
            break
    return make_result(loop, reason, objective, x=members[0].copy(), fun=float(values[0]), nit=loop.count)


def _sorted(members: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The population from best to worst."""
    order = np.argsort(values, kind="stable")
    return members[order], values[order]


def _select(members: np.ndarray, n: int, tournament: int, rng: np.random.Generator) -> np.ndarray:
    """Winners of n tournaments: the population is sorted, so that the lowest index wins."""
    return members[rng.integers(0, len(members), (n, tournament)).min(axis=1)]


def _recombine_bits(
    mothers: np.ndarray, fathers: np.ndarray, crossover: float, rate: float, rng: np.random.Generator
) -> np.ndarray:
    """Uniform crossover and bit-flip mutation."""
    mixed, mutant = rng.random((len(mothers), 1)) < crossover, rng.random(mothers.shape) < rate
    children = np.where(mixed & (rng.random(mothers.shape) < 0.5), fathers, mothers)
    return np.where(mutant, 1 - children, children)


def _recombine_reals(
    mothers: np.ndarray,
    fathers: np.ndarray,
    crossover: float,
    rate: float,
    low: np.ndarray,
    high: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Blend crossover (BLX) and Gaussian mutation within the bounds."""
    shape = mothers.shape
    mixed, mutant = rng.random((len(mothers), 1)) < crossover, rng.random(shape) < rate
    children = np.where(mixed, mothers + rng.uniform(-0.25, 1.25, shape) * (fathers - mothers), mothers)
    children += mutant * rng.standard_normal(shape) * (high - low) * 10 ** rng.uniform(-6, -0.5, shape)
    return np.clip(children, low, high)


def feasible(points: np.ndarray, repair: Repair | None, *, binary: bool = False) -> np.ndarray:
    """A point, or each row of several, as `repair` maps it into the feasible set."""
    if repair is None:
        return points
    if points.ndim == 2:
        return np.array([feasible(point, repair, binary=binary) for point in points])
    found = repair(points.copy())
    try:
        point = np.array(found, dtype=float)
    except (TypeError, ValueError):
        point = np.empty(0)
    allowed = np.isin(point, (0, 1)) if binary else np.isfinite(point)
    if point.shape != points.shape or not allowed.all():
        kind = "zeros and ones" if binary else "finite numbers"
        raise ValueError(
            f"repair must return {kind} of the shape {points.shape}; got {found!r} for the point {points!r}."
        )
    return point


def check_bounds(bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of bounds of shape (n, 2)."""
    ends = np.asarray(bounds, dtype=float) if bounds is not None else np.empty(0)
    if (
        ends.ndim != 2
        or ends.shape[1] != 2
        or not (ends[:, 0] <= ends[:, 1]).all()
        or not np.isfinite(ends).all()
    ):
        raise ValueError(
            f"bounds must be pairs of finite numbers (low, high), one for each variable; got {bounds!r}."
        )
    return ends[:, 0], ends[:, 1]
