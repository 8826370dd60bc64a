"""Products of factors along complete rows, and the conditional of one variable given all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, each


class FlatFactors(NamedTuple):
    """Logarithms of all tables in one array. Factor f begins at starts[f]; its variables are scopes[members[f]
    ...], and strides are the steps of their states."""

    logs: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    scopes: np.ndarray
    strides: np.ndarray


def flat_factors(scopes: Sequence[Sequence[int]], tables: Sequence[np.ndarray]) -> FlatFactors:
    """Factors in the form that the kernels read."""
    starts, members, flat, strides = [0], [0], [], []
    for scope, table in zip(scopes, tables):
        starts.append(starts[-1] + table.size)
        step = table.size
        for k, n in zip(scope, table.shape):
            step //= n
            flat.append(k)
            strides.append(step)
        members.append(len(flat))
    with np.errstate(divide="ignore"):
        logs = np.log(np.concatenate([np.ravel(table) for table in tables] or [np.ones(0)]))
    return FlatFactors(logs, *(np.array(part, dtype=np.int64) for part in (starts, members, flat, strides)))


def log_joint(factors: FlatFactors, codes: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """The sum of the logarithms of all factors for each complete row."""
    parts = each(_log_joint_of, Chunks(codes, rows=4096), factors, n_jobs=n_jobs)
    return np.concatenate(parts)


def log_conditional(
    factors: FlatFactors, codes: np.ndarray, target: int, size: int, n_jobs: int | None = None
) -> np.ndarray:
    """log P(x_target, rest of the row) up to a constant of the row, for each state of the target."""
    parts = each(_log_conditional_of, Chunks(codes, rows=4096), factors, target, size, n_jobs=n_jobs)
    return np.concatenate(parts)


def _log_joint_of(chunk: Any, factors: FlatFactors) -> np.ndarray:
    out = np.zeros(len(chunk[0]))
    add_logs(factors, chunk[0], out)
    return out


def _log_conditional_of(chunk: Any, factors: FlatFactors, target: int, size: int) -> np.ndarray:
    out = np.zeros((len(chunk[0]), size))
    add_conditional_logs(factors, chunk[0], target, out)
    return out


@kernel
def add_logs(factors, codes, out):
    """Add log φ(x_S) of every factor to each row's sum."""
    for i in range(codes.shape[0]):
        row = codes[i]
        found = 0.0
        for f in range(factors.starts.size - 1):
            cell = factors.starts[f]
            for m in range(factors.members[f], factors.members[f + 1]):
                cell += row[factors.scopes[m]] * factors.strides[m]
            found += factors.logs[cell]
        out[i] = found


@kernel
def add_conditional_logs(factors, codes, target, out):
    """Add log φ(x_S) for every state of the target, of the factors that it is in."""
    for f in range(factors.starts.size - 1):
        inside = False
        for m in range(factors.members[f], factors.members[f + 1]):
            inside = inside or factors.scopes[m] == target
        if not inside:
            continue
        for i in range(codes.shape[0]):
            cell, step = factors.starts[f], 0
            for m in range(factors.members[f], factors.members[f + 1]):
                k = factors.scopes[m]
                if k == target:
                    step = factors.strides[m]
                else:
                    cell += codes[i, k] * factors.strides[m]
            for s in range(out.shape[1]):
                out[i, s] += factors.logs[cell + s * step]
