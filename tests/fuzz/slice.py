"""A short slice of the fuzzer with fixed seeds: `TERCET_JIT=0 python -m tests.fuzz.slice`.

Every estimator meets every third oracle, and each oracle a third of the estimators. Kernels run as plain Python,
which needs no compiling for the many types of rows.
"""

import sys
import time

from tests.conformance.population import CARDS
from tests.fuzz.cases import APART, replay, run_case
from tests.fuzz.oracles import ORACLES

SEED = 0
# Cases that would take longer than many others together, and a seed that draws fewer passes.
SHORTER = {
    ("HistGradientBoostingClassifier", "containers"): 1,
    ("MatrixCompletion", "saved"): 2,
    ("AlternatingLeastSquares", "order"): 2,
}
# Slow as plain Python.
SLOW = {"SVCCV", "GaussianMixtureIC", "CRF", "MEMM", "ObliqueTreeClassifier", "MulticategorySVC"}


def cases() -> list[tuple[str, str, int]]:
    oracles = sorted(set(ORACLES) - set(APART))
    return [
        (card.name, oracle, SHORTER.get((card.name, oracle), SEED))
        for i, card in enumerate(CARDS)
        for j, oracle in enumerate(oracles)
        if (i + j) % 3 == 0 and card.name not in SLOW
    ]


def main() -> int:
    bad, start = 0, time.process_time()
    for case in cases():
        begin = time.process_time()
        found = run_case(*case)
        if "--times" in sys.argv and time.process_time() - begin > 0.15:
            print(f"{time.process_time() - begin:6.2f} s  {' '.join(map(str, case))}")
        if found.verdict == "failed":
            bad += 1
            print(
                f"{' '.join(map(str, case))}: {found.kind} at {found.place}: {found.text}\n    {replay(*case)}"
            )
    print(f"{len(cases())} cases, {bad} failed, {time.process_time() - start:.1f} s")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
