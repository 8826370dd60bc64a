"""The logistic loss of one row, for kernels that go row by row."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner


@inner
def loss_and_slope(z, y, K, out):
    """Loss of one row and its derivatives in the scores."""
    if z.size == 1:
        side = 1.0 if y > 0 else -1.0
        small = np.exp(-abs(z[0]))
        margin = side * z[0]
        p = small / (1 + small) if margin > 0 else 1 / (1 + small)
        out[0] = -side * p
        return np.log1p(small) + (0.0 if margin > 0 else -margin)
    top = z[0]
    for k in range(1, z.size):
        top = max(top, z[k])
    total = 0.0
    for k in range(z.size):
        total += np.exp(z[k] - top)
    for k in range(K):
        out[k] = np.exp(z[k] - top) / total - (1.0 if k == y else 0.0)
    return np.log(total) + top - z[y]
