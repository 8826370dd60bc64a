"""The benchmark of streaming runs, on few rows."""

from benchmarks import streaming


def test_the_benchmark_runs(tmp_path):
    streaming.make(tmp_path, 20_000)
    for name in ("read", "linear", "boosting"):
        found = streaming.fit(name, str(tmp_path), 1)
        assert found["rows"] == 20_000
        assert found["passes"] >= 1
        assert found["seconds"] > 0
