"""The commands `convert`, `scan`, `repair` and `merge` as functions, and `set_tensor`.

Options are those of the command, such as `to="F16"`, `force=True` or `only=["a.*", "b.*"]`, with `_` for `-`.
"""

import os
import sys
from pathlib import Path
from typing import Any, Iterable, Optional, Union

from . import _core
from ._core import SafetensorError
from ._open import _MODULES, find_module

_Path = Union[str, os.PathLike]
_Paths = Union[_Path, Iterable[_Path]]

# Imports this package and no other, whatever the current directory and the environment are.
_START = "import sys; sys.path.append(sys.argv.pop(1)); from embedded_safetensors._command import main; sys.exit(main())"


def convert(inputs: _Paths, output: _Path, **options: Any) -> Any:
    """Converts as `safetensors convert` does. Returns what `--json` prints; with `each=True` a list, for each input."""
    done = _run("convert", inputs, output, options)
    return done if options.get("each") else done[0]


def scan(files: _Paths, **options: Any) -> list[dict[str, Any]]:
    """Returns for each file what its pickles would import and call. Nothing is executed.

    `ok` is False for a file that is damaged or has something that is not allowed. One that cannot be read is an exception.
    """
    return _run("scan", files, None, options)


def repair(file: _Path, output: _Path, **options: Any) -> dict[str, Any]:
    """Writes the whole tensors of a damaged file to a new one. Returns the `changes`, and the tensors that are `lost`."""
    return _run("repair", file, output, options)[0]


def merge(models: _Paths, output: _Path, **options: Any) -> dict[str, Any]:
    """Merges LoRAs into the first model, or averages models, as `safetensors merge` does."""
    return _run("merge", models, output, options)[0]


def set_tensor(filename: _Path, name: str, array: Any, slice: Any = None) -> None:
    """Overwrites a tensor of a file, or a slice of it, in place. An embedded sum is computed again. After a power cut the old bytes
    are restored when the file is edited again.

    Args:
        array: the new values, of any framework, with the dtype and the shape of the old ones.
        slice: an index as of `get_slice`, such as `np.s_[10:20, ::2]`.
    """
    module = find_module(_MODULES.get(type(array).__module__.partition(".")[0], "numpy"))
    kept: list[Any] = []

    def spec(shape: list[int], flips: list[int]) -> _core.TensorSpec:
        tensors = {name: module._flip(array, tuple(flips)) if flips and list(array.shape) == shape else array}
        return (module._flatten_as_ptr(tensors, kept) if module.__name__.endswith(".torch") else module._specs(tensors))[name]

    _core.set_tensor(filename, name, spec, slice)


def _run(command: str, paths: _Paths, output: Optional[_Path], options: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs the command in a process of its own. Returns the objects that it prints."""
    # Importing them takes longer than importing this package.
    import json
    import subprocess

    words = [sys.executable, "-I", "-S", "-c", _START, str(Path(__file__).parents[1]), command, "--json"]
    for name, values in {**options, "output": output}.items():
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if value is not None and value is not False:
                words.append("--" + name.replace("_", "-") + ("" if value is True else f"={value}"))
    words += ["--", *map(os.fspath, [paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            printed, said = child.communicate()
        except BaseException:
            child.terminate()
            child.communicate()
            raise
    if child.returncode in (-2, 130):
        raise KeyboardInterrupt
    done = [json.loads(line) for line in printed.splitlines()]
    if child.returncode not in (0, 1, 2) or not done:
        raise RuntimeError(f"safetensors {command} ended with {child.returncode}: {said.decode(errors='replace').strip()}")
    for one in done:
        # A damaged file is a result of a scan.
        if "message" in one and (command != "scan" or one.get("error") != "pickle"):
            raise _error(one)
    return done


def _error(said: dict[str, Any]) -> Exception:
    file, message = said.get("file"), said["message"]
    if said.get("error") == "io":
        import errno

        numbers = [number for number in errno.errorcode if os.strerror(number).lower() in message.lower()]
        return OSError(*numbers[:1], message, file) if numbers else OSError(f"{file}: {message}")
    error = SafetensorError(f"{file}: {message}" if file else message)
    error.code, error.byte, error.tensor = said.get("code", said.get("error")), said.get("at"), said.get("tensor")
    return error
