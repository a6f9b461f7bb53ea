"""A small federation of real processes that a harness disturbs: data, config, servers one after the other, clients."""
import json
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import check_state

FEROMA = 'name = "feroma"\nwarmup_rounds = 1\nprofile.dimensions = 6'
SCAFFOLD = 'name = "scaffold"'
PRIVATE = '\n[privacy]\nmode = "gaussian"\nepsilon_total = 50\ndelta_total = 1e-5\nmax_releases = 4\n'
LONGEST_LIFE = 40  # seconds; nothing here takes that long


def reserve_port():
    """A port that nobody has, and what keeps it for us while no server listens at it: other harnesses run beside this one."""
    # Below the range from which connections get theirs, so that nobody takes it between two servers.
    for _ in range(1000):
        port = random.SystemRandom().randint(15000, 30000)
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0feroma-faults-{port}")  # a name without a file: it goes with the process
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
            return port, reservation
        except OSError:
            reservation.close()
    raise RuntimeError("no free port")


def write_data(folder, clients, rows=24):
    """Rows of nine numbers and a label; half of the clients have the numbers in another order."""
    for client in range(clients):
        draw = random.Random(1000 + client)
        path = folder / str(client)
        path.mkdir(parents=True)
        (path / "dataset.toml").write_text('[dataset]\nname = "rows"\nkind = "csv"\nfile = "rows.csv"\nlabel_column = "y"\n'
                                           'classes = 3\nshape = "1x3x3"\n')
        lines = [",".join([f"x{i}" for i in range(9)] + ["y"])]
        for row in range(rows):
            label = row % 3
            numbers = [draw.gauss(2 if i % 3 == label else 0, 1) for i in range(9)]
            lines.append(",".join([f"{x:.4f}" for x in (numbers[::-1] if client % 2 else numbers)] + [str(label)]))
        (path / "rows.csv").write_text("\n".join(lines) + "\n")


def config_text(clients, rounds, algorithm, extra, server, training=""):
    table = {"input": '"1x3x3"', "classes": 3, "min_clients": clients, "quorum": 1, "rejoin_seconds": 200,
             "heartbeat_seconds": 4}  # a federation may last half a second: somebody is to beat in it
    table.update(server)
    keys = "\n".join(f"{key} = {value}" for key, value in table.items())
    return (f'[scenario]\ndataset = "mnist"\nclients = {clients}\nrounds = {rounds}\nseed = 42\n'
            f'[training]\nmodel = "mlp"\nlocal_epochs = 1\nbatch_size = 8\n{training}\n'
            f"[[algorithm]]\n{algorithm}\n{extra}\n[server]\n{keys}\n")


class Server(threading.Thread):
    """One life of a server; what it prints is read as it comes."""

    def __init__(self, command, errors):
        super().__init__(daemon=True)
        self.started = time.monotonic()
        self.listening = None
        self.rounds = []  # (number, when it was finished, seconds, clients, dropped)
        self.steps = []  # (point, when it was passed), in order; "finished N" where round N was
        self.changed = threading.Condition()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.start()

    def run(self):
        for line in self.process.stdout:
            words = line.split()
            with self.changed:
                if words[0] == "listening":
                    self.listening = time.monotonic()
                elif words[0].startswith("round."):
                    self.steps.append((words[0], float(words[1])))
                elif words[0] == "round":
                    when = float(words[-1])
                    self.rounds.append((int(words[1]), when, float(words[3]), int(words[5]), int(words[7])))
                    self.steps.append((f"finished {words[1]}", when))
                self.changed.notify_all()

    def wait_for(self, condition, seconds=LONGEST_LIFE):
        with self.changed:
            return self.changed.wait_for(lambda: condition() or self.process.poll() is not None, seconds)

    def finished_round(self):
        return self.rounds[-1][0] if self.rounds else 0

    def exchanges(self):
        """(round, phase, began, over, attempts) of each exchange of a finished round: how often the round was begun."""
        done, this_round, since, attempts = [], [], None, 0
        for point, when in self.steps:
            if point == "round.begun":
                this_round, since, attempts = [], when, attempts + 1
            elif point == "round.phase_answered":
                this_round.append((since, when))
            elif point == "round.phase_done":
                since = when
            else:
                number = int(point.split()[1])
                done += [(number, phase, began, over, attempts) for phase, (began, over) in enumerate(this_round)]
                attempts = 0
        return done

    def end(self, seconds=LONGEST_LIFE):
        """The exit code; a server that does not end is killed, and counts as hung."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        self.join()
        self.process.stdout.close()
        return code


class Federation:
    """One federation in a folder of its own, with any number of servers' lives."""

    def __init__(self, binaries, folder, clients=4, rounds=12, algorithm=FEROMA, extra="", server=None, server_program=None,
                 client_program=None, training=""):
        self.server_program = server_program or binaries / "fault_server"
        self.client_program = client_program or binaries / "fault_client"
        self.folder = Path(folder)
        self.clients, self.rounds = clients, rounds
        self.state = self.folder / "server"
        self.port, self.reservation = reserve_port()
        self.lives, self.logs, self.ledgers = [], [], []
        self.running = []
        self.private = "[privacy]" in extra
        self.folder.mkdir(parents=True)
        write_data(self.folder / "data", clients)
        self.config = self.folder / "config.toml"
        rules = dict(server or {})
        self.clock = rules.pop("clock", 0.05)  # how long a second of the config takes
        self.config.write_text(config_text(clients, rounds, algorithm, extra, rules, training))

    def start_clients(self, ids=None, port=None, visits=False):
        ids = list(range(self.clients)) if ids is None else ids
        log = self.folder / f"client-{'-'.join(map(str, ids))}.log"
        if str(log) not in self.logs:
            self.logs.append(str(log))
        command = [self.client_program, "--server", f"127.0.0.1:{port or self.port}", "--state", self.folder / "clients",
                   "--data", self.folder / "data", "--clients", ",".join(map(str, ids)), "--log", log,
                   "--clock", str(self.clock)]
        process = subprocess.Popen(command + (["--visits", "yes"] if visits else []), stderr=subprocess.PIPE)
        self.running.append(process)
        return process

    def start_server(self, *arguments):
        with open(self.folder / "server.err", "a") as errors:
            return Server([self.server_program, self.config, "--state", self.state, "--port", str(self.port),
                           "--clock", str(self.clock), *arguments], errors)

    def end_life(self, server, how, seconds=LONGEST_LIFE):
        """Waits for a server's end and keeps what it left in its journal; returns its exit code."""
        code = server.end(seconds)
        survivors = Path(str(self.state) + ".survivors")
        if survivors.exists():
            shutil.rmtree(self.state)
            survivors.rename(self.state)
        journal = self.folder / f"journal.{len(self.lives)}"
        if (self.state / "journal").exists():
            shutil.copy(self.state / "journal", journal)
        self.lives.append({"started": server.started, "listening": server.listening, "how": how, "journal": str(journal)})
        if self.private:
            self.keep_ledgers()
        return code

    def keep_ledgers(self):
        snapshot = self.folder / f"ledgers.{len(self.ledgers)}"
        snapshot.mkdir()
        for client in range(self.clients):
            ledger = self.folder / "clients" / str(client) / "ledger" / "ledger"
            if ledger.exists():
                (snapshot / f"{client}.ledger").write_bytes(ledger.read_bytes().rpartition(b"\n")[0])
        self.ledgers.append(str(snapshot))

    def live(self, *arguments, kill_after=None, how="to the end"):
        """One life of a server, ended by itself or killed after so many seconds; returns its exit code."""
        server = self.start_server(*arguments)
        if kill_after is not None:
            try:
                server.process.wait(kill_after)
            except subprocess.TimeoutExpired:
                server.process.kill()
        return self.end_life(server, how)

    def end_clients(self, seconds=20):
        """Waits until clients were told that it is over; those that do not end are killed and named."""
        problems = []
        for process in self.running:
            try:
                code = process.wait(seconds)
                if code not in (0, -signal.SIGKILL):
                    problems.append(f"I1: clients ended with {code}: {process.stderr.read().decode()[-300:]}")
            except subprocess.TimeoutExpired:
                problems.append("I1: clients were not told that the federation is over")
                process.kill()
                process.wait()
            process.stderr.close()
        self.running = []
        return problems

    def check(self, reference=None, **more):
        """The checker's verdict, on the file that says what must be there."""
        expected = {"state": str(self.state), "client_states": str(self.folder / "clients"), "logs": self.logs,
                    "rounds": self.rounds, "clients": self.clients, "lives": self.lives, "ledgers": self.ledgers,
                    "private": self.private, "reference": str(reference) if reference else None, **more}
        (self.folder / "expected.json").write_text(json.dumps(expected, indent=1))
        return check_state.check(expected)

    def abandon(self):
        for process in self.running:
            process.kill()
            process.wait()
            process.stderr.close()
        self.running = []

    def errors(self):
        """What servers have written into their logs so far."""
        path = self.folder / "server.err"
        return path.read_text() if path.exists() else ""

    def last_errors(self):
        return self.errors()[-600:]
