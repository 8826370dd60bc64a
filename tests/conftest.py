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
