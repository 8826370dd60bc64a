"""`tercet doctor`: where compiled kernels come from on this machine, and why."""

from __future__ import annotations

from typing import Any

from tercet.cli import printing
from tercet.cli.translation import tr
from tercet.core.messages import Message


def run(*, json: bool) -> int:
    """Print what is used, and why the rest is not."""
    found = findings()
    if json:
        printing.print_json({name: _plain(value) for name, value in found.items()})
        return 0
    for line in lines(found):
        printing.stdout().print(line, markup=False)
    return 0


def findings() -> dict[str, Any]:
    """The pack in use, why others are not used, the cache folder, and the versions that count."""
    from tercet.core.kernel import JIT, KERNELS, cache_folder

    found: dict[str, Any] = {"kernels": KERNELS if JIT else "plain Python", "pack": None, "reasons": []}
    if not JIT:
        return found
    from llvmlite import binding

    from tercet.core import kernel_pack

    pack, reasons = kernel_pack.installed()
    if KERNELS != "pack":
        pack, reasons = None, [Message("TERCET_KERNELS={choice} is set", choice=KERNELS)]
    elif pack is None and not reasons:
        reasons = [Message("none is installed; `pip install tercet[pack]` brings one")]
    if pack is not None:
        found["pack"] = {"file": str(pack.path), **pack.header}
    found["reasons"] = reasons
    folder = cache_folder("tercet.core.rows") if KERNELS != "off" else None
    found["cache"] = None if folder is None else str(folder.parent)
    found["cpu"] = binding.get_host_cpu_name()
    found.update(kernel_pack.versions())
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """The findings as sentences."""
    if found["kernels"] == "plain Python":
        return [tr("kernels run as plain Python: TERCET_JIT=0 is set")]
    said = [
        tr(
            "numba {numba}, llvmlite {llvmlite}, Python {python}, CPU {cpu}",
            **{name: found[name] for name in ("numba", "llvmlite", "python", "cpu")},
        )
    ]
    pack = found["pack"]
    if pack:
        said.append(
            tr(
                "kernel pack in use: {file} ({n} kernels for {target})",
                file=pack["file"],
                n=pack["kernels"],
                target=pack["target"],
            )
        )
    else:
        said.append(tr("no kernel pack is used"))
    said += [tr("not used: {why}", why=reason) for reason in found["reasons"]]
    if found["kernels"] == "off":
        said.append(tr("every process compiles its kernels: TERCET_KERNELS=off is set"))
    elif found["cache"] is None:
        said.append(tr("what is compiled is not kept: no folder is private and writable"))
    else:
        said.append(tr("what is compiled is kept in {folder}", folder=found["cache"]))
    return said


def _plain(value: Any) -> Any:
    return [str(item) for item in value] if isinstance(value, list) else value
