"""The fuzzer's fixed slice passes, its workers survive what they run, and a case is the same every time."""

import os
import subprocess
import sys

from tests.fuzz import cases, workers
from tests.fuzz.cases import run_case
from tests.fuzz.judge import ROOT
from tests.fuzz.mutants import MUTANTS
from tests.fuzz.oracles import ORACLES
from tests.fuzz.verdicts import Failure


def test_slice():
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.slice"],
        env={**os.environ, "TERCET_JIT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_case_is_decided_by_its_seed():
    from tests.fuzz.oracles import Case

    drawn = []
    for seed in (4, 5, 4):
        run_case("GaussianNB", "answers", seed)
        drawn.append(repr(Case.notes))
    assert drawn[0] == drawn[2] != drawn[1]


def broken(card, rng):
    raise IndexError("list index out of range")


def odd(card, rng):
    raise Failure("differs", "odd")


def test_an_undocumented_error_is_a_failure(monkeypatch):
    monkeypatch.setitem(ORACLES, "broken", broken)
    monkeypatch.setitem(ORACLES, "odd", odd)
    assert run_case("GaussianNB", "broken", 0)[:2] == ("failed", "oracle IndexError")
    assert run_case("GaussianNB", "odd", 0)[:3] == ("failed", "differs", "odd")
    assert "--oracle odd --seed 0 --replay" in cases.replay("GaussianNB", "odd", 0)


class Dead:
    """A worker whose process has died of the case that its journal names."""

    def __init__(self, folder):
        self.worker = workers.Worker(str(folder), 0, batch=workers.Batch("GaussianNB", "answers", 3, 9))
        self.worker.journal = str(folder / "journal-0")
        self.worker.process = self.worker.pipe = self
        self.pid, self.exitcode = os.getpid(), -11
        self.worker.start = lambda: None
        self.worker.give = lambda batch: setattr(self.worker, "batch", batch)

    def kill(self):
        pass

    join = close = kill


def test_a_crash_is_laid_to_the_case_in_the_journal(tmp_path):
    dead = Dead(tmp_path)
    (tmp_path / "journal-0").write_text("5 0.0 0.0 1 1 0 0".ljust(workers.WIDTH))
    events = list(workers.Pool._lost(type("P", (), {"limit": 1.0})(), dead.worker, "crash"))
    assert events[0][1]["seed"] == 5
    assert events[0][1]["kind"] == "crash"
    assert events[1][1:] == (
        workers.Batch("GaussianNB", "answers", 3, 6),
        {"passed": 1, "refused": 1, "skipped": 0, "failed": 1},
        0.0,
    )
    assert dead.worker.batch == workers.Batch("GaussianNB", "answers", 6, 9)


def test_a_case_hangs_only_if_it_does_so_twice(tmp_path):
    dead = Dead(tmp_path)
    (tmp_path / "journal-0").write_text("3 0.0 0.0 0 0 0 0".ljust(workers.WIDTH))
    pool = type("P", (), {"limit": 1.0})()
    first = list(workers.Pool._lost(pool, dead.worker, "time-out"))
    assert [event[0] for event in first] == ["counts"]
    assert dead.worker.batch.start == 3
    second = list(workers.Pool._lost(pool, dead.worker, "time-out"))
    assert second[0][1]["kind"] == "time-out"


def test_the_bugs_can_still_be_put_back():
    for mutant in MUTANTS:
        text = (ROOT / "src" / "tercet" / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1, mutant.name
