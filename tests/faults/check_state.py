#!/usr/bin/env python3
"""Says what is wrong with what a federation left behind.

  check_state.py EXPECTED.json

It reads the formats by itself and asks no server: what must be there follows from the file that the harness wrote and
from what the clients wrote down. One line for each violation, which begins with the invariant's name; exit code 1 if
there is one.

  I1 finished rounds strictly increase, and none that a client was told of is lost
  I2 each client counts once in a round, and gives one answer to one task
  I3 models, profiles and mixing are those of an undisturbed run, bit for bit
  I4 no model has a value that is not finite
  I5 the state opens: the journal reads, and every file it names has the content that its name says
  I6 ledgers only grow, and no data version is told of twice
  I7 a server listens again within five seconds
"""
import array
import hashlib
import json
import math
import sqlite3
import struct
import sys
import zlib
from pathlib import Path

JOB, STARTED, COMMIT, NOTE, SCALE, GROWN = 1, 2, 3, 4, 5, 6
RECOVERY_SECONDS = 5.0


class Broken(Exception):
    """A file that cannot be read."""


class Archive:
    """Numbers and texts one after the other, little-endian, lengths first."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise Broken(f"{size} bytes wanted at {self.at} of {len(self.data)}")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def text(self):
        return self.take(self.number("Q")).decode()

    def grown(self):
        """Files that only grow, by name: their length and digest."""
        return {self.text(): (self.number("Q"), self.text()) for _ in range(self.number("I"))}

    def end(self):
        if self.at != len(self.data):
            raise Broken(f"{len(self.data) - self.at} bytes too many")


def read_journal(data):
    """The whole records of a journal; a torn last one is what a crash may leave."""
    if len(data) < 8:
        return []
    if data[:8] != b"FEROMAJ1":
        raise Broken("not a journal")
    records, at = [], 8
    while at + 24 <= len(data):
        number, size, crc, check = struct.unpack("<QIIQ", data[at:at + 24])
        if check != zlib.crc32(data[at:at + 16]) or number != len(records) + 1:
            break
        record = data[at + 24:at + 24 + size]
        if len(record) < size or zlib.crc32(record) != crc:
            break
        records.append(record)
        at += 24 + size
    return records


def read_record(record):
    archive = Archive(record)
    kind = archive.number("B")
    if kind == JOB:
        parsed = {"kind": kind, "job": archive.text(), "config": archive.text()}
    elif kind == STARTED:
        parsed = {"kind": kind, "round": archive.number("i")}
        parsed["clients"] = [archive.number("I") for _ in range(archive.number("Q"))]
    elif kind == COMMIT:
        parsed = {"kind": kind, "round": archive.number("i"), "state": archive.text()}
        parsed["models"] = [archive.text() for _ in range(archive.number("I"))]
        parsed["grown"] = archive.grown()
    elif kind == NOTE:
        parsed = {"kind": kind, "name": archive.text(), "fact": archive.take(archive.number("Q"))}
    elif kind == SCALE:
        parsed = {"kind": kind, "scale": [archive.number("f") for _ in range(archive.number("Q"))]}
    elif kind == GROWN:
        parsed = {"kind": kind, "grown": archive.grown()}
    else:
        raise Broken(f"a record of kind {kind}")
    archive.end()
    return parsed


def commits_in(data):
    return [r for r in map(read_record, read_journal(data)) if r["kind"] == COMMIT]


def floats(data):
    values = array.array("f")
    values.frombytes(data)
    return values


def all_finite(data):
    return all(map(math.isfinite, floats(data)))


class Checker:
    def __init__(self, expected):
        self.expected = expected
        self.state = Path(expected["state"])
        self.violations = []
        self.heard = [line for log in expected["logs"] for line in self.lines_of(log)]

    def wrong(self, text):
        self.violations.append(text)

    def lines_of(self, log):
        """(life, client, what, rest) of each line of a client's log; the last one may be cut. What is read from a
        connection was said by the server that it was made to, even where the next one has started meanwhile."""
        path = Path(log)
        lives = {}
        for line in path.read_text().split("\n")[:-1] if path.exists() else []:
            time, client, what, *rest = line.split(" ")
            if what == "connected":
                lives[client] = self.life_of(float(time))
            yield lives.get(client, 0), int(client), what, rest

    def life_of(self, time):
        """The server's life at a time."""
        number = 0
        for i, life in enumerate(self.expected["lives"]):
            if life["started"] <= time:
                number = i
        return number

    # ---- I1 ----
    def check_rounds(self):
        before = []
        told = 0
        for number, life in enumerate(self.expected["lives"]):
            told = max([told] + [int(rest[0]) for life_told, _, what, rest in self.heard
                                 if what == "committed" and life_told == number])
            try:
                data = Path(life["journal"]).read_bytes() if Path(life["journal"]).exists() else b""
                records = read_journal(data)
                rounds = [r["round"] for r in map(read_record, records) if r["kind"] == COMMIT]
            except Broken as error:
                self.wrong(f"I5: the journal after life {number} ({life['how']}): {error}")
                continue
            if records[:len(before)] != before:
                self.wrong(f"I1: life {number} ({life['how']}) changed or lost records of the journal")
            if any(a >= b for a, b in zip(rounds, rounds[1:])):
                self.wrong(f"I1: finished rounds must increase, got {rounds}")
            if (rounds or [0])[-1] < told:
                self.wrong(f"I1: after life {number} ({life['how']}) round {(rounds or [0])[-1]} is the last one, "
                           f"but a client was told of round {told}")
            before = records
        finished = [r["round"] for r in self.last_commits()]
        if self.expected.get("finishes", True) and (finished or [0])[-1] != self.expected["rounds"]:
            self.wrong(f"I1: {self.expected['rounds']} rounds must be finished, got {finished}")

    def last_commits(self):
        try:
            return commits_in((self.state / "journal").read_bytes())
        except (Broken, OSError):
            return []

    # ---- I2 ----
    def check_answers(self):
        accepted, given, answered, seen = set(), {}, set(), {}
        for life, client, what, rest in self.heard:
            if what == "verdict" and rest[2] == "ACCEPTED":
                key = (life, client, int(rest[0]), int(rest[1]))
                # A round that begins again in the same life asks anew.
                if key in accepted and not self.expected.get("rounds_repeat", False):
                    self.wrong(f"I2: client {client} was told twice that round {rest[0]}, phase {rest[1]} counts")
                accepted.add(key)
            elif what == "answer":
                answered.add((client, rest[0]))
                if given.setdefault((client, rest[0], rest[1], rest[2]), rest[3]) != rest[3]:
                    self.wrong(f"I2: client {client} gave two answers to one task of round {rest[0]}")
            elif what == "committed":
                if int(rest[0]) < seen.get(client, 0):
                    self.wrong(f"I1: client {client} was told of round {rest[0]} after {seen[client]}")
                seen[client] = int(rest[0])
                if int(rest[1]) > 0 and (client, rest[0]) not in answered:
                    self.wrong(f"I2: round {rest[0]} counts an answer of client {client} that it never gave")
            elif what in ("refused", "failed"):
                self.wrong(f"I1: client {client} cannot go on: {' '.join(rest)}")
        counted = set()
        table = self.state / "clients.csv"
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            _, round_number, client, *_ = line.split(",")
            if (round_number, client) in counted:
                self.wrong(f"I2: clients.csv has client {client} twice in round {round_number}")
            counted.add((round_number, client))
        everybody = self.expected["rounds"] * self.expected["clients"]
        if self.expected.get("reference") and len(counted) != everybody:
            self.wrong(f"I2: {everybody} answers must have counted, got {len(counted)}")

    # ---- I4, I5 ----
    def check_files(self):
        commits = self.last_commits()
        if not commits:
            if self.expected.get("finishes", True):
                self.wrong("I5: no finished round can be read")
            return
        for digest in commits[-1]["models"] + [commits[-1]["state"]]:
            path = self.state / "models" / digest
            data = path.read_bytes() if path.exists() else None
            if data is None or hashlib.sha256(data).hexdigest() != digest:
                self.wrong(f"I5: {path.name[:12]} is {'missing' if data is None else 'damaged'}")
            elif digest != commits[-1]["state"]:
                count = struct.unpack("<Q", data[:8])[0]
                if len(data) != 8 + 4 * count:
                    self.wrong(f"I5: {digest[:12]} must hold {count} numbers")
                elif not all_finite(data[8:]):
                    self.wrong(f"I4: {digest[:12]} has values that are not finite")

    # ---- I3 ----
    def check_bits(self):
        if not self.expected.get("reference"):
            return
        reference = Path(self.expected["reference"])
        theirs = commits_in((reference / "journal").read_bytes())[-1]["models"]
        ours = (self.last_commits() or [{"models": []}])[-1]["models"]
        if ours != theirs:
            self.wrong("I3: the last round has other models than the undisturbed run's")
        for pattern in ("results/models/*.safetensors", "profiles/*.npy", "mixing/*.npy"):
            wanted = {p.name: p.read_bytes() for p in reference.glob(pattern)}
            found = {p.name: p.read_bytes() for p in self.state.glob(pattern)}
            for name in sorted(wanted.keys() | found.keys()):
                if wanted.get(name) != found.get(name):
                    self.wrong(f"I3: {pattern.split('*')[0]}{name} is not that of the undisturbed run")
        self.check_index(reference)

    def check_index(self, reference):
        def rows(state):
            path = state / "results" / "store.db"
            if not path.exists():
                return None
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
                return database.execute("SELECT client, round, model_file, profile, distribution, validation_score, num_examples "
                                        "FROM models ORDER BY 1, 2").fetchall()
        try:
            same = rows(self.state) == rows(reference)
        except sqlite3.Error as error:
            same = False
            self.wrong(f"I5: the index of results cannot be read: {error}")
        if not same:
            self.wrong("I3: the index of results is not that of the undisturbed run")

    # ---- I6 ----
    def check_ledgers(self):
        for client in range(self.expected["clients"] if self.expected.get("private") else 0):
            folder = Path(self.expected["client_states"]) / str(client) / "ledger"
            lines = (folder / "ledger").read_text().splitlines()[1:]
            for snapshot in self.expected.get("ledgers", []):
                before = Path(snapshot) / f"{client}.ledger"
                earlier = before.read_text().splitlines()[1:] if before.exists() else []
                if lines[:len(earlier)] != earlier:
                    self.wrong(f"I6: the ledger of client {client} lost or changed lines")
            told, total = {}, 0.0
            for line in lines:
                number, kind, _, version, epoch, rho, *_ = line.split(" ")
                total += float(rho)
                if (folder / "released" / f"{number}.bin").exists():
                    if (kind, version, epoch) in told:
                        self.wrong(f"I6: client {client} drew noise twice for version {version}, epoch {epoch}")
                    told[(kind, version, epoch)] = number
            if not told:
                self.wrong(f"I6: client {client} told nothing: the budget is not tested")

    # ---- I7 ----
    def check_recovery(self):
        for number, life in enumerate(self.expected["lives"]):
            if life.get("listening") and life["listening"] - life["started"] > RECOVERY_SECONDS:
                self.wrong(f"I7: life {number} listened after {life['listening'] - life['started']:.1f} s")

    def check(self):
        self.check_rounds()
        self.check_answers()
        self.check_files()
        self.check_bits()
        self.check_ledgers()
        self.check_recovery()
        return self.violations


def check(expected):
    return Checker(expected).check()


if __name__ == "__main__":
    found = check(json.loads(Path(sys.argv[1]).read_text()))
    for violation in found:
        print(violation)
    sys.exit(1 if found else 0)
