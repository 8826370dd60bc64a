"""A process that does jobs: reads them as lines of JSON, answers with lines of JSON."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from pathlib import Path


def main() -> None:
    # What code prints past sys.stdout must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        module, _, name = job["function"].partition(":")
        try:
            function = getattr(importlib.import_module(module), name)
            answer = {"result": function(folder=Path(job["folder"]), **job["arguments"])}
        except Exception as error:
            # A message that is made for the reader says where; anything else is a mistake of ours.
            told = getattr(error, "told", None)
            answer = {"error": told or traceback.format_exc()}
        answers.write(json.dumps(answer, ensure_ascii=False) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
