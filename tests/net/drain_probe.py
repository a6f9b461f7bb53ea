#!/usr/bin/env python3
"""A server that is told to stop in the middle of a round: it finishes the round, says goodbye, and the next one goes on.

    drain_probe.py FEROMA

Ends with 0 if everything went as it must. What is finished is read from the journal, not from what the server says.
"""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faults"))
import check_state
from federation import FEROMA, config_text, reserve_port, write_data

CLIENTS, ROUNDS = 3, 120
INTERRUPTED = 3  # exit code: stopped, and nothing is lost
PATIENCE = 60  # seconds for anything


class Drain:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.port, self.reservation = reserve_port()
        self.started = []
        self.state = folder / "server"
        self.config = folder / "config.toml"
        self.config.write_text(config_text(CLIENTS, ROUNDS, FEROMA, "", {"rejoin_seconds": 60}))
        write_data(folder / "data", CLIENTS)
        self.clients = [self.begin(f"client-{n}.log", "client", "--data", folder / "data" / str(n), "--client", str(n), "--state",
                                   folder / f"client-{n}", "--server", f"127.0.0.1:{self.port}", "--insecure") for n in range(CLIENTS)]

    def begin(self, log, *arguments):
        with open(self.folder / log, "a") as out:
            self.started.append(subprocess.Popen([self.program, *arguments], stdout=out, stderr=subprocess.STDOUT))
        return self.started[-1]

    def start_server(self):
        return self.begin("server.log", "server", self.config, "--state", self.state, "--listen", f"127.0.0.1:{self.port}", "--insecure")

    def records(self):
        path = self.state / "journal"
        return [check_state.read_record(r) for r in check_state.read_journal(path.read_bytes())] if path.exists() else []

    def finished(self):
        return max([r["round"] for r in self.records() if r["kind"] == check_state.COMMIT], default=0)

    def await_that(self, condition, what):
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, f"{what}: not within {PATIENCE} s"
            time.sleep(0.01)

    def hold_a_round(self, server, after):
        """Stops a client after some round; returns the number of the round that now waits for it."""
        self.await_that(lambda: self.finished() >= after, f"round {after} is finished")
        self.clients[-1].send_signal(signal.SIGSTOP)
        held = -1
        while held != self.finished():
            held = self.finished()
            time.sleep(1)  # what it had sent already may still finish a round
        last = self.records()[-1]
        assert last["kind"] == check_state.STARTED and last["round"] == held + 1, f"no round waits: {last}"
        assert server.poll() is None, "the server ended by itself"
        return held + 1

    def end(self, process, code, what):
        self.await_that(lambda: process.poll() is not None, f"{what} ends")
        got = process.returncode
        assert got == code, f"{what} must end with {code}, got {got}"

    def expect_goodbye(self, number):
        for n in range(CLIENTS):
            self.await_that(lambda: (self.folder / f"client-{n}.log").read_text().count("the server stops") == number,
                            f"client {n} hears goodbye {number}")

    def drain(self):
        server = self.start_server()
        under_way = self.hold_a_round(server, 2)
        server.send_signal(signal.SIGTERM)
        time.sleep(1)
        assert server.poll() is None, "a server that drains must wait for the round under way"
        assert self.finished() == under_way - 1
        self.clients[-1].send_signal(signal.SIGCONT)
        self.end(server, INTERRUPTED, "a drained server")
        assert self.finished() == under_way, f"round {under_way} must be the last one, got {self.finished()}"
        self.expect_goodbye(1)
        return under_way

    def stop_at_once(self, after):
        server = self.start_server()
        under_way = self.hold_a_round(server, after + 2)
        server.send_signal(signal.SIGTERM)
        time.sleep(0.5)  # two at once are one
        server.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        self.end(server, INTERRUPTED, "a server that is told twice")
        assert time.monotonic() - begin < 10, "it must end at once"
        assert self.finished() == under_way - 1, f"round {under_way} was cut off, but round {self.finished()} is finished"
        self.clients[-1].send_signal(signal.SIGCONT)

    def run(self):
        self.stop_at_once(self.drain())
        server = self.start_server()
        self.end(server, 0, "the last server")
        for client in self.clients:
            self.end(client, 0, "a client")
        rounds = [r["round"] for r in self.records() if r["kind"] == check_state.COMMIT]
        assert rounds == list(range(1, ROUNDS + 1)), f"every round must be finished once, in order, got {rounds}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        drain = None
        try:
            drain = Drain(Path(sys.argv[1]).resolve(), Path(folder))
            drain.run()
        except AssertionError as wrong:
            print(f"drain_probe: {wrong}")
            for log in sorted(Path(folder).glob("*.log")):
                print(f"== {log.name}\n{log.read_text()[-800:]}")
            return 1
        finally:
            for process in drain.started if drain else []:
                process.kill()
                process.wait()
    print("drain_probe: a drained round is finished, a second signal ends at once, and all rounds are finished once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
