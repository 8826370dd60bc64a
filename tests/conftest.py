"""Settings for all tests."""

import contextlib
import gc
import importlib
import os
import signal
import sys
from pathlib import Path

import matplotlib
import pytest
from hypothesis import HealthCheck, settings

from tercet.cli import translation

matplotlib.use("Agg")

# A shell starts background jobs with SIGINT ignored, and their children inherit it: tests of Ctrl-C would wait.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Compiled kernels make a first example slow and the rest fast: no deadline. Same examples every time.
settings.register_profile(
    "tercet",
    deadline=None,
    derandomize=True,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "25")),
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
settings.load_profile("tercet")


def pytest_sessionstart(session):
    """Each worker first imports its share of the test files, and finds the bytecode of the others' shares.

    Rewriting the assertions takes longer than importing; all workers would rewrite the same file at the same time.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    root = Path(__file__).resolve().parent.parent
    chosen = [root / place.split("::")[0] for place in session.config.args]
    files = sorted(
        {file for place in chosen for file in [*place.glob("**/test_*.py"), place] if file.is_file()}
    )
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        # Whatever is wrong with a file is reported when it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


# Tests that start processes and wait for them, some for half a minute.
LONG = ("tests/fuzz/", "tests/test_benchmarks.py", "tests/cli/")


def pytest_collection_modifyitems(items):
    """The longest tests come first: at the end no worker waits for one of them."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_collection_finish():
    """Thousands of tests and all libraries stay: garbage is looked for beside them, and less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(autouse=True)
def english():
    """Every test begins in English, whatever the one before spoke."""
    translation.set_language("en")


def pytest_terminal_summary(terminalreporter):
    """The ten files that took longest, over all workers."""
    seconds = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration") and hasattr(report, "nodeid"):
                file = report.nodeid.partition("::")[0]
                seconds[file] = seconds.get(file, 0.0) + report.duration
    terminalreporter.section("slowest files")
    for file in sorted(seconds, key=seconds.get, reverse=True)[:10]:
        terminalreporter.write_line(f"{seconds[file]:7.1f} s  {file}")
