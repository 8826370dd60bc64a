"""Joint probabilities p_ij of rows as neighbours, from their distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import kernel
from tercet.core.parallel import each

ROWS = 512  # in a piece of work
TOLERANCE = 1e-5  # of the entropy


def joint_probabilities(graph: Any, perplexity: float, n_jobs: int | None) -> Any:
    """The symmetric CSR matrix p_ij = (p_j|i + p_i|j) / 2n of a CSR graph of squared distances, 1 at most."""
    n = graph.shape[0]
    indptr = graph.indptr.astype(np.int64)
    squared = graph.data.astype(np.float32).astype(np.float64)  # rounding of a metric must not lead elsewhere
    conditional = np.empty(squared.size)

    def piece(start: int) -> None:
        stop = min(start + ROWS, n)
        conditional_probabilities(indptr[start : stop + 1], squared, float(np.log(perplexity)), conditional)

    each(piece, range(0, n, ROWS), n_jobs=n_jobs)
    P = sparse.csr_array((conditional, graph.indices, indptr), shape=(n, n))
    P = sparse.csr_array(P + P.T)
    P.sort_indices()
    P.data /= max(float(P.data.sum()), np.finfo(np.float64).eps)
    return P


@kernel
def conditional_probabilities(indptr: Any, squared: Any, wanted: Any, out: Any) -> None:
    """p_j|i = exp(-β_i d_ij²) / Σ, with β_i such that their entropy is `wanted`, by bisection."""
    for i in range(indptr.size - 1):
        d, p = squared[indptr[i] : indptr[i + 1]], out[indptr[i] : indptr[i + 1]]
        if d.size == 0:
            continue
        least, mean = d[0], 0.0
        for j in range(d.size):
            least = d[j] if d[j] < least else least
            mean += d[j] / d.size
        beta = 1.0 / (mean - least) if mean > least else 1.0
        low, high = 0.0, np.inf
        for _ in range(100):
            total, energy = 0.0, 0.0
            for j in range(d.size):
                p[j] = np.exp(-beta * (d[j] - least))
                total += p[j]
                energy += p[j] * (d[j] - least)
            entropy = np.log(total) + beta * energy / total
            for j in range(d.size):
                p[j] /= total
            if abs(entropy - wanted) <= TOLERANCE:
                break
            if entropy > wanted:
                low = beta
                beta = 2.0 * beta if high == np.inf else (low + high) / 2
            else:
                high = beta
                beta = (low + high) / 2
