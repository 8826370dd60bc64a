"""The string subsequence kernel."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.parameters import Count, Range
from tercet.core.stopping import check_stop
from tercet.kernels._engine.prepared_strings import PreparedStrings, as_strings, encode
from tercet.kernels.base import Kernel

WORK = 20_000_000  # operations of one kernel call: Ctrl-C is answered between calls
UnitInterval = Annotated[float, Range(0, 1, "(]")]


@method(
    zh="字符串子序列核",
    task="kernel",
    model="K(s, t) = sum over u of phi_u(s) phi_u(t), |u| = n; phi_u(s) = sum over s(i) = u of decay^span(i)",
    algorithms={
        "dynamic": "dynamic programming over prefixes, O(n |s| |t|)",
        "enumeration": "all subsequences, as the definition says",
    },
    texts=["Li ch. 7, eq. 7.92, 7.93"],
)
class Subsequence(Kernel):
    """String subsequence kernel: how many subsequences two strings share, those with gaps counting less.

    Parameters
    ----------
    n : int, default=2
        Characters in a subsequence; a string with fewer characters has no features.
    decay : float, default=0.5
        Factor in (0, 1] for every character from the first to the last of a subsequence.
    normalize : bool, default=False
        Whether to give the cosine of the mapped strings, K(s, t) / sqrt(K(s, s) K(t, t)), or 0.
    algorithm : {"dynamic", "enumeration"}, default="dynamic"
        How the kernel is computed.

    Examples
    --------
    >>> from tercet.kernels import Subsequence
    >>> Subsequence(n=2, decay=0.5)(
    ...     ["cat", "car"]
    ... ) * 2**4  # decay^4 is shared; "ca", "at" and "c-t" are cat's own
    array([[2.25, 1.  ],
           [1.  , 2.25]])
    """

    takes = "strings"

    def __init__(
        self,
        n: Count = 2,
        decay: UnitInterval = 0.5,
        normalize: bool = False,
        algorithm: Literal["dynamic", "enumeration"] = "dynamic",
    ) -> None:
        self.n = n
        self.decay = decay
        self.normalize = normalize
        self.algorithm = algorithm

    def check(self, X: Any) -> np.ndarray:
        """Strings as a one-dimensional object array."""
        return as_strings(X, "Subsequence")

    def prepare(self, X: Any, Z: Any) -> tuple[PreparedStrings, PreparedStrings]:
        left, right = (PreparedStrings(rows) for rows in (X, Z))
        left.cost = right.cost = max(1.0, self.n * left.mean_length * right.mean_length / 50)
        if self.normalize:
            left.norms = self._norms(X)
            right.norms = left.norms if Z is X else self._norms(Z)
        return left, right

    def tile(self, left: PreparedStrings, right: PreparedStrings) -> np.ndarray:
        out = np.empty((len(left), len(right)))
        if self.algorithm == "enumeration":
            maps = [[subsequences(s, self.n, self.decay) for s in side.rows] for side in (left, right)]
            for i, phi in enumerate(maps[0]):
                out[i] = [sum(v * psi.get(u, 0.0) for u, v in phi.items()) for psi in maps[1]]
        else:
            codes, borders = encode(right.rows)
            for i, s in enumerate(left.rows):
                out[i] = self._with_strings(s, codes, borders)
        if self.normalize:
            out /= left.norms[:, None]
            out /= right.norms
        return out

    def _with_strings(self, s: str, codes: np.ndarray, borders: np.ndarray) -> np.ndarray:
        """The kernel of s with some strings, a few characters of s at a time."""
        row, _ = encode([s])
        partial, found = np.zeros((self.n, codes.size)), np.zeros(borders.size - 1)
        step = max(1, WORK // (self.n * codes.size + 1))
        # decay^(2n), which all values share, cancels in a cosine, where it might make numbers too small
        weight = 1.0 if self.normalize else float(self.decay) ** 2
        with np.errstate(over="ignore"):
            for first in range(0, row.size, step):
                check_stop()
                extend(row[first : first + step], codes, borders, float(self.decay), weight, partial, found)
        if not np.isfinite(found).all():
            raise ValueError(
                f"Subsequence: the kernel is too large a number for strings this long; lower n={self.n} or "
                f"decay={self.decay}."
            )
        return found

    def _diag(self, X: Any) -> np.ndarray:
        if self.normalize:
            return (self._norms(X) < np.inf).astype(np.float64)
        return np.array(each(self._self_product, list(X)))

    def _self_product(self, s: str) -> float:
        """K(s, s)."""
        if self.algorithm == "enumeration":
            return sum(value**2 for value in subsequences(s, self.n, self.decay).values())
        return float(self._with_strings(s, *encode([s]))[0])

    def _norms(self, X: Any) -> np.ndarray:
        """sqrt(K(s, s)); infinity where it is 0, so that the quotient is 0."""
        own = np.array(each(self._self_product, list(X)))
        return np.where(own > 0, np.sqrt(own), np.inf)

    def features(self, X: Any) -> np.ndarray:
        """The values of all subsequences that occur in X, in alphabetical order."""
        maps = [subsequences(s, self.n, self.decay) for s in self.resolve(X).check(X)]
        names = sorted(set().union(*maps))
        phi = np.array([[values.get(u, 0.0) for u in names] for values in maps]).reshape(
            len(maps), len(names)
        )
        if self.normalize:
            length = np.linalg.norm(phi, axis=1, keepdims=True)
            phi = phi / np.where(length > 0, length, 1.0)
        return phi


@method(
    zh="字符串核的特征值",
    task="kernel",
    model="phi_u(s) = sum over i with s(i) = u of decay^span(i)",
    algorithms="dynamic programming over prefixes",
    texts=["Li ch. 7, eq. 7.92"],
)
def subsequence_feature(s: str, u: str, decay: float = 0.5) -> float:
    """The value of one string u among the features of a string s.

    Examples
    --------
    >>> subsequence_feature("lass das", "asd", decay=0.5)  # 2 * decay^5
    0.0625
    """
    if not u or not 0 < decay <= 1:
        raise ValueError(f"u must not be empty and decay must lie in (0, 1]; got {u!r} and {decay!r}.")
    ending = [decay * (c == u[0]) for c in s]  # of the ways that end at each character
    for c in u[1:]:
        before, longer = 0.0, []
        for here, way in zip(s, ending):
            longer.append(before * decay * (here == c))
            before = before * decay + way
        ending = longer
    return math.fsum(ending)


def subsequences(s: str, n: int, decay: float) -> dict[str, float]:
    """All features of a string, by enumeration.

    Examples
    --------
    >>> subsequences("cat", 2, 0.5)
    {'ca': 0.25, 'ct': 0.125, 'at': 0.25}
    """
    found: dict[str, float] = {}
    for places in itertools.combinations(range(len(s)), n):
        u = "".join(s[i] for i in places)
        found[u] = found.get(u, 0.0) + decay ** (places[-1] - places[0] + 1)
    return found


@kernel
def extend(s, codes, borders, decay, weight, partial, found):
    """Take more characters of s into account.

    partial[i, b]: K'_i of the prefix of s so far and the prefix of t that ends at b, where K'_i weighs the common
    subsequences of i characters by the distance to the ends of both prefixes; found: K_n. A match counts `weight`.
    """
    n = partial.shape[0]
    for a in range(s.size):
        here = s[a]
        for t in range(borders.size - 1):
            first, last = borders[t], borders[t + 1]
            text = codes[first:last]
            for i in range(n, 0, -1):  # the longest first: it needs the shorter ones as they were
                below = partial[i - 1, first:last]
                above = partial[min(i, n - 1), first:last]
                run = 0.0
                for b in range(text.size):
                    before = 1.0 if i == 1 else (below[b - 1] if b > 0 else 0.0)
                    gain = weight * before if text[b] == here else 0.0
                    if i == n:
                        run += gain
                    else:
                        run = decay * run + gain
                        above[b] = decay * above[b] + run
                if i == n:
                    found[t] += run
