"""Feature vectors of observations: what a user gives as `features`, as rows of entries for kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tercet.core.rows import read_only
from tercet.rl._engine.linear import Features
from tercet.rl.environment import GymEnvironment
from tercet.rl.mdp import MDP

SAMPLE = 1000  # observations that transformers are fitted on
SLOTS = 3
UNBOUNDED = 1e30  # bounds of a Box beyond it say nothing

Writer = Callable[[np.ndarray, np.ndarray, np.ndarray], int]


# Discrete observations: a table -----------------------------------------------------------------------------


def state_table(features: Any, world: MDP | GymEnvironment, *, joint: bool, one_hot: bool) -> Any:
    """φ of all states as a CSR matrix with a row for each state, or for each state and action if `joint`.

    Parameters
    ----------
    features : None, array, sparse matrix, callable or transformer
        None is an indicator of the state, or if not `one_hot` the state itself as a vector.
    """
    n, m = int(world.n_states or 0), int(world.n_actions)
    if features is None and one_hot:
        table = sparse.eye_array(n * m if joint else n, format="csr")
    elif features is None:
        table = state_vectors(world)
    elif hasattr(features, "transform"):
        _refuse_joint(joint)
        vectors = state_vectors(world)
        features = features if is_fitted(features) else clone(features).fit(vectors)
        table = features.transform(vectors)
    elif callable(features):
        names = state_names(world)
        pairs = [(x, a) for x in names for a in world.actions] if joint else [(x,) for x in names]
        table = _stacked(features, pairs)
    else:
        table = features
    wanted = (n, m) if joint else (n,)
    if not sparse.issparse(table):
        table = _numbers(table)
        if table.ndim == len(wanted) + 1 and table.shape[:-1] == wanted:
            table = table.reshape(-1, table.shape[-1])
    if table.ndim != 2 or table.shape[0] != np.prod(wanted) or not table.shape[1]:
        said = "(n_states, n_actions, n_features)" if joint else "(n_states, n_features)"
        raise ValueError(
            f"features must have the shape {said} with {' and '.join(map(str, wanted))} for the first; got "
            f"{table.shape}."
        )
    return _finite_table(sparse.csr_array(table, dtype=np.float64), world, m if joint else 1)


def _numbers(table: Any) -> np.ndarray:
    try:
        return np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "features must be None, an array or sparse matrix of numbers, a callable, or a transformer; got "
            f"{table!r:.100}."
        ) from None


def _finite_table(table: Any, world: MDP | GymEnvironment, rows_of_a_state: int) -> Any:
    table.sum_duplicates()
    wrong = np.flatnonzero(~np.isfinite(table.data))
    if wrong.size:
        row = int(np.searchsorted(table.indptr, wrong[0], side="right")) - 1
        name = state_names(world)[row // rows_of_a_state]
        raise ValueError(
            f"features holds {table.data[wrong[0]]} for state {name!r}; it must hold finite numbers."
        )
    return table


def state_names(world: MDP | GymEnvironment) -> list[Any]:
    """The names of a model's states, or an environment's discrete observations."""
    if isinstance(world, MDP):
        return list(world.states)
    return [world.decode(x) for x in world.states]


def state_vectors(world: MDP | GymEnvironment) -> np.ndarray:
    """States whose names are numbers, or tuples of numbers, as rows."""
    try:
        rows = [np.asarray(name, dtype=np.float64).ravel() for name in state_names(world)]
        vectors = np.stack(rows)
        if np.isfinite(vectors).all():
            return vectors
    except (TypeError, ValueError):
        pass
    raise ValueError(
        "the names of the states must be numbers, or tuples of as many numbers each, to be taken as vectors; give "
        "features as an array with a row for each state, or as a callable."
    )


def static_features(table: Any, allowed: np.ndarray, form: int) -> Features:
    """A table of `state_table` for kernels."""
    starts, ends = table.indptr[:-1].astype(np.int64), table.indptr[1:].astype(np.int64)
    columns, values = table.indices.astype(np.int64), table.data.copy()
    return Features(starts, ends, columns, values, allowed, table.shape[1], form)


# Observations that are vectors ------------------------------------------------------------------------------


def is_fitted(transformer: Any) -> bool:
    """Whether a transformer can be used as it is."""
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return False
    except TypeError:  # not an estimator: something with a transform
        pass
    return True


def fitted_features(features: Any, world: GymEnvironment, *, joint: bool, rng: np.random.Generator) -> Any:
    """The features of vectors as they are used: a transformer that is not fitted is fitted on observations."""
    if features is not None and not hasattr(features, "transform") and not callable(features):
        raise ValueError(
            f"features must be a callable or a transformer where observations are vectors ({world.space}); got "
            f"{features!r:.100}."
        )
    if hasattr(features, "transform"):
        _refuse_joint(joint)
        if not is_fitted(features):
            return clone(features).fit(sample_observations(world, rng))
        wide = getattr(features, "n_features_in_", world.n_features)
        if wide != world.n_features:
            raise ValueError(
                f"features was fitted on {wide} inputs; observations of the environment have {world.n_features}."
            )
    if joint and features is None:
        raise ValueError("features must be a callable φ(x, a) with action_features='joint'; got None.")
    return features


def _refuse_joint(joint: bool) -> None:
    if joint:
        raise ValueError(
            "features must be a callable φ(x, a), or an array of shape (n_states, n_actions, n_features), with "
            "action_features='joint'; got a transformer."
        )


def sample_observations(world: GymEnvironment, rng: np.random.Generator) -> np.ndarray:
    """Observations to fit transformers on, shape (n, n_features): uniform ones where all inputs have bounds,
    otherwise those of random actions; and both corners of the bounds."""
    low, high = (np.asarray(end, dtype=np.float64).ravel() for end in (world.space.low, world.space.high))
    bounded = (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED)
    if bounded.all():
        sample = rng.uniform(low, high, size=(SAMPLE, low.size))
    else:
        seen = world.reset(int(rng.integers(2**31)))
        while len(seen) < SAMPLE:
            actions = rng.integers(world.n_actions, size=world.n_streams).tolist()
            seen = seen + world.step(actions).observations
        sample = np.array(seen)
    corners = np.where(bounded, [low, high], [sample.min(axis=0), sample.max(axis=0)])
    return np.vstack([sample, corners])


def feature_rows(features: Any, X: np.ndarray, shape: tuple[int, ...], actions: Any = None) -> Any:
    """φ of rows X of observations, or of these and actions, an array or a sparse matrix; callables get
    observations of the given shape."""
    if features is None:
        return X
    if hasattr(features, "transform"):
        found = features.transform(X)
        return found.tocsr() if sparse.issparse(found) else np.asarray(found, dtype=np.float64)
    if actions is None:
        return _stacked(features, [(x.reshape(shape),) for x in X])
    return _stacked(features, [(x.reshape(shape), int(a)) for x, a in zip(X, actions)])


def _stacked(features: Any, arguments: list[tuple[Any, ...]]) -> np.ndarray:
    """Vectors that a user's function gives for one observation after another (or pair of it and an action)."""
    rows = [_vector(features(*given)) for given in arguments]
    for row, given in zip(rows, arguments):
        if row.size != rows[0].size:
            raise ValueError(
                f"features must give vectors of the same length; it gave {rows[0].size} numbers for "
                f"{arguments[0][0]!r} and {row.size} for {given[0]!r}."
            )
    return np.stack(rows)


def _vector(found: Any) -> np.ndarray:
    """A vector of a user's function, shape (n_features,)."""
    try:
        vector = (found.toarray() if sparse.issparse(found) else np.asarray(found, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise ValueError(f"features must give a vector of numbers; it gave {found!r:.100}.") from None
    if not np.isfinite(vector).all():
        raise ValueError(f"features must give finite numbers; it gave {vector.tolist()!r:.100}.")
    return vector


def writer(
    features: Any, example: np.ndarray, shape: tuple[int, ...], more: tuple[Any, ...]
) -> tuple[Writer, int, int]:
    """A function `(x, columns, values) -> n` that writes the entries of φ(x), or φ(x, *more); the most entries of a
    row, and the number of features."""
    if hasattr(features, "_writer"):  # one of ours
        return features._writer(), features._n_entries, features._n_features_out
    if hasattr(features, "transform"):
        found = features.transform(example[None])
        if sparse.issparse(found):
            return _sparse_writer(features), found.shape[1], found.shape[1]

        def given(x: np.ndarray) -> np.ndarray:
            return _vector(features.transform(x[None]))
    elif features is None:

        def given(x: np.ndarray) -> np.ndarray:
            return x
    else:

        def given(x: np.ndarray) -> np.ndarray:
            return _vector(features(x.reshape(shape), *more))

    every = np.arange(given(example).size)

    def write(x: np.ndarray, columns: np.ndarray, values: np.ndarray) -> int:
        vector = given(x)
        if vector.size != every.size:
            raise ValueError(
                f"features must give vectors of the same length; it gave {vector.size} numbers for {x!r}, and "
                f"{every.size} before."
            )
        columns[:], values[:] = every, vector
        return every.size

    return write, every.size, every.size


def _sparse_writer(features: Any) -> Writer:
    def write(x: np.ndarray, columns: np.ndarray, values: np.ndarray) -> int:
        found = features.transform(x[None]).tocsr()
        found.sum_duplicates()
        columns[: found.nnz], values[: found.nnz] = found.indices, found.data
        return int(found.nnz)

    return write


class Slots:
    """Rows of features that observations are written to: three for each stream of steps, used in turn.

    At the end of an episode three observations are needed: the last two, and the first one of the next episode.

    Parameters
    ----------
    writers : list of functions
        Of `writer`: one, or one for each action.
    n_entries, n_columns : int
        The most entries of a row, and the number of features.
    n_streams, n_actions, form : int
    """

    def __init__(
        self, writers: list[Writer], n_entries: int, n_columns: int, n_streams: int, n_actions: int, form: int
    ) -> None:
        self.writers = writers
        rows = SLOTS * n_streams * len(writers)
        starts = np.arange(rows, dtype=np.int64) * n_entries
        self.phi = Features(
            starts,
            starts.copy(),
            np.zeros(rows * n_entries, dtype=np.int64),
            np.zeros(rows * n_entries),
            read_only(np.zeros((0, n_actions), dtype=bool)),
            n_columns,
            form,
        )
        self._columns = self.phi.columns.reshape(rows, n_entries)
        self._values = self.phi.values.reshape(rows, n_entries)
        self._turn = [0] * n_streams

    def place(self, x: np.ndarray, stream: int) -> int:
        """Write the features of an observation of a stream; the number of its row (or of its rows / n_actions)."""
        self._turn[stream] = (self._turn[stream] + 1) % SLOTS
        slot = SLOTS * stream + self._turn[stream]
        for k, write in enumerate(self.writers):
            row = slot * len(self.writers) + k
            n = write(x, self._columns[row], self._values[row])
            self.phi.ends[row] = self.phi.starts[row] + n
        return slot
