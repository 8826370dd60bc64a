"""Data of ten times the memory that a fit may take."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.systems import linux

SCRIPT = textwrap.dedent(
    """
    import sys
    from tercet.datasets import Source
    from tercet.linear_model import LinearRegression
    from tercet.naive_bayes import GaussianNB

    folder, limit = sys.argv[1], 20 << 20

    def used():
        with open("/proc/self/status") as status:  # since this process began, not the one that started it
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

    small = Source(f"{folder}/00.parquet")
    LinearRegression().fit(Source(small.sample(100)[0]), y=20)
    GaussianNB().fit(*small.sample(100, y="c"))  # kernels are compiled now
    before = used()
    source = Source(folder)
    assert source.n_rows * 22 * 8 > 10 * limit
    model = LinearRegression().fit(source, y="y")
    bayes = GaussianNB().fit(source, y="c")
    assert abs(model.coef_[:20] - 1).max() < 1e-6
    assert bayes.score(source, y="c") > 0.9
    grown = used() - before
    assert grown < 2 * limit, f"{grown >> 20} MiB"
    """
)


@linux
def test_ten_times_the_memory(tmp_path):
    """Peak memory grows by chunks, buffers and partial sums, not with the rows: 225 MB of rows are read."""
    rng = np.random.default_rng(0)
    for k in range(13):
        X = rng.normal(size=(98_304, 20))
        targets = {"y": X.sum(axis=1), "c": (X[:, 0] > 0).astype(int)}
        table = pa.table({f"f{j}": X[:, j] for j in range(20)} | targets)
        parquet.write_table(table, tmp_path / f"{k:02}.parquet", row_group_size=16_384)
    # One arena: with several, how much of what was freed stays with the process depends on who ran when.
    allocator = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    environment = {**os.environ, "TERCET_MEMORY": "20MB", **allocator}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
