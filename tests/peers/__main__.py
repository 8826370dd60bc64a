"""scikit-learn's own tests on our classes: ``python -m tests.peers [FAMILY ...] [-- PYTEST OPTIONS]``.

The installed package's test files run as they are; only the public names of the modules that we share are ours
(see `tests.peers.plugin`). Tests that use nothing of ours are left out (`tests.peers.reach`). Failures that concern
its internals or its wording are in `tests/peers/expected/`, each with a reason; a test listed there that passes is
an error, too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sklearn

from tests.peers.plugin import FILES


def main(arguments: list[str]) -> int:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    families, options = arguments[:cut], arguments[cut + 1 :]
    unknown = set(families) - set(FILES)
    if unknown:
        print(f"unknown: {sorted(unknown)}; the families are {', '.join(FILES)}", file=sys.stderr)
        return 2
    here, installed = Path(__file__).resolve().parents[2], Path(sklearn.__file__).parent
    files = [str(installed / file) for family in families or FILES for file in FILES[family]]
    plain = ["-q", "-p", "tests.peers.plugin", "-p", "no:cacheprovider"]
    plain += ["-c", "/dev/null", "--rootdir", str(installed)]
    command = [sys.executable, "-m", "pytest", *plain, *options, *files]
    return subprocess.run(command, cwd=here, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
