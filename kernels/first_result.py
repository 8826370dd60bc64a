"""Seconds from the start of Python to a first prediction, in an environment where the pack is installed.

``python kernels/first_result.py [--limit SECONDS]``. Each method runs in a process of its own, with an empty cache
folder and no other settings. It fails when a kernel was compiled, when no pack is used, or, with --limit, when a
method took longer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = "import numpy as np; X = np.random.default_rng(0).normal(size=(150, 4)); y = np.arange(150) % 3; "
WORDS = "X = [['a', 'b', 'c', 'a', 'b'] * 3] * 10; y = [['x', 'y', 'x', 'y', 'y'] * 3] * 10; "
METHODS = {
    "DecisionTreeClassifier": ROWS
    + "from tercet.tree import DecisionTreeClassifier as M; M().fit(X, y).predict(X)",
    "CategoricalHMM": ROWS
    + "from tercet.sequence import CategoricalHMM as M; X = (X[:, :1] > 0).astype(int); M().fit(X).predict(X)",
    "CRF": WORDS + "from tercet.sequence import CRF as M; M().fit(X, y).predict(X)",
    "GaussianMixture": ROWS + "from tercet.mixture import GaussianMixture as M; M(3).fit(X).predict(X)",
    "KMeans": ROWS + "from tercet.cluster import KMeans as M; M(3).fit(X).predict(X)",
    "SVC": ROWS + "from tercet.svm import SVC as M; M().fit(X, y).predict(X)",
}
CHECK = "from tercet.core import kernel_pack as k; p, why = k.installed(); assert p, why"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=float, default=float("inf"))
    limit = parser.parse_args().limit
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    late = []
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        cache.mkdir(mode=0o700)
        environment["TERCET_CACHE_DIR"] = str(cache)
        environment["PYTHONPYCACHEPREFIX"] = folder  # bytecode is there at the second start, as for any user
        subprocess.run([sys.executable, "-c", CHECK], check=True, cwd=folder, env=environment)
        for name, code in METHODS.items():
            for _ in range(2):
                begin, spent = time.perf_counter(), os.times()
                subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, env=environment)
                seconds, after = time.perf_counter() - begin, os.times()
            used = after.children_user + after.children_system - spent.children_user - spent.children_system
            print(f"{name:24}{seconds:6.2f} s, {used:.2f} s of the processor", flush=True)
            if seconds > limit:
                late.append(name)
            if list(cache.rglob("*.nbc")):
                sys.exit(f"{name} compiled {[file.name for file in cache.rglob('*.nbc')]}: not in the pack")
    return f"above {limit} s: {late}" if late else 0  # type: ignore[return-value]


if __name__ == "__main__":
    sys.exit(main())
