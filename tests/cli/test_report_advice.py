"""The report opens with the verdict, the alerts and what to take; and says where the best method errs."""

from __future__ import annotations

import copy
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import tercet
from tercet.cli import report, translation
from tercet.cli.report import phrases
from tests.cli import browser, samples
from tests.cli.pages import Page, check_static

BROWSER = browser.find()


@pytest.fixture(autouse=True)
def english():
    translation.set_language("en")
    yield
    translation.set_language("en")


@pytest.fixture(scope="module")
def classified() -> tuple[dict[str, Any], Any]:
    return samples.classification()


@pytest.fixture(scope="module")
def page(classified: Any) -> str:
    return report.render(*classified)


def test_the_report_opens_with_verdict_alerts_and_what_to_take(page: str):
    order = [page.index(mark) for mark in ('class="verdict"', 'id="alerts"', 'id="take"', 'id="leaderboard"')]
    assert order == sorted(order)
    assert check_static(page).ids["errors"] == 1


def test_alerts_have_evidence_and_advice(classified: Any, page: str):
    text = Page(page).text
    assert "serious 'mean radius' alone determines it" in text
    assert "A tree of it has 1.000. Drop mean radius." in text
    assert text.index("alone determines it") < text.index("Few rounds")  # the most serious first
    without = {**classified[0], "alerts": []}
    assert (
        "Nothing was found. Looked for: columns that give the target away"
        in Page(report.render(without)).text
    )


def test_what_to_take(classified: Any, page: str):
    result, text = classified[0], Page(page).text
    take = result["take"]
    assert f"Fit {take['name']} on all rows and save it: {take['command']}" in text
    assert "tercet predict model.skops NEW_DATA" in text
    assert (
        "Expected on new rows: accuracy 0.951 (95% interval 0.930 to 0.970), corrected for the choice" in text
    )
    assert "of this procedure on this many rows, not of this one fitted model" in text
    assert f"Simpler and as good: {take['simplest']['name']}" in text
    assert take["simplest"]["command"] in text
    assert "print('<b>')" in text
    alone = copy.deepcopy(result)
    alone["take"] |= {"simplest": None, "python": None}
    alone["take"]["expected"] |= {"corrected": False}
    text = Page(report.render(alone)).text
    assert "No simpler method was found to be as good." in text
    assert "not corrected for the choice among many methods" in text
    assert "The same in Python" not in text
    alone["take"]["expected"] |= {
        "candidates": 1,
        "corrected": True,
    }  # a single method was not chosen among many
    text = phrases.expected_text(alone)
    assert text.startswith(
        "Expected on new rows: accuracy 0.951 (95% interval 0.930 to 0.970); it is of this procedure"
    )
    assert 'id="take"' not in report.render({**result, "take": None})


def test_the_untuned_score_stands_beside_the_tuned(classified: Any):
    result = copy.deepcopy(classified[0])
    first, *others = result["leaderboard"]
    assert ">untuned</button>" not in report.render(result)
    first |= {"untuned": 0.87654, "settings": {"C": 0.1}}
    page = report.render(result)
    assert 'title="score with the default settings"' in page
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page.split("<tbody>")[1], re.S)[: len(others) + 1]
    texts = [re.findall(r'<td[^>]*class="number[^"]*"[^>]*>(.*?)</td>', row, re.S)[2] for row in rows]
    assert texts == [f"{0.87654:.{phrases.places(result)}f}", *["–"] * len(others)]


def test_errors_by_segment_and_single_rows(page: str):
    text = Page(page).text
    assert (
        "23 of 569 held-out rows are wrong. Of 400 answers with a probability of 90% or more, 4 are wrong (1.0%)"
        in text
    )
    assert "mean radius 1 to 2.5 40 25% 2.0%" in text
    assert "mean texture no value 20 20% 2.0%" in text
    assert "1,234 malignant benign 0.99 1.5 – " in text
    assert "Rows are counted from 1, below the header. The probability is that of the wrong answer." in text
    assert samples.NASTY in text  # as text, which check_static has seen


def test_rows_of_a_sample_are_counted_in_the_sample(classified: Any):
    result = copy.deepcopy(classified[0])
    result["data"]["total_rows"] *= 10
    assert "Rows are counted from 1 in the sample of the table" in Page(report.render(result)).text


def test_thresholds_by_cost(classified: Any, page: str):
    text = Page(page).text
    assert "Say malignant where its probability reaches the threshold." in text
    assert "5 0.167 190 22 31 141 357" in text
    scores = copy.deepcopy(classified[0])
    scores["thresholds"]["probabilities"] = False
    assert "Say malignant where its score reaches the threshold." in Page(report.render(scores)).text


def test_curves_are_of_whoever_has_scores(classified: Any):
    result, details = classified
    drawn = report.render(result, details)
    for title in ("ROC curve", "Precision and recall", "Calibration", "Learning curves"):
        assert drawn.count(f"<b>{title}</b>") == 1
    # Without probabilities of its own the best is not on the calibration curve, but has the others.
    bare = copy.copy(details)
    ranking = details.scores[details.best]["ranking"]
    bare.scores = {
        details.best: {"ranking": ranking, "proba": None},
        "Perceptron": {"ranking": ranking, "proba": ranking},
    }
    bare.proba = None
    text = Page(report.render(result, bare)).text
    assert "Calibration of Perceptron" in text
    assert "ROC curve" in text
    bare.scores = {details.best: {"ranking": None, "proba": None}}
    text = Page(report.render(result, bare)).text
    assert "ROC curve" not in text
    assert "Calibration" not in text


def test_partial_dependence_names_columns_and_classes(page: str):
    text = Page(page).text
    assert "Partial dependence on mean radius The mean probability of benign when this column" in text
    assert "Partial dependence on stage" in text


def test_learning_curves_share_an_axis(classified: Any):
    result, details = classified
    several = copy.copy(details)
    curve = details.curves[details.best]
    several.curves = {details.best: curve, "Perceptron": curve, "RidgeClassifier": curve}
    drawn = report.render(result, several)
    assert drawn.count("<b>Learning curves</b>") == 1
    figure = next(part for part in drawn.split("<figure") if "<b>Learning curves</b>" in part)
    words = re.findall(r"<text[^>]*>([^<]*)</text>", figure)
    assert {details.best, "Perceptron", "RidgeClassifier", "on training rows"} <= set(words)


def test_the_new_parts_are_chinese_too(classified: Any):
    translation.set_language("zh")
    text = Page(report.render(*classified)).text
    for english in (
        "Take this",
        "Alerts",
        "Expected",
        "threshold",
        "held-out",
        "serious",
        "Partial",
        "errors",
    ):
        assert english not in text
    for chinese in ("警示", "采用哪个模型", "在新数据上预计", "按代价选阈值", "严重", "部分依赖", "错误率"):
        assert chinese in text


def longest_board(task: str) -> dict[str, Any]:
    """Every method of a task, with long settings, large numbers and all columns."""
    result, _ = samples.classification() if task == "classification" else samples.regression()
    cards = [card for card in tercet.methods(task=task) if card.kind == "estimator"]
    others = {
        "classification": ("balanced_accuracy", "macro_f1", "roc_auc", "log_loss"),
        "regression": ("rmse", "mae"),
    }
    numbers = {"score": -12345.6789, "spread": 1234.5, "low": -13000.0, "high": -11000.0, "p_value": 0.01234}
    settings = {"learning_rate": 0.12345, "max_leaf_nodes": 31, "n_neighbors": 5}
    result["leaderboard"] = [
        {**result["leaderboard"][0], **numbers, "rank": k + 1, "name": card.name, "zh": card.zh,
         "card": asdict(card), "tied": k % 2 == 0, "warnings": ["one"], "fit_time": 125.0, "predict_time": 75.0,
         "settings": settings,
         "others": dict.fromkeys(others[task], -123456.7)}
        for k, card in enumerate(cards)
    ]  # fmt: skip
    return result


if BROWSER is None:

    @pytest.mark.parametrize("task", ["classification", "regression"])
    def test_the_longest_board_is_valid(task: str):
        check_static(report.render(longest_board(task)))

else:

    @pytest.mark.parametrize("task", ["classification", "regression"])
    def test_the_board_hides_no_column(tmp_path: Path, task: str):
        file, box = tmp_path / "report.html", "document.querySelector('.board').parentElement"
        with browser.Browser(BROWSER) as opened:
            for language in ("en", "zh"):
                translation.set_language(language)
                file.write_text(report.render(longest_board(task)), encoding="utf-8")
                for width in (1280, 1400):
                    opened.open(file, width=width, height=800)
                    assert opened.evaluate(f"{box}.scrollWidth") <= opened.evaluate(f"{box}.clientWidth"), (
                        width
                    )
