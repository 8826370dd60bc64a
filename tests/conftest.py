"""Settings for all tests."""

import os

import matplotlib
import pytest
from hypothesis import HealthCheck, settings

from tercet.cli import translation

matplotlib.use("Agg")

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
