"""Kernels of leaf-wise growth: a whole tree of gradients is one call, with helpers in kernels beside it.

The work is shared in batches of tasks (`core.task_board`), one batch after the other: a search (a task for each
block of columns), a partition (a task for each strip of rows, twice), and in the end one task for each leaf.
"""

from __future__ import annotations

import numpy as np

from tercet.core.array_copies import copy_array
from tercet.core.cache_lines import fetch_line
from tercet.core.kernel import inner, kernel
from tercet.core.task_board import (
    END,
    atomic_load,
    finish_task,
    is_open,
    post_tasks,
    take_task,
    wait_for_tasks,
)
from tercet.tree._engine.criteria import TIE, hashed, shrunken
from tercet.tree._engine.histogram_kernels import (
    AHEAD,
    CHILD,
    FEATURE,
    IS_SPLIT,
    MISSING,
    START,
    STOP,
    TABLE,
)
from tercet.tree._engine.leafwise_scan import NONE
from tercet.tree._engine.leafwise_search import (
    BEGIN,
    BEST,
    DEPTH,
    HIST,
    KEY,
    KIND,
    LATER,
    NODE,
    OTHER,
    OTHER_HIST,
    SLOT,
    VALUE,
    node_rows,
    search_block,
    settle_split,
)

SEARCH, STRIPS, MOVE, LEAVES, BEGINNING = 0, 1, 2, 3, 4  # kinds of batches
STRIP_ROWS = 1 << 12  # rows of a strip of a partition
TINY = float(np.finfo(np.float64).tiny)


# Batches of tasks -----------------------------------------------------------------------------------------------


@inner
def do_task(tree, i, work, bins, best):
    """Task i of the batch."""
    kind = tree.batch[KIND]
    if kind == SEARCH:
        search_block(tree, i, work, bins, best)
    elif kind == STRIPS:
        partition_strip(tree, i)
    elif kind == MOVE:
        move_strip(tree, i)
    else:
        finish_leaf(tree, i)


# Search ---------------------------------------------------------------------------------------------------------


@inner
def may_grow(nodes, limits, t):
    """Whether the stopping criteria allow a node to be split."""
    return nodes[t, DEPTH] < limits.max_depth and nodes[t, STOP] - nodes[t, START] >= limits.min_rows


@inner
def take_slot(free):
    """A free histogram; the scratch one where there is none."""
    top = free[free.size - 1]
    if top == 0:
        return np.int64(free.size - 1)
    free[free.size - 1] = top - 1
    return free[top - 1]


@inner
def free_slot(free, slot):
    """Give a histogram back."""
    if 0 <= slot < free.size - 1:
        free[free[free.size - 1]] = slot
        free[free.size - 1] += 1


@inner
def plan_search(tree, few, many):
    """A batch that searches a node, or two siblings of which the larger has their parent's histogram."""
    batch = tree.batch
    batch[KIND], batch[NODE], batch[OTHER] = SEARCH, few, many
    tree.nodes[few, SLOT] = take_slot(tree.free)
    batch[HIST], batch[OTHER_HIST] = tree.nodes[few, SLOT], tree.nodes[max(many, 0), SLOT]
    return tree.binned.words.shape[0]


@inner
def plan_children(tree, limits, t, child):
    """A batch that searches the children of a node; without tasks where they are leaves for good."""
    nodes, slot, few, many = tree.nodes, tree.nodes[t, SLOT], np.int64(child), np.int64(child + 1)
    if nodes[few, STOP] - nodes[few, START] > nodes[many, STOP] - nodes[many, START]:
        few, many = many, few
    if not may_grow(tree.nodes, limits, many):
        free_slot(tree.free, slot)
        return 0
    if slot >= 0:
        tree.nodes[many, SLOT] = slot
        return plan_search(tree, few, many)
    tree.batch[LATER] = few if may_grow(tree.nodes, limits, few) else -1
    return plan_search(tree, many, np.int64(-1))


@inner
def settle_search(tree, limits, work, bins, best):
    """Choose the splits of the nodes that were searched."""
    batch = tree.batch
    for who in range(2 if batch[OTHER] >= 0 else 1):
        t = batch[NODE + who]
        slot = tree.nodes[t, SLOT]
        good = may_grow(tree.nodes, limits, t) and settle_split(
            tree, limits, t, tree.hists[slot], tree.found[who], work, bins, best
        )
        if (
            not good or slot == tree.free.size - 1
        ):  # its children's are built from their rows, to the same bits
            free_slot(tree.free, slot)
            tree.nodes[t, SLOT] = -1


# Partition ------------------------------------------------------------------------------------------------------


@inner
def plan_partition(tree, t):
    """A batch that partitions the strips of a node."""
    batch = tree.batch
    batch[KIND], batch[NODE], batch[OTHER] = STRIPS, t, tree.nodes[t, FEATURE]
    return (tree.nodes[t, STOP] - tree.nodes[t, START] + STRIP_ROWS - 1) // STRIP_ROWS


@inner
def strip_bounds(tree, i):
    """The first row of a strip and the end."""
    start = tree.nodes[tree.batch[NODE], START] + i * STRIP_ROWS
    return start, min(start + STRIP_ROWS, tree.nodes[tree.batch[NODE], STOP])


@inner
def partition_strip(tree, i):
    """Copy the rows of a strip to one spare array or the other, by their side."""
    start, stop = strip_bounds(tree, i)
    j, rows, sides = tree.batch[OTHER], tree.rows[start:stop], tree.sides[tree.batch[NODE]]
    column, shift = tree.binned.words[j >> 3], np.uint64(8 * (j & 7))
    left_rows, right_rows = tree.spare[0, start:stop], tree.spare[1, start:stop]
    byte, ahead, n = np.uint64(255), np.uint64(AHEAD), np.uint64(rows.size)
    left, right, one = np.uint64(0), np.uint64(0), np.uint64(1)
    for i in range(n):
        if i + ahead < n:
            fetch_line(column, np.uint64(rows[i + ahead]))
        r = rows[i]
        side = np.uint64(sides[(column[np.uint64(r)] >> shift) & byte])
        left_rows[left] = r
        right_rows[right] = r
        left += one - side
        right += side
    place = (start - tree.nodes[tree.batch[NODE], START]) // STRIP_ROWS
    tree.strips[place, 0], tree.strips[place, 1] = np.int64(left), np.int64(right)


@inner
def plan_move(tree):
    """A batch that moves the two parts of each strip to their places, which replace their sizes in `strips`."""
    batch, strips, start = tree.batch, tree.strips, tree.nodes[tree.batch[NODE], START]
    count = (tree.nodes[batch[NODE], STOP] - start + STRIP_ROWS - 1) // STRIP_ROWS
    right = start
    for i in range(count):
        right += strips[i, 0]
    left, batch[KIND], batch[HIST], batch[OTHER_HIST] = start, MOVE, right, count
    for i in range(count):
        more, rest = strips[i, 0], strips[i, 1]
        strips[i, 0], strips[i, 1] = left, right
        left, right = left + more, right + rest
    return count


@inner
def move_strip(tree, i):
    """Move the two parts of a strip to their places."""
    start, stop = strip_bounds(tree, i)
    left, right = tree.strips[i, 0], tree.strips[i, 1]
    size = (tree.strips[i + 1, 0] if i + 1 < tree.batch[OTHER_HIST] else tree.batch[HIST]) - left
    rest = stop - start - size
    copy_array(tree.spare[0, start : start + size], tree.rows[left : left + size])
    copy_array(tree.spare[1, start : start + rest], tree.rows[right : right + rest])


@inner
def write_split(tree, t, count):
    """Write the records of node t, whose rows are partitioned, and of its children, `count` and `count + 1`."""
    nodes, j, middle = tree.nodes, tree.nodes[t, FEATURE], tree.batch[HIST]
    start, stop, n_bins, sides = nodes[t, START], nodes[t, STOP], tree.binned.n_bins[j], tree.sides[t]
    if sides[n_bins] < 0:  # none is missing here: the larger child
        sides[n_bins] = 0 if 2 * (middle - start) > stop - start else 1
    nodes[t, IS_SPLIT], nodes[t, MISSING], nodes[t, CHILD], nodes[t, TABLE] = 1, sides[n_bins], count, t
    nodes[count, START], nodes[count, STOP] = start, middle
    nodes[count + 1, START], nodes[count + 1, STOP] = middle, stop
    for side in range(2):
        child = count + side
        nodes[child, IS_SPLIT], tree.nodes[child, DEPTH], tree.nodes[child, SLOT] = (
            0,
            tree.nodes[t, DEPTH] + 1,
            -1,
        )
        tree.nodes[child, KEY], tree.reals[child, BEST] = np.int64(hashed(tree.nodes[t, KEY], side)), NONE


# Growth ---------------------------------------------------------------------------------------------------------


@inner
def best_leaf(gain, count):
    """The leaf of the largest gain, of equals the first (nine digits: rounding must not decide); -1 for none."""
    best, bar = -1, 0.0
    for t in range(count):
        if gain[t] > bar:
            best, bar = t, gain[t] * (1.0 + TIE)
    return best


@inner
def leaf_step(g, h, penalty, l1, rate):
    """The value of a leaf times the rate, from its sums of gradients and hessians."""
    return rate * (-shrunken(g, l1) / (max(h, TINY) + penalty))


@inner
def in_units(value, per_unit):
    """The nearest whole number of units."""
    return np.int64(np.floor(value * per_unit + 0.5))


@inner
def finish_leaf(tree, t):
    """The exact sums of a leaf; its value times the rate is kept, and added to the scores of its rows.

    The sums are those of whole numbers of very small units, the same in any order of the rows.
    """
    if tree.nodes[t, IS_SPLIT]:
        return
    rows, gradients, hessians = node_rows(tree.rows, tree.nodes, t), tree.gradients, tree.hessians
    total_g, total_h = np.int64(0), np.int64(0)
    for i in range(rows.size):
        r = np.uint64(rows[i])
        total_g += in_units(gradients[r], tree.per_gradient)
        total_h += in_units(hessians[r], tree.per_hessian)
    # Beside much heavier rows those of a leaf may be less than a unit together: they count as one.
    g, h = np.float64(total_g) / tree.per_gradient, np.float64(max(total_h, np.int64(1))) / tree.per_hessian
    # A tree without a split adds nothing: where no cut gains, the hessians may be 0, and the step without a limit.
    more = leaf_step(g, h, tree.penalty, tree.l1, tree.rate) if t > 0 else 0.0
    scores = tree.scores
    tree.reals[t, 0], tree.reals[t, 1], tree.reals[t, VALUE] = g, h, more
    if scores.size and more != 0.0:
        for i in range(rows.size):
            scores[np.uint64(rows[i])] += more


@inner
def next_batch(tree, limits, count, t):
    """What follows the batch that is done: how many tasks (0: none) and nodes, and the node to split."""
    kind, tasks, batch = tree.batch[KIND], 0, tree.batch
    if kind == LEAVES:
        return 0, count, t
    if kind == STRIPS:
        return plan_move(tree), count, t
    if kind == MOVE:
        write_split(tree, t, count)
        tree.reals[t, BEST] = NONE
        count += 2
        if (count + 1) // 2 < limits.max_leaves:  # else they are leaves for good
            tasks = plan_children(tree, limits, t, count - 2)
    elif batch[LATER] >= 0:
        tasks = plan_search(tree, batch[LATER], np.int64(-1))
        batch[LATER] = -1
    if tasks == 0:
        t = best_leaf(tree.reals[:, BEST], count) if (count + 1) // 2 < limits.max_leaves else -1
        if t >= 0:
            tasks = plan_partition(tree, t)
        else:
            tasks, batch[KIND] = count, LEAVES
    return tasks, count, t


@kernel
def grow_leafwise(board, tree, limits, helper, work, bins, best):
    """Grow a tree, always at the leaf of the largest gain; returns the number of its nodes.

    A helper takes tasks until the board is closed. It is the same kernel, which is then compiled once.

    work, bins, best : the memory of this thread (`new_search_workspace`)
    """
    count, t, batch = 1, 0, tree.batch
    if not helper:
        tree.reals[0, BEST], batch[LATER], batch[KIND] = (
            NONE,
            0 if may_grow(tree.nodes, limits, 0) else -1,
            BEGINNING,
        )
    while True:
        task = take_task(board)
        if task >= 0:
            do_task(tree, task - batch[BEGIN], work, bins, best)
            finish_task(board)
        elif helper:
            if not is_open(board):
                return 0
        else:
            wait_for_tasks(board)
            if batch[KIND] == SEARCH:
                settle_search(tree, limits, work, bins, best)
            tasks, count, t = next_batch(tree, limits, count, t)
            if tasks == 0:
                break
            batch[BEGIN] = atomic_load(board, END)
            post_tasks(board, tasks)
    nodes, sums = tree.nodes, tree.reals
    for t in range(count - 1, -1, -1):
        if nodes[t, IS_SPLIT]:
            for k in range(2):
                sums[t, k] = sums[nodes[t, CHILD], k] + sums[nodes[t, CHILD] + 1, k]
    return count
