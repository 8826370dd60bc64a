"""Data of ten times the memory that a fit may take."""

import os
import subprocess
import sys
import textwrap

SCRIPT = textwrap.dedent(
    """
    import resource, sys
    import numpy as np, pyarrow as pa
    from pyarrow import parquet
    from tercet.datasets import Source
    from tercet.linear_model import LinearRegression
    from tercet.naive_bayes import GaussianNB

    folder, limit = sys.argv[1], 20 << 20
    rng = np.random.default_rng(0)

    def used():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    for k in range(13):
        X = rng.normal(size=(98_304, 20))
        targets = {"y": X.sum(axis=1), "c": (X[:, 0] > 0).astype(int)}
        table = pa.table({f"f{j}": X[:, j] for j in range(20)} | targets)
        parquet.write_table(table, f"{folder}/{k:02}.parquet", row_group_size=16_384)
    del X, table
    small = Source(f"{folder}/00.parquet")
    LinearRegression().fit(small, y="y")
    GaussianNB().fit(small, y="c")  # kernels are compiled now
    before = used()
    source = Source(folder)
    assert source.n_rows * 22 * 8 > 10 * limit
    model = LinearRegression().fit(source, y="y")
    bayes = GaussianNB().fit(source, y="c")
    assert abs(model.coef_[:20] - 1).max() < 1e-6
    assert bayes.score(source, y="c") > 0.9
    grown = used() - before
    assert grown < limit + (40 << 20), f"{grown >> 20} MiB"
    """
)


def test_ten_times_the_memory(tmp_path):
    """Peak memory grows by chunks, buffers and partial sums, not with the rows: 225 MB of rows are read."""
    environment = {**os.environ, "TERCET_MEMORY": "20MB", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
