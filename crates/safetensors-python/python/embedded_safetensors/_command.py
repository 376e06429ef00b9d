"""The command `safetensors`."""

import signal
import sys

from ._core import run_command


def main() -> int:
    """Runs the command with the words of the command line, and returns its exit code."""
    # Ctrl-C ends the command, which Python would only notice afterwards.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(sys.argv)
