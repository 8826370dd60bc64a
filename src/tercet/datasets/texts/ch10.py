"""Li, chapter 10: hidden Markov models (隐马尔可夫模型)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.datasets.texts import Example

# A red ball is symbol 0, a white one 1; boxes are states, counted from 1 in the text.
RED, WHITE = [5, 3, 6, 8], [5, 7, 4, 2]  # Table 10.1: the balls in each box
FOUR_BOXES = {
    "pi": [0.25] * 4,
    "A": [[0, 1, 0, 0], [0.4, 0, 0.6, 0], [0, 0.4, 0, 0.6], [0, 0, 0.5, 0.5]],
    "B": [[0.5, 0.5], [0.3, 0.7], [0.6, 0.4], [0.8, 0.2]],
}
THREE_BOXES = {
    "pi": [0.2, 0.4, 0.4],
    "A": [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]],
    "B": [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]],
}
PAIRS = [([0, 1, 1, 2], [0, 0, 1, 2]), ([2, 1], [1, 2]), ([0, 0, 2], [0, 1, 2])]


def model(pi: Any, A: Any, B: Any, **options: Any) -> Any:
    from tercet.sequence import CategoricalHMM

    found = CategoricalHMM(len(A), **options)
    found.startprob_, found.transmat_, found.emissionprob_ = pi, A, B
    return found


def boxes(red: list[int], white: list[int], O: list[int]) -> dict[str, Any]:
    from tercet.sequence import DirectEnumeration

    # The rules: from the first box to the second; from a box between to the left with 0.4, to the right with 0.6;
    # at the last, half and half, stay or go back.
    n = len(red)
    A = np.zeros((n, n))
    A[0, 1] = 1.0
    for i in range(1, n - 1):
        A[i, i - 1], A[i, i + 1] = 0.4, 0.6
    A[-1, -2:] = 0.5
    balls = np.column_stack([red, white])
    pi, B = np.full(n, 1 / n), balls / balls.sum(axis=1, keepdims=True)
    hmm, every = model(pi, A, B), DirectEnumeration.of_hmm(pi, A, B, O)
    score, path = hmm.decode(O)
    likely = hmm.decode(O, algorithm="map")[1]
    second = hmm.k_best(O, 2)[0]
    return {
        "A": A,
        "B": B,
        "P(O)": every.total,
        "P(O) by the forward algorithm": np.exp(hmm.score(O)),
        "best path": path + 1,
        "P*": np.exp(score),
        "second path": second[1][1] + 1,
        "its probability": np.exp(second[0][1]),
        "most likely boxes": likely + 1,
        "probability of that path": np.exp(every.log_joint[every.index(likely)]),
    }


def by_forward(pi: Any, A: Any, B: Any, O: list[int]) -> dict[str, Any]:
    from tercet.sequence import forward

    table = forward(pi, A, B, O)
    return {
        "α": table.alpha,
        "P(O)": table.probability,
        "P(O) by the model": np.exp(model(pi, A, B).score(O)),
    }


def by_backward(pi: Any, A: Any, B: Any, O: list[int]) -> dict[str, Any]:
    from tercet.sequence import backward, posteriors

    table, found = backward(pi, A, B, O), posteriors(pi, A, B, O)
    return {
        "β": table.beta,
        "P(O)": table.probability,
        "γ": model(pi, A, B).predict_proba(O),
        "expected transitions": found.transitions,
        "most likely boxes": model(pi, A, B).decode(O, algorithm="map")[1] + 1,
    }


def by_viterbi(pi: Any, A: Any, B: Any, O: list[int]) -> dict[str, Any]:
    from tercet.sequence import viterbi

    best, (score, path) = viterbi(pi, A, B, O), model(pi, A, B).decode(O)
    return {
        "δ": best.delta,
        "Ψ": best.psi[1:] + 1,
        "P*": best.probability,
        "best path": path + 1,
        "log P*": score,
        "P(path | O)": best.probability / np.exp(model(pi, A, B).score(O)),
    }


def enumerated(pi: Any, A: Any, B: Any, O: list[int], path: list[int]) -> dict[str, Any]:
    from tercet.sequence import DirectEnumeration

    every = DirectEnumeration.of_hmm(pi, A, B, O)
    k = every.index([i - 1 for i in path])
    return {
        "paths": len(every.paths),
        "P(I)": np.exp(every.log_path[k]),
        "P(O | I)": np.exp(every.log_given[k]),
        "P(O, I)": np.exp(every.log_joint[k]),
        "P(O)": every.total,
    }


def one_step(pi: Any, A: Any, B: Any, O: list[int]) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one step is all there is
        return model(pi, A, B, n_iter=1, init_params="").fit(O)


def baum_welch(pi: Any, A: Any, B: Any, O: list[int]) -> dict[str, Any]:
    start, one = model(pi, A, B), one_step(pi, A, B, O)
    return {
        "A": one.transmat_,
        "B": one.emissionprob_,
        "π": one.startprob_,
        "log P(O) before": start.score(O),
        "log P(O) after": one.score(O),
    }


def q_function(pi: Any, A: Any, B: Any, O: list[int]) -> dict[str, Any]:
    from tercet.sequence import hmm_q

    old = (pi, A, B)
    step = one_step(*old, O)
    same, best, printed = hmm_q(old, old, O), hmm_q(step, old, O), hmm_q(old, old, O, normalised=False)
    return {
        "Q of the old": same.value,
        "Q of the step": best.value,
        "its terms": list(best[1:]),
        "Q of the old as printed": printed.value,
    }


def supervised(pairs: list[tuple[list[int], list[int]]]) -> dict[str, Any]:
    from tercet.sequence import CategoricalHMM, HMMTagger

    O, I = [o for o, _ in pairs], [i for _, i in pairs]
    found = CategoricalHMM().fit(O, I)
    tagger = HMMTagger(alpha=0, unseen="error").fit(O, I)
    return {
        "A": found.transmat_[:2],
        "B": found.emissionprob_,
        "π": found.startprob_,
        "A of the tagger": tagger.transmat_,
        "B of the tagger": tagger.emissionprob_,
    }


EXAMPLES = [
    Example(
        place="Li Ex 10.1",
        title="boxes and balls: the model, P(O) by all paths, and the best path",
        zh="盒子和球模型：模型参数、概率与最优路径",
        given={"red": RED, "white": WHITE, "O": [0, 0, 1, 1, 0]},
        call=boxes,
        derived=(
            "P(O)",
            "P(O) by the forward algorithm",
            "best path",
            "P*",
            "second path",
            "its probability",
            "most likely boxes",
            "probability of that path",
        ),
        expected={
            "A": FOUR_BOXES["A"],
            "B": FOUR_BOXES["B"],
            "P(O)": 0.026862016,
            "P(O) by the forward algorithm": 0.026862016,
            "best path": [4, 3, 2, 3, 4],
            "P*": 0.00193536,
            "second path": [1, 2, 1, 2, 3],
            "its probability": 0.00189,
            "most likely boxes": [4, 4, 3, 2, 4],
            "probability of that path": 0.0,
        },
        note="the text gives the model only; the most likely boxes make a path that cannot be (from 2 to 4)",
    ),
    Example(
        place="Li eq. 10.10",
        title="direct calculation over all 27 paths",
        zh="直接计算法",
        given={**THREE_BOXES, "O": [0, 1, 0], "path": [3, 3, 3]},
        call=enumerated,
        expected={"paths": 27, "P(I)": 0.1, "P(O | I)": 0.147, "P(O, I)": 0.0147, "P(O)": 0.130218},
        note="the text has no numbers here; the model is that of Ex 10.2",
    ),
    Example(
        place="Li Ex 10.2",
        title="the forward algorithm",
        zh="前向算法",
        given={**THREE_BOXES, "O": [0, 1, 0]},
        call=by_forward,
        expected={
            "α": [[0.10, 0.16, 0.28], [0.077, 0.1104, 0.0606], [0.04187, 0.035512, 0.052836]],
            "P(O)": 0.130218,
            "P(O) by the model": 0.130218,
        },
        note="printed as 0.04187, 0.03551, 0.05284 and P(O) = 0.13022",
    ),
    Example(
        place="Li Alg 10.3",
        title="the backward algorithm and posteriors on Ex 10.2",
        zh="后向算法与后验概率（例 10.2 的模型）",
        given={**THREE_BOXES, "O": [0, 1, 0]},
        call=by_backward,
        expected={
            "β": [[0.2451, 0.2622, 0.2277], [0.54, 0.49, 0.57], [1, 1, 1.0]],
            "P(O)": 0.130218,
            "γ": [
                [0.1882228263, 0.3221674423, 0.4896097314],
                [0.3193106944, 0.4154264387, 0.2652628669],
                [0.3215377290, 0.2727119139, 0.4057503571],
            ],
            "expected transitions": [
                [0.2515013285, 0.0924603357, 0.1635718564],
                [0.2266967700, 0.3501820025, 0.1607151085],
                [0.1626503248, 0.2454960144, 0.3467262590],
            ],
            "most likely boxes": [3, 2, 3],
        },
        note="the text has no numbers here",
    ),
    Example(
        place="Li Ex 10.3",
        title="the Viterbi algorithm",
        zh="维特比算法",
        given={**THREE_BOXES, "O": [0, 1, 0]},
        call=by_viterbi,
        derived=("log P*", "P(path | O)"),
        expected={
            "δ": [[0.10, 0.16, 0.28], [0.028, 0.0504, 0.042], [0.00756, 0.01008, 0.0147]],
            "Ψ": [[3, 3, 3], [2, 2, 3]],
            "P*": 0.0147,
            "best path": [3, 3, 3],
            "log P*": float(np.log(0.0147)),
            "P(path | O)": 0.1128876192,
        },
        note="the text does not give P(path | O)",
    ),
    Example(
        place="Li Alg 10.4",
        title="one step of Baum-Welch from the model of Ex 10.2",
        zh="Baum-Welch 算法：从例 10.2 的模型出发的一步",
        given={**THREE_BOXES, "O": [0, 1, 0]},
        call=baum_welch,
        expected={
            "A": [
                [0.4955363898, 0.1821758209, 0.3222877894],
                [0.3073463268, 0.4747626187, 0.2178910545],
                [0.2154672526, 0.3252151621, 0.4593175853],
            ],
            "B": [[0.6148573546, 0.3851426454], [0.5888111888, 0.4111888112], [0.7714478542, 0.2285521458]],
            "π": [0.1882228263, 0.3221674423, 0.4896097314],
            "log P(O) before": -2.038545309915233,
            "log P(O) after": -1.894035379407491,
        },
        note="the text has no numbers here",
    ),
    Example(
        place="Li Alg 10.4",
        title="a uniform start goes no further than the shares of the symbols",
        zh="Baum-Welch 算法：均匀初值只学到符号的频率",
        given={"pi": [0.5, 0.5], "A": [[0.5, 0.5]] * 2, "B": [[0.5, 0.5]] * 2, "O": [0, 1, 0, 0]},
        call=baum_welch,
        expected={
            "A": [[0.5, 0.5], [0.5, 0.5]],
            "B": [[0.75, 0.25], [0.75, 0.25]],
            "π": [0.5, 0.5],
            "log P(O) before": 4 * float(np.log(0.5)),
            "log P(O) after": 3 * float(np.log(0.75)) + float(np.log(0.25)),
        },
        note="the text has no numbers here",
    ),
    Example(
        place="Li eq. 10.34",
        title="the Q function and its three terms",
        zh="Q 函数及其三项",
        given={**THREE_BOXES, "O": [0, 1, 0]},
        call=q_function,
        expected={
            "Q of the old": -5.1095164786,
            "Q of the step": -4.9772682282,
            "its terms": [-1.0289233804, -2.0876201104, -1.8607247374],
            "Q of the old as printed": -0.6653510168,
        },
        note="the text has no numbers here; it omits the division by P(O), which makes Q an expectation",
    ),
    Example(
        place="Li eq. 10.30",
        title="supervised learning by counting",
        zh="监督学习：由频数估计",
        given={"pairs": PAIRS},
        call=supervised,
        expected={
            "A": [[1 / 3, 2 / 3, 0], [0, 0, 1]],
            "B": [[2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3], [0, 1 / 3, 2 / 3]],
            "π": [2 / 3, 1 / 3, 0],
            "A of the tagger": [[1 / 3, 2 / 3, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]],
            "B of the tagger": [[2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3], [0, 1 / 3, 2 / 3]],
        },
        note="the text has no numbers here; a state that is never left has no row of its own",
    ),
]
