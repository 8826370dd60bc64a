"""Li, chapter 11: the conditional random field (条件随机场)."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from tercet.datasets.texts import Example

# Example 11.1: (labels before and at the place, places, weight), and (label, places, weight); all counted from 1.
TRANSITIONS = [
    ((1, 2), (2, 3), 1.0), ((1, 1), (2,), 0.6), ((2, 1), (3,), 1.0), ((2, 1), (2,), 1.0), ((2, 2), (3,), 0.2),
]  # fmt: skip
STATES = [(1, (1,), 1.0), (2, (1, 2), 0.5), (1, (2, 3), 0.8), (2, (3,), 0.5)]
THREE = {"transitions": TRANSITIONS, "states": STATES}
PATHS = list(itertools.product((1, 2), repeat=3))

# Sequences of 0 and 1 with labels 0 and 1, for learning.
X = [[0, 1, 0], [1, 1], [0, 1, 1, 0], [1, 0], [0, 0], [1, 1, 0]]
Y = [[0, 1, 0], [1, 1], [0, 0, 1, 1], [0, 1], [0, 0], [1, 1, 1]]
W_MLE = [0.3252535496, 0.6221632946, 0.8087253227, 0.8339205152]
W_L2 = [0.1322080525, 0.4260498076, 0.5580747879, 0.6110929263]


def field_of(transitions: Any, states: Any) -> Any:
    """The text's features, each an indicator of labels and places."""
    from tercet.sequence import ParametricCRF

    def step(pair: Any, places: Any, before: Any, now: Any, x: Any, i: int) -> bool:
        return (before, now) == tuple(pair) and i + 1 in places

    def state(label: Any, places: Any, now: Any, x: Any, i: int) -> bool:
        return now == label and i + 1 in places

    steps = [functools.partial(step, pair, places) for pair, places, _ in transitions]
    labels = [functools.partial(state, label, places) for label, places, _ in states]
    weights = [w for *_, w in transitions] + [w for *_, w in states]
    return ParametricCRF(steps, labels, labels=[1, 2], weights=weights)


def unnormalised(transitions: Any, states: Any, y: Any) -> dict[str, Any]:
    model = field_of(transitions, states)
    score = model.log_weight("abc", y)
    return {"F": model.features("abc", y), "w·F": score, "weight": np.exp(score)}


def everything(transitions: Any, states: Any) -> dict[str, Any]:
    model = field_of(transitions, states)
    chain = model.matrix_form("abc")
    return {
        "scores": [model.log_weight("abc", y) for y in PATHS],
        "Z": chain.Z,
        "log Z": chain.log_Z,
        "P": [model.probability("abc", y) for y in PATHS],
        "P(y_i)": chain.node_marginals(),
        "P(y_{i-1}, y_i)": chain.edge_marginals(),
        "E[f]": model.expected_features("abc"),
    }


def matrices(transitions: Any, states: Any) -> dict[str, Any]:
    chain = field_of(transitions, states).matrix_form("abc")
    alpha, beta = chain.alpha, chain.beta
    return {
        "log M": chain.log_matrices,
        "α_n·1": alpha[3].sum(),
        "1·β_1": beta[1].sum(),
        "α_4(stop)": alpha[4, 0],
        "α_0·β_0": alpha[0] @ beta[0],
    }


def matrix_form(a: Any, b: Any, c: Any) -> dict[str, Any]:
    from tercet.sequence import MatrixCRF

    chain = MatrixCRF([[a, [0, 0]], b, c, [[1, 0], [1, 0]]])
    paths = [np.exp(chain.log_weight(y)) for y in itertools.product((0, 1), repeat=3)]
    return {"weights of paths": paths, "Z": chain.Z, "sum of paths": sum(paths)}


def viterbi(transitions: Any, states: Any) -> dict[str, Any]:
    found = field_of(transitions, states).viterbi("abc")
    return {"δ": found.delta, "Ψ": found.psi[1:] + 1, "best": found.score, "path": found.path}


def cliques(edges: Any, candidate: Any) -> dict[str, Any]:
    from tercet.graphical import is_clique, maximal_cliques

    found = [sorted(clique) for clique in maximal_cliques(edges)]
    return {"maximal": found, "candidate is a clique": is_clique(edges, candidate)}


def learner(algorithm: Any = "lbfgs", **options: Any) -> Any:
    """Features #(0 -> 0), #(1 -> 1), #(y = x = 0), #(y = x = 1)."""
    from tercet.sequence import ParametricCRF

    def stays(k: int, before: int, now: int, x: Any, i: int) -> bool:
        return before == now == k

    def echoes(k: int, now: int, x: Any, i: int) -> bool:
        return now == x[i] == k

    steps, states = ([functools.partial(f, k) for k in (0, 1)] for f in (stays, echoes))
    return ParametricCRF(steps, states, labels=[0, 1], algorithm=algorithm, **options)


def objective(X: Any, Y: Any) -> dict[str, Any]:
    from tercet.sequence.crf.iterative_scaling import FeatureTotals

    f = learner().objective(X, Y)
    value, gradient = f.value_and_gradient(np.zeros(4))
    return {
        "E_data": f.empirical,
        "E_0": gradient + f.empirical,
        "f(0)": value,
        "S": float(FeatureTotals(f, "iis-s").totals[-1]),
    }


def one_step(X: Any, Y: Any, algorithm: Any) -> dict[str, Any]:
    import warnings

    from tercet.sequence import crf_iterative_scaling

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one pass does not converge, and is not meant to
        found = crf_iterative_scaling(learner().objective(X, Y), algorithm=algorithm, max_iter=1)
    return {"w": found.x, "f": found.fun}


def learned(X: Any, Y: Any, algorithm: str, l2: float = 0.0) -> dict[str, Any]:
    model = learner(algorithm, l2=l2, tol=1e-8, max_iter=5000).fit(X, Y)
    return {"w": model.weights_, "f": model.loss_}


def decoded(X: Any, Y: Any, new: Any) -> dict[str, Any]:
    model = learner("newton", tol=1e-10).fit(X, Y)
    return {
        "labels": {str(x): labels for x, labels in zip(new, model.predict(new))},
        "log Z": [model.matrix_form(x).log_Z for x in new],
    }


LEARNING = {"X": X, "Y": Y}
MLE = {"w": W_MLE, "f": 1.5937975766477979}

EXAMPLES = [
    Example(
        place="Li Ex 11.1",
        title="the unnormalised probability of one sequence of labels",
        zh="一个标记序列的非规范化概率",
        given={**THREE, "y": [1, 2, 2]},
        call=unnormalised,
        expected={"F": [1.0, 0, 0, 0, 1, 1, 1, 0, 1], "w·F": 3.2, "weight": 24.532530197},
    ),
    Example(
        place="Li Ex 11.1",
        title="all sequences, Z, marginals and expectations",
        zh="全部标记序列、规范化因子、边缘概率与特征期望",
        given=THREE,
        call=everything,
        expected={
            "scores": [3.2, 3.9, 4.3, 3.2, 3.1, 3.8, 2.8, 1.7],
            "Z": 260.98503313691134,
            "log Z": 5.564463061375425,
            "P": [.09399976, .18929227, .28239088, .09399976, .0850545, .17127873, .06300992, .02097418],
            "P(y_i)": [[.6596826689, .3403173311], [.5396252551, .4603747449], [.5244550628, .4755449372]],
            "P(y_{i-1}, y_i)": [
                [[.2832920280, .3763906409], [.2563332271, .0839841040]],
                [[.1790542581, .3605709970], [.3454008047, .1149739402]],
            ],
            "E[f]": [
                .7369616379, .2832920280, .3454008047, .2563332271, .1149739402, .6596826689, .8006920760,
                1.0640803179, .4755449372,
            ],
        },
        atol=6e-9,
        note="derived; the body of eq. 11.34 is lost in print",
    ),
    Example(
        place="Li eq. 11.26-11.31",
        title="the matrices of example 11.1, and Z in four ways",
        zh="例 11.1 的矩阵形式与规范化因子的四种算法",
        given=THREE,
        call=matrices,
        expected={
            "log M": [
                [[1.0, .5], [-np.inf, -np.inf]], [[1.4, 1.5], [1.8, .5]], [[.8, 1.5], [1.8, .7]],
                [[0.0, -np.inf], [0.0, -np.inf]],
            ],
            "α_n·1": 260.98503313691134,
            "1·β_1": 117.20748762218004,
            "α_4(stop)": 260.98503313691134,
            "α_0·β_0": 260.98503313691134,
        },
        note="derived; the text has Z = 1·β_1, which holds only where M_1(start, y) = 1 for every y; "
        "α_n·1 = Z needs M_{n+1}(y, stop) = 1, as here",
    ),
    Example(
        place="Li Ex 11.2",
        title="the matrix form: weights of all paths from start to stop",
        zh="矩阵形式：从起点到终点的全部路径",
        given={"a": [2, 3], "b": [[5, 7], [11, 13]], "c": [[17, 19], [23, 29]]},
        call=matrix_form,
        expected={
            "weights of paths": [170.0, 190.0, 322.0, 406.0, 561.0, 627.0, 897.0, 1131.0], "Z": 4304.0,
            "sum of paths": 4304.0,
        },
        note="the text has letters; numbers were put in for them",
    ),
    Example(
        place="Li Ex 11.3",
        title="Viterbi's algorithm on example 11.1",
        zh="用维特比算法求例 11.1 的最优标记序列",
        given=THREE,
        call=viterbi,
        expected={"δ": [[1.0, .5], [2.4, 2.5], [4.3, 3.9]], "Ψ": [[1, 1], [2, 1]], "best": 4.3, "path": [1, 2, 1]},
    ),
    Example(
        place="Li Fig 11.3",
        title="maximal cliques",
        zh="最大团",
        given={"edges": [(1, 2), (2, 3), (3, 4), (4, 2), (1, 3)], "candidate": [1, 2, 3, 4]},
        call=cliques,
        expected={"maximal": [[1, 2, 3], [2, 3, 4]], "candidate is a clique": False},
    ),
    Example(
        place="Li eq. 11.50, 11.51",
        title="the objective and its gradient at w = 0",
        zh="w = 0 处的目标函数与梯度",
        given=LEARNING,
        call=objective,
        expected={
            "E_data": [1 / 3, 2 / 3, 5 / 6, 1.0], "E_0": [5 / 12, 5 / 12, 2 / 3, 2 / 3],
            "f(0)": 1.8483924814931874, "S": 5.0,
        },
        note="derived; S has to bound T(x, y) for every y, not only for those of the data as the text says",
    ),
    Example(
        place="Li eq. 11.40-11.45",
        title="one pass of algorithm S",
        zh="算法 S 的一次迭代",
        given={**LEARNING, "algorithm": "iis-s"},
        call=one_step,
        expected={"w": [-.0446287103, .0940007258, .0446287103, .0810930216], "f": 1.7929004796886516},
        note="derived; the text says that a large S makes large increments: they are small",
    ),
    Example(
        place="Li eq. 11.46-11.48",
        title="one pass of algorithm T",
        zh="算法 T 的一次迭代",
        given={**LEARNING, "algorithm": "iis-t"},
        call=one_step,
        expected={"w": [-.0575983041, .1189318391, .0590714467, .1067167366], "f": 1.7787470498092683},
        note="derived",
    ),
    Example(
        place="Li Alg 11.1",
        title="one pass of improved iterative scaling",
        zh="改进的迭代尺度法的一次迭代",
        given={**LEARNING, "algorithm": "iis"},
        call=one_step,
        expected={"w": [-.0812975168, .1419953302, .0762982070, .1360257233], "f": 1.764481223525808},
        note="derived",
    ),
    *(
        Example(
            place=place,
            title=f"the weights of the largest likelihood by {name}",
            zh=f"极大似然估计（{zh}）",
            given={**LEARNING, "algorithm": algorithm},
            call=learned,
            expected=MLE,
            rtol=2e-6,
            note="derived",
        )
        for algorithm, name, zh, place in [
            ("iis", "improved iterative scaling", "改进的迭代尺度法", "Li Alg 11.1"),
            ("iis-s", "algorithm S", "算法 S", "Li Alg 11.1"),
            ("iis-t", "algorithm T", "算法 T", "Li Alg 11.1"),
            ("bfgs", "BFGS", "BFGS 算法", "Li Alg 11.2"),
            ("gd", "gradient descent", "梯度下降法", "Li sec. 11.4"),
        ]
    ),
    Example(
        place="Li sec. 11.4",
        title="the weights of the largest penalised likelihood",
        zh="正则化的极大似然估计",
        given={**LEARNING, "algorithm": "bfgs", "l2": 0.1},
        call=learned,
        expected={"w": W_L2, "f": 1.6566968747663677},
        rtol=1e-5,
        note="derived; f(w) + 0.05 |w|^2",
    ),
    Example(
        place="Li Alg 11.3",
        title="labels of new sequences under the learned weights",
        zh="用学得的权值预测新序列",
        given={**LEARNING, "new": [[0, 1, 1], [1, 0, 0, 1]]},
        call=decoded,
        expected={
            "labels": {"[0, 1, 1]": [0, 1, 1], "[1, 0, 0, 1]": [1, 0, 0, 1]},
            "log Z": [4.176989315741299, 5.457492103356242],
        },
        note="derived",
    ),
]  # fmt: skip
