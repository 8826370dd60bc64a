"""Choosing a method: questions, the cards of the methods that answer them, and comparisons on embedded data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.site.book_pages import cell, link
from docs.site.jobs import Job
from docs.site.words import zh
from tercet.core.catalog import Card, methods

CLASSIFIERS = (
    "LogisticRegression", "LinearDiscriminantAnalysis", "GaussianNB", "KNeighborsClassifier", "SVC",
    "DecisionTreeClassifier", "RandomForestClassifier", "GradientBoostingClassifier", "AdaBoostClassifier",
    "RIPPERClassifier",
)  # fmt: skip
REGRESSORS = (
    "LinearRegression", "Ridge", "Lasso", "KNeighborsRegressor", "SVR", "DecisionTreeRegressor",
    "RandomForestRegressor", "GradientBoostingRegressor",
)  # fmt: skip
DATA = {"iris": CLASSIFIERS, "wine": CLASSIFIERS, "breast_cancer": CLASSIFIERS, "diabetes": REGRESSORS}

# What somebody wants in both languages, with the names that serve it: the first is where to begin.
QUESTIONS: list[tuple[str, str, list[str]]] = [
    (
        "Labels of rows, and the reasons must be read off the model",
        "预测类别，并且要能读懂模型的理由",
        ["LogisticRegression", "DecisionTreeClassifier", "RIPPERClassifier", "CategoricalNB"],
    ),
    (
        "Labels of rows, and the score is what counts",
        "预测类别，只看得分",
        ["HistGradientBoostingClassifier", "RandomForestClassifier", "SVC", "AdaBoostClassifier"],
    ),
    (
        "Labels from few rows (tens to hundreds)",
        "样本很少（几十到几百行）的分类",
        ["LinearDiscriminantAnalysis", "GaussianNB", "SVC", "KNeighborsClassifier"],
    ),
    (
        "Labels, where few rows are labelled and many are not",
        "少数样本有标记、多数没有的分类",
        ["LabelSpreading", "TransductiveSVC", "SelfTrainingClassifier", "CoTrainingClassifier"],
    ),
    (
        "Probabilities that can be trusted",
        "可信的概率",
        ["LogisticRegression", "MaxEnt", "BayesianNetworkClassifier"],
    ),
    ("Numbers", "预测数值", ["Ridge", "HistGradientBoostingRegressor", "SVR", "GeneralizedLinearRegressor"]),
    (
        "Numbers, with few of many columns that matter",
        "预测数值，许多列中只有少数有用",
        ["Lasso", "ElasticNet", "Relief"],
    ),
    (
        "A tag for every word of a sentence, a state for every moment",
        "句中每个词的标注，每个时刻的状态",
        ["CRF", "CategoricalHMM", "GaussianHMM", "MEMM", "StructuredPerceptron"],
    ),
    (
        "Groups, and their number is known",
        "聚类，簇数已知",
        ["KMeans", "GaussianMixture", "KMedoids", "KModes"],
    ),
    (
        "Groups of any shape, and noise",
        "任意形状的簇，含噪声",
        ["HDBSCAN", "DBSCAN", "OPTICS", "AgglomerativeClustering"],
    ),
    (
        "Fewer columns, as linear combinations or on a curved surface",
        "降维：线性组合或弯曲的流形",
        ["PCA", "NMF", "KernelPCA", "Isomap", "LocallyLinearEmbedding"],
    ),
    ("Topics of documents", "文档的话题", ["LatentDirichletAllocation", "PLSA", "LSA", "NMF"]),
    (
        "A distance in which rows of a class are near",
        "使同类样本靠近的距离",
        ["NeighborhoodComponentsAnalysis", "LMNN", "ITML"],
    ),
    (
        "How variables depend on each other",
        "变量之间的依赖关系",
        ["BayesianNetwork", "MarkovRandomField", "JunctionTree"],
    ),
    (
        "Draws from a distribution that is known up to a factor",
        "从只知道到常数倍的分布抽样",
        ["MetropolisHastings", "GibbsSampler"],
    ),
    ("Importance of nodes in a graph", "图中结点的重要性", ["PageRank"]),
    (
        "Ratings that are missing from a table",
        "补全评分矩阵",
        ["AlternatingLeastSquares", "MatrixCompletion"],
    ),
    (
        "Decisions in sequence, whose effects come later; the model is known",
        "模型已知的序贯决策，效果滞后",
        ["ValueIteration", "PolicyIteration"],
    ),
    (
        "Decisions in sequence, learned by trial in a simulator",
        "在模拟器中通过尝试学习序贯决策",
        ["QLearning", "Sarsa", "DynaQ", "MonteCarlo", "LinearSarsa", "LSPI"],
    ),
    (
        "The best of several choices, each of which can be tried again and again",
        "在可以反复尝试的若干选择中找出最好的",
        ["BanditAgent", "LinUCB", "ContextualBanditAgent"],
    ),
    (
        "To act like an expert, or to find a reward that explains the expert",
        "像专家那样行动，或找出能解释其行为的奖赏",
        ["BehaviourCloning", "DAgger", "MaximumEntropyIRL", "ApprenticeshipLearning"],
    ),
]
WORDS = {
    "en": {
        "title": "Choosing a method",
        "about": "Three ways to choose: by what you want, by a comparison on your own table "
        "(`tercet compare data.csv --target y`), and by what the methods say of themselves on their cards.",
        "want": "By what you want",
        "head": "| you want | begin with | then try |\n|---|---|---|",
        "compare": "By comparison",
        "compared": "Cross-validated scores on embedded data, from `tercet compare` with 5 folds at the methods' "
        "defaults, computed when this page was built. No method is the best everywhere: compare on your own "
        "table before you choose.",
        "method": "method",
        "cards": "By their cards",
        "carded": "All estimators by their task, as `tercet list --task classification` prints them.",
        "card_head": "| method | 中文 | model | strategy |\n|---|---|---|---|",
    },
    "zh": {
        "title": "选择方法",
        "about": "三种选法：看你想要什么；在你自己的表上比较（`tercet compare data.csv --target y`）；"
        "看各方法的卡片。",
        "want": "看你想要什么",
        "head": "| 想要 | 先用 | 再试 |\n|---|---|---|",
        "compare": "比较",
        "compared": "内置数据上的交叉验证得分，由 `tercet compare` 以 5 折、各方法默认参数算出，生成本页时计算。"
        "没有哪个方法处处最好：选定之前，请在自己的表上比较。",
        "method": "方法",
        "cards": "看卡片",
        "carded": "目录中的所有估计器，按任务排列。`tercet list --task 分类` 给出同样的内容。",
        "card_head": "| 方法 | 中文 | 模型 | 策略 |\n|---|---|---|---|",
    },
}


def jobs() -> dict[str, Job]:
    return {
        data: Job(
            f"compare/{data}", "docs.site.choosing:compare", {"data": data, "names": list(names)}, long=True
        )
        for data, names in DATA.items()
    }


def compare(data: str, names: list[str], folder: Path) -> dict[str, Any]:
    """The scores of some methods on embedded data, from the command."""
    options = [
        "--cv",
        "5",
        "--repeats",
        "1",
        "--seed",
        "0",
        "--budget",
        "3600",
        "--jobs",
        "1",
        "-q",
        "--json",
        "-",
    ]
    command = [sys.executable, "-m", "tercet", "compare", data, "-m", ",".join(names), *options]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    found = json.loads(answer.stdout)
    scores = {row["name"]: row["score"] for row in found["leaderboard"] if not row["combination"]}
    return {"metric": found["metric_title"], "greater": found["greater_is_better"], "scores": scores}


def pages(results: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """The page in both languages; `names` has the page of every public name."""
    return {
        f"{start}start/choosing.md": page(results, names, language)
        for language, start in (("en", ""), ("zh", "zh/"))
    }


def page(results: Mapping[str, Any], names: Mapping[str, str], language: str) -> str:
    words = WORDS[language]
    cards = {card.name: card for card in sorted(methods(), key=lambda card: card.learns)}
    return (
        "\n\n".join(
            [
                f"# {words['title']}\n\n{words['about']}",
                f"## {words['want']}",
                questions(cards, names, language),
                f"## {words['compare']}\n\n{words['compared']}",
                *comparisons(results, cards, names, words),
                f"## {words['cards']}\n\n{words['carded']}",
                *by_task(names, language),
            ]
        )
        + "\n"
    )


def questions(cards: Mapping[str, Card], names: Mapping[str, str], language: str) -> str:
    rows = [WORDS[language]["head"]]
    for english, chinese, wanted in QUESTIONS:
        links = [link(cards[name], names) for name in wanted]
        rows.append(f"| {english if language == 'en' else chinese} | {links[0]} | {', '.join(links[1:])} |")
    return "\n".join(rows)


def comparisons(
    results: Mapping[str, Any], cards: Mapping[str, Card], names: Mapping[str, str], words: Mapping[str, str]
) -> list[str]:
    """One table for the data with classes, one for the data with numbers."""
    tables = []
    for group in (CLASSIFIERS, REGRESSORS):
        data = [name for name in results if DATA[name] == group]
        heads = [f"{name} ({cell(results[name]['metric'])})" for name in data]
        lines = [f"| {words['method']} | {' | '.join(map(cell, heads))} |", "|---|" + "---:|" * len(data)]
        for name in group:
            cells = [shown_score(results[one], name) for one in data]
            lines.append(f"| {link(cards[name], names)} | {' | '.join(cells)} |")
        tables.append("\n".join(lines))
    return tables


def shown_score(result: Mapping[str, Any], name: str) -> str:
    """A score, bold if it is the best."""
    scores = result["scores"]
    best = (max if result["greater"] else min)(scores[other] for other in scores)
    text = f"{scores[name]:.3g}" if abs(scores[name]) >= 10 else f"{scores[name]:.3f}"
    return f"**{text}**" if scores[name] == best else text


def by_task(names: Mapping[str, str], language: str) -> list[str]:
    tasks: dict[str, list[Card]] = {}
    for card in methods():
        if card.learns:
            tasks.setdefault(card.task, []).append(card)
    parts = []
    for task, cards in sorted(tasks.items(), key=lambda pair: -len(pair[1])):
        title = task.capitalize() if language == "en" else zh(task)
        rows = []
        for card in cards:
            model, strategy = (
                (card.model, card.strategy) if language == "en" else (zh(card.model), zh(card.strategy))
            )
            rows.append(f"| {link(card, names)} | {cell(card.zh)} | {cell(model)} | {cell(strategy)} |")
        parts.append("\n".join([f"### {title}\n", WORDS[language]["card_head"], *rows]))
    return parts
