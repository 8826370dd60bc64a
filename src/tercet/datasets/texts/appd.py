"""Li, appendix D: fundamental subspaces of a matrix (矩阵的基本子空间)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

A = [[1, 2, 3], [2, 4, 6], [1, 0, 1]]


def four_subspaces(A: Any) -> dict[str, Any]:
    from tercet.decomposition import fundamental_subspaces, in_span, nullity, projector, rank

    bases = fundamental_subspaces(A)
    null, left = bases["null_space"][:, 0], bases["left_null_space"][:, 0]
    pairs = [("column_space", "left_null_space"), ("row_space", "null_space")]
    sums = [projector(bases[one]) + projector(bases[other]) for one, other in pairs]
    return {
        "rank": rank(A),
        "nullity": nullity(A),
        "null space": null / null[0],
        "left null space": left / left[1] * -1,
        "columns in the column space": [in_span(v, bases["column_space"]) for v in ([1, 2, 1], [2, 4, 0])],
        "rows in the row space": [in_span(v, bases["row_space"]) for v in ([1, 2, 3], [0, 1, 1])],
        "sums of projectors": np.array(sums),
    }


EXAMPLES = [
    Example(
        place="Li app. D",
        title="the four fundamental subspaces of a matrix of rank 2",
        zh="秩为 2 的矩阵的四个基本子空间",
        given={"A": A},
        call=four_subspaces,
        expected={
            "rank": 2,
            "nullity": 1,
            "null space": [1.0, 1.0, -1.0],
            "left null space": [2.0, -1.0, 0.0],
            "columns in the column space": [True, True],
            "rows in the row space": [True, True],
            "sums of projectors": [np.eye(3).tolist(), np.eye(3).tolist()],
        },
        note="derived; the text has no example",
    ),
]
