"""The benchmark harness: turns, judging and records on a toy row; every real row at its smoke size."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import logging
import os
import pickle
import platform
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import (
    automl,
    automl_contenders,
    automl_tables,
    cluster,
    compiling,
    defaults,
    first,
    linear,
    maxent,
    overhead,
    results,
    targets,
    worker,
)
from benchmarks.__main__ import ROWS, main
from benchmarks.growth import run_growth
from benchmarks.harness import Contender, Outcome, Row, Score, judge, run_row
from benchmarks.store import load, make_data, optimum, save
from benchmarks.worker import plain, prepared
from scipy import sparse
from threadpoolctl import threadpool_limits

from tercet.cli import printing
from tests.systems import forked_from
from tests.toy_contenders import (
    toy_data,
    toy_dies,
    toy_hungry,
    toy_keeps,
    toy_ours,
    toy_prepare,
    toy_raises,
    toy_sloppy,
    toy_slow,
)

turns: list[str] = []


def toy_quality(data, result):
    assert result["pid"] != os.getpid()
    assert result["threads"] == "2"
    turns.append(result["who"])
    return float(((data["y"] - data["X"] @ result["coef"]) ** 2).sum())


def toy_row(**peers):
    return Row(
        name="toy",
        work="least squares; {n} x {d}",
        sizes={"smoke": {"n": 200, "d": 5}},
        data=toy_data,
        ours=Contender(toy_ours, ("numpy",), "numpy"),
        peers=peers,
        quality=toy_quality,
        tolerance=1e-6,
        figure="sum of squares",
    )


def peer(fit, *imports, **options):
    return Contender(fit, imports, "scipy", **options)


REQUIRED = {"scikit-learn", "scipy", "hmmlearn", "python-crfsuite"}  # what every test run has


def first_peer(row):
    """The first peer that is always there, by its title: which others are installed must not change the outcome."""
    return next(({title: peer} for title, peer in row.peers.items() if peer.package in REQUIRED), {})


@pytest.fixture(scope="module")
def start():
    """Nothing is timed here: the contenders share their imports."""
    modules = "benchmarks.worker", "tests.toy_contenders", "tercet.cli.compare.worker_tasks"
    with contextlib.ExitStack() as stack:
        with worker.thread_limits():  # before libraries read them
            start = stack.enter_context(forked_from(*modules))
        yield start


def test_contenders_run_by_turns_and_only_good_peers_count(tmp_path, start):
    turns.clear()
    row = toy_row(
        slow=peer(toy_slow),
        sloppy=peer(toy_sloppy),
        hungry=peer(toy_hungry, prepare=toy_prepare, once=True, note="eats"),
    )
    outcome = run_row(row, "smoke", rounds=2, folder=tmp_path, start=start)
    ours, slow, _, hungry = outcome.scores
    first = ["tercet", "slow", "tercet", "sloppy", "tercet", "hungry"]
    assert turns == [*first, *first[:4]]
    assert (ours.runs, slow.runs, hungry.runs) == (5, 2, 1)
    assert [score.meets for score in outcome.scores] == [True, True, False, True]
    fastest = min(slow, hungry, key=lambda score: score.wall)  # the sloppy one does not count
    assert outcome.against == fastest.contender
    assert outcome.ratio == fastest.wall / ours.wall
    assert ours.first > 0
    assert hungry.note == "eats; one run, no warm-up"
    assert not hungry.memory < 60  # MB; not a number where there is no /proc
    assert outcome.work == "least squares; 200 x 5"


def test_times_are_per_amount_of_work(tmp_path, start):
    row = dataclasses.replace(toy_row(), amount=lambda data, result: 1e6)
    (ours,) = run_row(row, "smoke", rounds=1, folder=tmp_path, start=start).scores
    assert 0 < ours.wall < 1e-4
    assert 0 <= ours.cpu < 1e-4


def test_memory_is_what_a_fit_adds_after_a_small_one(tmp_path):
    row = toy_row(keeps=peer(toy_keeps))
    row = dataclasses.replace(row, sizes={**row.sizes, "full-ish": {"n": 400, "d": 5}})
    _, keeps = run_row(row, "full-ish", rounds=1, folder=tmp_path).scores
    assert not keeps.problem
    assert not keeps.memory > 25  # MB; not a number where there is no /proc


def test_growth_is_the_exponent_of_time(tmp_path, monkeypatch):
    row = toy_row(slow=peer(toy_slow), sloppy=peer(toy_sloppy))

    def timed(row, size="smoke", *_):
        n = row.sizes[size]["n"]
        assert size == "smoke" or [*row.peers] == ["slow"]
        walls = {"tercet": 1e-3 * n, "slow": 1e-4 * n**2}
        scores = [Score(name, wall=wall) for name, wall in walls.items()]
        return Outcome("toy", size, "", "", 1e-6, scores, against="slow")

    monkeypatch.setattr("benchmarks.growth.run_row", timed)
    outcome = timed(row)
    found = run_growth(row, outcome, folder=tmp_path)
    assert found["sizes"] == [20.0, 200.0, 2000.0]
    assert found["left_out"] == ""
    assert (found["ours"], found["peer"]) == pytest.approx((1.0, 2.0))
    monkeypatch.setattr("benchmarks.growth.available_memory", lambda: 0.0)
    found = run_growth(row, outcome, folder=tmp_path)
    assert (found["sizes"], found["left_out"]) == ([20.0, 200.0], "tenfold: too little memory")
    assert results.exponents(found) == "1.00 / 2.00"
    assert results.exponents(None) == "-"


def test_a_peer_that_cannot_run_is_named(tmp_path, start):
    row = toy_row(
        absent=peer(toy_slow, "no_such_module"),
        raises=peer(toy_raises),
        dies=peer(toy_dies),
        slow=peer(toy_slow),
    )
    outcome = run_row(row, "smoke", rounds=1, folder=tmp_path, start=start)
    problems = {score.contender: score.problem for score in outcome.scores}
    assert problems["absent"] == "not installed: No module named 'no_such_module'"
    assert problems["raises"] == "failed: RuntimeError: no luck with <path>"
    assert problems["dies"] == "process died with exit code 3"
    assert problems["slow"] == problems["tercet"] == ""
    assert outcome.against == "slow"


def test_a_peer_that_takes_too_long_is_stopped(tmp_path):
    outcome = run_row(toy_row(slow=peer(toy_hungry)), "smoke", rounds=1, folder=tmp_path, limit=0.01)
    assert [score.problem for score in outcome.scores] == ["stopped after 0.01 s"] * 2
    assert outcome.ratio is None


def test_a_turn_waits_until_the_neighbours_are_quiet(monkeypatch):
    busy, sleeps = iter([0.0, 0.3, 0.3, 0.6, 0.6, 0.61]), []  # two busy windows, then a quiet one
    monkeypatch.setattr(worker, "busy_seconds", lambda: next(busy))
    monkeypatch.setattr(worker.time, "sleep", sleeps.append)
    worker.wait_for_quiet(pause=0.3, patience=60.0)
    assert sleeps == [0.3, 0.3, 0.3]
    busy = iter([0.0, 0.3])
    worker.wait_for_quiet(pause=0.3, patience=0.0)  # patience is over
    assert len(sleeps) == 4
    worker.wait_for_quiet(pause=0.0, patience=60.0)
    assert len(sleeps) == 4


@pytest.mark.parametrize(
    ("ours", "peers", "optimum", "ratio"),
    [
        (1.0, {"a": (1.0, 3.0), "b": (1.0, 2.0)}, None, 2.0),  # the faster of two good ones
        (1.0, {"a": (1.0, 3.0), "b": (1.1, 2.0)}, None, 3.0),  # the faster one misses
        (0.5, {"a": (1.0, 3.0)}, None, 3.0),  # better than the peer is as good as equal
        (0.5, {"a": (1.0, 3.0)}, 0.5, None),  # but not when the optimum shows that the peer is lax
        (1.1, {"a": (1.0, 3.0)}, None, None),  # ours misses
        (-1.0, {"a": (-1.0 - 5e-7, 3.0)}, None, 3.0),  # a negative objective
        (1.0, {"a": (float("nan"), 3.0)}, None, None),
    ],
)
def test_quality_is_one_sided(ours, peers, optimum, ratio):
    scores = [Score("tercet", wall=1.0, quality=ours, runs=1)]
    scores += [Score(name, wall=wall, quality=quality, runs=1) for name, (quality, wall) in peers.items()]
    outcome = Outcome("toy", "smoke", "", "", 1e-6, scores)
    judge(outcome, relative=True, optimum=optimum)
    assert outcome.ratio == ratio


def test_data_come_back_as_they_were_and_are_made_once(tmp_path):
    rng = np.random.default_rng(0)
    data = {
        "C": rng.standard_normal((3, 4)),
        "F": np.asfortranarray(rng.standard_normal((3, 4))),
        "S": sparse.random(5, 6, density=0.4, format="csr", random_state=0),
        "alpha": 0.25,
    }
    save(data, tmp_path)
    for _ in range(2):
        back = load(tmp_path)
        assert sorted(back) == sorted(data)
        for name in ("C", "F", "alpha"):
            np.testing.assert_array_equal(back[name], data[name])
        np.testing.assert_array_equal(back["S"].toarray(), data["S"].toarray())
        assert back["C"].flags.c_contiguous
        assert back["F"].flags.f_contiguous
        back["C"][:] = 7.0  # a contender may scribble on its own copy
    row = toy_row()
    where = make_data(row, "smoke", tmp_path / "data")
    stamp = (where / "X.npy").stat().st_mtime_ns
    assert make_data(row, "smoke", tmp_path / "data") == where
    assert (where / "X.npy").stat().st_mtime_ns == stamp
    with pytest.raises(ValueError, match=r"row 'toy': size='huge' is not one of \['smoke'\]"):
        make_data(row, "huge", tmp_path)


def entry(name, ratio, wall=1.0):
    scores = [
        Score("tercet", wall=wall, quality=1.0, meets=True, runs=3),
        Score("peer", problem="not installed"),
    ]
    body = {"work": "some work", "figure": "|loss|", "tolerance": 1e-6, "against": "peer", "ratio": ratio}
    return {"name": name, **body, "scores": [vars(s) for s in scores], **results.circumstances("cmd", {})}


def test_results_keep_other_rows_and_the_notes(tmp_path):
    path = tmp_path / "RESULTS.md"
    results.write(path, [entry("b", 2.0), entry("a", 8.0)], ["a", "b"])
    text = path.read_text().replace(
        results.NOTES[0], results.NOTES[0] + "\nb is slow because of | and {x}.\n"
    )
    path.write_text(text)
    results.write(path, [entry("b", 0.5, wall=123.0)], ["a", "b"])
    text = path.read_text()
    assert "b is slow because of | and {x}." in text
    assert text.index("\n## a\n") < text.index("\n## b\n")
    assert "Geometric mean of 2 ratios: 2.00" in text
    assert "| b | 0.50 | - | peer | 123 |" in text
    assert results.read(path)[0] == {"a": entry("a", 8.0), "b": entry("b", 0.5, wall=123.0)}


def test_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(results, "PATH", tmp_path / "RESULTS.md")
    assert main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(ROWS)
    for wrong, message in ((["lazzo"], "unknown rows"), (["lasso", "--rounds", "2"], "too few")):
        with pytest.raises(SystemExit):
            main(wrong)
        assert message in capsys.readouterr().err
    main(["loop", "--size", "smoke", "--rounds", "1"])
    assert not results.PATH.exists()
    monkeypatch.setattr("benchmarks.__main__.wait_for_quiet", lambda *_: None)
    main(["loop"])
    text = results.PATH.read_text()
    assert "a pass that reports a number" in text
    assert platform.node() not in text.replace(results.machine(), "")
    assert str(Path.cwd()) not in text


def test_defaults_against_defaults(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(results, "PATH", tmp_path / "RESULTS.md")
    file = tmp_path / "times.json"
    few = ["--size", "tiny", "--rounds", "3", "--json", str(file)]
    assert (
        main(["defaults", "GaussianNB", "LinearRegression", "AgglomerativeClustering", *few, "--write"]) == 0
    )
    dense = {line["name"]: line for line in json.loads(file.read_text())}
    assert list(dense["GaussianNB"]["cells"]) == ["fit", "predict", "one row"]
    assert list(dense["AgglomerativeClustering"]["cells"]) == ["fit"]
    assert "tiny dense, one row: geometric mean" in capsys.readouterr().out
    assert "| LinearRegression | tiny | dense |" in results.PATH.read_text()
    assert main(["defaults", "GaussianNB", "LinearRegression", *few, "--sparse"]) == 0
    assert [line["name"] for line in json.loads(file.read_text())] == ["LinearRegression"]
    with pytest.raises(SystemExit):
        main(["defaults", "Lazzo"])
    assert "unknown classes" in capsys.readouterr().err


def test_what_both_libraries_have():
    both = {(pair.module, pair.name) for pair in defaults.pairs()}
    assert {("kernel_ridge", "KernelRidge"), ("svm", "SVC"), ("multiclass", "OneVsOneClassifier")} <= both
    for module, name in both:
        X, y = defaults.data(defaults.Pair(module, name), "tiny", "dense")
        assert len(X) == len(y) == 40
        assert defaults.Pair(module, name).make("tercet") is not None


def test_a_miss_is_slower_by_a_tenth_and_by_30_microseconds():
    assert defaults.Cell(2e-3, 1e-3, 0, 0, 3).miss
    assert not defaults.Cell(21e-6, 10e-6, 0, 0, 3).miss
    assert not defaults.Cell(1.05, 1.0, 0, 0, 3).miss


def test_errors_lose_their_paths():
    assert (
        plain(OSError("cannot open '/some/where/file.so': gone\nsecond line")) == "cannot open '<path>': gone"
    )
    assert plain(ValueError("C=1/2 must be > 0")) == "C=1/2 must be > 0"


# --- the real rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if isinstance(row, Row)])
@pytest.mark.filterwarnings("ignore")
def test_row_runs_and_agrees(name, tmp_path):
    """Ours and a peer, once each and here: that contenders run in processes is seen with toys above."""
    row = ROWS[name]
    where = make_data(row, "smoke", tmp_path)
    data, work = load(where), row.work.format(**row.sizes["smoke"])
    outcome = Outcome(name, "smoke", work, row.figure, row.tolerance)
    for title, contender in {"tercet": row.ours, **first_peer(row)}.items():
        sent = pickle.loads(pickle.dumps(contender))
        for module in sent.imports:
            importlib.import_module(module)
        with threadpool_limits(1):  # threads that wait for each other keep busy cores busy
            result = pickle.loads(pickle.dumps(sent.fit(prepared(sent, where))))
        outcome.scores.append(Score(title, wall=1.0, quality=float(row.quality(data, result)), runs=1))
        assert row.amount is None or float(row.amount(data, result)) > 0
    judge(outcome, row.relative, optimum(where))
    for score in outcome.scores:
        assert score.meets, score


@pytest.mark.parametrize("name", ["loop", "import"])
def test_report_gives_its_figures(name, monkeypatch):
    """The first fits in this process: in one of its own, each imports for seconds."""
    real = overhead.interpreter_seconds
    monkeypatch.setattr(
        overhead,
        "interpreter_seconds",
        lambda statement: 1.0 if ".fit(" in statement and not exec(statement, {}) else real(statement),
    )
    for figure in ROWS[name].measure("smoke", 1):
        assert figure.problem == ""
        assert np.isfinite(figure.value)


def smoke(row, rng=0):
    return row.data(np.random.default_rng(rng), **row.sizes["smoke"])


def test_generators_keep_their_word():
    rows = {row.name: row for row in [*linear.ROWS, *maxent.ROWS]}
    text = smoke(rows["logistic-sparse"])
    np.testing.assert_allclose(np.asarray(text["X"].multiply(text["X"]).sum(axis=1)), 1.0)
    assert np.bincount(text["y"]).min() > 0
    context = smoke(rows["maxent"])
    for label in range(4):
        assert (context["X"][context["y"] == label].sum(axis=0) > 0).all()
    assert set(context["X"].data) == {1.0}
    apart = smoke(rows["perceptron"])
    w = np.linalg.lstsq(apart["X"], apart["y"], rcond=None)[0]
    assert (np.sign(apart["X"] @ w) == apart["y"]).mean() > 0.95
    wide = smoke(rows["lasso"])
    assert wide["X"].flags.f_contiguous
    assert np.corrcoef(wide["X"][:, :-1].ravel(), wide["X"][:, 1:].ravel())[0, 1] == pytest.approx(
        0.5, abs=0.03
    )


def test_quality_figures_at_known_points():
    rows = {row.name: row for row in [*linear.ROWS, *maxent.ROWS]}
    dense, text, wide = (smoke(rows[name]) for name in ("logistic-dense", "logistic-sparse", "lasso"))
    zero = {"coef": np.zeros(10), "intercept": np.zeros(1)}
    assert linear.objective_binary(dense, zero) == pytest.approx(2000 * np.log(2))
    zero = {"coef": np.zeros((20, 200)), "intercept": np.zeros(20)}
    assert linear.objective_softmax(text, zero) == pytest.approx(np.log(20))
    zero = {"coef": np.zeros(300)}
    assert linear.lasso_gap({**wide, "alpha": 20 * wide["alpha"]}, zero) == pytest.approx(0.0, abs=1e-12)
    assert linear.lasso_gap(wide, zero) > 0.1


def test_figures_of_clusters_at_known_points():
    rows = {row.name: row for row in cluster.ROWS}
    clouds = smoke(rows["kmeans"])
    mean = clouds["X"].mean(axis=0)
    scatter = ((clouds["X"] - mean) ** 2).sum()
    assert cluster.inertia(clouds, {"centres": mean[None]}) == pytest.approx(scatter)
    points = smoke(rows["linkage"])
    heights = {name: points[name].copy() for name in cluster.LINKAGES}
    assert cluster.height_error(points, heights) == 0
    heights["average"][7] += 0.5 * heights["average"].max()
    assert cluster.height_error(points, heights) == pytest.approx(0.5)


@pytest.fixture
def race_here(start, monkeypatch):
    """Our contender runs in this process, and has its fork server; what it changes is as before afterwards."""

    def run_here(name, python, folder, limit):
        assert name == "tercet"
        automl_contenders.main(name, folder)
        return json.loads((folder / "about.json").read_text(encoding="utf-8"))

    monkeypatch.setattr(automl, "run_contender", run_here)
    monkeypatch.setattr(printing, "quiet", printing.quiet)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield
    logging.disable(logging.NOTSET)


def test_a_contender_has_a_process(tmp_path):
    (tmp_path / "task.json").write_text('{"cores": 1}', encoding="utf-8")
    for name in ("train", "fresh"):
        (tmp_path / f"{name}.csv").write_text("a,target\n1,2\n", encoding="utf-8")
    about = automl.run_contender("flaml", sys.executable, tmp_path, 60.0)
    assert about == {"problem": "failed: ModuleNotFoundError: No module named 'flaml'"}


def test_chosen_models_are_scored_on_fresh_rows(race_here, tmp_path, capsys):
    """With ours alone: the others are named as left out."""
    options = ["--size", "smoke", "--budget", "10000", "--cores", "1", "--json", str(tmp_path / "all.json")]
    assert automl.main([*options, "--flaml", sys.executable]) == 0
    said = capsys.readouterr().out
    assert "autogluon is left out: --autogluon PYTHON names" in said
    assert "flaml is left out: flaml is not installed there" in said
    assert "The stated interval covers the score in" in said
    scores = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert [(one["table"], one["contender"], one["problem"]) for one in scores] == [
        ("diabetes", "tercet", ""),
        ("rare", "tercet", ""),
    ]
    for one in scores:
        low, high = one["interval"]
        assert low < high
        assert one["covered"] == (low <= one["score"] <= high)
        assert 0 < one["loss"] < 1.2  # 1 is the baseline's


def test_chosen_models_share_ranks_and_failures_are_last(capsys):
    scores = [
        automl.Score("diabetes", 0, "tercet", 0.5, 0.5, 9.0, "Ridge", (0.4, 0.6), True),
        automl.Score("diabetes", 0, "flaml", 0.5, 0.5, 10.0, "lgbm"),
        automl.Score("diabetes", 0, "autogluon", problem="stopped after 9 s"),
        automl.Score("rare", 0, "tercet", 0.7, 0.6, 9.0, "SVC", (0.8, 0.9), False),
        automl.Score("rare", 0, "flaml", 0.8, 0.4, 10.0, "rf"),
        automl.Score("rare", 0, "autogluon", 0.9, 0.2, 10.0, "ensemble"),
    ]
    assert automl.ranks(scores) == {"tercet": [1.5, 3.0], "flaml": [1.5, 2.0], "autogluon": [3.0, 1.0]}
    table = automl.table_of(scores)
    assert "| tercet | 2.25 | 0.6000 | - | 9.0 |" in table  # means over tables that all have finished
    assert "| flaml | 1.75 | 0.4000 | -0.2000 | 10.0 |" in table
    assert "0.800 to 0.900 missed" in table
    assert "covers the score in 1 of 2 cases" in table


def test_several_draws_have_means_with_standard_errors():
    ours, theirs = {"diabetes": (0.2, 0.4), "rare": (0.5, 0.5)}, {"diabetes": (0.5, 0.5), "rare": (0.4, 0.6)}
    scores = [
        automl.Score(table, seed, name, 1 - losses[table][seed], losses[table][seed], 9.0, "m", covered=True)
        for table in ours
        for seed in (0, 1)
        for name, losses in (("tercet", ours), ("flaml", theirs))
    ]
    table = automl.table_of([*scores, automl.Score("rare", 2, "tercet", 0.1, 0.9)])  # flaml has not had it
    assert "| diabetes | 221 | r2 | 0.7000 ± 0.1000 | 0.5000 ± 0.0000 | 2 of 2 | m |" in table
    assert "| tercet | 1.25 ± 0.25 | 0.4000 ± 0.0500 | - | 9.0 |" in table
    # The difference is taken draw by draw: 0.3 and 0.1, -0.1 and 0.1.
    assert "| flaml | 1.75 ± 0.25 | 0.5000 ± 0.0500 | 0.1000 ± 0.0707 | 9.0 |" in table
    assert "Means of 2 draws of each table" in table


def test_draws_that_were_kept_are_not_made_again(tmp_path, capsys, monkeypatch):
    kept = [automl.Score("rare", 0, "tercet", 0.8, 0.4, 9.0, "m", (0.7, 0.9), True, version="1")]
    file = tmp_path / "all.json"
    file.write_text(json.dumps([vars(one) for one in kept]), encoding="utf-8")
    made = []

    def race(table, seed, contenders, options):
        made.extend((table, seed, name) for name in contenders)
        yield from (automl.Score(table, seed, name, 0.9, 0.2, 9.0, "m") for name in contenders)

    monkeypatch.setattr(automl, "race", race)
    options = ["rare", "--draws", "2", "--contenders", "tercet", "--json", str(file), "--resume"]
    assert automl.main(options) == 0
    assert made == [("rare", 1, "tercet")]
    assert [one["score"] for one in json.loads(file.read_text(encoding="utf-8"))] == [0.8, 0.9]
    assert "0.8500 ± 0.0500" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        automl.main(["rare", "--resume"])


@pytest.mark.parametrize("name", sorted(automl_tables.SOURCES))
def test_made_tables_are_drawn_anew_and_alike(name):
    source = automl_tables.SOURCES[name]
    first, second = (source.draw(np.random.default_rng(seed), 80, 60) for seed in (1, 1))
    other, _ = source.draw(np.random.default_rng(2), 80, 60)
    assert all(a.equals(b) for a, b in zip(first, second))
    assert not first[0].equals(other)
    train, fresh = first
    assert (train.height, fresh.height) == (80, 60)
    assert train.schema == fresh.schema
    assert train["target"].null_count() == 0
    assert (train["target"].dtype.is_numeric() and name != "digits") == (source.task == "regression")


def test_first_results_against_their_goals():
    text = first.table(
        {
            "LogisticRegression": {"pack": 1.5, "warm": 1.4, "cold": 5.9, "peer": 1.0},
            "SVC": {"pack": 1.8, "cold": 6.1, "peer": 1.1},
            "CRF": {"pack": 1.7},  # with no peer of its own
            "KDB": {"pack": 1.2, "compiled": 1},
        }
    )
    assert text.splitlines()[2:] == [
        "| LogisticRegression | 1.50 | 1.40 | 5.90 | 1.00 |",
        "| SVC | 1.80* | - | 6.10* | 1.10 |",
        "| CRF | 1.70* | - | - | - |",
        "| KDB | 1.20+ | - | - | - |",
    ]


def test_first_results_are_measured_once(tmp_path, capsys, monkeypatch):
    """As plain Python, and with the byte code that is there: only fits have processes."""
    file, fits, run = tmp_path / "first.json", [], first.run

    def run_fits(code, mode, *others):
        if ".fit(" not in code:
            return 0.0
        fits.append(mode)
        return run(code, mode, *others)

    monkeypatch.setenv("TERCET_JIT", "0")
    monkeypatch.setattr(first, "byte_code", contextlib.nullcontext)
    monkeypatch.setattr(first, "run", run_fits)
    command = ["first", "LogLinearRegression", "--modes", "warm", "--rounds", "1", "--json", str(file)]
    assert main(command) == main(command) == 0
    assert fits == ["warm", "warm"]  # the first fills the cache
    kept = json.loads(file.read_text())
    assert list(kept["LogLinearRegression"]) == ["warm"]
    assert (
        capsys.readouterr().out.count("| LogLinearRegression |") == 3
    )  # one while measuring, and two tables


def test_classes_that_need_arguments_have_no_first_result():
    (card,) = [card for card in first.cards() if card.name == "VotingClassifier"]
    assert first.task_of(card) is None


def test_kernels_by_target(capsys):
    assert targets.available()[-1] == targets.NATIVE
    assert targets.settings("x86-64-v4")["NUMBA_CPU_NAME"] == "x86-64-v4"
    chosen = ["--size", "smoke", "--rounds", "1", "--targets", targets.NATIVE]
    assert targets.main(["perceptron", *chosen]) == 0
    assert "| perceptron | 0." in capsys.readouterr().out
    table = targets.table({"one": {"a": 2.0, "b": 1.0}, "other": {"a": 1.0, "b": 2.0}})
    assert table.splitlines()[2:] == [
        "| one | 2.0000 | 2.00 |",
        "| other | 1.0000 | 0.50 |",
        "| geometric mean |  | 1.00 |",
    ]


def test_where_compile_time_goes():
    seen = compiling.measure("LogLinearRegression")
    kernels = [one for one in seen if one["depth"] == 0]
    assert kernels
    assert all(one["name"].startswith("tercet.") for one in kernels)
    assert all(0 < one["llvm"] <= one["seconds"] for one in kernels)
    lines = compiling.report("LogLinearRegression", seen, parts=False).splitlines()
    assert len(lines) == len(kernels) + 2
    assert lines[-1].startswith("  all ")


@pytest.mark.parametrize("name", ["KMeans", "CategoricalHMM"])
def test_rows_that_the_defaults_take(name):
    (card,) = [card for card in first.cards() if card.name == name]
    given, more, answer = first.task_of(card)
    assert len(given[0]) == first.ROWS
    assert (more, answer) == ({}, "predict")
