"""The examples of the guide and of the README."""

import re

import pytest
from support import ROOT

pytestmark = pytest.mark.main

PAGES = [ROOT / "crates/safetensors-python/README.md", ROOT / "docs/src/python.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
