"""Kernels: verbs on dense and sparse rows, the cache, plain Python mode."""

import ast
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tercet.core import kernel as kernel_module
from tercet.core.kernel import JIT, kernel, noinline
from tercet.core.rows import columns, row_add, row_dot, row_square, rows, rows_dot
from tests.systems import posix


@kernel
def all_verbs(data, w, scales, dots, gram):
    """One kernel, as each costs some tenths of a second to compile for each kind of data."""
    for i in range(scales.size):
        dots[i] = row_dot(data, i, w)
        gram[i, i] = row_square(data, i)
        for j in range(i):
            gram[i, j] = gram[j, i] = rows_dot(data, i, j)
    for i in range(scales.size):
        row_add(data, i, scales[i], w)


@pytest.fixture(params=["dense", "csr", "dense32", "csr64"])
def matrix(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 5)) * (rng.random((7, 5)) < 0.6)
    X[3] = 0  # an empty row
    match request.param:
        case "dense":
            return X, X
        case "dense32":
            return X, X.astype(np.float32)
        case "csr":
            return X, sparse.csr_array(X)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return X, wide


@pytest.mark.parametrize("orient", [rows, columns])
def test_verbs(matrix, orient):
    X, data = matrix
    dense = X if orient is rows else X.T
    lines = orient(data)
    assert lines.shape == dense.shape
    w = np.linspace(-1, 1, dense.shape[1]).astype(data.dtype)
    scales = np.arange(1, dense.shape[0] + 1).astype(data.dtype)
    dots = np.empty(dense.shape[0], dtype=data.dtype)
    gram = np.empty((dense.shape[0],) * 2, dtype=data.dtype)
    before = w.copy()
    all_verbs(lines, w, scales, dots, gram)
    tol = {"rtol": 1e-5, "atol": 1e-6} if data.dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(dots, dense @ before, **tol)
    np.testing.assert_allclose(w, before + dense.T @ scales, **tol)
    np.testing.assert_allclose(gram, dense @ dense.T, **tol)


def test_verbs_as_plain_python(matrix):
    X, data = matrix
    w = np.linspace(-1, 1, 5).astype(data.dtype)
    lines = rows(data)
    for i in range(7):
        np.testing.assert_allclose(row_dot(lines, i, w), X[i] @ w, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(row_square(lines, i), X[i] @ X[i], rtol=1e-5)
        np.testing.assert_allclose(rows_dot(lines, i, 0), X[i] @ X[0], rtol=1e-5, atol=1e-6)
        v = w.copy()
        row_add(lines, i, 2.0, v)
        np.testing.assert_allclose(v, w + 2 * X[i], rtol=1e-5, atol=1e-6)


def run(code, **environment):
    """What a fresh interpreter prints; kernels come from the compiler or the cache, whatever pack is installed."""
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "TERCET_KERNELS": "native", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


# A kernel that is quick to compile.
COMPILE = """
    import numpy as np
    from tercet.core import column_parsing as home
    from tercet.core.kernel import cache_folder
    seen = np.zeros(3, dtype=bool)
    home.mark_small_integers(np.array([0.0, 2.0]), seen)
    print(seen.tolist(), cache_folder(home.__name__))
"""


def test_cache_folder_is_the_one_asked_for(tmp_path):
    answer = run(COMPILE, TERCET_CACHE_DIR=str(tmp_path), TERCET_JIT="1")
    assert answer.startswith(f"[True, False, True] {tmp_path}")
    assert list(tmp_path.rglob("*.nbi")), "nothing was cached"


def test_installations_of_one_version_share_their_kernels(tmp_path):
    """The path of the package is no part of a kernel's name: a second clone, or a new environment, finds it."""
    package = Path(kernel_module.__file__).parent.parent
    code = textwrap.dedent(COMPILE) + "\nprint(sum(home.mark_small_integers.stats.cache_hits.values()))"
    hits = []
    for place in ("first", "second"):
        for part in ("core", "__init__.py", "__init__.pyi", "catalog.json", "scikit_learn_names.json"):
            source, target = package / part, tmp_path / place / "tercet" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, target)
        answer = run(
            code, PYTHONPATH=str(tmp_path / place), TERCET_CACHE_DIR=str(tmp_path / "cache"), TERCET_JIT="1"
        )
        hits.append(answer.splitlines()[-1])
    assert hits == ["0", "1"]


def test_no_writable_folder(tmp_path):
    """A file where the folder should be: nothing can be cached, everything works."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert (
        run(COMPILE, TERCET_CACHE_DIR=str(blocked), TERCET_JIT="1", PYTHONWARNINGS="ignore")
        == "[True, False, True] None"
    )


def test_no_home(tmp_path):
    code = "import os\nos.environ.pop('HOME', None)\n" + textwrap.dedent(COMPILE)
    answer = run(code, XDG_CACHE_HOME=str(tmp_path / "cache"), TERCET_JIT="1")
    assert answer.startswith("[True, False, True]")


def test_plain_python_mode():
    code = "from tercet.core.kernel import kernel\nf = lambda x: x\nprint(kernel(f) is f)"
    assert [run(code, TERCET_JIT=value) for value in ("0", "false", "off")] == ["True"] * 3


def test_bounds_checks():
    code = """
        import numpy as np
        from tercet.core.kernel import JIT, kernel, noinline
        @kernel
        def beyond(x):
            return x[x.size]
        try:
            beyond(np.zeros(3))
        except IndexError:
            print("caught")
    """
    assert run(code, NUMBA_BOUNDSCHECK="1", TERCET_JIT="1") == "caught"


@posix
def test_folder_others_can_write_is_refused(tmp_path, monkeypatch):
    open_to_all = tmp_path / "shared"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setenv("TERCET_CACHE_DIR", str(open_to_all))
    with pytest.warns(UserWarning, match="nobody else, can write"):
        assert kernel_module.cache_folder.__wrapped__("tercet.linear_model.perceptron") is None


@posix
def test_folder_is_private_under_any_umask(tmp_path, monkeypatch):
    monkeypatch.delenv("TERCET_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = os.umask(0o002)
    try:
        folder = kernel_module.cache_folder.__wrapped__("tercet.linear_model.perceptron")
    finally:
        os.umask(before)
    assert folder is not None
    assert folder.is_relative_to(tmp_path / "cache" / "tercet")
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_digest_follows_imports(monkeypatch):
    """A change in a verb's file, which numba would not notice, changes the cache folder."""
    source = kernel_module._source
    before = kernel_module.digest("tercet.linear_model.perceptron")
    monkeypatch.setattr(
        kernel_module, "_source", lambda m: source(m) + (b"#" if m == "tercet.core.rows" else b"")
    )
    assert kernel_module.digest("tercet.linear_model.perceptron") != before
    assert kernel_module.digest("tercet.core.functions") != before


def test_each_source_is_summed_up_once(monkeypatch):
    """Kernels of many modules depend on the same sources: an import must not read them again and again."""
    calls = []
    monkeypatch.setattr(
        kernel_module,
        "_imports",
        lambda source, ask=kernel_module._imports: calls.append(source) or ask(source),
    )
    kernel_module._summary.cache_clear()
    for name in ("perceptron", "base", "penalized.penalized_classifier"):
        kernel_module.digest(f"tercet.linear_model.{name}")
    assert len(calls) == len(set(calls)) > 10


def test_imports_are_found():
    text = "from tercet.core import a, b\nfrom tercet.x import (\n    c,\n    d,\n)\nimport tercet.y\nimport numpy"
    found = kernel_module._imports(text)
    assert set(found) == {
        "tercet.core", "tercet.core.a", "tercet.core.b", "tercet.x", "tercet.x.c", "tercet.x.d", "tercet.y"
    }  # fmt: skip


def test_stale_folders_are_swept(tmp_path):
    old, new = tmp_path / ("a" * 20), tmp_path / ("b" * 20)
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (0, 0))
    (tmp_path / "unrelated").mkdir()
    os.utime(tmp_path / "unrelated", (0, 0))
    kernel_module._sweep(tmp_path, keep=new.name)
    assert sorted(p.name for p in tmp_path.iterdir()) == [new.name, "unrelated"]


def test_the_first_run_has_the_bits_of_the_second(tmp_path):
    """What was just compiled and what a cache holds are the same code, parts included."""
    script = """
        import hashlib
        import numpy as np
        from tercet.svm._dual.gaussian_rows import square
        tile = np.random.default_rng(0).normal(size=(64, 512)).astype(np.float32) * 3
        half = np.full(512, 6, np.float32)
        out = np.empty(tile.shape)
        square(tile, half[:64], half, out)
        print(square.stats.cache_hits.total(), hashlib.sha256(out.tobytes()).hexdigest())
    """
    first, second = (run(script, TERCET_CACHE_DIR=str(tmp_path), TERCET_JIT="1").split() for _ in range(2))
    assert (first[0], second[0]) == ("0", "1")
    assert first[1] == second[1]


def test_kernels_call_parts_only():
    """A kernel that another one calls would stand by itself: it has to be `inner`, or `shared`."""
    source = Path(kernel_module.__file__).parents[2]
    trees = {
        ".".join(path.relative_to(source).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
        for path in source.glob("tercet/**/*.py")
    }
    functions = {
        (module, node.name): (node, {d.id for d in node.decorator_list if isinstance(d, ast.Name)})
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    entrances = {key for key, (_, marks) in functions.items() if "kernel" in marks}
    compiled = {
        key: node
        for key, (node, marks) in functions.items()
        if marks & {"kernel", "shared", "inner", "noinline"}
    }
    assert len(entrances) > 100
    assert len(compiled) > len(entrances) + 100
    names = {
        module: {
            alias.asname or alias.name: (imported.module, alias.name)
            for imported in ast.walk(trees[module])
            if isinstance(imported, ast.ImportFrom)
            for alias in imported.names
        }
        for module in {module for module, _ in compiled}
    }
    for (module, name), node in compiled.items():
        calls = {
            call.func.id for call in ast.walk(node) if isinstance(call, ast.Call) and hasattr(call.func, "id")
        }
        wrong = {called for called in calls if names[module].get(called, (module, called)) in entrances}
        assert not wrong, f"{module}.{name} calls the kernels {sorted(wrong)}"


def test_what_a_kernel_returns_is_made_without_a_call_of_python():
    """Where Python was called, a Ctrl-C that came while the kernel ran would be raised, and not be looked for."""

    @kernel
    def halves(a):
        return a / 2, np.empty(3)

    given, seen = np.ones(2), []
    halves(given)
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        halves(given)
    finally:
        sys.setprofile(None)
    assert set(seen) <= {"halves"}


def test_a_branch_for_an_argument_that_is_given_is_not_compiled():
    """Nor is that for one that is None: either branch has what numba would refuse."""

    @kernel
    def scaled(values, weight):
        if weight is None:
            return values[0] + values.of_no_array
        return values[0] * weight[0]

    @kernel
    def scaled_or_not(values, weight):
        if weight is not None:
            return values[0] * weight.of_no_array
        else:
            return values[0]

    assert scaled(np.full(2, 3.0), np.full(2, 2.0)) == 6.0
    assert scaled_or_not(np.full(2, 3.0), None) == 3.0


def test_a_part_that_is_not_inlined_is_there_once(monkeypatch):
    """And other kernels cannot call that copy."""
    monkeypatch.setattr(kernel_module, "KERNELS", "off")  # what comes from the cache cannot be read

    @noinline
    def powers(values, n):
        total = 0.0
        for i in range(values.size):
            total += values[i] ** n
        return total

    @kernel
    def two_calls(values):
        return powers(values, 2) + powers(values, 3)

    assert two_calls(np.array([1.0, 2.0, 3.0])) == 14.0 + 36.0
    assert powers(np.array([1.0, 2.0]), 2) == 5.0
    if JIT:
        (compiled,) = two_calls.overloads.values()
        defined = re.findall(r"^define (\S*).*powers", compiled.library.get_llvm_str(), re.MULTILINE)
        assert defined == ["internal"]


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_arguments_are_borrowed(monkeypatch):
    """As many references are given back as were counted, whatever becomes of an argument."""
    monkeypatch.setattr(kernel_module, "KERNELS", "off")  # what is compiled, not what is loaded

    @noinline
    def longer(x, y):
        return x if x.size > y.size else y

    def use(x, y, pair, flag):
        kept = longer(x, y)
        if flag:  # a variable that is more than an argument
            x = np.zeros(x.size)
            x[0] = kept[0]
        return kept[1:], (x, y), pair[0], pair[1]

    compiled = kernel(use)
    x, y, z = np.arange(4.0), np.arange(3.0), np.arange(2.0)
    for flag in (True, False):
        compiled(x, y, (x, z), flag)
    before = [sys.getrefcount(array) for array in (x, y, z)]
    for _ in range(100):
        tail, (first, second), third, fourth = compiled(x, y, (x, z), False)
        assert tail.tolist() == [1.0, 2.0, 3.0]
        fresh = compiled(x, y, (x, z), True)[1][0]
        assert fresh.tolist() == [0.0] * 4
        del tail, first, second, third, fourth, fresh
    assert [sys.getrefcount(array) for array in (x, y, z)] == before
