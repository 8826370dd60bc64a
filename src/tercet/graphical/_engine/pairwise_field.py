"""Fields of many nodes with potentials of nodes and of pairs, all nodes with the same states."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from tercet.graphical._engine.clique_tree import CliqueTree


class PairwiseField:
    """P(y) ∝ exp(Σ_v a_v(y_v) + Σ_uv b_uv(y_u, y_v)) for scores a and b that change while the graph stands.

    Parameters
    ----------
    n : the number of nodes.
    edges : (m, 2) array of pairs of nodes.
    n_states : the number of states of every node.
    """

    def __init__(self, n: int, edges: np.ndarray, n_states: int) -> None:
        self.n, self.edges, self.K = n, np.asarray(edges, dtype=np.int64).reshape(-1, 2), n_states
        self.tree: CliqueTree | None = None

    def cells(self) -> int:
        """The cells of the clique tree, which is made here."""
        scopes = [*((v,) for v in range(self.n)), *map(tuple, self.edges.tolist())]
        self._tree = CliqueTree([self.K] * self.n, scopes)
        return sum(self._tree.cells)

    def compile(self) -> PairwiseField:
        """Make the index maps from scores to cells."""
        self.tree = self._tree.compile()
        start = self.tree.schedule.start
        places, sources, sizes = [], [], [self.K] * self.n + [self.K**2] * len(self.edges)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        for c, own, offset in zip(self.tree.family_home, self.tree.family_maps, offsets):
            places.append(np.arange(start[c], start[c + 1]))
            sources.append(own + offset)
        self.place, self.source = np.concatenate(places), np.concatenate(sources)
        self.clique = np.repeat(np.arange(len(start) - 1), np.diff(start))
        return self

    def exact(self, nodes: np.ndarray, pairs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """log Z and the marginals of nodes (n, K) and pairs (m, K, K), by the clique tree."""
        assert self.tree is not None
        start = self.tree.schedule.start
        scores = np.concatenate([nodes.ravel(), pairs.ravel()])
        logs = np.bincount(self.place, scores[self.source], minlength=int(start[-1]))
        tops = np.maximum.reduceat(logs, start[:-1])
        marginals, cells, log_Z = self.tree.beliefs(np.exp(logs - tops[self.clique]))
        shares = np.bincount(self.source, cells[self.place], minlength=scores.size)
        m = len(self.edges)
        return (
            log_Z + float(tops.sum()),
            marginals.reshape(self.n, self.K),
            shares[self.n * self.K :].reshape(m, self.K, self.K),
        )

    def loopy(
        self,
        nodes: np.ndarray,
        pairs: np.ndarray,
        damping: float,
        max_iter: int,
        tol: float,
        maximal: bool = False,
    ) -> tuple[float, np.ndarray, np.ndarray, bool]:
        """The same by loopy belief propagation (Bethe's approximation); and whether the messages stood still.

        Message e is from u to v of edge e, message m + e from v to u; all are logarithms. With `maximal`, the
        beliefs are max-marginals.
        """
        m, K = len(self.edges), self.K
        ends = np.concatenate([self.edges[:, 1], self.edges[:, 0]])
        starts = np.concatenate([self.edges[:, 0], self.edges[:, 1]])
        tables = np.concatenate([pairs, pairs.transpose(0, 2, 1)])  # [message, sender, receiver]
        messages, swap = np.zeros((2 * m, K)), np.concatenate([np.arange(m, 2 * m), np.arange(m)])
        reduce = (lambda x: x.max(axis=1)) if maximal else (lambda x: logsumexp(x, axis=1))
        converged = False
        for _ in range(max_iter):
            total = nodes + self._arriving(messages, ends)
            sent = reduce((total[starts] - messages[swap])[:, :, None] + tables)
            sent -= sent.max(axis=1, keepdims=True)
            sent = (1 - damping) * sent + damping * messages
            change = np.abs(np.exp(sent) - np.exp(messages)).max(initial=0.0)
            messages = sent
            if change <= tol:
                converged = True
                break
        total = nodes + self._arriving(messages, ends)
        if maximal:
            return 0.0, total, np.empty((0, K, K)), converged
        log_nodes = total - logsumexp(total, axis=1, keepdims=True)
        u, v = self.edges[:, 0], self.edges[:, 1]
        logs = pairs + (total[u] - messages[m:])[:, :, None] + (total[v] - messages[:m])[:, None, :]
        log_pairs = logs - logsumexp(logs.reshape(m, -1), axis=1).reshape(m, 1, 1) if m else logs
        p, q = np.exp(log_nodes), np.exp(log_pairs)
        degree = np.bincount(ends, minlength=self.n)[:, None]
        bethe = (q * (pairs - log_pairs)).sum() + (p * (nodes - (1 - degree) * log_nodes)).sum()
        return float(bethe), p, q, converged

    def _arriving(self, messages: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """The sum of the messages to each node."""
        if not len(messages):
            return np.zeros((self.n, self.K))
        return np.column_stack([np.bincount(ends, messages[:, k], minlength=self.n) for k in range(self.K)])


def components(n: int, edges: np.ndarray) -> np.ndarray:
    """The number of the connected component of each node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[1]
