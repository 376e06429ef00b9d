"""Shows on a terminal how many files are done."""

import sys
import threading

#: The seconds before anything is shown, and between two updates.
PATIENCE = 1
PAUSE = 0.2
#: The length of the bar.
BAR = 30


class Progress:
    """A line on the standard error, if that is a terminal. Use `with`: at the end the line is removed."""

    def __init__(self, total):
        self.done, self.total, self.is_ended = 0, total, threading.Event()
        self.thread = threading.Thread(daemon=True, target=self.show)

    def __enter__(self):
        if sys.stderr.isatty():
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_ended.set()
        if self.thread.ident:
            self.thread.join()

    def show(self):
        """Rewrites the line until the end."""
        pause = PATIENCE
        while not self.is_ended.wait(pause):
            bar = ("=" * (BAR * self.done // self.total) + (">" if self.done else ""))[:BAR]
            print(f"\rasking [{bar:{BAR}}] {self.done} of {self.total} files", end="", file=sys.stderr, flush=True)
            pause = PAUSE
        if pause == PAUSE:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
