"""References to Python names are looked up in an index of their last words.

Sphinx compares each name in a signature with the ends of all names of the library.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry, PythonDomain


class IndexedPythonDomain(PythonDomain):
    """The domain of Sphinx, which finds the same names faster."""

    _ends: dict[str, list[str]] = {}
    _indexed = -1

    def find_obj(
        self, env: Any, modname: Any, classname: Any, name: str, type: str | None, searchmode: int = 0
    ) -> list[tuple[str, ObjectEntry]]:
        """The objects that a name may mean."""
        name = name.removesuffix("()")
        kinds = list(self.object_types) if type is None else self.objtypes_for_role(type)
        if searchmode != 1 or not name or kinds is None:
            return super().find_obj(env, modname, classname, name, type, searchmode)
        places = [name]
        if modname:
            places.insert(0, f"{modname}.{name}")
            if classname:
                places.insert(0, f"{modname}.{classname}.{name}")
        for place in places:
            if place in self.objects and self.objects[place].objtype in kinds:
                return [(place, self.objects[place])]
        return [
            (found, self.objects[found])
            for found in self.ending_with(name.rpartition(".")[2])
            if found.endswith(f".{name}") and self.objects[found].objtype in kinds
        ]

    def ending_with(self, word: str) -> list[str]:
        """The objects whose name ends with a word, in their order."""
        if self._indexed != len(self.objects):
            self._ends = {}
            for name in self.objects:
                self._ends.setdefault(name.rpartition(".")[2], []).append(name)
            self._indexed = len(self.objects)
        return self._ends.get(word, [])


def setup(app: Sphinx) -> None:
    app.add_domain(IndexedPythonDomain, override=True)
