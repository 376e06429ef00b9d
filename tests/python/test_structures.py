"""The package safestructures loads the structure that the library writes."""

import sys

import pytest
import safestructures
from support import ROOT, built, run

sys.path.append(str(ROOT / "tests/structures"))

import make  # noqa: E402

pytestmark = pytest.mark.main


def test_a_structure_of_the_library_is_loaded(place):
    run("structure", program=built("examples/training"))
    assert make.same(safestructures.load_file("structure"), make.training())
