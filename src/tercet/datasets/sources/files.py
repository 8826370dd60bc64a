"""Files that a path, a folder, a pattern or a list of paths names, in the order of their names."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tercet.core.sources import SourceError


def found_files(data: Any, suffixes: Collection[str]) -> list[Path]:
    """The files, as absolute paths; in folders those that end in one of the suffixes, hidden ones left out."""
    named = [data] if isinstance(data, str | os.PathLike) else list(data)
    paths: list[Path] = []
    for name in named:
        path = Path(name).expanduser()
        if path.is_dir():
            inside = sorted(
                one
                for one in path.rglob("*")
                if one.suffix.lower() in suffixes
                and one.is_file()
                and not any(part.startswith((".", "_")) for part in one.relative_to(path).parts)
            )
            if not inside:
                raise SourceError(f"{path}: there is no file that ends in {', '.join(sorted(suffixes))}.")
            paths += inside
        elif path.exists():
            paths.append(path)
        elif glob.has_magic(str(path)):
            matching = sorted(Path(one) for one in glob.glob(str(path), recursive=True))
            if not matching:
                raise SourceError(f"{path}: no file has such a name.")
            paths += matching
        else:
            raise SourceError(f"{path}: there is no such file.")
    return [path.absolute() for path in paths]
