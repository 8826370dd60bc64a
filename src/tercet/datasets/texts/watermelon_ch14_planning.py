"""Watermelon notes, chapter 14, 14.3: planning in a known model (有模型学习)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

# P[x][a][x'] and R[x][a][x'] of two states and a terminal one.
P = [[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]]
R = [[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]]


def evaluated_steps(P: Any, R: Any, horizons: list[int]) -> dict[str, Any]:
    from tercet.rl import MDP, PolicyEvaluation

    mdp = MDP(P, R)
    return {f"V_{T}": PolicyEvaluation(horizon=T).fit(mdp).V_ for T in horizons}


def evaluated_discounted(P: Any, R: Any, discount: float) -> dict[str, Any]:
    from tercet.rl import MDP, PolicyEvaluation, action_values, bellman_residual

    mdp = MDP(P, R)
    solved = PolicyEvaluation(discount=discount).fit(mdp)
    iterated = PolicyEvaluation(discount=discount, algorithm="iteration", tol=1e-10).fit(mdp)
    uniform = solved.probabilities_
    return {
        "V": solved.V_,
        "V, iterated": iterated.V_,
        "Q": action_values(mdp, solved.V_, discount),
        "Bellman residual": round(bellman_residual(mdp, solved.V_, discount, policy=uniform), 9),
    }


def improved(P: Any, R: Any, discount: float) -> dict[str, Any]:
    from tercet.rl import MDP, PolicyEvaluation, improved_policy

    mdp, policy, values = MDP(P, R), None, []
    for _ in range(3):
        V = PolicyEvaluation(policy, discount).fit(mdp).V_
        values.append(V)
        policy = improved_policy(mdp, V, discount)
    return {"V": values, "policy": policy}


def iterated_policies(P: Any, R: Any, horizons: list[int], discount: float) -> dict[str, Any]:
    from tercet.rl import MDP, PolicyIteration

    mdp = MDP(P, R)
    steps = {f"V_{T}": PolicyIteration(horizon=T).fit(mdp).V_ for T in horizons}
    model = PolicyIteration(discount).fit(mdp)
    modified = PolicyIteration(discount, algorithm="modified", tol=1e-10).fit(mdp)
    return {**steps, "policy": model.policy_, "V": model.V_, "V, modified": modified.V_}


def iterated_values(P: Any, R: Any, horizons: list[int], discount: float) -> dict[str, Any]:
    from tercet.rl import MDP, ValueIteration

    mdp = MDP(P, R)
    steps = {f"V_{T}": ValueIteration(horizon=T).fit(mdp).V_ for T in horizons}
    models = {
        algorithm: ValueIteration(discount, algorithm=algorithm, tol=1e-10).fit(mdp)
        for algorithm in ("jacobi", "gauss-seidel", "prioritised")
    }
    values = {f"V, {algorithm}": model.V_ for algorithm, model in models.items()}
    return {**steps, "policy": models["jacobi"].policy_, "Q": models["jacobi"].Q_, **values}


MODEL: dict[str, Any] = {"P": P, "R": R}
BEST = [10.16927634, 8.09140923, 0.0]
EXAMPLES = [
    Example(
        place="watermelon notes ch. 14, Alg 5",
        title="mean reward of T steps under the uniform policy",
        zh="均匀随机策略的 T 步平均奖赏",
        given={**MODEL, "horizons": [1, 2, 3]},
        call=evaluated_steps,
        expected={
            "V_1": [1.95, 2.55, 0.0],
            "V_2": [2.115, 1.88625, 0.0],
            "V_3": [1.976125, 1.587375, 0.0],
        },
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 14, eq. 14.6, 14.7",
        title="discounted values of states and actions under the uniform policy",
        zh="均匀随机策略的折扣状态值与状态-动作值",
        given={**MODEL, "discount": 0.9},
        call=evaluated_discounted,
        expected={
            "V": [8.46934881, 6.24093442, 0.0],
            "V, iterated": [8.46934881, 6.24093442, 0.0],
            "Q": [[8.42129934, 8.51739827], [5.30842049, 7.17344835], [0.0, 0.0]],
            "Bellman residual": 0.0,
        },
        atol=1e-8,
        note="derived; 14.6 prints P in place of R, and the discounted 14.7 leaves out R",
    ),
    Example(
        place="watermelon notes ch. 14, eq. 14.12",
        title="improving the uniform policy until it is optimal",
        zh="从均匀随机策略出发的策略改进",
        given={**MODEL, "discount": 0.9},
        call=improved,
        expected={"V": [[8.46934881, 6.24093442, 0.0], BEST, BEST], "policy": [1, 1, 0]},
        atol=1e-8,
        note="derived",
    ),
    Example(
        place="watermelon notes ch. 14, Alg 6",
        title="policy iteration, for the mean reward of T steps and for discounted rewards",
        zh="基于 T 步平均奖赏与折扣奖赏的策略迭代",
        given={**MODEL, "horizons": [1, 2, 3], "discount": 0.9},
        call=iterated_policies,
        expected={
            "V_1": [2.7, 2.6, 0.0],
            "V_2": [2.655, 2.11, 0.0],
            "V_3": [2.343, 1.92866667, 0.0],
            "policy": [1, 1, 0],
            "V": BEST,
            "V, modified": BEST,
        },
        atol=1e-8,
        note="derived; V begins at 0 in every evaluation, and Q_T is computed from V_{T-1}",
    ),
    Example(
        place="watermelon notes ch. 14, Alg 7",
        title="value iteration, for the mean reward of T steps and for discounted rewards",
        zh="基于 T 步平均奖赏与折扣奖赏的值迭代",
        given={**MODEL, "horizons": [1, 2, 3], "discount": 0.9},
        call=iterated_values,
        expected={
            "V_1": [2.7, 2.6, 0.0],
            "V_2": [2.655, 2.11, 0.0],
            "V_3": [2.343, 1.92866667, 0.0],
            "policy": [1, 1, 0],
            "Q": [[9.97833263, 10.16927634], [6.14113415, 8.09140923], [0.0, 0.0]],
            "V, jacobi": BEST,
            "V, gauss-seidel": BEST,
            "V, prioritised": BEST,
        },
        atol=1e-8,
        note='derived; "the third line" that 14.13 replaces is the fourth',
    ),
]
