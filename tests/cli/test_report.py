"""The report: one file that says what was found, harmless whatever the data are called."""

from __future__ import annotations

import ast
import copy
import html
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from tercet import plot
from tercet.cli import report, translation
from tercet.cli.report import figures, leaderboard, phrases
from tercet.cli.report.sparklines import Scale
from tercet.cli.scorers import find
from tests.cli import browser, samples
from tests.cli.pages import Page, check_static
from tests.cli.running import ENDLESS, LIMIT

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
def pages(classified: Any) -> dict[str, str]:
    """Every kind of report, by name."""
    made = {
        "classification en": report.render(*classified),
        "regression en": report.render(*samples.regression()),
    }
    translation.set_language("zh")
    made["classification zh"] = report.render(*classified)
    made["clustering zh"] = report.render(*samples.clustering())
    translation.set_language("en")
    made["nasty"] = report.render(*samples.classification(nasty=True))
    return made


@pytest.mark.parametrize("kind", ["classification en", "classification zh", "regression en", "clustering zh"])
def test_every_kind_of_report_is_valid_and_self_contained(pages: dict[str, str], kind: str):
    page = check_static(pages[kind])
    tag = {"en": "en", "zh": "zh-Hans"}[kind[-2:]]
    assert ("html", "lang", tag) in page.attributes
    assert {"leaderboard", "best", "data", "methods", "reproduce"} <= set(page.ids)
    assert "could not be drawn" not in page.text
    assert "无法绘制" not in page.text


@pytest.mark.parametrize(
    ("kind", "figures"), [("classification en", 10 + 3), ("regression en", 4), ("clustering zh", 3)]
)
def test_pictures_that_the_details_allow_are_there(pages: dict[str, str], kind: str, figures: int):
    page = Page(pages[kind])
    assert page.tags["figure"] == figures
    assert page.tags["figure"] == page.tags["figcaption"]


def test_names_of_the_data_are_text_and_nothing_else(pages: dict[str, str]):
    page = check_static(pages["nasty"])
    assert samples.NASTY in page.text
    assert samples.LABELS[1] in page.text
    assert samples.LABELS[0] in page.text
    assert "alert(1)" not in "".join(re.findall(r"<script>(.*?)</script>", pages["nasty"], flags=re.S))
    pages["nasty"].encode()  # a half of a surrogate pair would not pass


def test_scripts_other_than_ours_are_forbidden(pages: dict[str, str]):
    policy = next(
        v for n, k, v in Page(pages["nasty"]).attributes if n == "meta" and v and "default-src" in v
    )
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='$", policy)


def test_verdict_and_numbers(classified: Any, pages: dict[str, str]):
    result, _ = classified
    best, text = result["leaderboard"][0], Page(pages["classification en"]).text
    value = f"{best['score']:.3f} ± {best['spread']:.3f}"
    assert f"{best['name']} is best with accuracy {value}" in text
    assert "the baseline has 0.627 ." in text
    for entry in result["leaderboard"]:
        assert f"{entry['score']:.3f}" in text
    assert "MaxEnt" in text
    assert "the budget was spent" in text
    assert "maximum likelihood, with an L2, L1 or elastic-net penalty" in text
    assert "max_iter=1000" in text
    assert "did not converge in 1000 passes" in text
    assert "tercet compare breast_cancer.csv --target 'y<z'" in text


def test_verdict_when_the_baseline_wins_or_ties(classified: Any):
    result = copy.deepcopy(classified[0])
    board = result["leaderboard"]
    board.insert(0, board.pop())
    board[0]["score"] = 0.99
    assert "No method beats the baseline, whose accuracy is 0.990" in Page(report.render(result)).text
    result = copy.deepcopy(classified[0])
    for entry in result["leaderboard"][1:]:
        entry["outcome"] = "undecided"
    result["leaderboard"][0]["against_baseline"] = {"outcome": "undecided"}
    text = Page(report.render(result)).text
    assert "cannot tell yet whether worse: " in text
    assert "and 2 others" not in text  # four of one outcome are all named
    assert "; cannot tell yet whether better than the baseline, which has" in text


def test_the_least_is_best_for_an_error(classified: Any):
    result = copy.deepcopy(classified[0])
    result["greater_is_better"] = False
    result["metric_title"] = "RMSE"
    for entry in result["leaderboard"]:
        entry["score"] *= 5000
    page = Page(report.render(result))
    assert page.faults == []
    assert "RMSE\u00a0↓" in " ".join(page.texts)


def test_chinese_report_leaves_no_english_of_ours(pages: dict[str, str]):
    text = Page(pages["classification zh"]).text
    for english in (
        "Leaderboard",
        "The data",
        "baseline",
        "significantly",
        "Model",
        "Strategy",
        "missing",
        "splits",
    ):
        assert english not in text
    assert "逻辑斯谛回归" in text
    assert "排行榜" in text


def test_every_text_of_the_report_has_its_chinese():
    templates = set()
    for file in Path(report.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("tr", "sentence"):
                templates |= {n.value for n in ast.walk(node.args[0]) if isinstance(n, ast.Constant)}
    assert len(templates) > 100
    zh = translation.chinese()
    assert [text for text in templates if text not in zh] == []
    for text in templates:
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", zh[text])), text


@pytest.mark.parametrize("missing", ["everything", "leaderboard", "fields"])
def test_a_comparison_cut_short_still_renders(classified: Any, missing: str):
    result, details = copy.deepcopy(classified[0]), None
    result["interrupted"] = True
    if missing == "leaderboard":
        result["leaderboard"] = []
    if missing == "fields":
        details = SimpleNamespace(best=None, truth=None, clusters=None, curves=None, models=None)
        for entry in result["leaderboard"]:
            entry |= {
                "score": None,
                "spread": None,
                "low": None,
                "high": float("nan"),
                "scores": [],
                "others": None,
            }
        result["data"] |= {"columns": [], "n_sparse": 1000, "classes": [["a", 0]]}
    page = check_static(report.render(result, details))
    assert "Stopped before the end" in page.text


def test_a_picture_that_fails_says_so_in_its_place(classified: Any):
    result, details = classified
    broken = copy.copy(details)
    broken.importance = {"names": ["a"], "mean": [[np.nan]], "std": None}
    broken.regions = (object(), np.zeros((2, 2)), None, ("<i>", "b"))
    page = check_static(report.render(result, broken))
    assert page.text.count("This picture could not be drawn: ") >= 1
    assert "Confusion matrix" in page.text


def test_without_matplotlib_there_is_a_report_without_pictures(
    classified: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = check_static(report.render(*classified))
    assert page.tags["figure"] == 0
    assert "matplotlib is not installed" in page.text


def test_wide_tables_are_folded_and_light(classified: Any):
    result = copy.deepcopy(classified[0])
    column = result["data"]["columns"][0]
    result["data"]["columns"] = [{**column, "name": f"column {k}"} for k in range(3000)]
    result["data"]["classes"] = [[f"class {k}", 3] for k in range(500)]
    page = check_static(report.render(result))
    assert "further columns are not listed" in page.text
    assert "and 480 more classes" in page.text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_verdict_is_the_same_with_and_without_markup(classified: Any, language: str):
    translation.set_language(language)
    result = copy.deepcopy(classified[0])
    for entry in result["leaderboard"][1:]:
        entry["outcome"] = "equivalent"
    result["leaderboard"][0]["zh"] = "套索 L1正则化"
    result["leaderboard"][1]["name"] = result["leaderboard"][1]["zh"] = "a<b>&c"
    plain = phrases.verdict_text(result)
    assert html.unescape(re.sub(r"<[^>]*>", "", phrases.verdict(result))) == plain
    assert "a<b>&c" in plain
    if language == "zh":
        assert plain.startswith("套索最好，")
    for board in ([], [e for e in result["leaderboard"] if e["baseline"]]):
        assert phrases.verdict_text({**result, "leaderboard": board}) == phrases.verdict(
            {**result, "leaderboard": board}
        )


def test_axes_and_colours_that_pictures_share():
    assert "progression" in re.findall(r"<text[^>]*>([^<]*)</text>", report.render(*samples.regression()))
    result, details = samples.clustering()
    found = details.clusters["KMeans"]
    found["labels"] = (found["truth"] + 1) % 3  # the same groups under other numbers
    pictures = figures._clusters(result, details)
    axes = {title: draw(plot) for title, _, draw in pictures}
    shades = {
        title: {
            tuple(dots.get_offsets()[0]): tuple(dots.get_facecolor()[0]) for dots in axes[title].collections
        }
        for title in ("Clusters of KMeans", "The target's own classes")
    }
    assert shades["Clusters of KMeans"] == shades["The target's own classes"]


def test_measures_beyond_the_board_are_on_the_cards():
    result, _ = _many_measures()
    page = Page(report.render(result))
    heads = re.findall(r"<th [^>]*><button[^>]*>([^<]*)</button>", report.render(result))
    assert "normalised mutual information" in heads
    assert "Fowlkes-Mallows" not in heads
    assert "Fowlkes-Mallows 0.612" in page.text


def _many_measures() -> tuple[dict[str, Any], Any]:
    result, details = samples.clustering()
    measures = {"calinski_harabasz": 12345.6, "davies_bouldin": 1.234, "adjusted_rand": 0.512}
    for entry in result["leaderboard"]:
        entry["others"] = {**measures, "mutual_information": 0.612, "fowlkes_mallows": 0.612}
        entry |= {"predict_time": 0.0012, "low": 0.3, "high": 0.6, "spread": 0.01}
    return result, details


def test_the_command_writes_such_a_report(tmp_path: Path):
    file = tmp_path / "report.html"
    options = "--methods LogisticRegression,Perceptron --cv 3 --repeats 1 --lang en --quiet"
    command = [sys.executable, "-m", "tercet", "compare", "iris", *options.split(), "--report", str(file)]
    command += ["--budget", ENDLESS]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ran.returncode == 0, ran.stderr
    page = check_static(file.read_text(encoding="utf-8"))
    assert "is best with accuracy" in page.text
    assert "could not be drawn" not in page.text
    titles = ("Confusion matrix", "ROC curve", "Calibration", "Permutation importance", "Decision regions")
    assert [title for title in (*titles, "Learning curve", "What it learned") if title not in page.text] == []
    if BROWSER:
        with browser.Browser(BROWSER) as opened:
            opened.open(file)
            assert opened.console == []
            assert opened.requests[0] == file.as_uri()
            assert [url for url in opened.requests[1:] if not url.startswith("data:")] == []


if BROWSER is None:

    def test_no_browser_found_static_checks_only(pages: dict[str, str]):
        names = ", ".join(browser.NAMES)
        warnings.warn(f"no browser found ({names}, TERCET_BROWSER): static checks only", stacklevel=1)
        for page in pages.values():
            check_static(page)

else:

    @pytest.fixture(scope="module")
    def chrome():
        with browser.Browser(BROWSER) as opened:
            yield opened

    def test_opens_in_a_browser_without_a_word_or_a_request(
        chrome: Any, tmp_path: Path, pages: dict[str, str]
    ):
        for k, (name, page) in enumerate(pages.items()):
            file = tmp_path / f"{k}.html"
            file.write_text(page, encoding="utf-8")
            chrome.console.clear()
            chrome.requests.clear()
            chrome.open(file)
            assert chrome.console == [], name
            assert chrome.requests[0] == file.as_uri()
            assert [url for url in chrome.requests[1:] if not url.startswith("data:")] == [], name
            assert chrome.evaluate("document.querySelectorAll('figure svg').length") >= 2
            # Everything with a size that a reader needs: sections, rows of the leaderboard, pictures.
            assert chrome.evaluate(
                "[...document.querySelectorAll('section, .board tbody tr, .gallery svg, .board svg')]"
                ".filter(e => e.getBoundingClientRect().width < 40 || e.getBoundingClientRect().height < 15).length"
            ) == 0  # fmt: skip

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_is_seen_in_light_and_dark(chrome: Any, tmp_path: Path, pages: dict[str, str], scheme: str):
        file = tmp_path / "report.html"
        file.write_text(pages["classification en"], encoding="utf-8")
        chrome.open(file, scheme=scheme)
        chrome.screenshot(tmp_path / "seen.png")
        seen = (matplotlib.image.imread(tmp_path / "seen.png")[..., :3] * 255).astype(int)
        assert seen.shape[:2] == (900, 1280)
        assert np.unique(seen @ [65536, 256, 1]).size > 200  # colours
        brightness = np.median(seen)
        assert brightness > 240 if scheme == "light" else brightness < 40
        # Ink must differ from paper: enough of the page is text or drawing.
        assert 0.01 < np.mean(np.abs(seen.mean(axis=2) - brightness) > 60) < 0.3

    @pytest.mark.parametrize("width", [360, 400, 800, 1280])
    def test_fits_every_width(chrome: Any, tmp_path: Path, pages: dict[str, str], width: int):
        for name in ("classification zh", "nasty"):
            file = tmp_path / f"{name}.html"
            file.write_text(pages[name], encoding="utf-8")
            chrome.open(file, width=width, height=800)
            chrome.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            assert chrome.evaluate("document.documentElement.scrollWidth") <= width, name

    def test_many_measures_fit_a_laptop(chrome: Any, tmp_path: Path):
        file = tmp_path / "report.html"
        for language in ("en", "zh"):
            translation.set_language(language)
            file.write_text(report.render(*_many_measures()), encoding="utf-8")
            chrome.open(file, width=1280, height=800)
            box = "document.querySelector('.board').parentElement"
            assert chrome.evaluate(f"{box}.scrollWidth") <= chrome.evaluate(f"{box}.clientWidth"), language

    def test_sorts_by_a_click_and_by_a_key(
        chrome: Any, tmp_path: Path, classified: Any, pages: dict[str, str]
    ):
        file = tmp_path / "report.html"
        file.write_text(pages["classification en"], encoding="utf-8")
        chrome.open(file)
        order = "[...document.querySelectorAll('.board tbody tr')].map(r => Number(r.cells[0].textContent))"
        head = "document.querySelectorAll('.board .sort')"
        ranks = [entry["rank"] for entry in classified[0]["leaderboard"]]
        assert chrome.evaluate(order) == ranks
        chrome.evaluate(f"{head}[0].click()")
        assert chrome.evaluate(order) == ranks[::-1]
        chrome.evaluate(f"{head}[2].click()")  # scores, the greatest first
        assert chrome.evaluate(order) == ranks
        chrome.evaluate(f"{head}[1].focus()")
        for kind in ("keyDown", "keyUp"):
            chrome.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r",
                        windowsVirtualKeyCode=13)  # fmt: skip
        names = "[...document.querySelectorAll('.board tbody th > a')].map(a => a.textContent)"
        found = chrome.evaluate(names)
        assert found == sorted(found, key=str.lower)
        assert chrome.evaluate("document.querySelectorAll('.board [aria-sort=ascending]').length") == 1
        assert chrome.console == []

    def test_a_link_opens_the_method_and_print_opens_all(chrome: Any, tmp_path: Path, pages: dict[str, str]):
        file = tmp_path / "report.html"
        file.write_text(pages["classification en"], encoding="utf-8")
        chrome.open(file)
        closed = "document.querySelectorAll('details:not([open])').length"
        before = chrome.evaluate(closed)
        chrome.evaluate(
            "new Promise(done => { addEventListener('hashchange', () => setTimeout(done));"
            " document.querySelector('.board tbody tr:nth-child(3) th a').click() })"
        )
        assert chrome.evaluate(closed) == before - 1
        assert chrome.evaluate("document.querySelector(location.hash).open")
        chrome.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert chrome.evaluate(closed) == 0
        chrome.evaluate("dispatchEvent(new Event('afterprint'))")
        assert chrome.evaluate(closed) == before - 1


@pytest.mark.parametrize(
    ("metric", "scores"),
    [
        ("roc_auc", (0.999, 0.98, 0.97)),
        ("log_loss", (0.001, 0.02, 0.03)),
        ("matthews_corrcoef", (0.99, 0.2, 0.1)),
        ("r2", (0.99, 0.5, 0.4)),
    ],
)
def test_the_axis_of_the_board_stays_in_the_range_of_the_measure(metric: str, scores: tuple[float, ...]):
    measure = find(metric)
    assert measure is not None
    entries = [
        {"baseline": False, "score": s, "low": measure.within(s - 0.03), "high": measure.within(s + 0.03)}
        for s in scores
    ]
    free, scale = Scale.of(entries), Scale.of(entries, *leaderboard.range_of({"metric": metric}))
    assert free.low < measure.low or measure.high < free.high
    assert measure.low <= scale.low < scale.high <= measure.high


def test_pictures_have_no_ticks_beyond_the_range_of_the_measure():
    names, ends = ["A", "B"], ([0.999, 0.97], [0.98, 0.94], [1.0, 0.99])
    for metric, past in (("roc_auc", False), ("rmse", True)):
        axes = plot.plot_intervals(names, *ends)
        axes.set_xlim(0.9, 1.1)
        axes.set_xticks([0.9, 0.95, 1.0, 1.05, 1.1])
        ticks = figures._ticks_in_range(axes, "xaxis", {"metric": metric}).get_xticks()
        assert axes.get_xlim() == (0.9, 1.1)
        assert (max(ticks) > 1) == past
        assert 1.0 in ticks
