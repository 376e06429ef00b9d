#!/usr/bin/env python3
"""Scores a reader of safetensors files against the conformance vectors: python3 run.py --help.

Standard library only. Public domain (CC0-1.0).
"""

import sys

from runner import command

if __name__ == "__main__":
    sys.exit(command.run())
