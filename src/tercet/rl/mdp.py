"""Finite Markov decision processes (马尔可夫决策过程)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.lazy import optional_module
from tercet.core.public_names import PublicPickle
from tercet.core.rows import read_only
from tercet.core.spelling_suggestions import spelling_suggestions
from tercet.rl._engine.model import Model, draw_index, first_state, new_draws, transition, uniform

SLACK = 1e-6  # how far the probabilities of a pair may be from a sum of one, to which they are scaled
ROUNDING = 1e-12  # sums that are closer to one are left as they are
END = (
    "end"  # name of the terminal state that is added where an episode ends in a state that others go on from
)
COLUMNS = ("state", "action", "reward", "next_state")


class Step(NamedTuple):
    """Result of one step of a model: the next state, the reward, and whether the next state is terminal.

    Examples
    --------
    >>> MDP([[[0, 1]], [[0, 1]]], [[5.0], [0.0]]).step(0, 0)
    Step(state=1, reward=5.0, terminated=True)
    """

    state: Any
    reward: float
    terminated: bool


class Episode(NamedTuple):
    """One run through a model or an environment.

    Attributes
    ----------
    states : array or list of length n_steps + 1
        The states, the last one included.
    actions : array or list of length n_steps
        The action in each state but the last.
    rewards : array of shape (n_steps,)
        The reward of each action.
    terminated : bool
        Whether the last state is terminal; otherwise the episode was cut off.

    Examples
    --------
    >>> episode = MDP([[[0, 1]], [[0, 1]]], [[5.0], [0.0]]).simulate(start=0)[0]
    >>> episode.states, episode.rewards, episode.terminated
    (array([0, 1]), array([5.]), True)
    """

    states: Any
    actions: Any
    rewards: np.ndarray
    terminated: bool

    def discounted_return(self, discount: float = 1.0) -> float:
        """Σ γ^t r_{t+1}."""
        return float(self.rewards @ discount ** np.arange(len(self.rewards)))


@method(
    zh="马尔可夫决策过程",
    task="reinforcement learning",
    model="E = <X, A, P, R>: P(x' | x, a) and the reward R(x, a, x'), whatever came before",
    strategy="the policy that maximises the expected sum of discounted rewards, or their mean over T steps",
    texts=["watermelon notes ch. 14, sec. 14.1", "Li ch. 1, eq. 1.1, 1.2"],
    peers=["quantecon.markov.DiscreteDP", "mdptoolbox.mdp"],
)
class MDP(PublicPickle):
    """Finite Markov decision process: states, actions, transition probabilities and rewards.

    In state x an agent chooses an action a, gets the reward R(x, a, x') and is in state x' next, with probability
    P(x' | x, a). An episode ends in a terminal state, whose value is 0.

    Parameters
    ----------
    P : array of shape (n_states, n_actions, n_states), or list of n_actions matrices (n_states, n_states)
        Transition probabilities; matrices of the list, one for each action, may be sparse. Probabilities whose sum
        is one to six digits are scaled to a sum of one.
    R : array of shape (n_states,), (n_states, n_actions) or (n_states, n_actions, n_states), or list of matrices
        Rewards of being in a state, of an action, or of a transition. In the last case it may also be a list of
        n_actions matrices (n_states, n_states), dense or sparse.
    terminal : array of bool of shape (n_states,), or list of states, optional
        Where an episode ends; what P and R hold for these states is ignored. By default the states that every
        action leaves unchanged with a reward of 0.
    allowed : array of bool of shape (n_states, n_actions), optional
        Which actions a state has; what P and R hold for others is ignored. By default all.
    start : array of shape (n_states,) or state, optional
        Distribution of the first state, or the first state itself. By default each state that is not terminal is
        equally likely.
    states, actions : sequence, optional
        Names; by default 0, 1 ...

    Attributes
    ----------
    n_states, n_actions, n_pairs : int
        Number of states, of actions, and of pairs of a state and an action that it allows.
    states, actions : list
        The names.
    allowed : array of bool of shape (n_states, n_actions)
        Which actions each state has.
    terminal : array of bool of shape (n_states,)
        Which states are terminal.
    start : array of shape (n_states,)
        Distribution of the first state.
    pair_states, pair_actions : arrays of shape (n_pairs,)
        State and action of each pair, those of state 0 first.
    probabilities : sparse array of shape (n_pairs, n_states)
        P(x' | x, a), a row for each pair. In a terminal state all actions stay there.
    pair_rewards : array of shape (n_pairs,)
        Expected reward of each pair, Σ_x' P(x' | x, a) R(x, a, x').

    Examples
    --------
    >>> P = [[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]]
    >>> R = [[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]]
    >>> mdp = MDP(P, R, states=["low", "high", "end"])
    >>> mdp
    MDP(3 states, 2 actions, 1 terminal)
    >>> mdp.expected_rewards()
    array([[1.2, 2.7],
           [2.5, 2.6],
           [0. , 0. ]])
    >>> mdp.simulate(n_episodes=2, start="low", random_state=0)[0].states
    array([0, 1, 2])
    """

    def __init__(
        self,
        P: Any,
        R: Any,
        *,
        terminal: Any = None,
        allowed: Any = None,
        start: Any = None,
        states: Sequence[Hashable] | None = None,
        actions: Sequence[Hashable] | None = None,
    ) -> None:
        matrices, n, m = _matrices(P, "P")
        self._name(n, m, states, actions)
        allowed = _allowed(allowed, n, m)
        if terminal is not None:
            allowed[self._mask(terminal) & ~allowed.any(axis=1), 0] = True
        keep = np.flatnonzero(allowed)  # x m + a of the pair of x and a
        if isinstance(matrices, list):
            probabilities = _interleaved(matrices, allowed)
        else:
            rows = matrices.reshape(n * m, n)
            probabilities = sparse.csr_array(rows if keep.size == n * m else rows[keep])
        rewards, expected = _rewards(R, probabilities, keep, n, m)
        self._set(probabilities, rewards, expected, keep // m, keep % m, m, states, actions)
        self._finish(terminal, start)

    def _name(
        self, n: int, m: int, states: Sequence[Hashable] | None, actions: Sequence[Hashable] | None
    ) -> None:
        self.n_states, self.n_actions = n, m
        self._numbered = states is None
        if states is not None:
            self.states = _names(states, n, "states")
        self.actions = _names(range(m) if actions is None else actions, m, "actions")

    def _set(
        self,
        P: Any,
        rewards: np.ndarray | None,
        expected: np.ndarray,
        pair_states: np.ndarray,
        pair_actions: np.ndarray,
        n_actions: int,
        states: Sequence[Hashable] | None,
        actions: Sequence[Hashable] | None,
    ) -> None:
        """Take pairs in their order; `rewards` of transitions, or None where they depend on the pair alone."""
        self._name(P.shape[1], n_actions, states, actions)
        self.n_pairs = P.shape[0]
        self.pair_states, self.pair_actions = pair_states, pair_actions
        self.allowed = np.zeros((self.n_states, n_actions), dtype=bool)
        self.allowed[pair_states, pair_actions] = True
        if P.indices.dtype != np.int32 and max(P.nnz, *P.shape) < 2**31:
            P = sparse.csr_array(
                (P.data, P.indices.astype(np.int32), P.indptr.astype(np.int32)), shape=P.shape
            )
        self.probabilities, self._rewards, self.pair_rewards = P, rewards, expected

    def _finish(self, terminal: Any, start: Any) -> None:
        """Terminal states, checks of all numbers, and the distribution of the first state."""
        without = np.flatnonzero(~self.allowed.any(axis=1))
        if without.size:
            raise ValueError(
                f"MDP: state {self.states[without[0]]!r} has no action; every state that is not terminal needs one."
            )
        if terminal is not None:
            self.terminal = self._mask(terminal)
            self._close()
        self._check()
        if terminal is None:
            self.terminal = self._unchanging()
        self.start = self._distribution(start)

    def _close(self) -> None:
        """Make terminal states stay where they are without a reward, whatever P and R hold for them."""
        P, ends = self.probabilities, self.terminal[self.pair_states]
        if not ends.any():
            return
        counts = np.diff(P.indptr)
        kept = np.repeat(~ends, counts)  # transitions that stay as they are
        counts[ends] = 1
        new = np.repeat(ends, counts)  # where those of terminal states will be
        data, indices = np.ones(new.size), np.empty(new.size, dtype=P.indices.dtype)
        data[~new], indices[~new], indices[new] = P.data[kept], P.indices[kept], self.pair_states[ends]
        if self._rewards is not None:
            rewards, self._rewards = self._rewards, np.zeros(new.size)
            self._rewards[~new] = rewards[kept]
        self.probabilities = sparse.csr_array((data, indices, _indptr(counts)), shape=P.shape)
        self.pair_rewards = np.where(ends, 0.0, self.pair_rewards)

    def _check(self) -> None:
        """An error that names the state and the action whose numbers are wrong."""
        P = self.probabilities
        wrong = np.flatnonzero(~(P.data >= 0))
        if wrong.size:
            pair = int(np.searchsorted(P.indptr, wrong[0], side="right")) - 1
            raise ValueError(
                f"MDP: P holds {P.data[wrong[0]]:g} for {self._pair(pair)}; probabilities must be numbers of at "
                "least 0."
            )
        sums = P @ np.ones(self.n_states)
        wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= SLACK))
        if wrong.size:
            more = f" ({wrong.size} pairs in all)" if wrong.size > 1 else ""
            raise ValueError(
                f"MDP: the probabilities of {self._pair(wrong[0])} sum to {sums[wrong[0]]:.6g}{more}; they must "
                "sum to 1. Actions that a state does not have are marked by `allowed`."
            )
        wrong = np.flatnonzero(~np.isfinite(self.pair_rewards))
        if wrong.size:
            raise ValueError(
                f"MDP: R is not a finite number for {self._pair(wrong[0])}. Actions that a state does not have are "
                "marked by `allowed`."
            )
        if (np.abs(sums - 1.0) > ROUNDING).any():
            data = P.data / np.repeat(sums, np.diff(P.indptr))
            self.probabilities = sparse.csr_array((data, P.indices, P.indptr), shape=P.shape)
            if self._rewards is not None:
                self.pair_rewards = _expected(self.probabilities, self._rewards)

    def _pair(self, pair: int) -> str:
        state, action = self.pair_states[pair], self.pair_actions[pair]
        return f"state {self.states[state]!r} and action {self.actions[action]!r}"

    def _unchanging(self) -> np.ndarray:
        """The states that every action leaves unchanged with a reward of 0."""
        P = self.probabilities
        stays = (np.diff(P.indptr) == 1) & (self.pair_rewards == 0)
        stays[stays] = P.indices[P.indptr[:-1][stays]] == self.pair_states[stays]
        return np.bincount(self.pair_states[~stays], minlength=self.n_states) == 0

    def _mask(self, terminal: Any) -> np.ndarray:
        """Terminal states, given as a mask, a list of states or a state, as an array of bool."""
        named = (
            list(terminal) if isinstance(terminal, Iterable) and not isinstance(terminal, str) else [terminal]
        )
        if named and all(isinstance(item, bool | np.bool_) for item in named):
            if len(named) != self.n_states:
                raise ValueError(
                    "MDP: terminal must be a list of states, or hold True or False for each of the "
                    f"{self.n_states} states; got {len(named)} of these."
                )
            return np.array(named, dtype=bool)
        mask = np.zeros(self.n_states, dtype=bool)
        mask[[self.state_index(state) for state in named]] = True
        return mask

    def _distribution(self, start: Any) -> np.ndarray:
        """Distribution of the first state."""
        if start is None:
            inside = ~self.terminal if not self.terminal.all() else np.ones(self.n_states, dtype=bool)
            return inside / inside.sum()
        if isinstance(start, np.ndarray | list) and np.ndim(start):
            p = np.asarray(start, dtype=np.float64)
            if p.shape != (self.n_states,):
                raise ValueError(
                    f"MDP: start must be a state, or probabilities of the {self.n_states} states; got an array of "
                    f"shape {p.shape}."
                )
            if not ((p >= 0).all() and abs(p.sum() - 1.0) <= SLACK):
                raise ValueError(
                    f"MDP: start must hold probabilities that sum to 1; they sum to {p.sum():.6g}."
                )
            return p / p.sum()
        p = np.zeros(self.n_states)
        p[self.state_index(start)] = 1.0
        return p

    # Other forms of models --------------------------------------------------------------------------------------

    @classmethod
    def from_pairs(
        cls,
        states_of_pairs: Any,
        actions_of_pairs: Any,
        P: Any,
        R: Any,
        *,
        terminal: Any = None,
        start: Any = None,
        states: Sequence[Hashable] | None = None,
        actions: Sequence[Hashable] | None = None,
    ) -> Self:
        """A model of state-action pairs, in any order: QuantEcon's form of models with few actions in each state.

        Parameters
        ----------
        states_of_pairs, actions_of_pairs : arrays of int of shape (n_pairs,)
            State and action of each pair.
        P : array or sparse matrix of shape (n_pairs, n_states)
            Transition probabilities of each pair. A CSR matrix of float64 whose pairs are in order is not copied.
        R : array of shape (n_pairs,)
            Reward of each pair.
        terminal, start, states, actions
            As for the class. Terminal states need no pair.

        Examples
        --------
        >>> MDP.from_pairs([0, 0, 1], [0, 1, 0], [[1, 0], [0, 1], [0, 1]], [1.0, 0.0, 2.0])
        MDP(2 states, 2 actions, 0 terminal)
        """
        P = _tidy(sparse.csr_array(P, dtype=np.float64))
        x, a = _whole(states_of_pairs, "states_of_pairs"), _whole(actions_of_pairs, "actions_of_pairs")
        R = _numbers(R, "R")
        if not x.shape == a.shape == R.shape == P.shape[:1]:
            raise ValueError(
                "MDP: states_of_pairs, actions_of_pairs, R and P must have an entry or a row for each pair; got "
                f"the shapes {x.shape}, {a.shape}, {R.shape} and {P.shape}."
            )
        n, m = P.shape[1], int(a.max()) + 1 if actions is None else len(actions)
        if x.max() >= n or a.max() >= m:
            name, largest, most = ("states", x.max(), n) if x.max() >= n else ("actions", a.max(), m)
            raise ValueError(
                f"MDP: {name}_of_pairs holds {largest}; there are {most} {name}, numbered from 0."
            )
        model = cls.__new__(cls)
        model._name(n, m, states, actions)
        if terminal is not None:
            without = np.setdiff1d(np.flatnonzero(model._mask(terminal)), x)
            x, a, R = np.append(x, without), np.append(a, 0 * without), np.append(R, np.zeros(without.size))
            if without.size:
                P = sparse.vstack([P, sparse.csr_array((without.size, n))], format="csr")
        number = x * m + a
        if (np.diff(number) <= 0).any():
            order = np.argsort(number, kind="stable")
            x, a, R, P, number = x[order], a[order], R[order], P[order], number[order]
        twice = np.flatnonzero(np.diff(number) == 0)
        if twice.size:
            state, action = model.states[x[twice[0]]], model.actions[a[twice[0]]]
            raise ValueError(f"MDP: state {state!r} and action {action!r} appear twice in the pairs.")
        model._set(P, None, R, x, a, m, states, actions)
        model._finish(terminal, start)
        return model

    @classmethod
    def from_gymnasium(cls, env: Any) -> Self:
        """The model that a toy-text environment of gymnasium carries, `env.unwrapped.P`.

        A transition that ends an episode leads to a terminal state: the state that it names, or, where episodes
        also begin in that state or pass through it, an additional last state "end".

        Parameters
        ----------
        env : gymnasium.Env or str
            The environment, or the name it is registered by.

        Examples
        --------
        >>> import gymnasium
        >>> MDP.from_gymnasium(gymnasium.make("CliffWalking-v1"))
        MDP(48 states, 4 actions, 1 terminal)
        """
        if isinstance(env, str):
            env = optional_module("gymnasium", "Environments need", "rl").make(env)
        inner = getattr(env, "unwrapped", env)
        table = getattr(inner, "P", None)
        if not isinstance(table, Mapping | list) or not table:
            raise ValueError(
                f"MDP: {type(inner).__name__} has no table P of its transitions. Learn from it by an agent, or "
                "estimate a model by MDP.from_transitions."
            )
        try:
            rows = list(zip(*_outcomes(table), strict=True))
            _, acts, after, _, _, _ = rows
        except (TypeError, ValueError):
            raise ValueError(
                f"MDP: the table P of {type(inner).__name__} must have lists P[state][action] of (probability, "
                "next state, reward, terminated)."
            ) from None
        states, actions = _in_order([*(name for name, _ in _items(table)), *after]), _in_order(acts)
        place, number = ({name: k for k, name in enumerate(names)} for names in (states, actions))
        x, u = (np.array([place[name] for name in rows[k]], dtype=np.int64) for k in (0, 2))
        a, ends = np.array([number[name] for name in acts], dtype=np.int64), np.array(rows[5], dtype=bool)
        goes_on = np.bincount(u[~ends & (x != u)], minlength=len(states)) > 0
        weights = getattr(inner, "initial_state_distrib", None)
        if weights is not None:
            goes_on[: len(weights)] |= np.asarray(weights) > 0
        p, r = (np.array(rows[k], dtype=np.float64) for k in (3, 4))
        return cls._from_rows(x, a, u, p, r, ends, goes_on, states, actions, weights)

    @classmethod
    def from_transitions(
        cls,
        transitions: Any,
        *,
        states: Sequence[Hashable] | None = None,
        actions: Sequence[Hashable] | None = None,
    ) -> Self:
        """A model estimated from observed transitions: shares of the next states and mean rewards.

        Parameters
        ----------
        transitions : data frame of pandas or polars, or dict of columns
            Columns "state", "action", "reward", "next_state", and "terminated" where episodes end (optional).
            Where an episode ends the next state may be missing; an additional last state "end" takes its place, as
            it does where episodes end in a state that others go on from. States in which no action was observed are
            terminal.
        states, actions : sequence, optional
            All names in order; by default those that occur, sorted where they can be.

        Examples
        --------
        >>> MDP.from_transitions(
        ...     {
        ...         "state": ["a", "a", "b"],
        ...         "action": [0, 0, 0],
        ...         "reward": [1, 1, 4],
        ...         "next_state": ["a", "b", "c"],
        ...         "terminated": [False, False, True],
        ...     }
        ... )
        MDP(3 states, 1 actions, 1 terminal)
        """
        before, taken, reward, after, ends = _columns(transitions)
        (x, u), x_names = _codes([before, after], states, "states")
        (a,), a_names = _codes([taken], actions, "actions")
        n, m = len(x_names), len(a_names)
        pairs = x * m + a
        _, pair, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        acted = np.bincount(x, minlength=n) > 0
        reached = np.bincount(u[~ends], minlength=n) > 0
        lost = np.flatnonzero(reached & ~acted)
        if "terminated" in transitions and lost.size:
            warnings.warn(
                f"MDP: no action was observed in {lost.size} of {n} states that were reached, {x_names[lost[0]]!r} "
                "among them; they are taken as terminal.",
                stacklevel=2,
            )
        return cls._from_rows(x, a, u, 1.0 / counts[pair], reward, ends, acted, x_names, a_names, None)

    @classmethod
    def _from_rows(
        cls,
        x: np.ndarray,
        a: np.ndarray,
        u: np.ndarray,
        p: np.ndarray,
        r: np.ndarray,
        ends: np.ndarray,
        goes_on: np.ndarray,
        states: list[Any],
        actions: list[Any],
        start: Any,
    ) -> Self:
        """A model of rows (state, action, next state or -1, probability, reward, whether the episode ends).

        Rows of the same triple are added. `goes_on` tells which states cannot be terminal.
        """
        n, m = len(states), len(actions)
        leaves = ends & ((u < 0) | goes_on[u])
        if leaves.any():
            name = END
            while name in states:
                name += "_"
            u, states, n = np.where(leaves, n, u), [*states, name], n + 1
        terminal = np.bincount(u[ends], minlength=n) > 0
        without = np.flatnonzero(np.bincount(x, minlength=n) == 0)
        terminal[without] = True
        x, a, u = (np.append(part, more) for part, more in ((x, without), (a, 0 * without), (u, without)))
        p, r = np.append(p, np.ones(without.size)), np.append(r, np.zeros(without.size))
        keep, rows = np.unique(x * m + a, return_inverse=True)
        P, PR = (sparse.csr_array((w, (rows, u)), shape=(keep.size, n)) for w in (p, p * r))
        P.sum_duplicates()
        PR.sum_duplicates()  # the same pattern: sums that are zero stay
        with np.errstate(invalid="ignore", divide="ignore"):  # `_check` refuses what is not positive
            rewards = PR.data / P.data
        if start is not None:
            start = np.append(start, np.zeros(n - len(start)))
        model = cls.__new__(cls)
        names = None if states == list(range(n)) else states
        model._set(P, rewards, _expected(P, rewards), keep // m, keep % m, m, names, actions)
        model._finish(terminal, start)
        return model

    def with_rewards(self, R: Any) -> Self:
        """The same model with other rewards; those of terminal states stay 0.

        Parameters
        ----------
        R : array of shape (n_states,), (n_states, n_actions) or (n_states, n_actions, n_states), or list
            As for the class.

        Returns
        -------
        MDP

        Examples
        --------
        >>> mdp = MDP([[[0, 1]], [[0, 1]]], [[5.0], [0.0]])
        >>> mdp.with_rewards([2.0, 7.0]).expected_rewards().ravel()
        array([2., 0.])
        """
        P, ends = self.probabilities, self.terminal[self.pair_states]
        keep = self.pair_states * self.n_actions + self.pair_actions
        rewards, expected = _rewards(R, P, keep, self.n_states, self.n_actions)
        model = type(self).__new__(type(self))
        vars(model).update(self.__getstate__())
        model._rewards = (
            None if rewards is None else np.where(np.repeat(ends, np.diff(P.indptr)), 0.0, rewards)
        )
        model.pair_rewards = np.where(ends, 0.0, expected)
        model._check()
        return model

    # Parts ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"MDP({self.n_states} states, {self.n_actions} actions, {int(self.terminal.sum())} terminal)"

    def state_index(self, state: Hashable) -> int:
        """The number of a state.

        Examples
        --------
        >>> MDP([[[0, 1]], [[0, 1]]], [[5.0], [0.0]], states=["start", "goal"]).state_index("goal")
        1
        """
        if self._numbered and isinstance(state, int | np.integer) and 0 <= state < self.n_states:
            return int(state)
        return _index(self._places[0], state, "state", self.states)

    def action_index(self, action: Hashable) -> int:
        """The number of an action."""
        return _index(self._places[1], action, "action", self.actions)

    @functools.cached_property
    def states(self) -> list[Any]:
        """The names of the states."""
        return list(range(self.n_states))

    @functools.cached_property
    def _places(self) -> tuple[dict, dict]:
        return {name: k for k, name in enumerate(self.states)}, {
            name: k for k, name in enumerate(self.actions)
        }

    def expected_rewards(self) -> np.ndarray:
        """Expected reward of each action in each state, shape (n_states, n_actions); -inf where not allowed."""
        return self.table(self.pair_rewards, -np.inf)

    def table(self, values: np.ndarray, missing: float = -np.inf) -> np.ndarray:
        """Values of pairs as an array of shape (n_states, n_actions), with `missing` for actions not allowed.

        Examples
        --------
        >>> mdp = MDP.from_pairs([0, 0, 1], [0, 1, 0], [[1, 0], [0, 1], [0, 1]], [1.0, 0.0, 2.0])
        >>> mdp.table(mdp.pair_rewards)
        array([[  1.,   0.],
               [  2., -inf]])
        """
        shape = self.n_states, self.n_actions
        if self.n_pairs == self.n_states * self.n_actions:
            return np.array(values, dtype=np.float64).reshape(shape)
        found = np.full(shape, missing)
        found[self.pair_states, self.pair_actions] = values
        return found

    @functools.cached_property
    def pair_index(self) -> np.ndarray:
        """Number of the pair of each state and action, shape (n_states, n_actions); -1 where it is not allowed."""
        numbers = np.full((self.n_states, self.n_actions), -1, dtype=np.int64)
        numbers[self.pair_states, self.pair_actions] = np.arange(self.n_pairs)
        return numbers

    @functools.cached_property
    def model(self) -> Model:
        """The arrays that simulation kernels read (`tercet.rl._engine.model.Model`)."""
        P = self.probabilities
        rewards = self._rewards
        if rewards is None:
            rewards = np.repeat(self.pair_rewards, np.diff(P.indptr))
        cumulative = np.empty(P.nnz)
        cumulate(P.indptr.astype(np.int64), read_only(P.data), cumulative)
        start = np.cumsum(self.start)
        start[start >= start[-1]] = 1.0
        arrays = (
            self.pair_index, P.indptr.astype(np.int64), P.indices.astype(np.int32), cumulative,
            np.ascontiguousarray(rewards, dtype=np.float64), self.terminal, start,
        )  # fmt: skip
        return Model(*(read_only(array) for array in arrays))

    def __getstate__(self) -> dict[str, Any]:
        cached = {"model", "pair_index", "_places"} | ({"states"} if self._numbered else set())
        return {name: value for name, value in vars(self).items() if name not in cached}

    # Simulation -------------------------------------------------------------------------------------------------

    def step(self, state: Hashable, action: Hashable, random_state: Any = None) -> Step:
        """Take an action in a state.

        Examples
        --------
        >>> MDP([[[0, 1]], [[0, 1]]], [[5.0], [0.0]]).step(0, 0)
        Step(state=1, reward=5.0, terminated=True)
        """
        x, a = self.state_index(state), self.action_index(action)
        pair = self.pair_index[x, a]
        if pair < 0:
            raise ValueError(f"MDP: state {state!r} does not allow the action {action!r}.")
        model = self.model
        low, high = model.indptr[pair], model.indptr[pair + 1]
        k = draw_index(model.cumulative, low, high, generator(random_state).random())
        u = int(model.successors[k])
        return Step(self.states[u], float(model.rewards[k]), bool(self.terminal[u]))

    def simulate(
        self,
        policy: Any = None,
        n_episodes: int = 1,
        *,
        max_steps: int = 1000,
        start: Any = None,
        random_state: Any = None,
    ) -> list[Episode]:
        """Episodes of a policy, which end in a terminal state or after `max_steps`; states and actions are numbers.

        Parameters
        ----------
        policy : array of shape (n_states,) or (n_states, n_actions), optional
            An action for each state, or probabilities of the actions; by default all actions alike.
        n_episodes : int, default=1
            Number of episodes.
        max_steps : int, default=1000
            The most steps of an episode.
        start : array or state, optional
            As for the class; by default the model's own.
        random_state : int, RandomState, Generator or None, default=None
            Seed of the random number generator.

        Returns
        -------
        list of Episode

        Examples
        --------
        >>> mdp = MDP([[[0.5, 0.5]], [[0, 1]]], [[1.0], [0.0]], start=0)
        >>> [len(episode.rewards) for episode in mdp.simulate(n_episodes=4, random_state=0)]
        [1, 2, 1, 1]
        """
        from tercet.rl.policies import action_probabilities

        for name, value in (("n_episodes", n_episodes), ("max_steps", max_steps)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"MDP: {name} must be an integer of at least 1; got {value!r}.")
        chances = np.cumsum(action_probabilities(policy, self), axis=1)
        chances[chances >= chances[:, -1:]] = 1.0
        model = self.model
        if start is not None:
            first = np.cumsum(self._distribution(start))
            first[first >= first[-1]] = 1.0
            model = model._replace(start=read_only(first))
        draws, chances = new_draws(generator(random_state)), read_only(chances)
        states, actions = np.empty(max_steps + 1, dtype=np.int64), np.empty(max_steps, dtype=np.int64)
        rewards = np.empty(max_steps)
        episodes = []
        with np.errstate(over="ignore"):
            for _ in range(n_episodes):
                n = run_episode(model, chances, draws, states, actions, rewards)
                ended = bool(self.terminal[states[n]])
                path = states[: n + 1].copy(), actions[:n].copy(), rewards[:n].copy()
                episodes.append(Episode(*path, ended))
        return episodes


@kernel
def run_episode(
    model: Model,
    chances: np.ndarray,
    draws: np.ndarray,
    states: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray,
) -> int:
    """Follow a policy with cumulative probabilities `chances` (S, A) for at most `rewards.size` steps; how many."""
    states[0] = first_state(model, draws)
    for t in range(rewards.size):
        x = states[t]
        if model.terminal[x]:
            return t
        a = draw_index(chances[x], 0, chances.shape[1], uniform(draws))
        k = transition(model, x, a, draws)
        actions[t], rewards[t], states[t + 1] = a, model.rewards[k], model.successors[k]
    return rewards.size


@kernel
def cumulate(indptr: np.ndarray, probabilities: np.ndarray, cumulative: np.ndarray) -> None:
    """Cumulative probabilities of each pair's transitions; those that nothing comes after are exactly 1."""
    for pair in range(indptr.size - 1):
        low, high = indptr[pair], indptr[pair + 1]
        total = 0.0
        for k in range(low, high):
            total += probabilities[k]
            cumulative[k] = total
        k = high - 1
        while k >= low and (k == high - 1 or probabilities[k + 1] == 0.0):
            cumulative[k] = 1.0
            k -= 1


def _matrices(P: Any, name: str) -> tuple[Any, int, int]:
    """Probabilities or rewards of transitions, and the numbers of states and of actions.

    They are an array (n_states, n_actions, n_states), or a list of sparse matrices (n_states, n_states).
    """
    if sparse.issparse(P):
        raise ValueError(
            f"MDP: {name} must be a list of sparse matrices, one for each action; got a single one."
        )
    parts = isinstance(P, list | tuple) and len(P) > 0
    if parts and all(sparse.issparse(part) or isinstance(part, np.ndarray) for part in P):
        shape = P[0].shape
        for a, part in enumerate(P):
            if part.ndim != 2 or part.shape != shape or shape[0] != shape[1]:
                n = shape[0] if shape else 0
                raise ValueError(f"MDP: {name} of action {a} must have the shape {(n, n)}; got {part.shape}.")
        if any(sparse.issparse(part) for part in P):
            return list(P), shape[0], len(P)
        P = np.stack(P, axis=1)
    array = _numbers(P, name)
    if array.ndim != 3 or array.shape[0] != array.shape[2] or not array.size:
        hint = ""
        if array.ndim == 3 and array.shape[1] == array.shape[2]:
            hint = f" (states first; as one matrix for each action it must be a list of arrays: list({name}))"
        raise ValueError(
            f"MDP: {name} must have the shape (states, actions, states){hint}; got {array.shape}."
        )
    return array, array.shape[0], array.shape[1]


def _numbers(values: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"MDP: {name} must hold numbers, in rows of equal length.") from None


def _allowed(allowed: Any, n: int, m: int) -> np.ndarray:
    found = np.ones((n, m), dtype=bool) if allowed is None else np.array(allowed)
    if found.shape != (n, m) or found.dtype != bool:
        raise ValueError(
            f"MDP: allowed must be an array of bool of shape {(n, m)}, (states, actions); got an array of "
            f"{found.dtype} of shape {found.shape}."
        )
    return found


def _tidy(matrix: Any) -> Any:
    """A CSR matrix in canonical form, without zeros; the given one where it is so already."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _interleaved(matrices: list[Any], allowed: np.ndarray) -> Any:
    """The rows of one matrix for each action, sorted by state, as a matrix (n_pairs, n_states)."""
    n, m = allowed.shape
    # of each matrix in turn, so that no more than one is held in another form than the given one
    counts = np.stack([np.diff(_csr(matrix).indptr) for matrix in matrices], axis=1)[allowed]
    indptr = _indptr(counts)
    places = np.full((n, m), -1, dtype=np.int64)
    places[allowed] = indptr[:-1]
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    for a, matrix in enumerate(matrices):
        rows, columns, values = _arrays(_csr(matrix))
        place_rows(rows, columns, values, read_only(places[:, a].copy()), indices, data)
    return sparse.csr_array((data, indices, indptr), shape=(counts.size, n))


def _indptr(counts: np.ndarray) -> np.ndarray:
    """Where the rows of a CSR matrix begin and end: int32 where that will do, or SciPy widens the indices."""
    indptr = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr.astype(np.int32) if indptr[-1] < 2**31 else indptr


def _csr(matrix: Any) -> Any:
    return _tidy(sparse.csr_array(matrix, dtype=np.float64))


def _arrays(matrix: Any) -> tuple[np.ndarray, ...]:
    """Indptr, indices and data of a CSR matrix, of the types that kernels here are compiled for."""
    parts = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data
    return tuple(read_only(part) for part in parts)


def _rewards(R: Any, P: Any, keep: np.ndarray, n: int, m: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Rewards of the transitions of pairs, None where they depend on the pair alone, and expected rewards."""
    parts = isinstance(R, list | tuple) and any(sparse.issparse(part) for part in R)
    array = None if parts or sparse.issparse(R) else _numbers(R, "R")
    if array is not None and array.shape == (n,):
        return None, array[keep // m]
    if array is not None and array.shape == (n, m):
        return None, array.ravel()[keep]
    each = isinstance(R, list | tuple) and all(isinstance(r, np.ndarray) or sparse.issparse(r) for r in R)
    if array is not None and array.shape != ((m, n, n) if each else (n, m, n)):
        raise ValueError(f"MDP: R must have the shape {(n,)}, {(n, m)} or {(n, m, n)}; got {array.shape}.")
    found, rows, actions = _matrices(R, "R")
    if (rows, actions) != (n, m):
        raise ValueError(
            f"MDP: R must have {m} matrices of shape {(n, n)}, as P has; got {actions} of {(rows, rows)}."
        )
    if isinstance(found, list):
        rewards, (indptr, indices, _) = np.empty(P.nnz), _arrays(P)
        for a, matrix in enumerate(found):
            pairs = np.flatnonzero(keep % m == a)
            states, other = read_only(keep[pairs] // m), _arrays(_csr(matrix))
            pick_entries(indptr, indices, read_only(pairs), states, other[0], other[1], other[2], rewards)
    else:
        row = np.repeat(keep, np.diff(P.indptr))
        rewards = found.reshape(n * m, n)[row, P.indices]
    return rewards, _expected(P, rewards)


def _expected(P: Any, rewards: np.ndarray) -> np.ndarray:
    """Σ_x' P(x' | x, a) R(x, a, x') of each pair."""
    with np.errstate(invalid="ignore", over="ignore"):  # `_check` refuses what is not finite
        products = sparse.csr_array((P.data * rewards, P.indices, P.indptr), shape=P.shape)
        found: np.ndarray = products @ np.ones(P.shape[1])
    return found


@kernel
def place_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    places: np.ndarray,
    new_indices: np.ndarray,
    new_data: np.ndarray,
) -> None:
    """Copy row x of a CSR matrix to where places[x] says; a row with the place -1 is left out."""
    for x in range(places.size):
        if places[x] >= 0:
            shift = places[x] - indptr[x]
            for k in range(indptr[x], indptr[x + 1]):
                new_indices[k + shift], new_data[k + shift] = indices[k], data[k]


@kernel
def pick_entries(
    indptr: np.ndarray,
    indices: np.ndarray,
    pairs: np.ndarray,
    rows: np.ndarray,
    other_indptr: np.ndarray,
    other_indices: np.ndarray,
    other_data: np.ndarray,
    out: np.ndarray,
) -> None:
    """Entries of another CSR matrix at the places of some rows (`pairs`) of one; 0 where the other has none."""
    for i in range(pairs.size):
        j, end = other_indptr[rows[i]], other_indptr[rows[i] + 1]
        for k in range(indptr[pairs[i]], indptr[pairs[i] + 1]):
            while j < end and other_indices[j] < indices[k]:
                j += 1
            out[k] = other_data[j] if j < end and other_indices[j] == indices[k] else 0.0


def _whole(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size == 0 or array.min() < 0:
        raise ValueError(f"MDP: {name} must hold whole numbers of at least 0; got {values!r}.")
    return array.astype(np.int64)


def _names(given: Sequence[Hashable], n: int, what: str) -> list[Any]:
    names = list(given)
    if len(names) != n or len(set(names)) != n:
        raise ValueError(
            f"MDP: {what} must be {n} different names; got {len(names)}, {len(set(names))} of them different."
        )
    return names


def _index(places: dict[Any, int], name: Hashable, what: str, names: list[Any]) -> int:
    try:
        return places[name]
    except (KeyError, TypeError):
        close = spelling_suggestions(str(name), [str(known) for known in names[:1000]], 1)
        hint = f" Did you mean {close[0]!r}?" if close else f" There are {len(names)}, from {names[0]!r} on."
        raise ValueError(f"MDP: there is no {what} {name!r}.{hint}") from None


# Tables of transitions -------------------------------------------------------------------------------------


def _items(table: Any) -> Iterator[tuple[Any, Any]]:
    return iter(table.items() if isinstance(table, Mapping) else enumerate(table))


def _outcomes(table: Any) -> Iterator[tuple[Any, ...]]:
    """Rows (state, action, next state, probability, reward, terminated) of gymnasium's table P."""
    for x, actions in _items(table):
        for a, outcomes in _items(actions):
            for p, u, r, done in outcomes:
                if p != 0:
                    yield x, a, u, p, r, done


def _in_order(names: Any) -> list[Any]:
    """Different names, sorted where they can be; numbers of NumPy as those of Python."""
    found = dict.fromkeys(name.item() if isinstance(name, np.generic) else name for name in names)
    try:
        return sorted(found)
    except TypeError:
        return list(found)


def _columns(transitions: Any) -> tuple[np.ndarray, ...]:
    """State, action, reward, next state and end of each row of a table of transitions."""
    missing = [name for name in COLUMNS if name not in transitions]
    if missing:
        raise ValueError(
            f"MDP: transitions must have the columns {', '.join(COLUMNS)}; {missing[0]!r} is missing."
        )
    before, taken, reward, after = (_column(transitions[name]) for name in COLUMNS)
    n = len(before)
    ends = _column(transitions["terminated"]) if "terminated" in transitions else np.zeros(n, dtype=bool)
    for name, column in zip((*COLUMNS[1:], "terminated"), (taken, reward, after, ends)):
        if len(column) != n:
            raise ValueError(
                f"MDP: the columns of transitions differ in length: state has {n}, {name} {len(column)}."
            )
    if not n:
        raise ValueError("MDP: transitions is empty.")
    if _absent(ends).any() or not np.isin(ends, [0, 1]).all():
        raise ValueError("MDP: the column 'terminated' of transitions must hold True and False.")
    ends = ends.astype(bool)
    try:
        reward = reward.astype(np.float64)
    except (TypeError, ValueError):
        reward = np.full(n, np.nan)
    for name, wrong in (
        ("state", _absent(before)),
        ("action", _absent(taken)),
        ("reward", ~np.isfinite(reward)),
        ("next_state", _absent(after) & ~ends),
    ):
        if wrong.any():
            what = "is not a finite number" if name == "reward" else "is missing"
            where = " and the row does not end an episode" if name == "next_state" else ""
            raise ValueError(f"MDP: {name!r} {what} in row {int(np.argmax(wrong))} of transitions{where}.")
    return before, taken, reward, after, ends


def _column(values: Any) -> np.ndarray:
    """A column of a frame as an array of numbers, of strings, or of objects."""
    try:
        found = np.asarray(values)
    except ValueError:  # tuples of different lengths
        found = np.empty((0, 0))
    texts = found.dtype.kind == "U" and (values is found or all(isinstance(name, str) for name in values))
    if found.ndim == 1 and (texts or found.dtype.kind in "biuf"):
        return found
    names = values.to_list() if hasattr(values, "to_list") else list(values)
    column = np.empty(len(names), dtype=object)
    column[:] = [tuple(name) if isinstance(name, list | np.ndarray) else name for name in names]
    return column


def _absent(column: np.ndarray) -> np.ndarray:
    """Which entries are None or NaN."""
    if column.dtype.kind == "O":
        return np.array([name is None or name != name for name in column], dtype=bool)
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)


def _codes(columns: list[np.ndarray], given: Any, what: str) -> tuple[list[np.ndarray], list[Any]]:
    """Columns of names as numbers (-1 for a missing name), and the names: those given, or all that occur."""
    absent = np.concatenate([_absent(column) for column in columns])
    kinds = {column.dtype.kind for column in columns}
    numbers = np.full(absent.size, -1, dtype=np.int64)
    if kinds <= set("biuf") or kinds == {"U"}:
        values = np.concatenate(columns)[~absent]
        found, inverse = np.unique(values, return_inverse=True)
        if found.dtype.kind == "f" and kinds != {"f"}:  # whole numbers, next to a column with missing ones
            found = found.astype(np.int64) if (found == found.astype(np.int64)).all() else found
        names = found.tolist()
    else:
        every = [name for column in columns for name in column.tolist()]
        every = [name for name, gone in zip(every, absent) if not gone]
        names = _in_order(every)
        place = {name: k for k, name in enumerate(names)}
        inverse = np.array([place[name] for name in every], dtype=np.int64)
    if given is not None:
        place = {name: k for k, name in enumerate(given)}
        unknown = [name for name in names if name not in place]
        if unknown:
            raise ValueError(f"MDP: transitions hold {unknown[0]!r}, which is not among {what}.")
        inverse = np.array([place[name] for name in names], dtype=np.int64)[inverse]
        names = list(given)
    numbers[~absent] = inverse
    return np.split(numbers, np.cumsum([len(column) for column in columns])[:-1]), names
