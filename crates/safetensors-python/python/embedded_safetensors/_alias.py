"""This package under the name of the package `safetensors`."""

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Optional

_OURS = __package__
_NAME = "safetensors"
# Programs compare it: it is the release whose functions this package has.
_VERSION = "0.8.0"


def install_as_safetensors() -> None:
    """Makes `import safetensors` import this package from now on, `safetensors.torch` its module, and so on.

    That holds for this process. A module of a framework is imported when a program imports it.
    `safetensors.__version__` is the release of `safetensors` whose functions this package has.

    Raises:
        RuntimeError: `safetensors` was imported earlier, so that other modules may hold its functions.
    """
    if any(isinstance(finder, _Alias) for finder in sys.meta_path):
        return
    if _NAME in sys.modules:
        raise RuntimeError(f"{_NAME} was imported earlier: call install_as_safetensors() before all that imports it")
    sys.meta_path.insert(0, _Alias())


class _Alias(MetaPathFinder, Loader):
    """Finds `safetensors.NAME` as this package's module, which stays the same module."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Optional[ModuleSpec]:
        if name == _NAME:
            return ModuleSpec(name, self, is_package=True)
        if name.startswith(f"{_NAME}.") and importlib.util.find_spec(_ours(name)):
            return ModuleSpec(name, self)
        return None

    def create_module(self, spec: ModuleSpec) -> Optional[ModuleType]:
        if spec.name == _NAME:
            return None
        module = importlib.import_module(_ours(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == _NAME:
            package = sys.modules[_OURS]
            vars(module).update({name: getattr(package, name) for name in package.__all__}, __version__=_VERSION, __file__=package.__file__)
        else:
            # The import has replaced it by that of the other name.
            module.__spec__ = module.__spec__.loader_state


def _ours(name: str) -> str:
    return _OURS if name == f"{_NAME}._safetensors_rust" else name.replace(_NAME, _OURS, 1)
