"""What the packs say of themselves: version, dependencies and platform of their wheel."""

from __future__ import annotations

import json
import struct
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import sys_tags

MAGIC = b"tercet kernel pack 1\n"


def header(root: str) -> dict[str, Any]:
    """The header of the packs, which differ in their targets alone."""
    found = []
    for file in sorted(Path(root, "tercet_kernels").glob("*.pack")):
        with open(file, "rb") as opened:
            if opened.read(len(MAGIC)) != MAGIC:
                raise ValueError(f"{file} is not a kernel pack.")
            length, _ = struct.unpack("<II", opened.read(8))
            found.append(json.loads(opened.read(length)))
    if not found:
        raise ValueError("There is no pack: `tercet warm --pack kernels/tercet_kernels` builds one.")
    names = ("tercet", "numba", "llvmlite", "python", "triple")
    if any(one[name] != found[0][name] for one in found for name in names):
        raise ValueError("The packs are of different versions.")
    return found[0]


class Metadata(MetadataHookInterface):
    """The version is tercet's; what the kernels were compiled with is required exactly."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the dynamic fields."""
        pack = header(self.root)
        metadata["version"] = pack["tercet"]
        metadata["dependencies"] = [f"{name}=={pack[name]}" for name in ("tercet", "numba", "llvmlite")]
        metadata["requires-python"] = f"=={sysconfig.get_python_version()}.*"


class Wheel(BuildHookInterface):
    """A wheel for this Python and platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the tag. Machine code refers to names, not to versions of the C library: any glibc will do."""
        tag = next(sys_tags())
        triple = header(self.root)["triple"]
        platform = (
            f"manylinux2014_{triple.partition('-')[0]}" if triple.endswith("linux-gnu") else tag.platform
        )
        build_data["pure_python"] = False
        build_data["tag"] = f"{tag.interpreter}-{tag.abi}-{platform}"
