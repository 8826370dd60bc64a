"""Li, chapter 15: singular value decomposition (奇异值分解)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

A = [[1, 0, 0, 0], [0, 0, 0, 4], [0, 3, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0]]
PLANE = [[3, 1], [2, 1]]
TALL = [[1, 1], [2, 2], [0, 0]]
# The clicks of a table like that of exercise 15.5, whose figure is lost: queries by pages.
CLICKS = [[0, 20, 5, 0, 0], [10, 0, 0, 3, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0]]


def full(A: Any) -> dict[str, Any]:
    from tercet.decomposition import projector, svd

    U, s, Vt = svd(A)
    return {
        "U of the values above 0": U[:, :3],
        "projector on the rest of U": projector(U[:, 3:]),
        "sigma": s,
        "V'": Vt,
        "error": float(np.abs((U[:, :4] * s) @ Vt - A).max()),
    }


def compact(A: Any) -> dict[str, Any]:
    from tercet.decomposition import rank, svd

    U, s, Vt = svd(A, "compact")
    return {"rank": rank(A), "shapes": [*U.shape, *Vt.shape], "sigma": s, "product": (U * s) @ Vt}


def truncated(A: Any, k: int) -> dict[str, Any]:
    from tercet.decomposition import frobenius_norm, low_rank_approximation, svd

    U, s, Vt = svd(A, "truncated", k=k)
    near, error = low_rank_approximation(A, k)
    return {
        "sigma": s,
        "A_k": (U * s) @ Vt,
        "nearest of rank k": near,
        "norm": frobenius_norm(A),
        "error": error,
    }


def stages(A: Any) -> dict[str, Any]:
    from tercet.decomposition import geometric_stages, svd

    U, s, Vt = svd(A)
    rotated, scaled, image = geometric_stages(A, np.eye(2))
    return {"U": U, "sigma": s, "V'": Vt, "V'e": rotated, "ΣV'e": scaled, "Ae": image}


def eigen_route(A: Any) -> dict[str, Any]:
    from tercet.decomposition import eigen_steps, projector

    steps = eigen_steps(A)
    names = ("gram", "eigenvalues", "V", "Sigma", "U1")
    return {**{name: steps[name] for name in names}, "projector on U2": projector(steps["U2"])}


def expansion(A: Any) -> dict[str, Any]:
    from tercet.decomposition import outer_product_expansion

    terms = outer_product_expansion(A)
    return {"terms": terms, "sum of two": terms[:2].sum(axis=0), "sum of all": terms.sum(axis=0)}


def click_data(clicks: Any) -> dict[str, Any]:
    from tercet.decomposition import svd

    U, s, Vt = svd(clicks, "compact")
    return {
        "strengths": s,
        "query of each topic": np.abs(U).argmax(axis=0) + 1,
        "page of each topic": np.abs(Vt).argmax(axis=1) + 1,
        "rebuilt": (U * s) @ Vt,
    }


r2, r5, r10 = 0.5**0.5, 0.2**0.5, 10**0.5
EXAMPLES = [
    Example(
        place="Li Ex 15.1",
        title="full singular value decomposition",
        zh="完全奇异值分解",
        given={"A": A},
        call=full,
        expected={
            "U of the values above 0": [[0, 0, r5], [1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 2 * r5]],
            "projector on the rest of U": [
                [0.8, 0, 0, 0, -0.4], [0] * 5, [0] * 5, [0, 0, 0, 1, 0], [-0.4, 0, 0, 0, 0.2],
            ],
            "sigma": [4, 3, 5**0.5, 0],
            "V'": [[0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]],
            "error": 0.0,
        },
        note="the last two columns of U are any orthonormal basis of N(A'); the text gives two",
    ),
    Example(
        place="Li Ex 15.2",
        title="compact singular value decomposition",
        zh="紧奇异值分解",
        given={"A": A},
        call=compact,
        expected={"rank": 3, "shapes": [5, 3, 3, 4], "sigma": [4, 3, 5**0.5], "product": A},
    ),
    Example(
        place="Li Ex 15.3",
        title="truncated singular value decomposition, the nearest matrix of rank 2",
        zh="截断奇异值分解与最优近似",
        given={"A": A, "k": 2},
        call=truncated,
        expected={
            "sigma": [4, 3],
            "A_k": [[0] * 4, [0, 0, 0, 4], [0, 3, 0, 0], [0] * 4, [0] * 4],
            "nearest of rank k": [[0] * 4, [0, 0, 0, 4], [0, 3, 0, 0], [0] * 4, [0] * 4],
            "norm": 30**0.5,
            "error": 5**0.5,
        },
        note="the norm and the error are derived",
    ),
    Example(
        place="Li Ex 15.4",
        title="a matrix as rotation, scaling and rotation",
        zh="奇异值分解的几何解释",
        given={"A": PLANE},
        call=stages,
        expected={
            "U": [[0.817416, -0.576048], [0.576048, 0.817416]],
            "sigma": [3.864328, 0.258777],
            "V'": [[0.932722, 0.360597], [-0.360597, 0.932722]],
            "V'e": [[0.932722, 0.360597], [-0.360597, 0.932722]],
            "ΣV'e": [[3.604344, 1.393464], [-0.093314, 0.241367]],
            "Ae": [[3, 1], [2, 1]],
        },
        atol=1e-6,
        note="3.6042 in print comes of rounded factors",
    ),
    Example(
        place="Li Ex 15.5",
        title="the five steps by the eigenvectors of A'A",
        zh="由 A'A 的特征向量计算奇异值分解",
        given={"A": TALL},
        call=eigen_route,
        expected={
            "gram": [[5, 5], [5, 5]],
            "eigenvalues": [10, 0],
            "V": [[r2, r2], [r2, -r2]],
            "Sigma": [[r10, 0], [0, 0], [0, 0]],
            "U1": [[r5], [2 * r5], [0]],
            "projector on U2": [[0.8, -0.4, 0], [-0.4, 0.2, 0], [0, 0, 1]],
        },
        atol=1e-7,
        note="u2 and u3 are any orthonormal basis of N(A')",
    ),
    Example(
        place="Li Ex 15.6",
        title="outer-product expansion",
        zh="外积展开式",
        given={"A": A},
        call=expansion,
        expected={
            "terms": [
                [[0] * 4, [0, 0, 0, 4], [0] * 4, [0] * 4, [0] * 4],
                [[0] * 4, [0] * 4, [0, 3, 0, 0], [0] * 4, [0] * 4],
                [[1, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4, [2, 0, 0, 0]],
            ],
            "sum of two": [[0] * 4, [0, 0, 0, 4], [0, 3, 0, 0], [0] * 4, [0] * 4],
            "sum of all": A,
        },
    ),
    Example(
        place="Li exercise 15.5",
        title="queries and pages of click data in the space of topics",
        zh="搜索点击数据的奇异值分解",
        given={"clicks": CLICKS},
        call=click_data,
        expected={
            "strengths": [20.6170, 10.4403, 1.0, 0.9701],
            "query of each topic": [1, 2, 3, 4],
            "page of each topic": [2, 1, 5, 3],
            "rebuilt": CLICKS,
        },
        atol=1e-4,
        note="the figure with the counts is lost; these are ours",
    ),
]  # fmt: skip
