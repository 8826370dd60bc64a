"""The fork server of `tercet compare`: what it imports, and how it ends."""

import multiprocessing
import os
import runpy
import signal
import sys
import time
from multiprocessing import forkserver
from types import SimpleNamespace

import pytest

import tercet
from tercet.cli.compare import Request, run
from tercet.cli.compare.worker_pool import PRELOADED, WorkerPool, WorkerTask
from tercet.cli.errors import Refusal
from tercet.core.catalog import Card


@pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods() or sys.platform == "darwin",
    reason="the processes are not forked",
)
def test_a_mistake_in_the_table_ends_the_imports(tmp_path):
    """Left alone, the server would go on importing for seconds after the command has ended."""
    file = tmp_path / "few.csv"
    file.write_text("a,b,y\n" + "1,2,p\n2,3,q\n" * 3)
    with pytest.raises(Refusal, match="6 rows are too few"):
        run(Request(data=str(file), target="y"))
    ended = os.waitid(os.P_PID, forkserver._forkserver._forkserver_pid, os.WEXITED | os.WNOWAIT)
    assert (ended.si_code, ended.si_status) == (os.CLD_KILLED, signal.SIGKILL)


def test_a_process_that_cannot_be_started_loses_its_task_only():
    class Broken:
        pid = None  # as it stays where the fork server is gone

        def __init__(self, **_):
            self.start = int

    context = SimpleNamespace(Pipe=multiprocessing.Pipe, Process=Broken)
    with WorkerPool(context, 1, {}) as pool:
        (outcome,) = pool.run([WorkerTask("describe")], time.monotonic() + 60)
    assert outcome.lost


def test_the_server_imports_every_method(monkeypatch):
    loaded = []
    monkeypatch.setattr(Card, "load", lambda card: loaded.append(card.name))
    for module in PRELOADED[1:]:
        runpy.run_module(module)
    assert set(loaded) >= {card.name for card in tercet.methods() if card.kind == "estimator"}
