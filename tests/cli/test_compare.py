"""`tercet compare`, run as a user runs it."""

import csv
import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tercet
from tercet.cli.compare.combination import CANDIDATES
from tercet.cli.compare.combination import label as label_of
from tercet.linear_model import LogisticRegression
from tercet.model_selection import corrected_interval
from tests.cli.running import ENDLESS, refused
from tests.cli.running import tercet as tercet_command
from tests.systems import posix


def compare(*arguments, cwd, code=0):
    answer = tercet_command("compare", *arguments, "--budget", ENDLESS, cwd=cwd)
    assert answer.returncode == code, answer.stderr
    assert "Traceback" not in answer.stderr
    return answer


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path.name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("compare")


@pytest.fixture(scope="module")
def iris(folder):
    """All methods on iris, two rounds of two folds by three processes, with everything written."""
    answer = compare(
        "iris",
        "-j",
        "3",
        "--cv",
        "2",
        "--repeats",
        "2",
        "--seed",
        "3",
        "--report",
        "iris.html",
        "--json",
        "iris.json",
        "--lang",
        "en",
        cwd=folder,
    )
    return answer, json.loads((folder / "iris.json").read_text(encoding="utf-8"))


def test_every_classifier_is_on_the_board_or_named(iris):
    answer, result = iris
    assert result["task"] == "classification"
    cards = [card for card in tercet.methods(task="classification") if card.kind == "estimator"]
    wanted = {card.name for card in cards if card.family != "semi_supervised"}  # all rows have labels
    there = {entry["name"] for entry in result["leaderboard"]} | {one["name"] for one in result["skipped"]}
    assert there == wanted | {"baseline", "combination"}
    assert all(one["why"] for one in result["skipped"])
    for name in there - {"baseline", "combination"}:
        assert name in answer.stdout
    assert "sepal length" in answer.stderr


def test_scores_are_those_of_cross_validation(iris):
    """The same folds, the same scaling, in plain scikit-learn."""
    _, result = iris
    (entry,) = [e for e in result["leaderboard"] if e["name"] == "LogisticRegression"]
    X, y = load_iris(return_X_y=True)

    def seed(turn):
        return int(np.random.SeedSequence([3, turn]).generate_state(1)[0])

    model = make_pipeline(StandardScaler(), LogisticRegression(random_state=3))
    scores = [
        score
        for turn in range(2)
        for score in cross_val_score(
            model, X, y, cv=StratifiedKFold(2, shuffle=True, random_state=seed(turn))
        )
    ]
    assert entry["scores"] == pytest.approx(scores, abs=1e-12)
    assert entry["score"] == pytest.approx(np.mean(scores))
    low, high = corrected_interval(scores, n_train=75, n_test=75)
    assert entry["low"] <= low  # the rows vary more than the two folds do
    assert entry["high"] == 1 < high  # the range of the measure


def test_board_is_in_order_with_the_baseline_last(iris):
    _, result = iris
    scores = [entry["score"] for entry in result["leaderboard"]]
    assert scores == sorted(scores, reverse=True)
    last = result["leaderboard"][-1]
    assert last["baseline"]
    assert last["score"] == pytest.approx(1 / 3)
    assert not last["tied"]
    assert {entry["rounds"] for entry in result["leaderboard"]} == {2}
    assert set(last["others"]) == {"balanced_accuracy", "macro_f1", "roc_auc", "log_loss"}
    assert 0 < result["time"]["in_fits"] <= result["time"]["total"]


def test_the_best_are_combined(iris):
    answer, result = iris
    (entry,) = [e for e in result["leaderboard"] if e["combination"]]
    among = entry["settings"]["among"]
    assert among.startswith("HistGradientBoostingClassifier, LogisticRegression, ExtraTreesClassifier, SVC")
    assert all(label in among for label in map(label_of, CANDIDATES["classification"]))  # there is time
    assert sum(member["weight"] for member in entry["members"]) == pytest.approx(1.0, abs=0.01)
    assert {member["name"] for member in entry["members"]} <= {
        name for name, _ in CANDIDATES["classification"]
    }
    assert entry["score"] > 0.9
    assert len(entry["scores"]) == 4  # two folds, twice
    assert set(entry["others"]) == {"balanced_accuracy", "macro_f1", "roc_auc", "log_loss"}
    assert "members and weights are found inside each training set" in " ".join(answer.stdout.split())
    assert "flatters" not in answer.stdout


def test_three_outcomes_the_margin_and_the_expected_score(iris):
    """In the file and on the terminal."""
    answer, result = iris
    assert result["margin"] == 0.01
    assert "Equivalent means: within 0.01 of the best with a probability of 95% (--margin)." in answer.stdout
    outcomes = {entry["name"]: entry["outcome"] for entry in result["leaderboard"]}
    assert {*outcomes.values()} <= {"best", "equivalent", "undecided", "worse"}
    assert outcomes["baseline"] == "worse"
    for entry in result["leaderboard"]:
        if entry["outcome"] == "undecided":
            assert entry["against_best"]["rows"] is None or entry["against_best"]["rows"] > 150
        if not entry["baseline"]:
            assert 0 <= entry["low"] <= entry["score"] <= entry["high"] <= 1
    best, expected = result["leaderboard"][0], result["expected"]
    assert best["against_baseline"]["outcome"] == "better"
    assert "better than the baseline, which has" in answer.stdout
    assert expected["name"] == best["name"]
    assert expected["candidates"] == len(result["leaderboard"]) - 1
    assert expected["low"] <= expected["score"] <= best["score"]
    assert expected["score"] == pytest.approx(best["score"] - expected["optimism"])
    assert f"corrected for the choice among {expected['candidates']}." in answer.stdout
    assert (
        "Intervals concern the procedure on 150 such rows, not the one model that it fits." in answer.stdout
    )


def test_report_is_there_and_whole(iris, folder):
    answer, result = iris
    page = (folder / "iris.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "http" not in page.replace("http-equiv", "")
    for entry in result["leaderboard"]:
        if not entry["baseline"]:
            assert entry["card"]["zh"] in page
    assert page.count("<svg") > 8
    assert str(folder / "iris.html") in answer.stderr
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith((".", "iris"))) == [
        "iris.html",
        "iris.json",
    ]


def test_same_seed_same_scores_for_any_number_of_processes_and_beside_any_others(iris, folder):
    few = ["--methods", "Perceptron,RidgeClassifier", "-m", "逻辑斯谛回归"]
    same = ["--repeats", "2", "--cv", "2", "--seed", "3"]
    answer = compare("iris", *few, *same, "-j", "1", "--json", "-", "-q", cwd=folder)
    alone = {entry["name"]: entry["scores"] for entry in json.loads(answer.stdout)["leaderboard"]}
    assert set(alone) == {"baseline", "Perceptron", "RidgeClassifier", "LogisticRegression"}
    assert alone == {e["name"]: e["scores"] for e in iris[1]["leaderboard"] if e["name"] in alone}


def test_regression_with_a_messy_table(folder):
    """Categories, gaps, dates, identifiers, a constant; the target is found by name."""
    rng = np.random.default_rng(0)
    rows = [["编号", "城市", "面积", "签约", "备注", "币种", "价格"]]
    for k in range(120):
        area, city = rng.uniform(20, 200), rng.integers(0, 3)
        price = 3 * area + 100 * city + 30 + rng.normal(0, 5)
        day = f"2024-{1 + k % 12:02d}-{1 + k % 28:02d}"
        rows.append(
            [
                f"H{k:04d}",
                "北上广"[city],
                "" if k % 10 == 0 else f"{area:.2f}",
                day,
                "",
                "CNY",
                f"{price:.2f}",
            ]
        )
    name = write(folder / "houses.csv", rows)
    answer = compare(
        name,
        "--target",
        "价格",
        "--lang",
        "zh",
        "--repeats",
        "1",
        "--methods",
        "LinearRegression,Ridge,LassoCV,KNeighborsRegressor,DecisionTreeRegressor,SVR",
        "--report",
        "houses.html",
        "--json",
        "houses.json",
        cwd=folder,
    )
    result = json.loads((folder / "houses.json").read_text(encoding="utf-8"))
    assert result["task"] == "regression"
    kinds = {column["name"]: column["kind"] for column in result["data"]["columns"]}
    assert kinds == {
        "编号": "identifier",
        "城市": "categorical",
        "面积": "numeric",
        "签约": "date",
        "备注": "empty",
        "币种": "constant",
    }
    assert result["leaderboard"][0]["score"] > 0.8
    assert result["leaderboard"][-1]["score"] < 0.1
    # Said in Chinese throughout.
    page = (folder / "houses.html").read_text(encoding="utf-8")
    assert '<html lang="zh' in page
    assert "基线" in answer.stdout


def test_clustering_without_and_with_classes(folder):
    rng = np.random.default_rng(1)
    centres = np.array([[0, 0], [8, 8], [0, 8]])
    points = np.vstack([c + rng.normal(size=(40, 2)) for c in centres])
    name = write(folder / "points.csv", [["a", "b"], *points.round(4).tolist()])
    outputs = ["--json", "points.json", "--report", "points.html"]
    compare(name, "--repeats", "1", "-m", "KMeans,GaussianMixture,GaussianMixtureIC", *outputs, cwd=folder)
    result = json.loads((folder / "points.json").read_text(encoding="utf-8"))
    assert (result["task"], result["metric"]) == ("clustering", "silhouette")
    best = result["leaderboard"][0]
    settings = {entry["name"]: entry["settings"] for entry in result["leaderboard"]}
    assert settings["KMeans"] == {"n_clusters": 3}
    assert settings["GaussianMixture"] == {"n_components": 3}
    assert settings["GaussianMixtureIC"] == {}
    assert "By a criterion of the method's own: GaussianMixtureIC." in result["remarks"]
    assert best["score"] > 0.7
    assert {"calinski_harabasz", "davies_bouldin"} <= set(best["others"])
    assert (folder / "points.html").read_text(encoding="utf-8").count("<svg") >= 2

    few = ["-m", "KMeans,AgglomerativeClustering", "--repeats", "1", "--json", "-", "-q"]
    answer = compare("iris", "--task", "clustering", *few, cwd=folder)
    result = json.loads(answer.stdout)
    assert result["metric"] == "adjusted_rand"
    assert result["leaderboard"][0]["score"] > 0.5
    assert abs(result["leaderboard"][-1]["score"]) < 0.1  # by lot


@posix
def test_ctrl_c_leaves_what_is_finished(folder):
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tercet",
            "compare",
            "iris",
            "--methods",
            "LogisticRegression,GaussianNB,SVC",
            "--repeats",
            "5000",
            "--budget",
            ENDLESS,
            "--json",
            "cut.json",
            "--report",
            "cut.html",
            "--lang",
            "en",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=folder,
    )
    for line in process.stderr:
        if line.startswith("round 2 of 5000"):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert "LogisticRegression" in out
    result = json.loads((folder / "cut.json").read_text(encoding="utf-8"))
    assert result["interrupted"]
    assert all(entry["rounds"] >= 1 for entry in result["leaderboard"])
    assert (folder / "cut.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def made_table(folder):
    """Ten people with twelve visits each: a mood of the person, and a target that follows it and the day."""
    rng = np.random.default_rng(5)
    rows = [["person", "day", "mood", "noise", "visits", "ill"]]
    for person in range(10):
        mood = rng.normal()
        for visit in range(12):
            ill = mood + 0.1 * visit + rng.normal() > 1.2
            rows.append(
                [
                    f"p{person}",
                    f"2024-{1 + visit:02d}-{1 + person:02d}",
                    round(mood + 0.3 * rng.normal(), 3),
                    round(rng.normal(), 3),
                    int(rng.poisson(1.5)),
                    "yes" if ill else "no",
                ]
            )
    return write(folder / "visits.csv", rows)


FEW = ["-m", "GaussianNB,LogisticRegression,DecisionTreeClassifier", "--json", "-", "-q"]


def test_groups_stay_together(folder):
    answer = compare(made_table(folder), "-t", "ill", "--group", "person", "--repeats", "2", *FEW, cwd=folder)
    result = json.loads(answer.stdout)
    assert result["split"] == {"kind": "group", "column": "person"}
    assert "Rows with the same person are never on both sides of a split." in result["remarks"]
    (person,) = [c for c in result["data"]["columns"] if c["name"] == "person"]
    assert not person["used"]
    assert {entry["rounds"] for entry in result["leaderboard"]} == {2}
    assert result["leaderboard"][0]["outcome"] == "best"
    assert result["expected"]["low"] < result["expected"]["high"]


@pytest.mark.parametrize(
    ("language", "words"), [("en", "intervals and no verdicts"), ("zh", "只给区间，不下结论")]
)
def test_forward_in_time_there_are_intervals_and_no_verdicts(folder, language, words):
    time = ["--time", "day", "--repeats", "5", "--lang", language]
    page = [] if language == "zh" else ["--report", "time.html"]
    answer = compare(made_table(folder), "-t", "ill", *time, *FEW, *page, cwd=folder)
    result = json.loads(answer.stdout)
    assert result["split"] == {"kind": "time", "column": "day"}
    assert {entry["rounds"] for entry in result["leaderboard"]} == {1}
    assert {entry["outcome"] for entry in result["leaderboard"][1:]} == {None}
    assert all(entry["low"] <= entry["score"] <= entry["high"] for entry in result["leaderboard"])
    assert any(words in remark for remark in result["remarks"])
    if page:
        assert (folder / "time.html").read_text(encoding="utf-8").count("<svg") > 4


def test_tuned_scores_stand_beside_the_untuned(folder):
    tuned = [
        "--tune",
        "--repeats",
        "1",
        "-m",
        "KNeighborsClassifier,GaussianNB,DecisionStump",
        "--json",
        "t.json",
    ]
    answer = compare(made_table(folder), "-t", "ill", *tuned, "--lang", "en", cwd=folder)
    result = json.loads((folder / "t.json").read_text(encoding="utf-8"))
    entries = {entry["name"]: entry for entry in result["leaderboard"]}
    assert entries["DecisionStump"]["untuned"] is None
    assert 0 < entries["KNeighborsClassifier"]["untuned"] <= 1
    assert "untuned" in answer.stdout
    assert "Settings were searched inside the training rows of each split" in answer.stdout
    plain = compare(
        made_table(folder),
        "-t",
        "ill",
        "--repeats",
        "1",
        "-m",
        "KNeighborsClassifier",
        "--json",
        "-",
        "-q",
        cwd=folder,
    )
    (same,) = [e for e in json.loads(plain.stdout)["leaderboard"] if not e["baseline"]]
    assert entries["KNeighborsClassifier"]["untuned"] == pytest.approx(same["score"])


def test_measures_by_the_target_and_by_scikit_learns_names(folder):
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    rare = x + 0.5 * rng.normal(size=400) > 2.0
    name = write(
        folder / "rare.csv",
        [["x", "z", "y"], *[[f"{a:.3f}", k % 7, int(b)] for k, (a, b) in enumerate(zip(x, rare))]],
    )
    few = [
        "-t",
        "y",
        "--repeats",
        "1",
        "-m",
        "GaussianNB,NearestCentroid",
        "--json",
        "-",
        "-q",
        "--lang",
        "en",
    ]
    result = json.loads(compare(name, *few, cwd=folder).stdout)
    assert result["metric"] == "roc_auc"
    assert result["remarks"][0] == result["metric_why"]
    assert result["metric_why"].startswith("Ranked by ROC AUC, not by accuracy: ")
    best = result["leaderboard"][0]
    assert best["score"] > 0.9
    assert best["against_baseline"]["outcome"] == "better"
    result = json.loads(
        compare(name, *few, "--metric", "neg_brier_score", "--margin", "0.5", cwd=folder).stdout
    )
    assert (result["metric_title"], result["greater_is_better"]) == ("brier score", False)
    assert result["margin"] == 0.5
    assert {entry["outcome"] for entry in result["leaderboard"]} == {"best", "equivalent"}


def test_the_shortest_budget_yields_a_method_and_the_baseline(folder):
    """However long it takes: a second is over before the first fit."""
    name = made_table(folder)
    answer = tercet_command("compare", name, "-t", "ill", "--budget", "1", "--json", "short.json", cwd=folder)
    assert answer.returncode == 0, answer.stderr
    result = json.loads((folder / "short.json").read_text(encoding="utf-8"))
    assert len(result["leaderboard"]) >= 2
    assert any(entry["baseline"] for entry in result["leaderboard"])


ROWS = [["a", "b", "y"], *[[k, k * k % 7, "pq"[k % 2]] for k in range(30)]]


@pytest.mark.parametrize(
    ("name", "content", "extra", "code", "words"),
    [
        ("absent.csv", None, [], 3, "absent.csv"),
        ("empty.csv", b"", [], 3, "empty"),
        ("header.csv", b"a,b,y\n", [], 3, "no rows|only a header|header"),
        ("one.csv", b"y\n1\n2\n1\n2\n", ["--target", "y"], 3, "column"),
        ("good.csv", ROWS, ["--target", "z"], 3, "'?z'?.*(a|b|y)"),
        ("nothing.csv", [["a", "b", "y"], *[[k, k % 3, ""] for k in range(30)]], ["--target", "y"], 3, "y"),
        (
            "single.csv",
            [["a", "b", "y"], *[[k, k % 3, "p"] for k in range(30)]],
            ["--target", "y"],
            3,
            "single value",
        ),
        ("ragged.csv", b"a,b,y\n1,2,3\n1,2\n3,4,5\n", [], 3, "line 3"),
        ("bytes.csv", b"a,b,y\n1,2,\xff\xfe\x80\xff\n", [], 3, "byte|decode"),
        (
            "words.csv",
            [["a", "b", "y"], *[[k, k % 3, f"w{k}"] for k in range(30)]],
            ["-t", "y", "--task", "regression"],
            3,
            "y",
        ),
        ("good.csv", ROWS, ["-t", "y", "--task", "ranking"], 2, "classification, regression"),
        ("good.csv", ROWS, ["-t", "y", "-m", "LogisticRegresion"], 2, "LogisticRegression"),
        ("good.csv", ROWS, ["-t", "y", "-m", "Lasso"], 2, "Lasso is for regression"),
        ("good.csv", ROWS, ["-t", "y", "--metric", "r2"], 2, "accuracy"),
        ("good.csv", ROWS, ["-t", "y", "--report", "nowhere/x.html"], 2, "nowhere"),
        ("good.csv", ROWS[:8], ["-t", "y"], 3, "too few"),
        ("good.csv", ROWS, ["-t", "y", "--cv", "1"], 2, "cv"),
        ("good.csv", ROWS, ["-t", "y", "--metric", "f1_samples"], 2, "scikit-learn's scorers"),
        ("good.csv", ROWS, ["-t", "y", "--group", "c"], 3, "no column c"),
        ("good.csv", ROWS, ["-t", "y", "--group", "b", "--cv", "9"], 3, "needs at least 9"),
        ("good.csv", ROWS, ["-t", "y", "--group", "b", "--time", "a"], 2, "exclude each other"),
        ("good.csv", ROWS, ["-t", "y", "--margin", "-1"], 2, "margin"),
    ],
)
def test_mistakes_get_one_line_and_leave_nothing(tmp_path, name, content, extra, code, words):
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    elif content is not None:
        write(tmp_path / name, content)
    before = sorted(path.name for path in tmp_path.iterdir())
    outputs = [] if "--report" in extra else ["--report", "r.html", "--json", "r.json"]
    line = refused(tercet_command("compare", name, *extra, *outputs, cwd=tmp_path), code)
    assert re.search(words, line), line
    assert sorted(path.name for path in tmp_path.iterdir()) == before
