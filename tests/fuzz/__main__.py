"""Fuzz the estimators of the catalogue: `python -m tests.fuzz [ESTIMATOR ...] [--oracle NAME ...]`.

A case is decided by an estimator, an oracle and a seed. Without names all estimators and oracles take turns, a
batch each, until the time (`--seconds`) or the number of cases for each pair (`--cases`) is used up. Failures are
printed as they come, with the command that replays them, and ranked at the end. `--resume FILE` keeps what was done
as lines of JSON, and goes on from there when the file exists. The exit status is 1 when something failed.
"""

import argparse
import collections
import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.plain:
        os.environ["TERCET_JIT"] = "0"
    from tests.conformance.population import CARDS
    from tests.fuzz.cases import APART
    from tests.fuzz.oracles import ORACLES

    names = options.estimators or [card.name for card in CARDS]
    unknown = set(names) - {card.name for card in CARDS} | set(options.oracle or ()) - set(ORACLES)
    if unknown:
        print(f"There is no {', '.join(sorted(unknown))}. Oracles: {', '.join(ORACLES)}.", file=sys.stderr)
        return 2
    oracles = options.oracle or [name for name in ORACLES if name not in APART]
    if options.replay:
        return show(names, oracles, options.seed)
    return Campaign(names, oracles, options).run()


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("estimators", nargs="*", metavar="ESTIMATOR")
    parser.add_argument("--oracle", action="append", help="only this oracle (may be repeated)")
    parser.add_argument("--seconds", type=float, default=60.0, help="time budget (60)")
    parser.add_argument(
        "--cases", type=int, default=None, help="cases for each estimator and oracle; no time budget"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    parser.add_argument(
        "--batch", type=int, default=20, help="cases that a worker runs in a row, at first (20)"
    )
    parser.add_argument("--limit", type=float, default=30.0, help="seconds after which a case hangs (30)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (one per core)")
    parser.add_argument("--resume", metavar="FILE", help="where to keep what was done, and to go on from")
    parser.add_argument("--plain", action="store_true", help="kernels as plain Python (TERCET_JIT=0)")
    parser.add_argument("--times", action="store_true", help="say at the end how long cases took")
    parser.add_argument("--first", action="store_true", help="stop at the first failure")
    parser.add_argument("--replay", action="store_true", help="run the case of --seed here, and show it")
    return parser.parse_args(arguments)


def show(names: list[str], oracles: list[str], seed: int) -> int:
    """Run cases in this process and print what they were made of."""
    from tests.fuzz.cases import run_case
    from tests.fuzz.oracles import Case

    bad = 0
    for name in names:
        for oracle in oracles:
            found = run_case(name, oracle, seed)
            print(f"{name} {oracle} {seed}: {found.verdict} {found.kind} {found.text} {found.place}")
            for key, value in Case.notes.items():
                print(f"  {key} = {value!r}")
            if found.trace:
                print(found.trace)
            bad += found.verdict == "failed"
    return int(bad > 0)


class Campaign:
    """The pairs of estimators and oracles, how far each has come, and what failed."""

    def __init__(self, names: list[str], oracles: list[str], options: argparse.Namespace) -> None:
        from tests.fuzz.cases import never_applies

        self.options = options
        self.counts: dict[tuple[str, str], collections.Counter] = {}
        self.failures: list[dict[str, Any]] = []
        self.seen: collections.Counter = collections.Counter()
        self.seconds: collections.Counter = collections.Counter()
        pairs = [(name, oracle) for name in names for oracle in oracles]
        self.next = {pair: options.seed for pair in pairs if not never_applies(*pair)}
        self.left_out = len(pairs) - len(self.next)
        self.file = None
        if options.resume:
            self._read(Path(options.resume))
            self.file = open(options.resume, "a", encoding="utf-8")  # noqa: SIM115

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            row = json.loads(line)
            if "failure" in row:
                self._remember(row["failure"])
            else:
                pair = row["estimator"], row["oracle"]
                self.counts.setdefault(pair, collections.Counter()).update(row["counts"])
                self.seconds[pair] += row.get("seconds", 0.0)
                if pair in self.next:
                    self.next[pair] = max(self.next[pair], row["stop"])

    def _remember(self, failed: dict[str, Any]) -> bool:
        from tests.fuzz.cases import signature

        self.failures.append(failed)
        self.seen[signature(failed)] += 1
        return self.seen[signature(failed)] == 1

    def _write(self, row: dict[str, Any]) -> None:
        if self.file is not None:
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()

    def run(self) -> int:
        from tests.fuzz.workers import Pool

        start = time.monotonic()
        pool = Pool(self.options.workers, self.options.limit)
        turns = self._turns()
        old = len(self.failures)
        try:
            while True:
                over = self.options.cases is None and time.monotonic() - start > self.options.seconds
                over = over or (self.options.first and len(self.failures) > old)
                self._hand_out(pool, turns, over)
                if all(worker.batch is None for worker in pool.workers) or (over and self.options.first):
                    break
                for event in pool.events():
                    self._take(event)
        except KeyboardInterrupt:
            print("stopped")
        finally:
            pool.close()
        self._report(time.monotonic() - start)
        return int(len(self.failures) > 0)

    def _turns(self) -> list[collections.deque]:
        """The pairs of each worker: it keeps to its estimators, whose kernels take a while to load."""
        names = list(dict.fromkeys(name for name, _ in self.next))
        turns = [collections.deque() for _ in range(self.options.workers)]
        for pair in self.next:
            turns[names.index(pair[0]) % len(turns)].append(pair)
        return turns

    def _hand_out(self, pool: Any, turns: list[collections.deque], over: bool) -> None:
        from tests.fuzz.workers import Batch

        for worker in pool.idle():
            own = turns[worker.number] or max(turns, key=len)
            while own and not over:
                pair = own.popleft()
                first, last = self.next[pair], self.next[pair] + self._batch_size(pair)
                if self.options.cases is not None:
                    last = min(last, self.options.seed + self.options.cases)
                if first < last:
                    own.append(pair)
                    self.next[pair] = last
                    worker.give(Batch(*pair, first, last))
                    break

    def _batch_size(self, pair: tuple[str, str]) -> int:
        """Cases that take about a second: as many as are asked for at first, never more than ten times as many."""
        done, used = sum(self.counts.get(pair, {}).values()), self.seconds[pair]
        if not done:
            return self.options.batch
        return int(min(max(done / max(used, 1e-3), 2), 10 * self.options.batch))

    def _take(self, event: tuple[Any, ...]) -> None:
        from tests.fuzz.cases import replay

        if event[0] == "failure":
            failed = event[1]
            self._write({"failure": failed})
            if self._remember(failed):
                where = f" at {failed['place']}" if failed["place"] else ""
                print(
                    f"{failed['estimator']} {failed['oracle']}: {failed['kind']}{where}: {failed['text'][:160]}"
                )
                print(f"    {replay(failed['estimator'], failed['oracle'], failed['seed'])}", flush=True)
        else:
            _, batch, counts, seconds = event
            self.counts.setdefault(batch[:2], collections.Counter()).update(counts)
            self.seconds[batch[:2]] += seconds
            row = {"estimator": batch.estimator, "oracle": batch.oracle, "stop": batch.stop}
            self._write({**row, "counts": counts, "seconds": round(seconds, 4)})

    def _report(self, seconds: float) -> None:
        from tests.fuzz.cases import replay, signature

        ranked = sorted(self.seen.items(), key=lambda item: -item[1])
        first = {signature(failed): failed for failed in reversed(self.failures)}
        if ranked:
            print("\nfailures, most frequent first")
        for key, count in ranked:
            failed = first[key]
            print(f"{count:6d}  {' '.join(key)}: {failed['text'][:120]}")
            print(f"        {replay(failed['estimator'], failed['oracle'], failed['seed'])}")
        whole: collections.Counter = collections.Counter()
        by_oracle: dict[str, collections.Counter] = {}
        for (_, oracle), counts in self.counts.items():
            whole.update(counts)
            by_oracle.setdefault(oracle, collections.Counter()).update(counts)
        print(f"\n{'oracle':14}{'passed':>9}{'refused':>9}{'skipped':>9}{'failed':>9}")
        for oracle, counts in by_oracle.items():
            print(
                f"{oracle:14}"
                + "".join(f"{counts[k]:9d}" for k in ("passed", "refused", "skipped", "failed"))
            )
        if self.options.times:
            self._print_times()
        total, used = sum(whole.values()), sum(self.seconds.values())
        print(
            f"{total / max(used, 1e-9):.0f} cases in a second of the processor; {len(self.next)} pairs of estimator"
            f" and oracle (to {self.left_out} others the oracle never applies)"
        )
        print(
            f"{total} cases in {seconds:.0f} s; {whole['failed']} failed, with {len(self.seen)} signatures; "
            f"the fewest of a pair: {min((sum(c.values()) for c in self.counts.values()), default=0)}"
        )

    def _print_times(self) -> None:
        """The estimators by the time of their cases, slowest first."""
        by_name: dict[str, list[float]] = {}
        for (name, oracle), seconds in self.seconds.items():
            cases = sum(self.counts[name, oracle].values())
            found = by_name.setdefault(name, [0.0, 0])
            found[0], found[1] = found[0] + seconds, found[1] + cases
        print("\nmilliseconds of a case, slowest first")
        for name, (seconds, cases) in sorted(
            by_name.items(), key=lambda item: -item[1][0] / max(item[1][1], 1)
        ):
            print(f"{1e3 * seconds / max(cases, 1):9.1f}  {name} ({cases} cases)")


if __name__ == "__main__":
    sys.exit(main())
