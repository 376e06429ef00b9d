"""`_core.pyi` declares every name of the extension."""

import ast
from pathlib import Path

import pytest

import embedded_safetensors
from embedded_safetensors import _core

pytestmark = pytest.mark.main


def test_every_name_has_a_stub():
    stub = Path(embedded_safetensors.__file__).with_name("_core.pyi")
    nodes = ast.parse(stub.read_text()).body
    typed = {node.name: node for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    names = {name for name in dir(_core) if not name.startswith("_")}
    assert typed.keys() == names
    for name, node in typed.items():
        if isinstance(node, ast.ClassDef):
            members = {member for member in vars(getattr(_core, name)) if not member.startswith("_")}
            listed = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            listed |= {member.target.id for member in node.body if isinstance(member, ast.AnnAssign)}
            assert members == {member for member in listed if not member.startswith("_")}, name
