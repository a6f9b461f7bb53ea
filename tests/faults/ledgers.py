"""A client under a privacy budget whose ledger is removed, whose certificate is renewed, or that is given another state
folder, with the program as it is installed: never more than the budget is told, but for what an operator vouches for."""
import hashlib
import shlex
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from federation import FEROMA, config_text, write_data

BUDGET = 3  # releases
PRIVATE = f'\n[privacy]\nmode = "gaussian"\nepsilon_total = 2\nmax_releases = {BUDGET}\n'
LONGEST = 30  # seconds; nothing here takes that long
ENOUGH = 0.4  # seconds in which a client that may tell more of new data has told it
QUIET = 3  # times that nothing is told of new data, and nothing will be
REASON = "the disk broke"
WORKERS = 3  # a federation mostly waits


class Walk:
    """One federation of the installed program, with certificates, that goes on for as long as it is needed."""

    def __init__(self, context, name):
        self.feroma = context.binaries / "feroma"
        self.folder = context.folder / name
        self.folder.mkdir(parents=True)
        write_data(self.folder / "data", 1)
        self.data = self.folder / "data" / "0"
        # Room for the one who comes with another certificate.
        self.write_config(clients=3)
        self.versions = 0
        self.told = {}  # digest of what was released, and where it was found
        self.call("cert", "authority")
        self.call("cert", "server", "127.0.0.1")
        self.call("cert", "client", "site-a")
        self.server = None
        self.begin_server()

    def write_config(self, clients):
        text = config_text(clients, 100000, FEROMA, PRIVATE, 
                           {"min_clients": 1, "min_answers": 1, "heartbeat_seconds": 0.2, "rejoin_seconds": 10})
        (self.folder / "config.toml").write_text(text)

    def call(self, *arguments):
        done = subprocess.run([self.feroma, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"feroma {' '.join(map(str, arguments))} failed: {done.stderr}")
        return done.stdout

    def begin_server(self):
        out = open(self.folder / "server.log", "w")
        self.server = subprocess.Popen(
            [self.feroma, "server", "config.toml", "--certs", "certs", "--state", "server", "--listen", "127.0.0.1:0"],
            cwd=self.folder, stdout=out, stderr=subprocess.STDOUT)
        self.wait_for(lambda: "listening on port" in (self.folder / "server.log").read_text(), "no server listens")
        words = (self.folder / "server.log").read_text().split("listening on port")[1]
        self.port = int(words.split()[0].rstrip(",;:"))

    def end_server(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(LONGEST)

    def wait_for(self, condition, what):
        end = time.monotonic() + LONGEST
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: {self.logs()}")
            time.sleep(0.02)

    def logs(self):
        return {path.name: path.read_text()[-400:] for path in self.folder.glob("*.log")}

    def new_data(self):
        """The next version of the data: the same rows, written anew in another order."""
        self.versions += 1
        table = self.data / "rows.csv"
        head, *rows = table.read_text().splitlines()
        turn = rows[self.versions:] + rows[:self.versions]
        new = self.folder / "rows.new"
        new.write_text("\n".join([head] + turn) + "\n")
        new.rename(table)

    def start_client(self, certificate="site-a", *more):
        log = open(self.folder / "client.log", "w")
        return subprocess.Popen(
            [self.feroma, "client", "--data", self.data, "--server", f"127.0.0.1:{self.port}", "--ca", "certs/ca.pem",
             "--cert", f"certs/clients/{certificate}.pem", "--key", f"certs/clients/{certificate}.key", *more],
            cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)

    def look(self):
        """Writes down what was released so far, in whatever ledger."""
        for path in self.folder.glob("**/released/*.bin"):
            if path.parent.parent.parent != self.folder / "kept":
                try:
                    content = path.read_bytes()
                except FileNotFoundError:
                    continue
                if content != REASON.encode():  # an operator's word, which nobody was told
                    self.told.setdefault(hashlib.sha256(content).hexdigest(), path)

    def live(self, releases, *arguments):
        """Plays until a client has told so often, or is refused, or has had its time; returns its exit code, if it ended by
        itself."""
        before = len(self.told)
        client = self.start_client(*arguments)
        log = self.folder / "client.log"
        self.wait_for(lambda: client.poll() is not None or "joined as client" in log.read_text(), "nobody joins")
        quiet = 0
        while client.poll() is None and quiet < QUIET and len(self.told) < before + releases:
            self.new_data()
            seen = len(self.told)
            until = time.monotonic() + ENOUGH
            while len(self.told) == seen and time.monotonic() < until and client.poll() is None:
                time.sleep(0.02)
                self.look()
            quiet = quiet + 1 if len(self.told) == seen else 0
        code = client.poll()
        if code is None:
            client.send_signal(signal.SIGTERM)
            client.wait(LONGEST)
        self.look()
        return code, (self.folder / "client.log").read_text()

    def end(self):
        self.server.kill()
        self.server.wait()


def vouch_command(text):
    """The command that a refusal names, as words after `feroma`."""
    line = next((line for line in text.splitlines() if "feroma privacy vouch" in line), "")
    return shlex.split(line.partition("feroma privacy vouch")[2])


def lose_ledger(walk):
    shutil.rmtree(walk.folder / "site-a-state" / "ledger")
    return ["site-a"]


def other_state(_):
    return ["site-a", "--state", "elsewhere"]


def take_another_number(walk):
    walk.call("cert", "revoke", "site-a")
    walk.call("cert", "client", "site-b")
    time.sleep(1.5)  # the server looks at its list once a second
    return ["site-b"]


def renew_certificate_with_its_number(walk):
    """Nothing of the client's own is left that counts: only the server knows."""
    walk.call("cert", "renew", "site-a")
    shutil.rmtree(walk.folder / "site-a-state")
    (walk.folder / "data" / "0-releases").unlink()
    time.sleep(1.5)
    return ["site-a"]


def older_ledger(walk):
    state = walk.folder / "site-a-state"
    shutil.rmtree(state / "ledger")
    shutil.copytree(walk.folder / "kept" / "ledger", state / "ledger")
    return ["site-a"]


def older_state_folder(walk):
    """The whole of it, as from a backup."""
    shutil.rmtree(walk.folder / "site-a-state")
    shutil.copytree(walk.folder / "kept", walk.folder / "site-a-state")
    return ["site-a"]


LOSSES = {"ledger/ removed": lose_ledger, "an older ledger/": older_ledger, "an older state folder": older_state_folder,
          "another --state": other_state, "another number": take_another_number,
          "a renewed certificate with its number, without the file beside the data": renew_certificate_with_its_number}


def play(context, name, lose):
    walk = Walk(context, name.replace(" ", "-").replace("/", "").replace(",", ""))
    try:
        walk.live(1, "site-a")
        shutil.copytree(walk.folder / "site-a-state", walk.folder / "kept")
        walk.live(BUDGET, "site-a")
        context.require(len(walk.told) == BUDGET, f"{name}: {BUDGET} releases before the loss, got {len(walk.told)}: "
                                                  f"{walk.logs()}")
        who = lose(walk)
        code, text = walk.live(BUDGET, *who)
        context.require(len(walk.told) <= BUDGET,
                        f"{name}: {len(walk.told)} releases of a budget of {BUDGET} without a word")
        context.require(code == 1 and "feroma privacy vouch" in text, f"{name}: a refusal says what to do, got {code}: {text}")
        command = vouch_command(text)
        if command:
            # What the refusal says counts the lost ones as spent: the client takes part, and tells nothing new.
            walk.call("privacy", "vouch", *[word.replace("WHY", REASON) for word in command])
            code, text = walk.live(BUDGET, *who)
            context.require(code is None and "joined as client" in text, f"{name}: vouched for, got {code}: {text}")
            context.require(len(walk.told) <= BUDGET, f"{name}: {len(walk.told)} releases after an operator's word that counts them")
    finally:
        walk.end()


def restore(context):
    """The documented restore: an older copy of the server's state, and client.state moved out of the client's folder."""
    walk = Walk(context, "restore")
    try:
        walk.live(1, "site-a")
        walk.end_server()
        shutil.copytree(walk.folder / "server", walk.folder / "server.copy")
        walk.begin_server()
        walk.live(1, "site-a")
        walk.end_server()
        shutil.rmtree(walk.folder / "server")
        (walk.folder / "server.copy").rename(walk.folder / "server")
        walk.begin_server()
        (walk.folder / "site-a-state" / "client.state").rename(walk.folder / "client.state.old")
        code, text = walk.live(BUDGET, "site-a")
        context.require(code is None and "joined as client 0" in text, f"the documented restore: {code}: {text}")
        context.require(len(walk.told) == BUDGET, f"the documented restore: the rest of the budget is told, got {len(walk.told)}")
    finally:
        walk.end()


def run(context):
    with ThreadPoolExecutor(WORKERS) as pool:
        plays = [pool.submit(play, context, name, lose) for name, lose in LOSSES.items()] + [pool.submit(restore, context)]
    for done in plays:
        done.result()  # what it raised
    context.note(f"{len(LOSSES)} ways to lose a ledger, and the documented restore")
