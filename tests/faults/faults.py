#!/usr/bin/env python3
"""Disturbs small federations of real processes and has what they leave behind checked.

  tests/faults/faults.py BINARIES SCENARIO [--long] [--seed N] [--keep FOLDER]

BINARIES holds fault_server and fault_client. Prints every violation; exit code 1 if there is one.
"""
import argparse
import importlib
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
SCENARIOS = ("checker", "kills", "files", "clients", "slow_clients", "network", "commits", "ledgers")


class Context:
    """What a scenario needs: where programs are, a folder, randomness, and where to say what is wrong."""

    def __init__(self, arguments, folder):
        self.binaries = Path(arguments.binaries).resolve()
        self.long = arguments.long
        self.seed = arguments.seed
        self.random = random.Random(arguments.seed)
        self.folder = Path(folder)
        self.problems = []
        self.lock = threading.Lock()

    def require(self, condition, text):
        if not condition:
            with self.lock:
                self.problems.append(text)

    def finished(self, federation, problems):
        """A federation without problems leaves nothing behind: a long run has thousands."""
        if not problems:
            shutil.rmtree(federation.folder)

    @staticmethod
    def note(text):
        print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binaries")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="where federations with violations stay")
    arguments = parser.parse_args()
    begin = time.monotonic()
    folder = arguments.keep or tempfile.mkdtemp(prefix="feroma-faults-")
    try:
        context = Context(arguments, folder)
        importlib.import_module(arguments.scenario).run(context)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    for problem in context.problems:
        print(problem)
    print(f"{arguments.scenario}: {len(context.problems)} violations, {time.monotonic() - begin:.0f} s, seed {arguments.seed}")
    return 1 if context.problems else 0


if __name__ == "__main__":
    sys.exit(main())
