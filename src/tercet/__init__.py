"""Tercet: every method is three lines: a model, a strategy, an algorithm."""

import os
import sys
from importlib.machinery import ModuleSpec


class _PassedOn:
    """Finds and loads the modules that are passed on from scikit-learn: folders that hold nothing but a stub.

    To other finders these are packages without names. It is the first thing in this file, since a thread that
    imports `tercet.preprocessing` does not wait for the one that runs the rest. And it imports nothing while it
    finds: Python holds a lock then.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not path or not name.startswith("tercet."):
            return None
        folder = os.path.join(path[0], name.rpartition(".")[2])
        stub = os.path.join(folder, "__init__.pyi")
        if os.path.exists(stub[:-1]) or not os.path.exists(stub):
            return None
        spec = ModuleSpec(name, _PassedOn, origin=f"sklearn.{name.partition('.')[2]}", is_package=True)
        spec.submodule_search_locations.append(folder)
        return spec

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from tercet.core.lazy import pass_on

        pass_on(module)


sys.meta_path.insert(0, _PassedOn)

from tercet.core.lazy import lazy_package  # noqa: E402

__version__ = "0.1.0"

# Families are imported when they are first used: `import tercet` itself loads next to nothing.
lazy_package(__name__)
