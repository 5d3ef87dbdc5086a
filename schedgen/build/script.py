"""Load an emitted file as a Python module and find its kernel.

The module is registered under a name made from its text, because tilus reads the source of a
script back through `inspect`: two versions of one file must not be taken for each other.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from schedgen.build.toolchain import import_tilus


def text_hash(path: Path) -> str:
    """A short name for the text of the file, stable over machines and paths."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def load_module(path: Path) -> ModuleType:
    """Execute the file and return its module."""
    import_tilus()
    path = path.resolve()
    where = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"schedgen_emitted_{text_hash(path)}_{where}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def kernel_class(module: ModuleType, class_name: str | None) -> Any:
    """The tilus.Script that the module defines; by name if it defines several."""
    tilus = import_tilus()
    scripts = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, tilus.Script)
        and value.__module__ == module.__name__
    }
    if class_name is not None and class_name in scripts:
        return scripts[class_name]
    if class_name is None and len(scripts) == 1:
        return next(iter(scripts.values()))
    wanted = "exactly one kernel" if class_name is None else f"the kernel {class_name}"
    raise ValueError(f"{module.__file__} does not define {wanted}; found: {sorted(scripts)}")
