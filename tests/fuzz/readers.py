"""Mutation campaign of the readers: a damaged file is a table, or is refused in one line.

    python -m tests.fuzz.readers --cases 6000 --seed 0

Small sound files of every format are damaged (bytes flipped, overwritten, cut off, doubled, inserted) and go the
way of `tercet fit` up to the rows to learn from. Case k of a seed is always the same file. Children do the work, so
that a crash is a finding, not the end; what they write to the standard error is looked at, too.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

BATCH = 1000  # cases in a child
LONGEST = 30.0  # seconds that a case may take
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)


class Outcome(NamedTuple):
    """How a case ended: "table", "refused", or what went wrong."""

    kind: str
    text: str


def frame() -> Any:
    """A table with a column of every type."""
    import polars as pl

    rng, n = np.random.default_rng(0), 40
    return pl.DataFrame(
        {
            "length": rng.normal(size=n).round(3),
            "count": rng.integers(-5, 90, n),
            "small": rng.integers(0, 9, n).astype(np.uint8),
            "name": [f"row {'é' * (k % 3)}{k}" for k in range(n)],
            "colour": pl.Series(["red", "green", None, "blue"] * 10, dtype=pl.Categorical),
            "yes": [True, False] * 20,
            "when": pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 2, 9), eager=True),
            "clock": pl.datetime_range(
                pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 1, 0, 39), "1m", eager=True
            ),
            "price": pl.Series([1.25, None] * 20).cast(pl.Decimal(10, 2)),
            "pair": [[1, 2]] * n,
            "class": ["a", "b"] * 20,
        }
    )


def text(delimiter: str) -> bytes:
    """The table as text."""
    return frame().drop("pair").write_csv(separator=delimiter).encode()


def written(save: Callable[[io.BytesIO], Any]) -> bytes:
    """What a function writes."""
    save(buffer := io.BytesIO())
    return buffer.getvalue()


def npz(save: Callable[..., Any]) -> bytes:
    """An archive of arrays."""
    rng = np.random.default_rng(0)
    arrays = {"X": rng.normal(size=(30, 4)), "y": rng.integers(0, 2, 30), "names": np.array(list("abcd"))}
    return written(lambda file: save(file, **arrays, more=np.arange(3)))


def sparse_npz(format: str, compressed: bool) -> bytes:
    """A sparse matrix."""
    X = sparse.random_array((20, 8), density=0.3, format=format, rng=np.random.default_rng(0))
    return written(lambda file: sparse.save_npz(file, X, compressed=compressed))


def arff() -> bytes:
    """Attributes of each kind."""
    rows = "\n".join(f"{k / 4},{'ab'[k % 2]},'it is \\'{k}',\"2024-01-{k % 28 + 1:02}\"" for k in range(30))
    kinds = (
        "@attribute x numeric\n@attribute class {a, b}\n@attribute 'a b' string\n@attribute d date yyyy-MM-dd"
    )
    return f"% a comment\n@relation r\n{kinds}\n@data\n{rows}\n".encode()


def sparse_arff() -> bytes:
    """Sparse rows."""
    kinds = "\n".join(f"@attribute f{k} numeric" for k in range(6)) + "\n@attribute class {a,b}"
    rows = "\n".join(f"{{{k % 6} {k / 2}, 6 {'ab'[k % 2]}}}" for k in range(30))
    return f"@relation r\n{kinds}\n@data\n{rows}\n".encode()


def svmlight() -> bytes:
    """Labels and pairs."""
    return "".join(f"{k % 2} 1:{k / 3:.3f} {k % 5 + 2}:1 # {k}\n" for k in range(40)).encode()


def samples(only: str = "") -> dict[str, bytes]:
    """A sound file of every format, by name; `only` those whose names hold a word."""
    return {name: data for name, data in _samples().items() if only in name}


def _samples() -> dict[str, bytes]:
    table, X = frame(), np.random.default_rng(0).normal(size=(25, 4))
    dated = np.arange("2024-01-01", "2024-01-26", dtype="datetime64[D]")
    return {
        "comma.csv": text(","),
        "tabs.tsv": text("\t"),
        "wide.csv": "naïve;größe\n".encode("utf-16") + "1,5;2\n3;4\n".encode("utf-16-le") * 9,
        "chinese.csv": ("色泽,密度,好瓜\n" + "青绿,0.697,是\n乌黑,0.774,否\n" * 12).encode("gb18030"),
        "packed.csv.gz": gzip.compress(text(","), mtime=0),
        "dense.arff": arff(),
        "sparse.arff": sparse_arff(),
        "pairs.svm": svmlight(),
        "zstd.parquet": written(table.write_parquet),
        "snappy.parquet": written(
            lambda file: table.write_parquet(file, compression="snappy", row_group_size=16)
        ),
        "plain.parquet": written(lambda file: table.write_parquet(file, compression="uncompressed")),
        "plain.feather": written(table.write_ipc),
        "lz4.feather": written(lambda file: table.write_ipc(file, compression="lz4")),
        "stored.npz": npz(np.savez),
        "packed.npz": npz(np.savez_compressed),
        "csr.npz": sparse_npz("csr", True),
        "coo.npz": sparse_npz("coo", False),
        "matrix.npy": written(lambda file: np.save(file, X)),
        "words.npy": written(lambda file: np.save(file, np.array([["a", "bé"], ["c", "d"]] * 6))),
        "dates.npy": written(lambda file: np.save(file, dated)),
    }


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """The file with one to three places changed."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        if not out:
            break
        # heads and tails say what the rest means: half of the places are there
        at = int(rng.integers(len(out)))
        if rng.random() < 0.5:
            edge = int(rng.integers(min(len(out), 160)))
            at = edge if rng.random() < 0.5 else len(out) - 1 - edge
        size = int(rng.integers(1, 9))
        match int(rng.integers(7)):
            case 0:
                out[at] ^= 1 << int(rng.integers(8))
            case 1:
                out[at : at + size] = rng.bytes(min(size, len(out) - at))
            case 2:
                out[at : at + size] = bytes([EXTREMES[rng.integers(len(EXTREMES))]]) * min(
                    size, len(out) - at
                )
            case 3:
                del out[at:]
            case 4:
                out[at:at] = out[at : at + 4 * size]
            case 5:
                out[at:at] = rng.bytes(size)
            case 6:
                del out[at : at + size]
    return bytes(out)


def case(number: int, seed: int, files: dict[str, bytes]) -> tuple[str, bytes]:
    """Name and bytes of a case."""
    names = list(files)
    name = names[number % len(names)]
    return name, damaged(files[name], np.random.default_rng([seed, number]))


def outcome(path: Path) -> Outcome:
    """How the reading of a file ends."""
    from tercet.cli import errors, pipelines
    from tercet.cli.tables import open_table
    from tercet.datasets import Table
    from tercet.feature import infer_schema

    def target(table: Table) -> str | None:
        return table.target or (table.frame.columns[-1] if table.frame.columns else None)

    try:
        with errors.refusing(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = open_table(str(path))
            schema = infer_schema(table, target(table), "classification", {}, ())
            pipelines.training_rows(schema, table)
    except errors.Refusal as refusal:
        said = str(refusal)
        kind = "refused" if refusal.code == errors.BAD_DATA else f"exit {refusal.code}"
        return Outcome(kind, said) if "\n" not in said else Outcome("two lines", said)
    except BaseException as error:  # a panic of polars is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(error.__traceback__)
        ours = [f"{Path(at.filename).name}:{at.lineno}" for at in place if "tercet" in at.filename]
        return Outcome(type(error).__name__, f"{error} ({' '.join(ours[-2:])})")
    return Outcome("table", "")


def batch(numbers: range, seed: int, files: dict[str, bytes], say: Callable[[Any], None]) -> None:
    """Run some cases, and say of each how it ended."""
    with tempfile.TemporaryDirectory(prefix="tercet-fuzz-") as folder:
        for number in numbers:
            name, data = case(number, seed, files)
            path = Path(folder, name)
            path.write_bytes(data)
            with StandardError() as stderr:
                say([number, "begun", ""])
                ended = outcome(path)
            if said := stderr():
                ended = Outcome("said on stderr", said)
            say([number, ended.kind, ended.text[:300]])


class StandardError:
    """What anything writes to the standard error meanwhile, Rust's panics too."""

    def __enter__(self) -> Callable[[], str]:
        sys.stderr.flush()
        self.file, self.real = tempfile.TemporaryFile(), os.dup(2)
        os.dup2(self.file.fileno(), 2)
        return self.read

    def __exit__(self, *_: object) -> None:
        sys.stderr.flush()
        os.dup2(self.real, 2)
        os.close(self.real)
        self.file.seek(0)
        self.said = self.file.read().decode(errors="replace")
        self.file.close()

    def read(self) -> str:
        """What was written."""
        return self.said


def campaign(cases: int, seed: int, only: str = "") -> Iterator[tuple[int, Outcome]]:
    """All cases, in children; one that dies, or waits for ever, takes its case with it."""
    first = 0
    while first < cases:
        end = min(first + BATCH, cases)
        command = [sys.executable, "-m", "tests.fuzz.readers", "--seed", str(seed), "--only", only]
        command += ["--child", f"{first}:{end}"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        last = first - 1
        line_of(child, 10 * LONGEST)  # it has to import much before it is ready
        while line := line_of(child):
            number, kind, said = json.loads(line)
            if kind != "begun":
                yield number, Outcome(kind, said)
                last = number
        status = child.wait()
        if status:
            last += 1
            yield last, Outcome("crash", f"the process ended with {status}")
        first = last + 1


def line_of(child: subprocess.Popen[str], patience: float = LONGEST) -> str:
    """The next line of a child; a child that says nothing for long is ended."""
    assert child.stdout is not None
    guard = threading.Timer(patience, child.kill)
    guard.start()
    try:
        return child.stdout.readline()
    finally:
        guard.cancel()


def main() -> int:
    """Run a campaign and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="formats whose names hold this: parquet, say")
    parser.add_argument("--keep", type=Path, help="a folder for the files of the findings")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        numbers = range(*map(int, options.child.split(":")))
        outcome(Path(os.devnull))  # imports
        print("ready", flush=True)
        batch(numbers, options.seed, samples(options.only), lambda line: print(json.dumps(line), flush=True))
        return 0
    counts: collections.Counter[str] = collections.Counter()
    names = list(files := samples(options.only))
    for number, ended in campaign(options.cases, options.seed, options.only):
        counts[ended.kind] += 1
        if ended.kind in ("table", "refused"):
            continue
        print(
            f"case {number} ({names[number % len(names)]}): {ended.kind}: {' '.join(ended.text.split())[:240]}"
        )
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            name, data = case(number, options.seed, files)
            (options.keep / f"{number}-{name}").write_bytes(data)
    print(f"{sum(counts.values())} cases: " + ", ".join(f"{n} {kind}" for kind, n in counts.most_common()))
    return int(bool(set(counts) - {"table", "refused"}))


if __name__ == "__main__":
    sys.exit(main())
