"""Conformance vectors for safetensors readers: `safetensors-conformance run -- ./my-reader` scores a command, and
`conformance` makes tests of pytest from a function."""

from .runner.function import conformance

__all__ = ["conformance"]
