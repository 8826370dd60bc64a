"""Worlds and plain algorithms that linear agents are compared with."""

import gymnasium
import numpy as np

from tercet.rl import MDP
from tercet.rl._engine.model import first_state, new_draws, transition, uniform


def random_walk(n=5):
    """States 0 to n + 1; the ends are terminal, and the right one pays 1. The values are x / (n + 1)."""
    P, R = np.zeros((n + 2, 1, n + 2)), np.zeros((n + 2, 1, n + 2))
    for x in range(1, n + 1):
        P[x, 0, [x - 1, x + 1]] = 0.5
    P[0, 0, 0] = P[n + 1, 0, n + 1] = R[n, 0, n + 1] = 1
    return MDP(P, R, start=(n + 1) // 2)


def random_model(seed=0, n=8, m=3):
    """A random model with a terminal last state, and an action that is not allowed in state 1."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n) * 0.4, size=(n, m))
    allowed = np.ones((n, m), dtype=bool)
    allowed[1, 0] = False
    return MDP(P, rng.normal(size=(n, m, n)), terminal=[n - 1], allowed=allowed)


def ring(n=6):
    """A model without chance: action 1 goes from x to x + 1 and pays x, action 0 stays; the last state ends it."""
    P, R = np.zeros((n, 2, n)), np.zeros((n, 2))
    for x in range(n - 1):
        P[x, 0, x] = P[x, 1, x + 1] = 1
        R[x] = [-0.5, x]
    P[n - 1, :, n - 1] = 1
    return MDP(P, R, start=0)


class VectorWorld(gymnasium.Env):
    """A model without chance as an environment, whose observations are rows of a table."""

    def __init__(self, mdp=None, table=None, length=50, first_action=0):
        self.mdp = ring() if mdp is None else mdp
        self.table = np.eye(self.mdp.n_states) if table is None else np.asarray(table, dtype=np.float64)
        self.length, self.first_action = length, first_action
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, self.table.shape[1:], np.float64)
        self.action_space = gymnasium.spaces.Discrete(self.mdp.n_actions, start=first_action)
        self.log = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = int(np.argmax(self.mdp.start)), 0
        return self.table[self.x].copy(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        before = self.x
        found = self.mdp.step(before, int(action) - self.first_action)
        self.x, self.t = found.state, self.t + 1
        truncated = not found.terminated and self.t >= self.length
        self.log.append(
            (before, int(action), found.reward, self.x, found.terminated, found.terminated or truncated)
        )
        return self.table[self.x].copy(), found.reward, found.terminated, truncated, {}


def plain(mdp, phi, *, discount, alpha, seed=0, n_episodes=20, max_steps=1000, rule="sarsa", epsilon=0.1, decay=0.0,
          kind="accumulating", normalize=False):  # fmt: skip
    """Linear TD, Sarsa and Q-learning as in the books, with dense vectors; θ after some episodes.

    `phi(x, a)` gives a vector. The random numbers are those of our kernels, drawn in the same order.
    """
    rng = np.random.default_rng(seed)
    draws, nature = new_draws(rng), new_draws(rng)
    model, theta = mdp.model, np.zeros(len(phi(0, 0)))

    def values(x):
        return np.array([theta @ phi(x, a) if mdp.allowed[x, a] else -np.inf for a in range(mdp.n_actions)])

    def choose(x):
        q = values(x)
        u = uniform(draws)
        if rule == "td":  # all actions alike
            actions = np.flatnonzero(mdp.allowed[x])
            return int(actions[np.searchsorted(np.arange(1, len(actions)) / len(actions), u, side="right")])
        if u < epsilon:
            actions = np.flatnonzero(mdp.allowed[x])
            return int(actions[int(u / epsilon * len(actions))])
        best = np.flatnonzero(q == q.max())
        return int(best[int(uniform(draws) * len(best))]) if len(best) > 1 else int(best[0])

    with np.errstate(over="ignore"):
        for _ in range(n_episodes):
            x, z, old = first_state(model, nature), np.zeros(len(theta)), 0.0
            a = choose(x) if rule in ("sarsa", "expected") else -1
            for _ in range(max_steps):
                if rule in ("td", "q"):
                    a = choose(x)
                k = transition(model, x, a, nature)
                r, u = model.rewards[k], model.successors[k]
                done = bool(model.terminal[u])
                b = choose(u) if rule in ("sarsa", "expected") and not done else -1
                f = phi(x, a)
                if done:
                    ahead = 0.0
                elif rule == "sarsa":
                    ahead = theta @ phi(u, b)
                elif rule == "expected":
                    q = values(u)
                    q = q[np.isfinite(q)]
                    ahead = (1 - epsilon) * q.max() + epsilon * q.mean()
                else:
                    ahead = values(u).max() if rule == "q" else theta @ phi(u, 0)
                value, best = theta @ f, values(x).max()
                if rule == "q" and value < best:
                    z = np.zeros(len(theta))
                rate = alpha / (f @ f) if normalize else alpha
                delta = r + discount * ahead - value
                if kind == "dutch":
                    z = discount * decay * z + (1 - rate * discount * decay * (z @ f)) * f
                    theta = theta + rate * (delta + value - old) * z - rate * (value - old) * f
                    old = ahead
                else:
                    z = discount * decay * z
                    z = np.where(f != 0, f, z) if kind == "replacing" else z + f
                    theta = theta + rate * delta * z
                x, a = u, b
                if done:
                    break
    return theta


class Stay(gymnasium.Env):
    """One state and a reward of 1; each episode has one step, and is terminated or truncated."""

    observation_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, terminated):
        self.terminated = terminated

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(1), {}

    def step(self, action):
        return np.ones(1), 1.0, self.terminated, not self.terminated, {}
