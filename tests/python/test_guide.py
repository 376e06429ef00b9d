"""The Python examples of the guide write valid models. `package/test_pages.py` runs those about the package."""

import re
from pathlib import Path

import pytest

from embedded_safetensors import check

pytestmark = pytest.mark.main

GUIDE = Path(__file__).resolve().parents[2] / "docs/src"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = {page.name: BLOCK.findall(page.read_text()) for page in sorted(GUIDE.glob("*.md")) if page.name != "python.md"}


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks])
def test_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in PAGES[page]:
        exec(compile(block, page, "exec"), names)
    check("model.safetensors")
