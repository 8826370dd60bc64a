"""Ways out of a local minimum (跳出局部极小): many starts, annealing, noise, evolution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method as card
from tercet.core.estimator import generator
from tercet.core.parallel import each
from tercet.core.steps import Steps
from tercet.optimize.descent import check_start, outcome, start_of
from tercet.optimize.minimize import METHODS, minimize
from tercet.optimize.objective import counted


@card(
    zh="多组初始化",
    task="optimisation",
    model="f(x)",
    strategy="the lowest of several local minima",
    algorithms="a local method from each of several starts",
    texts=["001 ch. 2", "002 ch. 3"],
    peers=["scipy.optimize.basinhopping"],
)
def multi_start(
    fun: Any,
    starts: Any = 10,
    *,
    bounds: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> OptimizeResult:
    """Minimise from several starts and keep the best end.

    Parameters
    ----------
    fun : callable or Objective
        f, as in `minimize`.
    starts : int or array of shape (k, n), default=10
        The starts, or how many to draw uniformly within the bounds.
    bounds : array of shape (n, 2), optional
        Lower and upper ends for the draws; the search itself may leave them.
    random_state : int, Generator or None
        Decides the draws.
    n_jobs : int, optional
        How many threads work at once.
    **options
        The method and its options, as in `minimize`.

    Returns
    -------
    OptimizeResult
        The best run; `runs` has all of them, in the order of the starts.

    Examples
    --------
    >>> wave = lambda x: float(np.sin(3 * x[0]) + x[0] ** 2 / 10)
    >>> multi_start(wave, 8, bounds=[(-6, 6)], random_state=0).x.round(4)
    array([-0.5122])
    """
    if np.ndim(starts) == 0:
        low, high = _bounds(bounds)
        points = generator(random_state).uniform(low, high, size=(int(starts), low.size))
    else:
        points = np.atleast_2d(np.asarray(starts, dtype=float))
    if len(points) == 0:
        raise ValueError(f"starts must be at least 1 start; got {starts!r}.")
    runs = each(lambda x0: minimize(fun, x0, **options), list(points), n_jobs=n_jobs)
    best = min(runs, key=lambda run: run.fun if math.isfinite(run.fun) else math.inf)
    return OptimizeResult(best, runs=runs)


@card(
    zh="模拟退火",
    task="optimisation",
    model="f(x)",
    strategy="the global minimum of f",
    algorithms="random moves; a worse one is accepted with probability exp(-Δf/T), T falls",
    texts=["002 ch. 3"],
    peers=["scipy.optimize.dual_annealing"],
)
def simulated_annealing(
    objective: Any,
    x0: Any,
    *,
    temperature: float | None = None,
    cooling: float = 0.95,
    moves: int = 100,
    spread: Any = 1.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """Simulated annealing: random moves, of which worse ones are accepted ever more rarely.

    One pass is `moves` normal proposals at one temperature T. A proposal that changes f by Δf is accepted
    with probability min(1, exp(-Δf/T)). Every other proposal has the width `spread`, to reach other valleys;
    the width of the rest follows T, so that near half of them are accepted. Then T is multiplied by `cooling`,
    until it has fallen to tol times its first value. The result is the lowest point seen.

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
    tol, max_iter, steps
        As in `minimize`; tol is the share of the first temperature at which the search ends.
    random_state : int, Generator or None
        Decides everything.

    Examples
    --------
    >>> wave = lambda x: float(np.sin(3 * x[0]) + x[0] ** 2 / 10)
    >>> simulated_annealing(wave, [5.0], random_state=0).x.round(2)
    array([-0.51])
    """
    if not 0 < cooling < 1 or moves < 2:
        raise ValueError(f"cooling must be in (0, 1) and moves in [2, inf); got {cooling!r} and {moves!r}.")
    objective, rng, x = counted(objective), generator(random_state), start_of(x0)
    spread = np.broadcast_to(np.asarray(spread, dtype=float), x.shape)
    f = objective.value(x)
    check_start(f, np.zeros(0))
    if temperature is None:
        around = [objective.value(x + spread * rng.standard_normal(x.size)) for _ in range(20)]
        temperature = float(np.std([f, *filter(math.isfinite, around)])) or 1.0
    best, lowest, T, width, reason = x, f, temperature, 1.0, None
    loop = (steps or Steps)(max_iter, hint="Raise max_iter or tol, or lower cooling.")
    for step in loop:
        accepted = 0
        for k, (way, luck) in enumerate(zip(rng.standard_normal((moves, x.size)), rng.random(moves))):
            trial = x + (width if k % 2 else 1.0) * spread * way
            value = objective.value(trial)
            if value <= f or luck < math.exp((f - value) / T):
                x, f, accepted = trial, value, accepted + k % 2
                if f < lowest:
                    best, lowest = x, f
        step.report(best, fun=lowest, current=f, temperature=T, accepted=accepted / (moves / 2))
        T *= cooling
        width = min(width * math.exp(accepted / (moves / 2) - 0.44), 1.0)
        reason = "cold" if tol * temperature >= T else None
        if step.converged(reason):
            break
    return outcome(loop, reason, objective, x=best, fun=lowest, nit=loop.count)


@card(
    zh="随机梯度（带噪声的梯度下降）",
    task="optimisation",
    model="f(x)",
    strategy="a low minimum of f",
    algorithms="gradient steps with random noise that dies away",
    texts=["002 ch. 3"],
)
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
    """Gradient descent with a noisy gradient, which is not zero at a local minimum and so gets out of it.

    x moves by -η(g + ε) with ε normal of standard deviation noise / (1 + k)^decay in pass k. The result is
    the lowest point seen.

    Parameters
    ----------
    objective, x0, max_iter, steps
        As in `minimize`.
    step_size : float, default=0.01
        η.
    noise, decay : float, default=1.0, 0.55
        How strong the noise is, and how fast it dies away.
    tol : float, default=1e-6
        It ends when both the gradient and the noise are smaller.
    random_state : int, Generator or None
        Decides the noise.

    Examples
    --------
    >>> wave = lambda x: float(np.sin(3 * x[0]) + x[0] ** 2 / 10)
    >>> options = {"step_size": 0.05, "noise": 100.0, "random_state": 0, "tol": 3.0}
    >>> noisy_descent(wave, [3.0], **options).x.round(1)
    array([-0.5])
    """
    objective, rng, x = counted(objective), generator(random_state), start_of(x0)
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
    return outcome(loop, reason, objective, x=best, fun=lowest, nit=loop.count)


@card(
    zh="遗传算法",
    task="optimisation",
    model="f(x) on a box, or on vectors of bits",
    strategy="the global minimum of f",
    algorithms="tournament selection, crossover, mutation, elitism",
    texts=["002 ch. 3"],
    peers=["scipy.optimize.differential_evolution"],
)
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
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """A genetic algorithm: the fittest of a population are recombined and mutated.

    Parents win tournaments. Real parents blend (each variable of a child is drawn from the parents' interval,
    a quarter wider on both sides) and mutate by normal noise of random width, from a third of the bounds down
    to a millionth; parents of bits exchange them one by one and mutate by flips. The best pass on unchanged.

    Parameters
    ----------
    objective : callable or Objective
        f; no gradient is needed.
    x0 : array of shape (n,)
        One member of the first population; the others are random.
    bounds : array of shape (n, 2) or "binary"
        The ends of each variable, or vectors of zeros and ones.
    population, tournament, elite : int, default=60, 3, 2
        The number of members, of rivals in a tournament, and of those that pass on unchanged.
    crossover : float, default=0.9
        The probability that two parents recombine.
    mutation : float, optional
        The probability that a variable mutates; 1/n by default.
    patience : int, default=50
        It ends after so many generations without a gain of more than tol.
    tol, max_iter, steps
        As in `minimize`; one pass is one generation.
    random_state : int, Generator or None
        Decides everything.

    Examples
    --------
    >>> ones = lambda bits: -float(bits.sum())
    >>> genetic_algorithm(ones, np.zeros(20), bounds="binary", random_state=0).fun
    -20.0
    """
    objective, rng, x = counted(objective), generator(random_state), start_of(x0)
    if not 1 <= elite < population or not 1 <= tournament <= population:
        raise ValueError(
            f"elite must be in [1, population) and tournament in [1, population]; "
            f"got elite={elite}, tournament={tournament}, population={population}."
        )
    bits = isinstance(bounds, str) and bounds == "binary"
    low, high = (np.zeros(x.size), np.ones(x.size)) if bits else _bounds(bounds)
    rate = 1 / x.size if mutation is None else mutation
    shape = (population - elite, x.size)
    draw = rng.integers(0, 2, (population, x.size)) if bits else rng.uniform(low, high, (population, x.size))
    people = np.vstack([x, draw[1:]]).astype(float)
    values = np.array([objective.value(one) for one in people])
    order = np.argsort(values, kind="stable")
    people, values = people[order], values[order]
    waited, mark, reason = 0, values[0], None
    loop = (steps or Steps)(max_iter, hint="Raise max_iter or lower patience.")
    for step in loop:
        # The people are sorted, so the winner of a tournament is the rival with the smallest number.
        mothers, fathers = (
            people[rng.integers(0, population, (shape[0], tournament)).min(axis=1)] for _ in "mf"
        )
        mixed = rng.random((shape[0], 1)) < crossover
        mutant = rng.random(shape) < rate
        if bits:
            children = np.where(mixed & (rng.random(shape) < 0.5), fathers, mothers)
            children = np.where(mutant, 1 - children, children)
        else:
            children = np.where(
                mixed, mothers + rng.uniform(-0.25, 1.25, shape) * (fathers - mothers), mothers
            )
            children += (
                mutant * rng.standard_normal(shape) * (high - low) * 10 ** rng.uniform(-6, -0.5, shape)
            )
            children = np.clip(children, low, high)
        people = np.vstack([people[:elite], children])
        values = np.concatenate([values[:elite], [objective.value(child) for child in children]])
        order = np.argsort(values, kind="stable")
        people, values = people[order], values[order]
        step.report(people[0].copy(), fun=float(values[0]), mean=float(values.mean()))
        gained = values[0] < mark - tol
        waited, mark = (0, values[0]) if gained else (waited + 1, mark)
        reason = "value" if waited >= patience else None
        if step.converged(reason):
            break
    return outcome(loop, reason, objective, x=people[0].copy(), fun=float(values[0]), nit=loop.count)


def _bounds(bounds: Any) -> tuple[np.ndarray, np.ndarray]:
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


METHODS.update({"annealing": simulated_annealing, "noisy-gd": noisy_descent, "genetic": genetic_algorithm})
