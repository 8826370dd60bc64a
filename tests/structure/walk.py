"""How far a reader walks to follow one call: `python -m tests.structure.walk [NAME ...]`.

Runs calls on tiny data with kernels as plain Python and counts, for the files of this package alone: functions
called, files entered, the deepest nesting, and switches: the different functions that are called from another file.
The last two columns leave out what belongs to `core`, which every method shares.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple


class Walk(NamedTuple):
    """What one call comes to."""

    functions: int
    files: int
    depth: int
    switches: int
    files_beside_core: int
    switches_beside_core: int


def walk(call: Callable[[], Any]) -> tuple[Walk, list[str]]:
    """Count one call; also the files it enters, in the order of first entry."""
    import tercet

    root = os.path.dirname(tercet.__file__) + os.sep
    functions: set[Any] = set()
    files: dict[str, None] = {}
    stack: list[str] = []
    counts = {"depth": 0, "switches": 0, "beside": 0}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(root):
            return
        file = code.co_filename[len(root) :]
        if event == "return":
            if stack:
                stack.pop()
            return
        if stack and stack[-1] != file:
            counts["switches"] += (stack[-1], file, code) not in functions
            counts["beside"] += (stack[-1], file, code) not in functions and not file.startswith(
                "core" + os.sep
            )
            functions.add((stack[-1], file, code))
        functions.add(code)
        files[file] = None
        stack.append(file)
        counts["depth"] = max(counts["depth"], len(stack))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    found = sum(not isinstance(f, tuple) for f in functions)
    beside = [file for file in files if not file.startswith("core" + os.sep)]
    return Walk(found, len(files), counts["depth"], counts["switches"], len(beside), counts["beside"]), list(
        files
    )


def _compare() -> Callable[[], Any]:
    from tercet.cli.app import main

    folder = tempfile.mkdtemp()
    file = Path(folder) / "t.csv"
    file.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{'no' if i % 3 else 'yes'}\n" for i in range(40)))

    def run() -> None:
        sys.argv = ["tercet", "compare", str(file), "--target", "y", "--methods", "GaussianNB"]
        with contextlib.suppress(SystemExit):
            main()

    return run


def _logistic() -> Callable[[], Any]:
    from tercet.linear_model import LogisticRegression

    return lambda: LogisticRegression().fit([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 0, 1])


def _crf() -> Callable[[], Any]:
    from tercet.sequence import CRF

    X = [["the", "cat", "sat"], ["a", "dog", "ran"]]
    return lambda: CRF(c2=0.1).fit(X, [["D", "N", "V"], ["D", "N", "V"]])


def _svc() -> Callable[[], Any]:
    from tercet.svm import SVC

    return lambda: SVC().fit([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 0, 1])


def _tree() -> Callable[[], Any]:
    from tercet.tree import DecisionTreeClassifier

    return lambda: DecisionTreeClassifier().fit(
        [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 0, 1]
    )


def _hmm() -> Callable[[], Any]:
    from tercet.sequence import CategoricalHMM

    return lambda: CategoricalHMM(2, random_state=0).fit([[0, 1, 0, 1], [1, 0, 0]])


CALLS: dict[str, Callable[[], Callable[[], Any]]] = {
    "compare": _compare,
    "LogisticRegression": _logistic,
    "CRF": _crf,
    "SVC": _svc,
    "DecisionTreeClassifier": _tree,
    "CategoricalHMM": _hmm,
}


def main(names: list[str]) -> int:
    if os.environ.get("TERCET_JIT") != "0":  # kernels are compiled, or not, when they are imported
        environment = {**os.environ, "TERCET_JIT": "0"}
        return subprocess.call([sys.executable, "-m", "tests.structure.walk", *names], env=environment)
    print(
        f"{'call':24}{'functions':>10}{'files':>7}{'depth':>7}{'switches':>10}   beside core: files, switches"
    )
    for name in names or list(CALLS):
        call = CALLS[name]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sys.stdout.flush()
            quiet = os.dup(1)
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                try:
                    call()  # imports and caches
                    found, files = walk(call)
                finally:
                    sys.stdout.flush()
                    os.dup2(quiet, 1)
        print(
            f"{name:24}{found.functions:>10}{found.files:>7}{found.depth:>7}{found.switches:>10}"
            f"{found.files_beside_core:>16}{found.switches_beside_core:>10}"
        )
        if len(names) == 1:
            print("\n".join(f"    {file}" for file in files))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
