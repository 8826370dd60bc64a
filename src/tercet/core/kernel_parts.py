"""How numba compiles kernels, and their parts: functions that become a piece of every kernel that calls them.

Numba optimises each function that it meets and makes machine code of it, then links the intermediate code into the
callers, where it is optimised again. A part is never called by itself: intermediate code is all it needs, and the
optimiser sees it once, inside the kernel.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import gc
from collections import Counter
from typing import Any, ClassVar

from llvmlite import binding
from numba.core import ir, types
from numba.core.analysis import dead_branch_prune
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.lowering import Lower
from numba.core.pythonapi import PythonAPI
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.core.untyped_passes import DeadBranchPrune

ENVIRONMENT = "_ZN08NumbaEnv"  # pointers to the Python objects that compiled code refers to


class PartLibrary(JITCodeLibrary):
    """Intermediate code of a part, and of what it calls."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Take a module as it is."""
        ll_module.data_layout = self._codegen._data_layout
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Link what the part calls. Machine code has only the pointer to its environment, which numba sets now."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # numba 0.62 and before have none
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        engine = self._codegen._engine
        lines = [
            f'@"{value.name}" = common global i8* null'
            for value in self._final_module.global_variables
            if value.name.startswith(ENVIRONMENT) and not engine.is_symbol_defined(value.name)
        ]
        if lines:
            engine.add_module(binding.parse_assembly("\n".join(lines)))
            engine.finalize_object()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Null: there is no machine code."""
        self._ensure_finalized()
        return 0


class GivenArgument:
    """An argument that is not None, in the form in which numba takes types of literals."""

    def __init__(self, kind: Any) -> None:
        self.literal_type = kind


@register_pass(mutates_CFG=True, analysis_only=False)
class PruneAbsent(FunctionPass):
    """Leave out what follows `if x is None` where x is given.

    Numba leaves out the other branch where x is None. This one it would compile, with all that it calls, for LLVM
    to remove.
    """

    _name = "prune_absent"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change the intermediate code of a function."""
        unknown = (types.NoneType, types.Omitted, types.Optional)
        given = [kind if isinstance(kind, unknown) else GivenArgument(kind) for kind in state.args]
        dead_branch_prune(state.func_ir, given)
        return True


class BorrowingLower(Lower):
    """Translation to LLVM's intermediate code that takes arguments as they are.

    The caller holds a reference to each argument until the call returns. For an argument's variable numba would
    count one more, and keep a copy on the stack: of a tuple of twenty arrays hundreds of instructions, for LLVM to
    remove.
    """

    def init(self) -> None:
        """Find the variables that are arguments and nothing else."""
        super().init()
        assignments = [one for block in self.blocks.values() for one in block.find_insts(ir.Assign)]
        times = Counter(one.target.name for one in assignments)
        self.borrowed: dict[str, Any] = {
            one.target.name: None
            for one in assignments
            if isinstance(one.value, ir.Arg) and times[one.target.name] == 1
        }
        if self._disable_sroa_like_opt or self.func_ir.func_id.is_generator:
            self.borrowed = {}
        self.borrows = False

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """The value that an assignment gives to a variable."""
        self.borrows = inst.target.name in self.borrowed
        try:
            return super().lower_assign(ty, inst)
        finally:
            self.borrows = False

    def incref(self, typ: Any, val: Any) -> None:
        """Count a reference."""
        if not self.borrows:
            super().incref(typ, val)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Give a variable its value."""
        if name in self.borrowed:
            self.borrowed[name] = value
        else:
            super().storevar(value, name, argidx)

    def loadvar(self, name: str) -> Any:
        """The value of a variable."""
        return self.borrowed[name] if name in self.borrowed else super().loadvar(name)

    def delvar(self, name: str) -> None:
        """What is borrowed is not given back twice."""
        if name not in self.borrowed:
            super().delvar(name)

    def _alloca_var(self, name: str, fetype: Any) -> None:
        if name not in self.borrowed:
            super()._alloca_var(name, fetype)


@register_pass(mutates_CFG=True, analysis_only=False)
class BorrowingLowering(BaseNativeLowering):
    """The pass that translates a function by `BorrowingLower`."""

    _name: Any = "borrowing_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """What translates."""
        return BorrowingLower


class LeanCompiler(Compiler):
    """Numba's compiler, which leaves out both kinds of branches, and references to arguments."""

    def define_pipelines(self) -> Any:
        """The passes over a function."""
        managers = super().define_pipelines()
        for manager in managers:
            manager.add_pass_after(PruneAbsent, DeadBranchPrune)
            manager.passes = [
                (BorrowingLowering if kind is NativeLowering else kind, text) for kind, text in manager.passes
            ]
            manager.finalize()
        return managers


class NoinlineLibrary(PartLibrary):
    """Intermediate code of a part that stays a function in the kernels that call it."""

    names: ClassVar[set[str]] = set()  # of all such functions

    def add_ir_module(self, ir_module: Any) -> None:
        """Mark what the part defines."""
        for function in ir_module.functions:
            if function.blocks:
                function.attributes.add("noinline")
                self.names.add(function.name)
        super().add_ir_module(ir_module)


class KernelLibrary(JITCodeLibrary):
    """Machine code of a kernel."""

    def _optimize_final_module(self) -> None:
        # No other code may see the functions, nor they another copy of themselves: whose copy runs would depend on
        # what the process had loaded before.
        for function in self._final_module.functions:
            if function.name in NoinlineLibrary.names and not function.is_declaration:
                function.linkage = "internal"
        super()._optimize_final_module()


class PartCompiler(LeanCompiler):
    """A compiler with a library of intermediate code."""

    library: type[PartLibrary] = PartLibrary

    def compile_extra(self, func: Any) -> Any:
        """Compile a Python function."""
        if self.state.library is None:
            self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class NoinlineCompiler(PartCompiler):
    """The same for a part that stays a function."""

    library = NoinlineLibrary


class KernelAPI(PythonAPI):
    """What a kernel returns is made of objects that the compiled code has at hand.

    Numba would find the class of an array by a call of Python. A Ctrl-C that came while the kernel ran is raised
    there; the code around that call takes no notice, and ends in a `SystemError` or a crash.
    """

    environment: Any = None

    def get_env_manager(self, *arguments: Any) -> Any:
        """The constants of the kernel."""
        self.environment = super().get_env_manager(*arguments)
        return self.environment

    def serialize_object(self, obj: Any) -> Any:
        """A class stays as it is, for `unserialize`."""
        is_at_hand = self.environment is not None and isinstance(obj, type)
        return obj if is_at_hand else super().serialize_object(obj)

    def unserialize(self, structptr: Any) -> Any:
        """A new reference to the object."""
        if not isinstance(structptr, type):
            return super().unserialize(structptr)
        found = self.environment.read_const(self.environment.add_const(structptr))
        self.incref(found)
        return found


class KernelCompiler(LeanCompiler):
    """A compiler without looking for garbage: it makes many objects, few of them garbage."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a Python function."""
        context = self.state.targetctx  # of this compilation alone
        context.get_python_api = lambda builder: KernelAPI(context, builder)
        if self.state.library is None:
            self.state.library = KernelLibrary(context.codegen(), func.__qualname__)
            self.state.library.enable_object_caching()
        enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if enabled:
                gc.enable()
