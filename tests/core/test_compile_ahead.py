"""Kernels that are compiled by several processes."""

import io
import json
import os
import subprocess
import sys
import threading

import pytest

from tercet.core import kernel as kernels

if not kernels.JIT:
    pytest.skip("kernels are plain Python", allow_module_level=True)

from tercet.core import compile_ahead, kernel_runs
from tercet.core.compile_ahead import CompileQueue
from tercet.core.kernel_runs import KernelForm, RunTable

SMALL, MIDDLE, LARGE = (
    KernelForm(f"m.{name}", (), size) for name, size in (("s", 30_000), ("m", 50_000), ("l", 90_000))
)


class Silent:
    """A helper that has not begun."""

    thread = threading.current_thread()

    def __init__(self, queue):
        self.queue = queue


class Given(RunTable):
    """A table in which a kernel is found by itself, and all fits are the same run."""

    def find(self, function, signature):
        return function

    def likely_run(self, kinds, forms):
        run = [SMALL, MIDDLE, LARGE]
        return run if all(form in run for form in forms) else []


@pytest.fixture
def compiled(monkeypatch):
    """What this process compiles while it waits, in a process without a queue."""
    found = []
    for name, value in {
        "_queue": CompileQueue(),
        "_helpers": [],
        "_missed": [],
        "Helper": Silent,
        "compile_form": found.append,
        "is_missing": lambda form: True,
        "compilers": lambda: 2,
    }.items():
        monkeypatch.setattr(compile_ahead, name, value)
    monkeypatch.setattr(kernel_runs, "table", lambda: Given({}, {}))
    return found


def test_helpers_leave_the_largest():
    queue = CompileQueue([MIDDLE, SMALL, LARGE])
    assert [queue.take_for_helper() for _ in range(3)] == [MIDDLE, SMALL, None]
    assert queue.is_elsewhere(SMALL)
    assert queue.claim(LARGE)
    assert not queue.claim(LARGE)


def test_helpers_leave_what_is_slow_to_import():
    slow = KernelForm("m.slow", (), 40_000, slow_import=True)
    queue = CompileQueue([slow, SMALL, LARGE])
    assert queue.modules == ["m"]
    assert [queue.take_for_helper() for _ in range(2)] == [SMALL, None]
    assert queue.take_smallest() is slow


def test_what_a_helper_has_begun_is_waited_for():
    queue = CompileQueue([SMALL, LARGE])
    assert queue.take_for_helper() is SMALL
    waiting = threading.Thread(target=queue.wait_for, args=(SMALL,))
    waiting.start()
    queue.finish(SMALL)
    waiting.join(60)
    assert not waiting.is_alive()
    assert not queue.is_elsewhere(SMALL)


def test_patience_ends():
    queue = CompileQueue([SMALL, LARGE])
    queue.take_for_helper()
    queue.wait_for(SMALL, patience=0.0)
    assert queue.is_elsewhere(SMALL)


def test_what_nobody_has_begun_is_compiled_by_the_caller(compiled):
    assert not compile_ahead.bring(LARGE, ())
    assert not compile_ahead.bring(SMALL, ())
    assert compiled == []
    (helper,) = compile_ahead._helpers
    assert helper.queue.take_for_helper() is MIDDLE


def test_others_are_compiled_while_a_helper_is_at_work(compiled, monkeypatch):
    class Slow(Silent):
        def __init__(self, queue):
            self.queue = queue
            queue.take_for_helper()

    def compile_form(form):
        compiled.append(form)
        if form is LARGE:
            compile_ahead._queue.finish(MIDDLE)

    monkeypatch.setattr(compile_ahead, "Helper", Slow)
    monkeypatch.setattr(compile_ahead, "compile_form", compile_form)
    assert compile_ahead.bring(MIDDLE, ())
    assert compiled == [SMALL, LARGE]


def test_what_helpers_bring_is_not_compiled(compiled, monkeypatch):
    class Quick(Silent):
        def __init__(self, queue):
            while (form := queue.take_for_helper()) is not None:
                queue.finish(form)

    monkeypatch.setattr(compile_ahead, "Helper", Quick)
    assert compile_ahead.bring(SMALL, ())
    assert compile_ahead.bring(MIDDLE, ())
    assert not compile_ahead.bring(LARGE, ())
    assert compiled == []


def test_a_wrong_guess_ends_with_the_next_kernel(compiled):
    other = KernelForm("m.other", (), 60_000)
    assert not compile_ahead.bring(SMALL, ())
    assert not compile_ahead.bring(other, ())  # no run has both
    (helper,) = compile_ahead._helpers
    assert helper.queue.take_for_helper() is None


def test_without_helpers_the_caller_compiles(compiled, monkeypatch):
    def refuse(queue):
        raise OSError("no more processes")

    monkeypatch.setattr(compile_ahead, "Helper", refuse)
    assert not any(compile_ahead.bring(form, ()) for form in (SMALL, MIDDLE, LARGE))
    assert LARGE not in compile_ahead._queue
    assert compile_ahead._helpers == []


def test_few_seconds_are_not_worth_a_helper():
    assert compile_ahead.saved_seconds([SMALL, MIDDLE, LARGE])
    assert not compile_ahead.saved_seconds([LARGE])
    assert not compile_ahead.saved_seconds([])
    assert not compile_ahead.saved_seconds([KernelForm("m.a", (), 2_000), KernelForm("m.b", (), 3_000)])


@pytest.mark.parametrize(("asked", "found"), [("1", 1), ("3", 3), ("", 2), ("many", 2)])
def test_the_number_of_compilers(monkeypatch, asked, found):
    monkeypatch.setenv("TERCET_COMPILERS", asked)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    assert compile_ahead.compilers() == found


def test_a_program_that_embeds_python_has_no_helpers(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/usr/bin/editor")
    assert compile_ahead.compilers() == 1


def test_a_helper_that_dies_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(compile_ahead, "COMMAND", "print(flush=True); input()")  # dies of its first kernel
    queue = CompileQueue([SMALL, LARGE])
    compile_ahead.Helper(queue).thread.join(60)
    assert not queue.claim(SMALL)  # it was begun
    assert not queue.is_elsewhere(SMALL)
    assert queue.claim(LARGE)


def test_a_helper_that_cannot_start_takes_nothing(monkeypatch):
    monkeypatch.setattr(compile_ahead, "COMMAND", "raise SystemExit(1)")
    queue = CompileQueue([SMALL, LARGE])
    compile_ahead.Helper(queue).thread.join(60)
    assert queue.claim(SMALL)


def test_a_helper_fills_the_cache(tmp_path):
    """The process as it is started, with a real kernel and one that is not in the table."""
    quick = (form for form in kernel_runs.table().forms.values() if not form.slow_import)
    form = min(quick, key=lambda form: form.size)
    tmp_path.chmod(0o700)
    own = {"TERCET_CACHE_DIR": str(tmp_path), "TERCET_KERNELS": "native"}
    done = subprocess.run(
        [sys.executable, "-c", compile_ahead.COMMAND, json.dumps([sys.path, [form.module]])],
        input=f"{form.key}\n[]\n",
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\n\n\n"  # ready, and an answer to each
    (kept,) = tmp_path.rglob("*.nbc")
    assert form.name.rpartition(".")[2] in kept.name


def test_a_helper_writes_answers_only(monkeypatch):
    form = next(iter(kernel_runs.table().forms.values()))
    monkeypatch.setattr(compile_ahead, "_is_helper", False)
    monkeypatch.setattr(compile_ahead, "compile_form", lambda form: print("a remark"))
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    answers = io.StringIO()
    compile_ahead.serve([], [f"{form.key}\n"], answers)
    assert answers.getvalue() == "\n\n"


def test_a_fit_with_a_helper(tmp_path):
    """A first fit, whose kernels two processes compile, gives the model of a later one."""
    code = """
import numpy as np
from tercet.core import compile_ahead
from tercet.tree import DecisionTreeClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
y = X[:, 0] + rng.normal(size=150) > 0
model = DecisionTreeClassifier(random_state=0).fit(X, y)
print(len(compile_ahead._helpers), model.predict_proba(X).tobytes().hex(), model.tree_.node_count)
"""
    tmp_path.chmod(0o700)
    own = {"TERCET_CACHE_DIR": str(tmp_path), "TERCET_KERNELS": "native", "TERCET_COMPILERS": "2"}
    command = [sys.executable, "-c", code]
    first, later = (
        subprocess.run(command, env={**os.environ, **own}, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    )
    assert first.startswith("1 ")
    assert later.startswith("0 ")
    assert first[1:] == later[1:]


def test_a_forked_process_has_no_queue(compiled):
    compile_ahead.bring(MIDDLE, ())
    compile_ahead._forget()
    assert LARGE not in compile_ahead._queue
    assert compile_ahead._helpers == []
