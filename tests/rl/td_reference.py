"""What the tests of temporal differences compare with: models, exact values, and the algorithms in plain Python."""

import gymnasium as gym
import numpy as np

from tercet.rl import MDP

# The model of the worked examples (watermelon notes, ch. 14): two states, then a terminal one; P[x][a][x'].
P3 = np.array([[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]])
R3 = np.array([[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]], dtype=float)


def three_states():
    return MDP(P3, R3, start=0)


def random_mdp(seed, n=6, m=3, successors=3, ends=0.2):
    """A random model in which each step ends the episode with some probability; the last state is terminal."""
    rng = np.random.default_rng(seed)
    P = np.zeros((n, m, n))
    for x in range(n - 1):
        for a in range(m):
            others = rng.choice(n - 1, successors, replace=False)
            P[x, a, others] = (1 - ends) * rng.dirichlet(np.ones(successors))
            P[x, a, -1] += ends
    P[-1, :, -1] = 1
    R = rng.normal(size=(n, m, n))
    R[-1] = 0
    return MDP(P, R, start=np.append(np.ones(n - 1) / (n - 1), 0))


def deterministic_mdp(seed, n=6, m=3):
    """A random model whose transitions are certain; the last state is terminal, and can be reached from all."""
    rng = np.random.default_rng(seed)
    P, R = np.zeros((n, m, n)), -rng.uniform(0.5, 1.5, size=(n, m, n))
    for x in range(n - 1):
        P[x, 0, x + 1] = 1
        for a in range(1, m):
            P[x, a, rng.integers(n - 1)] = 1
    P[-1, :, -1], R[-1] = 1, 0
    return MDP(P, R, start=0)


def policy_values(mdp, policy, discount):
    """V and Q of a stochastic policy, shape (n_states, n_actions), from linear equations."""
    P, R = dense(mdp)
    V = np.linalg.solve(
        np.eye(mdp.n_states) - discount * np.einsum("xa,xau->xu", policy, P) * ~mdp.terminal,
        np.einsum("xa,xa->x", policy, R),
    )
    V[mdp.terminal] = 0
    return V, R + discount * P @ V


def optimal_values(mdp, discount, sweeps=3000):
    """Q of the best policy, by value iteration."""
    P, R = dense(mdp)
    Q = np.zeros(R.shape)
    for _ in range(sweeps):
        Q = R + discount * P @ np.max(Q, axis=1)
    return Q


def dense(mdp):
    """P of shape (n_states, n_actions, n_states) and expected rewards (n_states, n_actions)."""
    P = np.zeros((mdp.n_states, mdp.n_actions, mdp.n_states))
    P[mdp.pair_states, mdp.pair_actions] = mdp.probabilities.toarray()
    return P, mdp.table(mdp.pair_rewards)


class Simulator(gym.Env):
    """A model as an environment that has random numbers of its own."""

    def __init__(self, mdp, limit=10**9):
        self.P = [[np.flatnonzero(row) for row in rows] for rows in dense(mdp)[0]]
        self.chances, self.mdp, self.limit = dense(mdp)[0], mdp, limit
        self.observation_space = gym.spaces.Discrete(mdp.n_states)
        self.action_space = gym.spaces.Discrete(mdp.n_actions)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.state = int(self.np_random.choice(self.mdp.n_states, p=self.mdp.start))
        return self.state, {}

    def step(self, action):
        model = self.mdp.model
        u = int(self.np_random.choice(self.mdp.n_states, p=self.chances[self.state, action]))
        pair = self.mdp.pair_index[self.state, action]
        low, high = model.indptr[pair], model.indptr[pair + 1]
        k = low + int(np.flatnonzero(model.successors[low:high] == u)[0])
        self.state, self.steps = u, self.steps + 1
        ends = bool(self.mdp.terminal[u])
        return u, float(model.rewards[k]), ends, not ends and self.steps >= self.limit, {}


def recorder(kind):
    """A class of agents that keep the steps they learn from: a list for each episode of
    (state, action, reward, next state, next action or -1, whether terminated)."""

    class Recorder(kind):
        def _learn_step(self, tables, rules, memory, *step):
            self.log[-1].append(step)
            super()._learn_step(tables, rules, memory, *step)

        def _end_episode(self, tables, rules, memory):
            self.log.append([])
            super()._end_episode(tables, rules, memory)

        def _fit(self, world):
            self.log = [[]]
            super()._fit(world)
            self.log = [episode for episode in self.log if episode]

    return Recorder


# Values of states: episodes are lists of (x, r, u, terminated). ---------------------------------------------------


def as_states(log):
    return [[(x, r, u, ends) for x, _, r, u, _, ends in episode] for episode in log]


def as_pairs(log, m):
    """Pairs (x, a) as states: those of Sarsa."""
    return [[(x * m + a, r, u * m + b, ends) for x, a, r, u, b, ends in episode] for episode in log]


def n_step_values(episodes, V, n, alpha, discount, offline=False):
    """n-step TD (Sutton and Barto, 2018, sec. 7.1); truncated episodes end in the value as of the last step."""
    V = V.copy()
    for episode in episodes:
        T, start = len(episode), V.copy()
        ahead = None
        for t in range(T + n - 1):
            if t < T:
                _, _, u, ends = episode[t]
                ahead = 0.0 if ends else (start if offline else V)[u]
            first = t - n + 1
            if first >= 0:
                last = min(first + n, T)
                rewards = [discount ** (i - first) * episode[i][1] for i in range(first, last)]
                G = sum(rewards) + discount ** (last - first) * ahead
                x = episode[first][0]
                V[x] += alpha * (G - (start if offline else V)[x])
    return V


def trace_values(episodes, V, decay, alpha, discount, kind):
    """TD(λ) with traces of all states."""
    V = V.copy()
    for episode in episodes:
        z = np.zeros_like(V)
        for x, r, u, ends in episode:
            error = r + (0.0 if ends else discount * V[u]) - V[x]
            z *= discount * decay
            z[x] = z[x] + 1 if kind == "accumulating" else 1.0
            V += alpha * error * z
    return V


def lambda_return(episode, t, h, decay, discount, values):
    """G_t with the horizon h; values[k] are what bootstraps after k steps of the episode."""

    def n_step(n):
        total = sum(discount**i * episode[t + i][1] for i in range(n))
        _, _, u, ends = episode[t + n - 1]
        return total + (0.0 if ends else discount**n * values[t + n - 1][u])

    ahead = sum((1 - decay) * decay ** (n - 1) * n_step(n) for n in range(1, h - t))
    return ahead + decay ** (h - t - 1) * n_step(h - t)


def offline_lambda_values(episodes, V, decay, alpha, discount):
    """The offline λ-return algorithm: at the end of an episode V(x_t) += α (G_t - V(x_t)) for all t."""
    V = V.copy()
    for episode in episodes:
        T, start = len(episode), V.copy()
        for t in range(T):
            G = lambda_return(episode, t, T, decay, discount, [start] * T)
            V[episode[t][0]] += alpha * (G - start[episode[t][0]])
    return V


def online_lambda_values(episodes, V, decay, alpha, discount):
    """The online λ-return algorithm (Sutton and Barto, 2018, sec. 12.4): in each step all updates are done anew."""
    V = V.copy()
    for episode in episodes:
        history, start = [V.copy()], V.copy()
        for h in range(1, len(episode) + 1):
            V = start.copy()
            for t in range(h):
                G = lambda_return(episode, t, h, decay, discount, history)
                V[episode[t][0]] += alpha * (G - V[episode[t][0]])
            history.append(V.copy())
        V = history[-1]
    return V
