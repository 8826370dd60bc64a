"""One contender of `benchmarks.automl` on one table: ``PYTHON automl_contenders.py NAME FOLDER``.

Run as a file by the interpreter of the contender's own environment, which needs no more than that package. The
folder has `task.json`, `train.csv` and `fresh.csv` (without the target); written are `answer.csv` (numbers, or the
probabilities of the classes) and `about.json`.
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any


def main(name: str, folder: Path) -> None:
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    os.environ["OMP_NUM_THREADS"] = str(task["cores"])
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    about = {"tercet": ours, "flaml": flaml, "autogluon": autogluon}[name](folder, task)
    packages = {"tercet": "tercet", "flaml": "flaml", "autogluon": "autogluon.tabular"}
    about["version"] = importlib.metadata.version(packages[name])
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def ours(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """`tercet compare`, and then the Python lines that it gives."""
    from tercet.cli import printing
    from tercet.cli.compare import Request, run
    from tercet.cli.compare.worker_pool import start_fork_server

    first = start_fork_server().Process(target=int)  # it comes when the server has imported the methods
    first.start()
    first.join()
    begin, printing.quiet = time.monotonic(), True
    data = str(folder / "train.csv")
    told: dict[str, Any] = {"target": "target", "metric": task["metric"], "seed": task["seed"]}
    told |= {"budget": task["budget"], "jobs": task["cores"], "tune": task["tune"]}
    told |= {"methods": tuple(task["methods"])}
    run(Request(data, json=folder / "result.json", **told))
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    there: dict[str, Any] = {}
    exec(result["take"]["python"], there)  # what a user would paste
    seconds = time.monotonic() - begin
    import polars

    from tercet.datasets import read_table

    model, rows = there["model"], there["schema"].to_records(read_table(str(folder / "fresh.csv")))
    if task["task"] == "regression":
        answer = polars.DataFrame({"answer": model.predict(rows)})
    else:
        answer = polars.DataFrame(
            {str(label): column for label, column in zip(model.classes_, _chances(model, rows).T)}
        )
    answer.write_csv(folder / "answer.csv")
    expected = result["take"]["expected"]
    about = {"seconds": seconds, "model": _name(result), "rounds": result["repeats"]}
    return {**about, "interval": [expected["low"], expected["high"]]}


def _name(result: dict[str, Any]) -> str:
    """The winner, or the members of the combination."""
    taken = result["take"]["name"]
    entry = next(entry for entry in result["leaderboard"] if entry["name"] == taken)
    return entry["settings"].get("of", taken) if entry["combination"] else taken


def _chances(model: Any, rows: Any) -> Any:
    """Probabilities, or the answers as such where a method has none."""
    import numpy as np

    try:
        return model.predict_proba(rows)
    except (AttributeError, NotImplementedError):
        return (np.asarray(model.predict(rows))[:, None] == model.classes_[None, :]).astype(float)


def flaml(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """FLAML's AutoML at its defaults."""
    import pandas
    from flaml import AutoML

    train, fresh = (pandas.read_csv(folder / f"{part}.csv") for part in ("train", "fresh"))
    begin, model = time.monotonic(), AutoML()
    model.fit(
        train.drop(columns="target"),
        train["target"],
        task=task["task"],
        metric=task["metric"],
        time_budget=task["budget"],
        n_jobs=task["cores"],
        seed=task["seed"],
        verbose=0,
    )
    seconds = time.monotonic() - begin
    if task["task"] == "regression":
        answer = pandas.DataFrame({"answer": model.predict(fresh)})
    else:
        answer = pandas.DataFrame(model.predict_proba(fresh), columns=[str(c) for c in model.classes_])
    answer.to_csv(folder / "answer.csv", index=False)
    return {"seconds": seconds, "model": str(model.best_estimator)}


def autogluon(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """AutoGluon's TabularPredictor at its defaults."""
    import pandas
    from autogluon.tabular import TabularPredictor

    train, fresh = (pandas.read_csv(folder / f"{part}.csv") for part in ("train", "fresh"))
    kind = "regression" if task["task"] == "regression" else None
    begin = time.monotonic()
    model = TabularPredictor(
        "target", problem_type=kind, eval_metric=task["metric"], path=str(folder / "models"), verbosity=0
    )
    model.fit(train, time_limit=task["budget"], num_cpus=task["cores"], num_gpus=0)
    seconds = time.monotonic() - begin
    if task["task"] == "regression":
        answer = pandas.DataFrame({"answer": model.predict(fresh)})
    else:
        answer = model.predict_proba(fresh)
    answer.to_csv(folder / "answer.csv", index=False)
    return {"seconds": seconds, "model": str(model.model_best)}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
