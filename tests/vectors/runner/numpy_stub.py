"""A stand-in for numpy. Readers import it at once, but use it only for values, which nobody asks for here."""

import importlib.util
import sys
import types


def install():
    """Puts the stand-in in numpy's place, unless numpy is there."""
    if "numpy" not in sys.modules and importlib.util.find_spec("numpy") is None:
        sys.modules["numpy"] = types.ModuleType("numpy")
