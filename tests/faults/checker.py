"""The checker itself: what a healthy federation left behind is spoiled in many ways, and each must be noticed by name."""
import hashlib
import json
import shutil
import sqlite3
import struct
import zlib
from unittest import mock

import check_state
import federation as harness
from federation import PRIVATE, Federation


def finished(context, name, **how):
    federation = Federation(context.binaries, context.folder / name, rounds=3, **how)
    federation.start_clients()
    federation.live()
    problems = federation.end_clients() + federation.check(None if federation.private else federation.state)
    context.problems += problems
    return federation


def journal_of(records):
    data = b"FEROMAJ1"
    for number, record in enumerate(records, 1):
        head = struct.pack("<QII", number, len(record), zlib.crc32(record))
        data += head + struct.pack("<Q", zlib.crc32(head)) + record
    return data


def rewrite_journal(change):
    def spoil(folder):
        for path in (folder / "server" / "journal", folder / "journal.0"):
            path.write_bytes(journal_of(change(check_state.read_journal(path.read_bytes()))))
    return spoil


def append(path, text):
    with open(path, "a") as out:
        out.write(text)


def edit(path, change):
    path.write_bytes(change(path.read_bytes()))


def models_of(folder):
    return check_state.commits_in((folder / "server" / "journal").read_bytes())[-1]["models"]


def poison(folder):
    """A model of numbers that are none, with every digest in place."""
    old = models_of(folder)[0]
    data = (folder / "server" / "models" / old).read_bytes()
    data = data[:8] + struct.pack("<f", float("nan")) + data[12:]
    new = hashlib.sha256(data).hexdigest()
    (folder / "server" / "models" / new).write_bytes(data)
    rewrite_journal(lambda records: [r.replace(old.encode(), new.encode()) for r in records])(folder)


def forget_scores(folder):
    with sqlite3.connect(folder / "server" / "results" / "store.db") as database:
        database.execute("UPDATE models SET validation_score = NULL")


def last_line(folder, kind):
    lines = (folder / "client-0-1-2-3.log").read_text().splitlines()
    return next(line for line in reversed(lines) if line.split()[2] == kind)


def later(line, change):
    return " ".join(change(line.split())) + "\n"


SPOILED = [
    ("I1", "the last commit is lost", rewrite_journal(lambda records: records[:-1])),
    ("I1", "a commit stands twice", rewrite_journal(lambda records: records + records[-1:])),
    ("I1", "a client was told of a round that is not there", lambda f: append(
        f / "client-0-1-2-3.log", later(last_line(f, "committed"), lambda w: w[:3] + ["9", "1"]))),
    ("I2", "an answer counted twice", lambda f: append(f / "client-0-1-2-3.log", last_line(f, "verdict") + "\n")),
    ("I2", "two answers to one task", lambda f: append(
        f / "client-0-1-2-3.log", later(last_line(f, "answer"), lambda w: w[:6] + ["00"]))),
    ("I2", "a client twice in a round", lambda f: append(
        f / "server" / "clients.csv", (f / "server" / "clients.csv").read_text().splitlines()[-1] + "\n")),
    ("I3", "a model of the results", lambda f: edit(
        next((f / "server" / "results" / "models").glob("*")), lambda d: d[:-1] + bytes([d[-1] ^ 1]))),
    ("I3", "a mixing matrix", lambda f: edit(
        next((f / "server" / "mixing").glob("*")), lambda d: d[:-1] + bytes([d[-1] ^ 1]))),
    ("I3", "the index of results", lambda f: (f / "server" / "results" / "store.db").unlink()),
    ("I3", "the scores in it", forget_scores),
    ("I4", "a value that is no number", poison),
    ("I5", "a model is missing", lambda f: (f / "server" / "models" / models_of(f)[0]).unlink()),
    ("I5", "a bit of a model", lambda f: edit(
        f / "server" / "models" / models_of(f)[0], lambda d: d[:-1] + bytes([d[-1] ^ 1]))),
    ("I5", "no journal", lambda f: edit(f / "journal.0", lambda d: b"something else")),
]
SPOILED_LEDGERS = [
    ("I6", "a line is lost", lambda f: edit(f / "clients" / "0" / "ledger" / "ledger", lambda d: d[:d.rindex(b"\n", 0, -1) + 1])),
    ("I6", "noise drawn twice", lambda f: (
        append(f / "clients" / "0" / "ledger" / "ledger", later(
            (f / "clients" / "0" / "ledger" / "ledger").read_text().splitlines()[1], lambda w: ["99"] + w[1:])),
        shutil.copy(f / "clients" / "0" / "ledger" / "released" / "1.bin", f / "clients" / "0" / "ledger" / "released" / "99.bin"))),
]


def spoil_all(context, federation, cases):
    text = (federation.folder / "expected.json").read_text()
    for invariant, what, spoil in cases:
        copy = context.folder / "spoiled"
        shutil.copytree(federation.folder, copy)
        spoil(copy)
        expected = json.loads(text.replace(str(federation.folder), str(copy)))
        if expected["reference"]:
            expected["reference"] = str(federation.state)
        found = check_state.check(expected)
        context.require(any(line.startswith(invariant) for line in found),
                        f"the checker does not notice {invariant}, {what}: {found}")
        shutil.rmtree(copy)


def read_late(context, federation):
    """What the checker says of a client that reads its verdict when the next server is there already, and is told again
    by that one: it must say nothing."""
    copy = context.folder / "late"
    shutil.copytree(federation.folder, copy)
    expected = json.loads((copy / "expected.json").read_text().replace(str(federation.folder), str(copy)))
    told = last_line(copy, "verdict")
    time, client = float(told.split()[0]), told.split()[1]
    expected["lives"].append({**expected["lives"][0], "started": time - 1e-6, "listening": time})
    append(copy / "client-0-1-2-3.log", f"{time + 1} {client} connected\n" + told + "\n")
    expected["reference"] = str(federation.state)
    return [f"a verdict that was read late: {line}" for line in check_state.check(expected)]


def shares_a_port():
    """Whether two harnesses that draw the same port both get it, while no server listens there."""
    port, first = harness.reserve_port()
    first.close()
    with mock.patch.object(harness.random, "SystemRandom") as system:
        system.return_value.randint.side_effect = [port, port, port - 1, port - 2, port - 3]
        (one, kept), (other, _) = harness.reserve_port(), harness.reserve_port()
    kept.close()
    return one == other


def run(context):
    context.require(not shares_a_port(), "two federations have one port")
    plain = finished(context, "plain")
    spoil_all(context, plain, SPOILED)
    private = finished(context, "private", extra=PRIVATE)
    spoil_all(context, private, SPOILED_LEDGERS)
    scaled = finished(context, "scaled", training="standardise = true")
    kinds = [check_state.read_record(r)["kind"] for r in check_state.read_journal((scaled.state / "journal").read_bytes())]
    context.require(kinds.count(check_state.SCALE) == 1, f"the journal must fix the scale once, its records are {kinds}")
    context.problems += read_late(context, plain)
    slow = json.loads((plain.folder / "expected.json").read_text())
    slow["lives"][0]["listening"] += 6
    context.require(any(line.startswith("I7") for line in check_state.check(slow)), "the checker does not notice I7")
    context.note(f"{len(SPOILED) + len(SPOILED_LEDGERS) + 1} ways to spoil a federation, each noticed by name")
