"""Histogram growth of boosting trees under constraints: monotonic columns, and groups of columns that may interact.

A monotonic column must not lower (or raise) the prediction: the values of two children are in order, and the
midpoint between them bounds all values below either. With groups, a path of the tree tests columns of one group
only. One node at a time, best first, in NumPy: slower than the free growth of `histogram_growth`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.penalties import soft_threshold
from tercet.tree._engine.criteria import TIE
from tercet.tree._engine.histogram_growth import FrontierNode, HistogramGrower
from tercet.tree._engine.histogram_statistics import LOWER, PACKED, PAIR
from tercet.tree._engine.limits import draw_level


class ConstrainedGrower(HistogramGrower):
    """Best-first growth of one tree of gradients under constraints.

    Parameters
    ----------
    monotonic : array of -1, 0 and 1 of shape (d,), optional
        1 or -1 where the prediction must not fall or rise with the column.
    groups : list of sets of columns, optional
        The columns that may be tested on one path.
    """

    def __init__(
        self, *given: Any, monotonic: np.ndarray | None = None, groups: Sequence[set[int]] | None = None
    ) -> None:
        super().__init__(*given)
        d = self.bins.shape[1]
        self.signs = np.zeros(d, np.int64) if monotonic is None else np.asarray(monotonic, np.int64)
        self.groups = {0: [set(range(d))] if groups is None else [set(group) for group in groups]}
        self.bounds = {0: (-np.inf, np.inf)}
        self.middles: dict[int, float] = {}
        if self.max_leaf_nodes is None:
            self.max_leaf_nodes = self.rows.size + 1

    def _finish_split(self, node: FrontierNode, found: np.ndarray) -> None:
        """Find the best split that the constraints allow."""
        columns = self._tried_columns(node)
        best = self.limits.floor
        for j in columns:
            gain, middle, split, sides = self._column_split(node, j)
            if gain > best:
                best, node.gain, node.split = gain + TIE * abs(gain), gain, split
                node.sides[:] = sides
                self.middles[node.number] = middle
        if node.split[0] < 0 or self.held >= self.most_held:
            node.hist = None
        self.held += node.hist is not None

    def _tried_columns(self, node: FrontierNode) -> list[int]:
        """The columns that a node may test, of which some are drawn."""
        allowed, draws = set().union(*self.groups[node.number]), self.limits.draws
        if draws.node >= self.bins.shape[1]:
            return sorted(allowed)
        order = np.arange(self.bins.shape[1])
        columns = sorted(allowed.intersection(order[: draw_level(draws, node.depth, order)].tolist()))
        draw, count = np.random.default_rng(node.key), min(draws.node, len(columns))
        return sorted(draw.choice(columns, count, replace=False).tolist()) if columns else []

    def _column_sums(self, node: FrontierNode, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradients, hessians and rows of each bin of a column, that of missing values last."""
        assert node.hist is not None
        rule, channels = self.rule, node.hist[j // 8, :, j % 8, : self.binned.n_bins[j] + 1]
        if rule.form == PACKED:
            h = channels[0] & LOWER
            g = (channels[0] - h) >> 32
        else:
            assert rule.form == PAIR
            g, h = channels[0], channels[1]
        count = channels[rule.n_channels - 1] if rule.counted else h
        return g * rule.scale, h * rule.weight_scale, count.astype(np.float64)

    def _column_split(
        self, node: FrontierNode, j: int
    ) -> tuple[float, float, tuple[int, int, int], np.ndarray | None]:
        """The best split by one column: gain, midpoint of the children's values, the split, sides of the bins."""
        none = -np.inf, 0.0, (-1, 0, 0), None
        g, h, count = self._column_sums(node, j)
        n_bins = len(g) - 1
        codes = np.flatnonzero(h[:-1] > 0)
        gone = h[-1] > 0
        if len(codes) == 0 or (len(codes) == 1 and not gone):
            return none
        if self.binned.categorical[j]:
            if self.rule.categories.most > 0:
                return self._category_set(node, j, codes, g, h, count)
            codes = codes[np.argsort(g[codes] / h[codes], kind="stable")]
        G, H, C = (part[codes].sum() + part[-1] for part in (g, h, count))
        best: tuple[Any, ...] = none
        for missing in (1, 0) if gone else (1,):
            a, w, c = (np.cumsum(part[codes]) + (part[-1] if missing == 0 else 0.0) for part in (g, h, count))
            if not (gone and missing == 1):
                a, w, c = a[:-1], w[:-1], c[:-1]
            gain, middle = self._gains(node, self.signs[j], a, w, c, G, H, C)
            if not gain.size or gain.max() <= best[0] + TIE * abs(best[0]):
                continue
            at = int(gain.argmax())
            sides = np.full(node.sides.size, -1, np.int8)
            sides[codes] = np.where(np.arange(len(codes)) <= at, 0, 1)
            if gone:
                sides[n_bins] = missing
            first = int(codes[at + 1]) if at + 1 < len(codes) else n_bins
            best = float(gain[at]), float(middle[at]), (j, int(codes[at]), first), sides
        return best

    def _category_set(
        self, node: FrontierNode, j: int, codes: np.ndarray, g: Any, h: Any, count: Any
    ) -> tuple[float, float, tuple[int, int, int], np.ndarray | None]:
        """The best set of categories against all others, within the `CategoryRule` (see `histogram_scan`)."""
        own = self.rule.categories
        best: tuple[Any, ...] = -np.inf, 0.0, (-1, 0, 0), None
        gone, alone = h[-1] > 0, len(codes) <= own.single
        G, H, C = (part[codes].sum() + part[-1] for part in (g, h, count))
        able = codes if alone else codes[count[codes] >= own.few]
        able = able[np.argsort(g[able] / (h[able] + own.smooth), kind="stable")]
        most = min(own.most, (len(able) + 1) // 2)
        if alone:
            sets = [codes[i : i + 1] for i in range(len(codes))]
        else:
            sets = [end[: i + 1] for end in (able, able[::-1]) for i in range(most)]
        # Sets with missing values, too; and those alone.
        tried = [(chosen, False) for chosen in sets] + [(chosen, True) for chosen in sets if gone]
        tried += [(codes[:0], True)] if gone else []
        group, bar = 0.0, -np.inf
        for chosen, with_missing in tried:
            a, w, c = (part[chosen].sum() + part[-1] * with_missing for part in (g, h, count))
            group = count[chosen].sum() if len(chosen) < 2 else group + count[chosen[-1]]
            if group < own.group and not alone and len(chosen):
                continue
            more = 0.0 if alone or not len(chosen) else own.penalty
            gain, middle = self._gains(node, 0, np.array([a]), np.array([w]), np.array([c]), G, H, C, more)
            group = 0.0 if gain[0] > -np.inf else group
            if gain[0] > bar:
                bar = gain[0] + TIE * abs(gain[0])
                sides = np.full(node.sides.size, 1, np.int8)
                sides[chosen] = 0
                sides[len(g) - 1] = 1 - with_missing if gone else -1
                best = float(gain[0]), float(middle[0]), (j, 0, 0), sides
        return best

    def _gains(
        self,
        node: FrontierNode,
        sign: int,
        a: Any,
        w: Any,
        c: Any,
        G: float,
        H: float,
        C: float,
        more: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gains of all cuts (-inf where one is not allowed), and midpoints of the values of the two sides.

        `more` is added to the penalty of the children.
        """
        (low, high), before, l1 = self.bounds[node.number], self.rule.penalty, self.rule.l1
        penalty = before + more
        tiny = np.finfo(np.float64).tiny
        with np.errstate(invalid="ignore", over="ignore"):
            left = np.clip(-soft_threshold(a, l1) / np.maximum(w + penalty, tiny), low, high)
            right = np.clip(-soft_threshold(G - a, l1) / np.maximum(H - w + penalty, tiny), low, high)
            whole = np.clip(-soft_threshold(G, l1) / max(H + before, tiny), low, high)
            gain = score(a, w, left, penalty, l1) + score(G - a, H - w, right, penalty, l1)
            gain -= score(G, H, whole, before, l1)
        few, light = self.rule.least_rows, self.rule.least_weight
        allowed = (c >= few) & (C - c >= few) & (w >= light) & (H - w >= light)
        if sign:
            allowed &= sign * (right - left) >= 0
        return np.where(allowed, gain, -np.inf), left / 2 + right / 2

    def _split(self, node: FrontierNode) -> tuple[list[FrontierNode], np.ndarray | None]:
        """Split a node; its children inherit its bounds and groups, narrowed by the split."""
        left, j, (low, high) = self.count, node.split[0], self.bounds[node.number]
        pair, hist = super()._split(node)
        middle, sign = self.middles[node.number], self.signs[j]
        groups = [group for group in self.groups[node.number] if j in group]
        for side in (0, 1):
            self.groups[left + side] = groups
            below = sign != 0 and (side == 0) == (sign > 0)  # the side of the smaller values
            above = sign != 0 and not below
            self.bounds[left + side] = (
                max(low, middle) if above else low,
                min(high, middle) if below else high,
            )
        return pair, hist

    def clipped(self, value: np.ndarray) -> np.ndarray:
        """The values of all nodes, within their bounds."""
        bounds = np.array([self.bounds[t] for t in range(len(value))])
        return np.clip(value, bounds[:, 0], bounds[:, 1])


def score(g: Any, h: Any, value: Any, penalty: float, l1: float) -> Any:
    """How much a leaf of this value lowers twice the penalised second-order loss; without an L1 penalty that is
    g² / (h + penalty) at the best value."""
    return -(2.0 * g * value + (h + penalty) * value * value + 2.0 * l1 * np.abs(value))
