"""Kernel packs: found where they fit, passed over where they do not, and never wrong."""

import os
import pickle
import subprocess
import sys
import textwrap
import zlib
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import pytest

from tercet.cli import pack_building
from tercet.core import column_parsing, kernel_pack
from tercet.core import kernel as kernels
from tercet.core.kernel_pack import PackError
from tests.systems import posix

if not kernels.JIT or kernel_pack.settings_problem() is not None:
    pytest.skip("packs are for the compiler at its defaults", allow_module_level=True)

# Two kernels that are quick to compile, for a CPU without special features.
TARGET = pack_building.Target("any", "generic", ())
RECORD = """
    import sys
    import numpy as np
    from tercet.cli import pack_building
    pack_building.record(sys.argv[1])
    from tercet.core.column_parsing import mark_small_integers, write_codes
    mark_small_integers(np.zeros(2), np.zeros(3, dtype=bool))
    write_codes(np.zeros(2), 0.0, np.zeros(2), np.zeros((2, 1)), 0)
"""


@pytest.fixture(scope="module")
def spool(tmp_path_factory):
    """The folder of two kernels as a process records them."""
    folder, cache = tmp_path_factory.mktemp("spool"), tmp_path_factory.mktemp("cache")
    cache.chmod(0o700)
    with pack_building.environment(TARGET, cache):
        command = [sys.executable, "-c", textwrap.dedent(RECORD), str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    return folder


@dataclass
class Home:
    """An installation with a pack, and with an empty cache folder."""

    folder: Path
    cache: Path
    file: Path
    header: dict

    def pack(self, **changes):
        """The pack anew, with another header."""
        entries = {key: zlib.decompress(content) for key, content in self.stored().items()}
        kernel_pack.write_pack(self.file, {**self.header, **changes}, entries)

    def stored(self):
        content = self.file.read_bytes()
        found = kernel_pack.open_pack(self.file).entries
        return {key: content[begin : begin + length] for key, (_, begin, length) in found.items()}

    def ask(self, dtype=np.float64):
        """Whether the kernel came from pack or cache, in what a new process would do; its result is right."""
        kernel_pack.installed.cache_clear()
        mark = kernels.kernel(column_parsing.mark_small_integers.py_func)
        seen = np.zeros(3, dtype=bool)
        assert mark(np.array([0, 2], dtype=dtype), seen)
        assert seen.tolist() == [True, False, True]
        return bool(sum(mark.stats.cache_hits.values()))

    def cached(self):
        return list(self.cache.rglob("*.nbc"))

    def reasons(self):
        return " ".join(kernel_pack.search([self.folder])[1])


@pytest.fixture
def home(spool, tmp_path, monkeypatch):
    folder, cache = tmp_path / "site" / "tercet_kernels", tmp_path / "cache"
    folder.mkdir(parents=True)
    cache.mkdir(mode=0o700)
    file = folder / "any.pack"
    header = pack_building.assemble(spool, file, TARGET)
    monkeypatch.setenv("TERCET_CACHE_DIR", str(cache))
    monkeypatch.setattr(kernel_pack, "folders", lambda: [folder])
    kernels.cache_folder.cache_clear()
    yield Home(folder, cache, file, header)
    kernels.cache_folder.cache_clear()
    kernel_pack.installed.cache_clear()


def test_a_kernel_of_the_pack_is_not_compiled(home):
    assert home.ask()
    assert home.cached() == []
    assert home.header["kernels"] == len(home.stored()) == 2
    assert home.reasons() == ""


def test_argument_types_that_the_pack_lacks_are_compiled(home):
    assert not home.ask(np.float32)
    assert len(home.cached()) == 1
    assert home.ask(np.float32)  # from the cache


def test_other_sources_are_compiled(home, monkeypatch):
    monkeypatch.setattr(kernels, "digest_at_import", lambda module: "0" * 20)
    assert not home.ask()


def test_the_choice_of_kernels(home, monkeypatch):
    monkeypatch.setattr(kernels, "KERNELS", "native")
    assert not home.ask()
    assert len(home.cached()) == 1
    monkeypatch.setattr(kernels, "KERNELS", "off")
    assert not home.ask()
    home.cached()[0].unlink()
    assert not home.ask()
    assert home.cached() == []


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "short": lambda content: content[:100],
    "half": lambda content: content[: len(content) // 2],
    "one byte less": lambda content: content[:-1],
    "in the header": lambda content: flipped(content, 60),
    "a huge header": lambda content: content[:21] + b"\xff" * 8 + content[29:],
    "text": lambda content: b"not a pack",
    "a pickle": lambda content: pickle.dumps({"something": "else"}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_pack_is_passed_over(home, damage):
    home.file.write_bytes(DAMAGE[damage](home.file.read_bytes()))
    assert not home.ask()
    assert str(home.file) in home.reasons()


def test_every_bit_before_the_entries_is_checked(home):
    whole = home.file.read_bytes()
    first = min(begin for _, begin, _ in kernel_pack.open_pack(home.file).entries.values())
    for place in range(0, first, 7):
        home.file.write_bytes(flipped(whole, place))
        with pytest.raises(PackError):
            kernel_pack.open_pack(home.file)


def test_a_damaged_entry_is_never_unpickled(home, tmp_path):
    """Every entry becomes a pickle that would leave a trace, without the digest that belongs to it."""
    content = bytearray(home.file.read_bytes())
    trace = tmp_path / "trace"
    order = zlib.compress(b"cos\nsystem\n(S'touch " + os.fsencode(trace) + b"'\ntR.")
    for _, begin, length in kernel_pack.open_pack(home.file).entries.values():
        assert length > len(order)
        content[begin : begin + len(order)] = order
    home.file.write_bytes(content)
    assert not home.ask()
    assert not trace.exists()


def test_a_file_that_is_cut_while_it_is_in_use(home):
    pack = kernel_pack.open_pack(home.file)
    (key, *_) = pack.entries
    assert pack.read(key) is not None
    os.truncate(home.file, 100)
    assert [pack.read(key) for key in pack.entries] == [None, None]
    home.file.unlink()
    assert pack.read(key) is None


@pytest.mark.parametrize("name", ["numba", "llvmlite", "python", "triple"])
def test_a_pack_of_another_version(home, name):
    home.pack(**{name: "another"})
    assert not home.ask()
    assert f"was built for {name} another, not " in home.reasons()


def test_a_cpu_without_the_features(home):
    home.pack(features=["fortune-telling"])
    assert not home.ask()
    assert "needs a CPU with fortune-telling" in home.reasons()


def test_a_symbol_that_is_unknown_here(home):
    home.pack(symbols=["memcpy", "no_such_function"])
    assert not home.ask()
    assert "calls no_such_function, unknown here" in home.reasons()


def test_the_most_demanding_target_is_chosen(home):
    pack, _ = kernel_pack.search([home.folder])
    more = kernel_pack.binding.get_host_cpu_features()
    home.pack(features=[name for name, there in more.items() if there])
    Path(home.folder, "another.pack").write_bytes(pack.path.read_bytes())
    home.pack(features=[])
    assert kernel_pack.search([home.folder])[0].path.name == "another.pack"


@posix
def test_a_folder_that_everybody_can_write(home):
    home.folder.chmod(0o777)
    assert not home.ask()
    assert "everybody can write" in home.reasons()


@pytest.mark.parametrize(
    ("name", "value"), [("OPT", 1), ("BOUNDSCHECK", 1), ("CPU_NAME", "generic"), ("DEBUGINFO_DEFAULT", 1)]
)
def test_settings_of_the_compiler(home, monkeypatch, name, value):
    monkeypatch.setattr(numba.config, name, value)
    said = "NUMBA_DEBUGINFO" if name == "DEBUGINFO_DEFAULT" else f"NUMBA_{name}"
    pack, reasons = kernel_pack.search([home.folder])
    assert pack is None
    assert f"{said} is set" in reasons[0]


def run(code, *options, **environment):
    answer = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def test_assertions_left_out():
    assert "-O" in run("from tercet.core.kernel_pack import settings_problem as p; print(p())", "-O")


def test_an_entry_of_other_types_is_refused(home):
    """Names of types decide where to look; the types themselves decide what is loaded."""
    entries = {key: zlib.decompress(content) for key, content in home.stored().items()}
    first, second = entries
    kernel_pack.write_pack(home.file, home.header, {first: entries[second], second: entries[first]})
    assert not home.ask()


LOAD = """
    import os
    from pathlib import Path
    from tercet.core import kernel_pack
    kernel_pack.folders = lambda: [Path({folder!r})]
    os.environ.pop("HOME", None)
    import numpy as np
    from tercet.core.column_parsing import mark_small_integers as mark
    seen = np.zeros(3, dtype=bool)
    mark(np.array([0.0, 2.0]), seen)
    print(seen.tolist(), sum(mark.stats.cache_hits.values()) if hasattr(mark, "stats") else "plain")
"""


def test_processes_side_by_side_where_nothing_can_be_written(home, tmp_path):
    """No home directory, and a file where the cache folder should be."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    home.file.chmod(0o400)
    code = textwrap.dedent(LOAD.format(folder=str(home.folder)))
    environment = {**os.environ, "TERCET_CACHE_DIR": str(blocked), "PYTHONWARNINGS": "ignore"}
    both = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate()[0].strip() for process in both] == ["[True, False, True] 1"] * 2


def test_plain_python_asks_no_pack(home):
    assert run(LOAD.format(folder=str(home.folder)), TERCET_JIT="0") == "[True, False, True] plain"


def test_an_unknown_choice_is_told():
    code = """
        import warnings
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            from tercet.core import kernel
        print(kernel.KERNELS, told[0].message)
    """
    assert run(code, TERCET_KERNELS="shipped").startswith("pack TERCET_KERNELS='shipped' is not used")


def test_the_same_kernels_give_the_same_file(home):
    before = home.file.read_bytes()
    home.pack()
    assert home.file.read_bytes() == before


def test_a_pack_holds_no_path_of_this_machine(home, spool):
    for content in home.stored().values():
        text = zlib.decompress(content)
        assert str(Path(column_parsing.__file__).parents[2]).encode() not in text
        assert str(Path(numba.__file__).parents[1]).encode() not in text
    with pytest.raises(pack_building.PackRefused, match="holds the path"):
        pack_building.check_paths(str(Path.cwd()).encode())


def test_unknown_calls_are_refused(spool):
    content = max(spool.iterdir()).read_bytes()
    symbols = pack_building.check_symbols(content)
    assert "PyArg_UnpackTuple" in symbols
    name = b"PyArg_UnpackTuple"
    with pytest.raises(pack_building.PackRefused, match="__svml_pow4_ha_ma"):
        pack_building.check_symbols(content.replace(name, b"__svml_pow4_ha_ma"))


def test_a_clean_environment_is_asked_for(monkeypatch):
    pack_building.check_environment()
    monkeypatch.setattr(numba.config, "USING_SVML", True)
    with pytest.raises(pack_building.PackRefused, match="SVML"):
        pack_building.check_environment()
    monkeypatch.setattr(numba.config, "USING_SVML", False)
    monkeypatch.setattr(numba.config, "LOOP_VECTORIZE", 0)
    with pytest.raises(pack_building.PackRefused, match="NUMBA_LOOP_VECTORIZE"):
        pack_building.check_environment()
