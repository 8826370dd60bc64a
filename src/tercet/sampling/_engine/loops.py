"""Compiled loops over the iterations of one chain, specialised for the user's jitted functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.user_functions import closure_kernel

KEPT = 64  # functions whose loops stay compiled


@functools.lru_cache(maxsize=KEPT)
def random_walk_loop(density: Any) -> Callable[..., Any]:
    """Metropolis iterations with moves L z (L lower triangular) for a jitted log density."""

    def loop(x, log_p, moves, log_uniforms, factor, thin, phase, draws, logs, args):
        """Returns (accepted, kept, index of the iteration whose density is no number or -1)."""
        n, d = moves.shape
        candidate, given = np.empty(d), np.empty(d)  # the density may do with its own as it likes
        current = log_p[0]
        accepted = kept = 0
        for i in range(n):
            for j in range(d):
                move = 0.0
                for k in range(j + 1):
                    move += factor[j, k] * moves[i, k]
                candidate[j] = x[j] + move
                given[j] = candidate[j]
            value = density(given, *args)
            if not value < np.inf:
                x[:] = candidate
                log_p[0] = value
                return accepted, kept, i
            if log_uniforms[i] < value - current:
                for j in range(d):
                    x[j] = candidate[j]
                current = value
                accepted += 1
            phase += 1
            if phase == thin:
                for j in range(d):
                    draws[kept, j] = x[j]
                logs[kept] = current
                kept += 1
                phase = 0
        log_p[0] = current
        return accepted, kept, -1

    return closure_kernel(loop)


@functools.lru_cache(maxsize=KEPT)
def independence_loop(density: Any) -> Callable[..., Any]:
    """Metropolis-Hastings iterations with candidates that do not depend on the state."""

    def loop(x, log_p, points, log_uniforms, log_q, thin, phase, draws, logs, args):
        """`log_p` has log p(x) and log q(x). Returns as `random_walk_loop` does."""
        n, d = points.shape
        candidate, given = np.empty(d), np.empty(d)
        current, own = log_p[0], log_p[1]
        accepted = kept = 0
        for i in range(n):
            for j in range(d):
                candidate[j] = points[i, j]
                given[j] = candidate[j]
            value = density(given, *args)
            if not value < np.inf:
                x[:] = candidate
                log_p[0] = value
                return accepted, kept, i
            if log_uniforms[i] < (value - log_q[i]) - (current - own):
                for j in range(d):
                    x[j] = candidate[j]
                current, own = value, log_q[i]
                accepted += 1
            phase += 1
            if phase == thin:
                for j in range(d):
                    draws[kept, j] = x[j]
                logs[kept] = current
                kept += 1
                phase = 0
        log_p[0], log_p[1] = current, own
        return accepted, kept, -1

    return closure_kernel(loop)


@functools.lru_cache(maxsize=KEPT)
def single_component_loop(density: Any) -> Callable[..., Any]:
    """Iterations of single-component Metropolis for a jitted log density: d moves, each of one component."""

    def loop(x, log_p, moves, log_uniforms, scales, order, counts, thin, phase, draws, logs, args):
        """`counts` (2, d): moves accepted and tried per component. Returns (kept, index of a bad iteration)."""
        n, d = moves.shape
        given = np.empty(d)
        current = log_p[0]
        kept = 0
        for i in range(n):
            for k in range(d):
                j = order[i, k]
                old = x[j]
                x[j] = old + scales[j] * moves[i, k]
                for other in range(d):
                    given[other] = x[other]
                value = density(given, *args)
                if not value < np.inf:
                    log_p[0] = value
                    return kept, i
                counts[1, j] += 1
                if log_uniforms[i, k] < value - current:
                    current = value
                    counts[0, j] += 1
                else:
                    x[j] = old
            phase += 1
            if phase == thin:
                for j in range(d):
                    draws[kept, j] = x[j]
                logs[kept] = current
                kept += 1
                phase = 0
        log_p[0] = current
        return kept, -1

    return closure_kernel(loop)


@functools.lru_cache(maxsize=KEPT)
def gibbs_loop(conditionals: tuple[Any, ...]) -> Callable[..., Any]:
    """Gibbs sweeps with jitted conditionals `f(x, rng)`, one per component."""
    draw = _component(conditionals, 0)

    def loop(x, order, rng, thin, phase, draws, args):
        """Returns (kept, component whose draw is no number or -1)."""
        n, d = order.shape
        kept = 0
        for i in range(n):
            for k in range(d):
                j = order[i, k]
                x[j] = draw(x, j, rng, args)
                if not abs(x[j]) < np.inf:
                    return kept, j
            phase += 1
            if phase == thin:
                for j in range(d):
                    draws[kept, j] = x[j]
                kept += 1
                phase = 0
        return kept, -1

    return closure_kernel(loop)


def _component(conditionals: tuple[Any, ...], k: int) -> Any:
    """A jitted function of (x, j, rng, args) that draws from the j-th conditional, for j >= k."""
    own = conditionals[k]
    if k == len(conditionals) - 1:

        def last(x, j, rng, args):
            return own(x, rng, *args)

        return closure_kernel(last)
    following = _component(conditionals, k + 1)

    def either(x, j, rng, args):
        if j == k:
            return own(x, rng, *args)
        return following(x, j, rng, args)

    return closure_kernel(either)


@kernel
def discrete_loop(state, moves, log_uniforms, cumulative, log_acceptance, thin, phase, draws):
    """Metropolis-Hastings on states 0..m-1: `cumulative` rows of the proposal matrix, moves uniform on [0, 1).

    Returns (state, accepted, kept).
    """
    n, m = moves.shape[0], cumulative.shape[0]
    accepted = kept = 0
    for i in range(n):
        low, high = 0, m - 1  # the first column whose cumulative probability is above the number
        while low < high:
            middle = (low + high) // 2
            if cumulative[state, middle] > moves[i, 0]:
                high = middle
            else:
                low = middle + 1
        if log_uniforms[i] < log_acceptance[state, low]:
            state = low
            accepted += 1
        phase += 1
        if phase == thin:
            draws[kept, 0] = state
            kept += 1
            phase = 0
    return state, accepted, kept


@kernel
def table_loop(index, strides, sizes, cumulative, order, uniforms, thin, phase, draws):
    """Gibbs sweeps on a table of joint probabilities, kept flat.

    `index` (d,) is the state. `cumulative` (d, n_states): for component j, cumulative conditional probabilities
    along it. Returns the number of states kept.
    """
    n, d = order.shape
    kept = 0
    flat = 0
    for j in range(d):
        flat += index[j] * strides[j]
    for i in range(n):
        for k in range(d):
            j = order[i, k]
            flat -= index[j] * strides[j]
            value = 0
            while value < sizes[j] - 1 and cumulative[j, flat + value * strides[j]] <= uniforms[i, k]:
                value += 1
            index[j] = value
            flat += value * strides[j]
        phase += 1
        if phase == thin:
            for j in range(d):
                draws[kept, j] = index[j]
            kept += 1
            phase = 0
    return kept
