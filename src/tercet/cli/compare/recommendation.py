"""What to take from a comparison: the command and the Python lines that fit the winner on all rows."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any

from tercet.cli.compare.combination import SAME_AS
from tercet.cli.embedded_datasets import DEFAULT, is_embedded
from tercet.cli.translation import tr
from tercet.core.messages import Message

# Families from models that can be read to models that cannot; others come last.
PLAIN_FIRST = (
    "linear_model",
    "discriminant_analysis",
    "naive_bayes",
    "rules",
    "tree",
    "cluster",
    "mixture",
    "graphical",
    "neighbors",
    "svm",
    "kernel_machines",
    "multiclass",
    "neural_network",
    "ensemble",
    "semi_supervised",
)
MODEL = "model.skops"
CAUTION = Message(
    "A constant answer (the baseline) does as well: better columns, or more rows, come before any model."
)


def winner(result: dict[str, Any]) -> dict[str, Any] | None:
    """The first method of the leaderboard with a score that can be fitted again."""
    able = [e for e in result["leaderboard"] if not e["baseline"] and _scored(e)]
    return next((e for e in able if not e.get("combination") or e.get("members")), None)


def simplest_equivalent(result: dict[str, Any]) -> dict[str, Any] | None:
    """The plainest method that is as good as the winner; None if the winner is the plainest itself.

    Plain means a family of plain models first (lines before trees before ensembles), then the shorter fit.
    """
    first = winner(result)
    if first is None:
        return None
    equal = [e for e in result["leaderboard"] if not e["baseline"] and e is not first and is_equivalent(e)]
    chosen = min([first, *equal], key=_plainness)
    return None if chosen is first else chosen


def is_equivalent(entry: dict[str, Any]) -> bool:
    """Whether a method was found equivalent to the best; before there were such outcomes, whether it is tied."""
    return entry["outcome"] == "equivalent" if entry.get("outcome") else bool(entry.get("tied"))


def _plainness(entry: dict[str, Any]) -> tuple[bool, int, float, str]:
    module = (entry.get("card") or {}).get("module", "")
    family = module.partition(".")[2].partition(".")[0]
    place = PLAIN_FIRST.index(family) if family in PLAIN_FIRST else len(PLAIN_FIRST)
    return bool(entry.get("combination")), place, entry.get("fit_time") or 0.0, entry["name"]


def method_and_settings(entry: dict[str, Any], result: dict[str, Any]) -> tuple[str, list[str]]:
    """The estimator of a row of the leaderboard and its NAME=VALUE settings; of a combination the one that does
    the same."""
    if not entry.get("combination"):
        return entry["name"], [f"{key}={value}" for key, value in (entry.get("settings") or {}).items()]
    members = entry["members"]
    if len(members) == 1:
        return members[0]["name"], [f"{key}={value}" for key, value in members[0]["settings"].items()]
    settings = [f"estimators={', '.join(member['name'] for member in members)}"]
    seen: Counter[str] = Counter()
    for member in members:
        seen[member["name"]] += 1
        again = seen[member["name"]] if seen[member["name"]] > 1 else ""
        prefix = f"{member['name'].lower()}{again}"
        settings += [f"{prefix}__{key}={value}" for key, value in member["settings"].items()]
    weights = [member["weight"] for member in members]
    if len({*weights}) > 1:
        settings.append(f"weights={weights}")
    if result["task"] == "classification":
        settings.append("voting=soft")
    return SAME_AS[result["task"]], settings


def _beats_baseline(entry: dict[str, Any], result: dict[str, Any]) -> bool:
    """Whether a method may be better than the baseline: it has the better score, and is not equivalent."""
    first = next((e for e in result["leaderboard"] if e["baseline"] or e is entry), entry)
    against = entry.get("against_baseline") or {}
    return not first["baseline"] and against.get("outcome") not in ("equivalent", "worse")


def _scored(entry: dict[str, Any]) -> bool:
    return entry["score"] is not None and entry["score"] == entry["score"]


def fit_command(entry: dict[str, Any], result: dict[str, Any], request: Any) -> str:
    """The command that fits a method on all rows and saves it."""
    name, settings = method_and_settings(entry, result)
    words = ["tercet", "fit", name, request.data or DEFAULT]
    target = result["data"]["target"]
    if target is not None and result["task"] != "clustering":
        words += ["--target", target["name"]]
    for column, kind in request.kinds.items():
        words += ["--as", f"{column}={kind}"]
    for column in dropped(request):
        words += ["--drop", column]
    for setting in settings:
        words += ["--set", setting]
    if getattr(request, "ragged", "error") != "error":
        words += ["--ragged", request.ragged]
    if request.rows is not None:
        words += ["--rows", str(request.rows)]
    if request.seed:
        words += ["--seed", str(request.seed)]
    return shlex.join([*words, "--output", MODEL])


def dropped(request: Any) -> list[str]:
    """The columns that are no features: those to drop, and the one that says which rows belong together."""
    group = getattr(request, "group", None)
    return [*request.drop, *([group] if group and group not in request.drop else [])]


def python_lines(recipe: dict[str, Any], result: dict[str, Any], request: Any) -> str:
    """The lines of Python that do what the command does."""
    task, target = result["task"], result["data"]["target"]
    data = request.data or DEFAULT
    embedded = is_embedded(request.data)
    ragged = getattr(request, "ragged", "error")
    options = {"rows": request.rows, "seed": request.seed if request.rows is not None else None}
    options |= {"ragged": None if ragged == "error" or embedded else ragged}
    reading = ", ".join([repr(data), *(f"{k}={v!r}" for k, v in options.items() if v is not None)])
    schema = {
        "target": target["name"] if target and task != "clustering" else None,
        "task": task,
        "kinds": dict(request.kinds) or None,
        "drop": dropped(request) or None,
    }
    told = ", ".join(["table", *(f"{key}={value!r}" for key, value in schema.items() if value is not None)])
    reader = ("tercet.cli.tables", "open_table") if embedded else ("tercet.datasets", "read_table")
    imports = sorted(
        [*map(tuple, recipe["imports"]), reader, ("tercet.feature", "TableEncoder, infer_schema")]
    )
    lines = ["import numpy as np"] if task == "classification" else []
    lines += ["from sklearn.pipeline import make_pipeline", ""]
    lines += [f"from {module} import {names}" for module, names in imports]
    lines += [
        "",
        f"table = {reader[1]}({reading})",
        f"schema = infer_schema({told})",
        "rows = schema.to_records(table)",
    ]
    lines += [f"model = {_model(recipe)}"]
    if task == "clustering":
        return "\n".join([*lines, "model.fit(rows)"])
    lines += ["y, known = schema.to_target(table)  # rows without a target are left out"]
    labels = "np.asarray(schema.classes)[y[known]]" if task == "classification" else "y[known]"
    return "\n".join([*lines, f"model.fit(rows.take(known), {labels})"])


def _model(recipe: dict[str, Any]) -> str:
    """The expression of the model: of an ensemble, each member behind the preprocessing that suits it."""
    if not recipe["members"]:
        return _pipeline(recipe["encoder"], recipe["expression"])
    told = [
        f"    ({one['name']!r}, {_pipeline(one['encoder'], one['expression'])})," for one in recipe["members"]
    ]
    options = "".join(f", {key}={value!r}" for key, value in recipe["options"].items())
    return "\n".join([f"{recipe['kind']}([", *told, f"]{options})"])


def _pipeline(encoder: dict[str, Any], expression: str) -> str:
    told = ", ".join(["schema", *(f"{key}={value!r}" for key, value in encoder.items())])
    return f"make_pipeline(TableEncoder({told}), {expression})"


def expected_score(result: dict[str, Any]) -> dict[str, Any] | None:
    """The score to expect on new rows with its interval; "corrected" says whether for the choice."""
    told = result.get("expected")
    if told and told.get("score") is not None:
        return {**{key: told.get(key) for key in ("score", "low", "high", "candidates")}, "corrected": True}
    first = winner(result)
    if first is None:
        return None
    return {
        **{key: first.get(key) for key in ("score", "low", "high")},
        "candidates": None,
        "corrected": False,
    }


def recommend(result: dict[str, Any], request: Any, recipe: dict[str, Any] | None) -> dict[str, Any] | None:
    """The recommendation as plain values; `recipe` is the winner's, as `WorkerTasks.recipe` gives it."""
    first = winner(result)
    if first is None:
        return None
    plain = simplest_equivalent(result)
    return {
        "name": first["name"],
        "command": fit_command(first, result, request),
        "caution": None if _beats_baseline(first, result) else tr(CAUTION),
        "predict": f"tercet predict {MODEL} NEW_DATA",
        "python": python_lines(recipe, result, request) if recipe else None,
        "expected": expected_score(result),
        "simplest": plain
        and {"name": plain["name"], "score": plain["score"], "command": fit_command(plain, result, request)},
    }
