"""The Python examples of the guide and of both READMEs run, and what they write is a valid model."""

import re

import pytest
from support import ROOT

from embedded_safetensors import check

pytestmark = pytest.mark.main

BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [ROOT / "README.md", ROOT / "crates/safetensors-python/README.md", *sorted((ROOT / "docs/src").glob("*.md"))]


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.name)
def test_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), names)
    for path in tmp_path.glob("model*.safetensors"):
        check(path)
