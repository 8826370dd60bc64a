"""Contenders of a toy row, in a file that their processes import quickly."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np


def toy_data(rng, n, d):
    X = rng.standard_normal((n, d))
    return {"X": X, "y": X @ rng.standard_normal(d) + rng.standard_normal(n)}


def answer(name, data, factor=1.0):
    w = factor * np.linalg.lstsq(data["X"], data["y"], rcond=None)[0]
    return {"coef": w, "who": name, "pid": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]}


def toy_ours(data):
    return answer("tercet", data)


def toy_slow(data):
    time.sleep(0.05)
    return answer("slow", data)


def toy_sloppy(data):
    return answer("sloppy", data, factor=0.9)


def toy_hungry(data):
    time.sleep(0.1)
    return {**answer("hungry", data), "sum": np.ones(2**23).sum()}


def toy_raises(data):
    raise RuntimeError(f"no luck with {Path(__file__).resolve()}")


def toy_dies(data):
    os._exit(3)


def toy_prepare(data):
    return {**data, "y": data["y"].astype(float)}


def toy_keeps(data):
    """Loads 40 MB once, as compiled code is, and takes 8 MB for its data."""
    if "code" not in kept:
        kept["code"] = np.ones(5 * 2**20)
    return {**answer("keeps", data), "sum": np.ones(2**20 if len(data["X"]) > 200 else 2).sum()}


kept: dict = {}
