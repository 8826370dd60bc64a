"""Li, chapter 1: introduction to supervised learning (统计学习及监督学习概论)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

# The ten points of the example are in a figure only; these are those of the book that the text cites for it.
X = [[i / 9] for i in range(10)]
T = [
    *(0.349486, 0.830839, 1.007332, 0.971507, 0.133066),
    *(0.166823, -0.848307, -0.445686, -0.563567, 0.261502),
]


def polynomial(x: Any, y: Any, degrees: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.linear_model import PolynomialRegression

    models = [PolynomialRegression(degree).fit(x, y) for degree in range(10)]
    return {
        **{f"M = {degree}": models[degree].weights_ for degree in degrees},
        "half the squared error": [0.5 * np.sum((y - model.predict(x)) ** 2) for model in models],
        "best degree": PolynomialRegression("cv").fit(x, y).degree_,
    }


def degree_choice(x: Any, y: Any, degrees: Any, lam: float) -> dict[str, Any]:
    """The degree of least structural risk, J counting coefficients, and of least error on left-out rows."""
    from sklearn.model_selection import LeaveOneOut

    from tercet.linear_model import PolynomialRegression
    from tercet.model_selection import complexity_curve

    curve = complexity_curve(
        PolynomialRegression(),
        x,
        y,
        parameter="degree",
        values=degrees,
        cv=LeaveOneOut(),
        complexity=lambda model: len(model.weights_),
        lam=lam,
    )
    return {
        "training error": curve.training,
        "structural risk": curve.structural,
        "leave-one-out error": curve.validation,
        "least training error": curve.best("training"),
        "least structural risk": curve.best("structural"),
        "least leave-one-out error": curve.best(),
    }


def ridge(x: Any, y: Any, cases: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.linear_model import PolynomialRegression, Ridge

    results: dict[str, Any] = {}
    for degree, lam in cases:
        model = PolynomialRegression(degree, alpha=lam).fit(x, y)
        powers = np.power(x, np.arange(1, degree + 1))
        same = Ridge(alpha=len(y) * lam / 2, penalize_intercept=True).fit(powers, y)
        objective = np.mean((y - model.predict(x)) ** 2) + lam / 2 * model.weights_ @ model.weights_
        results[f"M = {degree}, λ = {lam}"] = [*model.weights_, objective]
        results[f"M = {degree}, λ = {lam} as Ridge"] = [same.intercept_, *same.coef_]
    return results


def bernoulli(x: Any, prior: Any) -> dict[str, Any]:
    from tercet.distributions import Beta, bernoulli_estimates

    found = bernoulli_estimates(x, prior=Beta(*prior))
    after = found.posterior
    return {"mle": found.mle, "posterior": [after.a, after.b], "map": found.map, "mean": found.mean}


def confusion(y: Any, predicted: Any) -> dict[str, Any]:
    from tercet.metrics import confusion_counts

    counts = confusion_counts(y, predicted, pos_label="spam")
    return {
        "TP, FN, FP, TN": counts,
        "accuracy": counts.accuracy,
        "precision": counts.precision,
        "recall": counts.recall,
        "F1": counts.f1,
    }


WORDS = (
    "At Microsoft Research we have an insatiable curiosity and the desire to create new technology that will "
    "help define the computing experience"
)
TAGS = "O B E O O O B E O O BE O O B E O O O O O B E"


def phrases(words: str, tags: str) -> dict[str, Any]:
    from tercet.metrics import spans_to_tags, tags_to_spans

    tokens, marks = words.split(), tags.split()
    found = tags_to_spans(marks, "be")
    return {
        "phrases": [" ".join(tokens[first : last + 1]) for _, first, last in found],
        "first and last word": [[first, last] for _, first, last in found],
        "tags of these phrases": " ".join(spans_to_tags(found, len(tokens), "be")),
    }


# Half the sum of squares of the fits of degree 0 to 8.
HALF_ERRORS = [
    *(1.886845395, 1.068271097, 1.052045589, 0.174824444, 0.174511736),
    *(0.171195048, 0.165043712, 0.161525329, 0.141427765),
]
RIDGE = {
    "M = 3, λ = 0.001": [0.8062631, 0.46279759, -6.27291008, 4.87933019],
    "M = 1, λ = 0.1": [0.54002982, -0.76146362],
    "M = 3, λ = 0.1": [0.54335978, -0.46923449, -0.37127548, -0.06831741],
}
OBJECTIVES = [0.1590740427, 0.2840713378, 0.2687940028]


def finite_class(d: int, N: int, delta: float, risk: float) -> dict[str, Any]:
    from tercet.theory import finite_class_bound, finite_class_confidence

    epsilon = finite_class_bound(d, N, delta)
    return {
        "ε": epsilon,
        "bound": finite_class_bound(d, N, delta, risk),
        "ε of four times the rows": finite_class_bound(d, 4 * N, delta),
        "δ": finite_class_confidence(d, N, epsilon),
        "δ of one hypothesis": finite_class_confidence(1, N, epsilon),
    }


def hoeffding(t: float, ranges: Any) -> dict[str, Any]:
    from tercet.theory import hoeffding_bound

    return {
        "one side": hoeffding_bound(t, ranges=ranges),
        "both sides": hoeffding_bound(t, ranges=ranges, two_sided=True),
        "all in [0, 1]": hoeffding_bound(t, len(ranges)),
    }


EXAMPLES = [
    Example(
        place="Li Ex 1.1",
        title="polynomial curve fitting",
        zh="多项式函数拟合",
        given={"x": X, "y": T, "degrees": [0, 1, 3, 9]},
        call=polynomial,
        expected={
            "M = 0": [0.1862995],
            "M = 1": [0.8202124, -1.2678258],
            "M = 3": [0.31370233, 7.98538099, -25.42612926, 17.37409443],
            "M = 9": [
                *(0.349486, 232.3684, -5321.8288, 48568.3144, -231639.311),
                *(640042.307, -1061800.624, 1042400.300, -557683.066, 125201.452),
            ],
            "half the squared error": [*HALF_ERRORS, 0.0],
            "best degree": 3,
        },
        rtol=1e-6,
        note="the data come from the text's source",
    ),
    Example(
        place="Li 1.4.2, 1.5",
        title="choosing the degree by structural risk and by leave-one-out cross-validation",
        zh="由结构风险与留一交叉验证选择多项式的次数",
        given={"x": X, "y": T, "degrees": [0, 1, 2, 3, 4, 5, 6, 7, 8], "lam": 0.02},
        call=degree_choice,
        expected={
            "training error": [error / 5 for error in HALF_ERRORS],
            "structural risk": [error / 5 + 0.02 * (degree + 1) for degree, error in enumerate(HALF_ERRORS)],
            "leave-one-out error": [
                *(0.465887752, 0.363174671, 0.698117256, 0.0732673434, 0.104302871),
                *(0.351209465, 1.42775508, 29.9295969, 2787.12915),
            ],
            "least training error": 8,
            "least structural risk": 3,
            "least leave-one-out error": 3,
        },
        rtol=1e-6,
        note="the data come from the text's source; the text has no numbers, λ was chosen",
    ),
    Example(
        place="Li Eq 1.25",
        title="curve fitting with an L2 penalty",
        zh="L2 正则化的多项式拟合",
        given={"x": X, "y": T, "cases": [(3, 0.001), (1, 0.1), (3, 0.1)]},
        call=ridge,
        expected={
            **{name: [*w, value] for (name, w), value in zip(RIDGE.items(), OBJECTIVES)},
            **{f"{name} as Ridge": w for name, w in RIDGE.items()},
        },
        rtol=1e-6,
        atol=2e-8,
        note="the data come from the text's source",
    ),
    Example(
        place="Li exercise 1.1",
        title="the probability of a 1 by maximum likelihood and by Bayes, 7 of 10 results being 1",
        zh="伯努利模型的极大似然估计和贝叶斯估计",
        given={"x": [1, 0, 1, 1, 0, 1, 1, 0, 1, 1], "prior": (3, 5)},
        call=bernoulli,
        expected={"mle": 0.7, "posterior": [10.0, 8.0], "map": 9 / 16, "mean": 10 / 18},
        note="the exercise has no numbers; a Beta(3, 5) prior and these results were chosen",
    ),
    Example(
        place="Li Eq 1.41-1.44",
        title="accuracy, precision, recall and F1 of ten rows",
        zh="十个样本的精确率（accuracy）、准确率（precision）、召回率和 F1 值",
        given={
            "y": ["spam"] * 4 + ["mail"] * 6,
            "predicted": ["spam", "spam", "spam", "mail", "spam", "spam", *["mail"] * 4],
        },
        call=confusion,
        expected={
            "TP, FN, FP, TN": [3, 1, 2, 4],
            "accuracy": 0.7,
            "precision": 0.6,
            "recall": 0.75,
            "F1": 2 / 3,
        },
        note="the numbers were chosen; the text calls accuracy 精确率 and precision 准确率",
    ),
    Example(
        place="Li 1.9",
        title="tagging: base noun phrases from the tags of words",
        zh="标注问题：由词的标记得到基本名词短语",
        given={"words": WORDS, "tags": TAGS},
        call=phrases,
        expected={
            "phrases": [
                "Microsoft Research",
                "insatiable curiosity",
                "desire",
                "new technology",
                "computing experience",
            ],
            "first and last word": [[1, 2], [6, 7], [10, 10], [13, 14], [20, 21]],
            "tags of these phrases": TAGS,
        },
    ),
    Example(
        place="Li Thm 1.1",
        title="generalisation error bound of a finite hypothesis space",
        zh="泛化误差上界",
        given={"d": 100, "N": 500, "delta": 0.1, "risk": 0.2},
        call=finite_class,
        # ε² = ln(100 / 0.1) / 1000
        expected={
            "ε": 0.0831129068,
            "bound": 0.2831129068,
            "ε of four times the rows": 0.0831129068 / 2,
            "δ": 0.1,
            "δ of one hypothesis": 0.001,
        },
        note="the text has no numbers; these are derived from eq. 1.32, 1.33, 1.36 and 1.38",
    ),
    Example(
        place="Li eq. 1.34, 1.35",
        title="Hoeffding's inequality for variables with ranges of their own",
        zh="Hoeffding 不等式",
        given={"t": 0.5, "ranges": [(0, 1), (0, 1), (-1, 1), (0, 2)]},
        call=hoeffding,
        # exp(-2 * 16 * 0.25 / 10) and exp(-2 * 4 * 0.25)
        expected={"one side": 0.4493289641, "both sides": 0.8986579282, "all in [0, 1]": 0.1353352832},
        note="the text has no numbers; these are derived from its formula",
    ),
]
