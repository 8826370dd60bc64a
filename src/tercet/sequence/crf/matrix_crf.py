"""The conditional random field in matrix form (条件随机场的矩阵形式)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.sequence.crf.forward_backward import (
    ViterbiTables,
    crf_backward,
    crf_forward,
    crf_marginals,
    crf_viterbi,
    positive_log_z,
)

MOST_PATHS = 1_000_000  # that enumeration will go through


@method(
    zh="条件随机场的矩阵形式",
    task="sequence labelling",
    approach="discriminative",
    model="P(y|x) = (product of M_i(y_{i-1}, y_i)) / Z(x), Z(x) = (M_1 ... M_{n+1})_{start, stop}",
    algorithms={
        "forward-backward": "α_i = α_{i-1} M_i, β_i = M_{i+1} β_{i+1}",
        "viterbi": "δ_i(l) = max over j of δ_{i-1}(j) + log M_i(j, l)",
        "enumeration": "all label sequences, for small cases",
    },
    texts=["Li ch. 11, 11.2.4, 11.3, Alg 11.3", "Li ch. 11, eq. 11.21-11.33, 11.52-11.59"],
)
class MatrixCRF:
    """A linear chain given by its matrices: P(y|x) is the product of M_i(y_{i-1}, y_i) over Z(x).

    M_1 leads from `start` to the first label and M_{n+1} from the last label to `stop`; of M_1 only the row `start`
    matters, of M_{n+1} only the column `stop`. The matrices of different positions may differ in any way. All is
    computed from logarithms, so that long chains neither overflow nor vanish; the text's own α, β and Z, which are
    products, may.

    Parameters
    ----------
    matrices : array of shape (n + 1, N, N)
        M_1 ... M_{n+1}, not negative; a 0 forbids a transition.
    start, stop : int, default=0
        The indices of the labels that stand for y_0 and y_{n+1}.
    labels : list, optional
        The names of the labels; 0 ... N-1 by default.
    log : bool, default=False
        Whether the matrices are log M_i, with -inf for 0.

    Examples
    --------
    >>> a, b, end = [[2, 3], [0, 0]], [[5, 7], [11, 13]], [[1, 0], [1, 0]]
    >>> chain = MatrixCRF([a, b, end])
    >>> round(chain.Z, 6), chain.viterbi().path
    (96.0, [1, 1])
    >>> chain.node_marginals()
    array([[0.25      , 0.75      ],
           [0.44791667, 0.55208333]])
    """

    def __init__(
        self, matrices: Any, start: int = 0, stop: int = 0, labels: Any = None, *, log: bool = False
    ) -> None:
        M = np.asarray(matrices, dtype=float)
        if M.ndim != 3 or M.shape[1] != M.shape[2] or len(M) < 2:
            raise ValueError(f"matrices must have the shape (n + 1, N, N) with n >= 1; got {M.shape}.")
        if np.isnan(M).any() or np.isposinf(M).any() or (not log and M.min() < 0):
            raise ValueError(
                "matrices must hold finite weights that are not negative (or logarithms of such)."
            )
        for name, index in (("start", start), ("stop", stop)):
            if not 0 <= index < M.shape[1]:
                raise ValueError(f"{name} must be in [0, {M.shape[1]}); got {index!r}.")
        with np.errstate(divide="ignore"):
            self.log_matrices = M if log else np.log(M)
        self.start, self.stop = start, stop
        self.labels = list(range(M.shape[1])) if labels is None else list(labels)
        if len(self.labels) != M.shape[1]:
            raise ValueError(f"labels must name {M.shape[1]} labels; got {len(self.labels)}.")

    def __len__(self) -> int:
        return len(self.log_matrices) - 1

    @property
    def log_alpha(self) -> np.ndarray:
        """log α_0 ... log α_{n+1} (11.26-11.28), of shape (n + 2, N)."""
        return crf_forward(self.log_matrices, self.start)

    @property
    def log_beta(self) -> np.ndarray:
        """log β_0 ... log β_{n+1} (11.29-11.31), of shape (n + 2, N)."""
        return crf_backward(self.log_matrices, self.stop)

    @property
    def alpha(self) -> np.ndarray:
        """α_0 ... α_{n+1}."""
        return np.exp(self.log_alpha)

    @property
    def beta(self) -> np.ndarray:
        """β_0 ... β_{n+1}."""
        return np.exp(self.log_beta)

    @property
    def log_Z(self) -> float:
        """log Z(x) = log α_{n+1}(stop) = log β_0(start), which holds always. α_n·1 is Z only when M_{n+1} is
        1 for every label, 1·β_1 only when M_1 is."""
        return float(self.log_alpha[-1, self.stop])

    @property
    def Z(self) -> float:
        """Z(x), the sum of the weights of all paths (11.25)."""
        return float(np.exp(self.log_Z))

    def log_weight(self, y: Sequence[Any]) -> float:
        """log of the product of M_i(y_{i-1}, y_i) along labels y."""
        if len(y) != len(self):
            raise ValueError(f"y must have {len(self)} labels; got {len(y)}.")
        inside = [label_index(self.labels, label) for label in y]
        path = [self.start, *inside, self.stop]
        return float(sum(M[a, b] for M, a, b in zip(self.log_matrices, path, path[1:])))

    def probability(self, y: Sequence[Any]) -> float:
        """P(y|x) (11.24)."""
        return float(np.exp(self.log_weight(y) - positive_log_z(self.log_Z)))

    def node_marginals(self) -> np.ndarray:
        """P(Y_i = y|x) for i = 1 ... n (11.32), of shape (n, N)."""
        return crf_marginals(self.log_matrices, self.start, self.stop)[0]

    def edge_marginals(self, *, ends: bool = False) -> np.ndarray:
        """P(Y_{i-1} = a, Y_i = b|x) for i = 2 ... n (11.33), of shape (n - 1, N, N); with `ends` 1 ... n + 1."""
        _, edges = crf_marginals(self.log_matrices, self.start, self.stop)
        return edges if ends else edges[1:-1]

    def viterbi(self) -> ViterbiTables:
        """The most probable labels (Alg 11.3); of equals the first."""
        found = crf_viterbi(self.log_matrices, self.start, self.stop)
        return found._replace(path=[self.labels[j] for j in found.path])

    def enumerate(self) -> Iterator[tuple[tuple, float]]:
        """Every label sequence and its log weight, in order: what the recursions must agree with."""
        if len(self.labels) ** len(self) > MOST_PATHS:
            raise ValueError(
                f"There are {len(self.labels)}^{len(self)} label sequences; enumeration stops at {MOST_PATHS}."
            )
        return ((y, self.log_weight(y)) for y in itertools.product(self.labels, repeat=len(self)))


def label_index(labels: list, label: Any) -> int:
    try:
        return labels.index(label)
    except ValueError:
        raise ValueError(f"{label!r} is not a label; the labels are {labels}.") from None
