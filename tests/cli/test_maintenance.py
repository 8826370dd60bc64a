"""`tercet warm`, `tercet doctor` and `tercet bench`."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tercet as library
from tercet.cli import doctor, maintenance
from tercet.cli.app import app
from tercet.cli.errors import NOTHING_DONE, Refusal
from tercet.cli.pack_building import TARGETS, default_target
from tercet.cli.warm import TASKS, cards, samples, warm
from tercet.core import kernel, kernel_pack
from tercet.core.messages import Message

from .running import refused, tercet

SOURCE = Path(library.__file__).resolve().parent


def test_warm_tells_what_it_does():
    """With two estimators in place of all: the rest is the same code."""
    code = """if True:
        import sys
        import tercet.cli.warm
        few = [card for card in tercet.cli.warm.cards() if card.name in ("Perceptron", "LogLinearRegression")]
        tercet.cli.warm.cards = lambda: few
        sys.argv = ["tercet", "warm"]
        from tercet.cli.app import main
        main()
    """
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERCET_JIT": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", env=environment
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["[1/2] LogLinearRegression", "[2/2] Perceptron"]
    assert answer.stdout.startswith("2 estimators are warm after ")


def test_no_process_outlives_a_command_that_was_killed():
    """The processes hold the other end of the pipe: it is at its end when none of them is left."""
    code = """if True:
        import concurrent.futures, multiprocessing, time
        from tercet.cli.warm import _begin
        context = multiprocessing.get_context("spawn")
        pool = concurrent.futures.ProcessPoolExecutor(1, context, initializer=_begin, initargs=(None,))
        print(pool.submit(abs, -1).result(), flush=True)
        pool.submit(time.sleep, 3600).result()
    """
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as command:
        assert command.stdout.readline().strip() == b"1"
        command.kill()
        assert command.communicate(timeout=60) == (b"", None)


@pytest.mark.parametrize(
    ("name", "module", "kernel"),
    [
        ("REPClassifier", "rules.rep_classifier", "cover_changes"),  # of rules that are wrong about some rows
        ("TSNE", "manifold._tsne.barnes_hut", "insert_all"),  # of more rows than the perplexity
        ("Perceptron", "linear_model.perceptron", "sweep_misclassified"),  # of an order that is no default
    ],
)
def test_warm_reaches_kernels_that_few_clean_rows_do_not_need(name, module, kernel, monkeypatch):
    place, calls = importlib.import_module(f"tercet.{module}"), []
    original = getattr(place, kernel)
    monkeypatch.setattr(place, kernel, lambda *given: calls.append(name) or original(*given))
    warm(next(card for card in cards() if card.name == name))
    assert calls


def test_warm_builds_a_pack(tmp_path):
    """With one estimator in place of all."""
    code = f"""if True:
        import sys
        import tercet.cli.warm
        few = [card for card in tercet.cli.warm.cards() if card.name == "LogLinearRegression"]
        tercet.cli.warm.cards = lambda: few
        sys.argv = ["tercet", "warm", "--pack", {str(tmp_path / "packs")!r}]
        from tercet.cli.app import main
        main()
    """
    numba = {name: "" for name in os.environ if name.startswith("NUMBA_")}
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERCET_JIT": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={name: value for name, value in environment.items() if name not in numba},
    )
    assert answer.returncode == 0, answer.stderr
    name = default_target()
    pack = kernel_pack.open_pack(tmp_path / "packs" / f"{name}.pack")
    assert answer.stdout.startswith(f"{pack.path}: {len(pack.entries)} kernels for {name} (")
    assert pack.header["features"] == list(TARGETS[name].features)
    assert len(pack.entries) > 0


def test_packs_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel, "JIT", True)
    with pytest.raises(Refusal, match="choose one"):
        maintenance.warm(native=True, pack=True)
    with pytest.raises(Refusal, match="go with --pack"):
        maintenance.warm(target="x86-64-v3")
    with pytest.raises(Refusal, match="'z80' is unknown"):
        maintenance.warm(pack=True, target="z80")
    monkeypatch.setattr("numba.config.OPT", 1)  # as NUMBA_OPT=1 does
    with pytest.raises(Refusal, match="NUMBA_OPT is set") as refusal:
        maintenance.warm(pack=True, folder=tmp_path)
    assert refusal.value.code == NOTHING_DONE


def test_options_of_warm(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(maintenance, "warm", lambda **given: calls.append(given) or 0)
    runner = CliRunner()
    assert runner.invoke(app, ["warm", "--native"]).exit_code == 0
    words = ["warm", "--pack", str(tmp_path), "--target", "z80"]
    assert runner.invoke(app, words).exit_code == 0
    nothing = {"native": False, "pack": False, "folder": None, "target": None}
    assert calls == [
        {**nothing, "native": True},
        {**nothing, "pack": True, "folder": tmp_path, "target": "z80"},
    ]


def test_doctor_tells_where_kernels_come_from(monkeypatch, capsys):
    monkeypatch.setattr(kernel, "JIT", False)
    doctor.run(json=False)
    assert capsys.readouterr().out == "kernels run as plain Python: TERCET_JIT=0 is set\n"
    monkeypatch.setattr(kernel, "JIT", True)
    monkeypatch.setattr(kernel, "KERNELS", "off")
    doctor.run(json=False)
    assert "not used: TERCET_KERNELS=off is set" in capsys.readouterr().out
    set_by_hand = Message("{variable} is set: the compiler makes other code", variable="NUMBA_OPT")
    monkeypatch.setattr(kernel, "KERNELS", "pack")
    monkeypatch.setattr(kernel_pack, "installed", lambda: (None, [set_by_hand]))
    doctor.run(json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["pack"] is None
    assert found["reasons"] == ["NUMBA_OPT is set: the compiler makes other code"]
    # Once with the variables, in a process of its own.
    answer = tercet("doctor", "--lang", "zh", TERCET_JIT="1", NUMBA_OPT="1")
    assert "未使用：已设置 NUMBA_OPT" in answer.stdout


def test_every_estimator_is_warmed():
    mine = [card for card in library.methods() if card.learns]
    assert [card.name for card in mine if card.task not in TASKS] == []
    assert cards() == mine


def test_kinds_of_data_that_have_kernels_of_their_own():
    """More than two classes, and categories beside numbers."""
    known = {card.name: card for card in cards()}
    assert {len(set(y)) for _, y in samples(known["Perceptron"])} == {2, 3}
    tables = [X for X, _ in samples(known["DecisionTreeRegressor"]) if X.dtype == object]
    assert [[type(value) for value in X[0]] for X in tables] == [[float, str, float]]


def test_nothing_to_warm_without_the_compiler():
    assert "TERCET_JIT=0" in refused(tercet("warm", TERCET_JIT="0"), 2)


def test_bench_lists_and_refuses():
    answer = tercet("bench", "--list")
    assert answer.returncode == 0, answer.stderr
    assert {"lasso", "perceptron"} <= {line.split()[0] for line in answer.stdout.splitlines()}
    assert "{" not in answer.stdout
    assert "2500000 x 50, margin 0.01" in answer.stdout
    strange = tercet("bench", "no-such-row")
    assert strange.returncode == 2
    assert "no-such-row" in strange.stderr
    assert "'huge'" in refused(tercet("bench", "--size", "huge"), 2)


def test_bench_outside_of_a_checkout(tmp_path):
    shutil.copytree(SOURCE, tmp_path / "site" / "tercet")  # with the bytecode, which need not be made again
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    line = refused(tercet("bench", "--list", cwd=elsewhere, PYTHONPATH=str(tmp_path / "site")), 5)
    assert "`benchmarks`" in line
    # From the folder of a checkout the installed command finds it.
    root = SOURCE.parent.parent
    answer = tercet("bench", "--list", cwd=root, PYTHONPATH=str(tmp_path / "site"))
    assert answer.returncode == 0, answer.stderr


def test_checkout_is_found_by_its_benchmark(tmp_path, monkeypatch):
    assert maintenance.checkout() == SOURCE.parent.parent
    monkeypatch.setattr(library, "__file__", str(tmp_path / "a" / "tercet" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benchmarks").mkdir()  # of somebody else
    with pytest.raises(maintenance.Refusal, match="source checkout"):
        maintenance.checkout()
