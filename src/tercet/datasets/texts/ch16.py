"""Li, chapter 16: principal component analysis (主成分分析)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

# Marks in Chinese, a foreign language, mathematics and physics: table 16.1.
R = [[1, 0.44, 0.29, 0.33], [0.44, 1, 0.35, 0.32], [0.29, 0.35, 1, 0.60], [0.33, 0.32, 0.60, 1]]
PRINTED = (
    "tables 16.2 and 16.3 disagree with table 16.1 by up to 0.014: these are the eigenvectors of table 16.1"
)


def exam_marks(R: Any, share: float) -> dict[str, Any]:
    from tercet.decomposition import (
        choose_n_components,
        contribution_rates,
        factor_loadings,
        principal_components,
        variable_contributions,
    )

    variances, components = principal_components(R)
    rates, cumulative = contribution_rates(variances)
    k = choose_n_components(variances, share)
    return {
        "variances": variances,
        "rates": rates,
        "cumulative": cumulative,
        "k": k,
        "components": components[:k],
        "loadings": factor_loadings(variances[:k], components[:k]),
        "contributions": variable_contributions(variances[:k], components[:k]),
    }


def marks_of_rows(R: Any, share: float) -> dict[str, Any]:
    """Rows whose correlation matrix is R: the sample components are those of the population."""
    from tercet.decomposition import PCA

    half = np.linalg.cholesky(np.asarray(R))
    corners = np.vstack([np.eye(4), -np.eye(4)]) * np.sqrt(7 / 2)
    X = corners @ half.T * [10, 20, 30, 40] + [70, 60, 80, 50]
    model = PCA(share, scale=True, svd_solver="full").fit(X)
    return {
        "k": model.n_components_,
        "variances": model.explained_variance_,
        "mean": model.mean_,
        "deviations": model.scale_,
        "loadings": model.loadings_,
        "contributions": model.variable_contributions_,
    }


def optimal(R: Any, q: int) -> dict[str, Any]:
    from tercet.decomposition import principal_components, projected_variance

    variances, components = principal_components(R)
    first, least, most = projected_variance(R, components[:q].T)
    last = projected_variance(R, components[-q:].T)[0]
    return {"first": first, "last": last, "least": least, "most": most, "sum": float(variances.sum())}


FIRST = [0.459908, 0.476312, 0.528750, 0.531070]
SECOND = [0.567909, 0.490907, -0.475571, -0.458609]
LOADINGS = [[0.677512, 0.701679, 0.778927, 0.782344], [0.530017, 0.458152, -0.443839, -0.428009]]
CONTRIBUTIONS = [0.739940, 0.702256, 0.803720, 0.795254]
EXAMPLES = [
    Example(
        place="Li Ex 16.1",
        title="principal components of exam marks, from their correlations",
        zh="学生考试成绩的主成分分析（相关矩阵）",
        given={"R": R, "share": 0.75},
        call=exam_marks,
        expected={
            "variances": [2.170165, 0.871005, 0.566179, 0.392650],
            "rates": [0.542541, 0.217751, 0.141545, 0.098163],
            "cumulative": [0.542541, 0.760293, 0.901837, 1.0],
            "k": 2,
            "components": [FIRST, SECOND],
            "loadings": LOADINGS,
            "contributions": CONTRIBUTIONS,
        },
        atol=1e-5,
        note=PRINTED,
    ),
    Example(
        place="Li Ex 16.1",
        title="the same from rows: standardise, decompose, choose k by the share of the variance",
        zh="学生考试成绩的主成分分析（样本数据，规范化）",
        given={"R": R, "share": 0.75},
        call=marks_of_rows,
        expected={
            "k": 2,
            "variances": [2.170165, 0.871005],
            "mean": [70.0, 60.0, 80.0, 50.0],
            "deviations": [10.0, 20.0, 30.0, 40.0],
            "loadings": LOADINGS,
            "contributions": CONTRIBUTIONS,
        },
        atol=1e-5,
        note="the text gives no rows; these are made to have its correlations",
    ),
    Example(
        place="Li Thm 16.2, 16.3",
        title="the first components have the largest total variance, the last the least",
        zh="前 q 个主成分的方差之和最大",
        given={"R": R, "q": 2},
        call=optimal,
        expected={"first": 3.041170, "last": 0.958830, "least": 0.958830, "most": 3.041170, "sum": 4.0},
        atol=2e-6,
        note="derived",
    ),
]
