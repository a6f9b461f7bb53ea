"""F5: clients that are killed at random in every round. F16: everybody leaves, or too many do."""
import math
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import check_state
from federation import Federation

CLOCK = 0.05
RULES = {"clock": CLOCK, "quorum": 0.6, "min_clients": 6, "min_answers": 2, "grace_seconds": 4, "round_seconds": 60,
         "rejoin_seconds": 10, "heartbeat_seconds": 5, "dead_seconds": 20, "linger_seconds": 200}
# Seconds of the server's clock that an exchange may take beyond its quorum's grace, or its deadline.
BEYOND = 2
# Seconds of this machine, which `clock` does not shorten. A server that waits for the grace to pass looks five times a
# second; with 50 clients on two cores any of its threads waits for its turn; and a client hears that it is welcome a
# moment before the server counts it among those who are there.
GLANCE, BUSY, ADMITTED = 0.2, 1.0, 0.1


def rounds_of(federation):
    """The rounds in which each client's answers counted, as the server's table has them; its last line may be half written."""
    rounds = {}
    for line in (federation.state / "clients.csv").read_text().rpartition("\n")[0].splitlines()[1:]:
        _, round_number, client, *_ = line.split(",")
        rounds.setdefault(int(client), []).append(int(round_number))
    return rounds


def asked_in(federation):
    """Who was asked in each round, when it was begun first: the journal has it before anybody is."""
    asked = {}
    for record in map(check_state.read_record, check_state.read_journal((federation.state / "journal").read_bytes())):
        if record["kind"] == check_state.STARTED:
            asked.setdefault(record["round"], record["clients"])
    return asked


def heard_by(federation):
    """(time, client, what, rest) of all that clients wrote down, in the order of time."""
    lines = []
    for log in federation.logs:
        for line in Path(log).read_text().split("\n")[:-1]:
            when, client, what, *rest = line.split(" ")
            lines.append((float(when), int(client), what, rest))
    return sorted(lines)


def check_exchanges(server, rules, asked, heard):
    """An exchange is over so long after its quorum has answered, or after its deadline. A round has two of them, and
    gathers its clients before: that takes as long as there are too few, so it is no part of what is limited here.
    Returns problems and how long the longest took."""
    accepted = {}
    for when, _, what, rest in heard:
        if what == "verdict" and rest[2] == "ACCEPTED":
            accepted.setdefault((int(rest[0]), int(rest[1])), []).append(when)
    problems, longest, by_quorum = [], 0.0, 0
    for number, phase, began, over, attempts in server.exchanges():
        longest = max(longest, over - began)
        limit, rule = began + (rules["round_seconds"] + BEYOND) * CLOCK, "the deadline"
        # The second exchange asks those who answered in the first: its quorum is no larger than this. Where the round
        # was begun again, verdicts of both times look alike.
        quorum = max(2, math.ceil(rules["quorum"] * len(asked[number])))
        answers = accepted.get((number, phase), [])
        if attempts == 1 and len(answers) >= quorum:
            closes = answers[quorum - 1] + (rules["grace_seconds"] + BEYOND) * CLOCK + GLANCE
            limit, rule = min((limit, rule), (closes, "the quorum's grace"))
            by_quorum += 1
        if over > limit + BUSY:
            problems.append(f"F5: exchange {phase + 1} of round {number} was over {over - limit:.2f} s after {rule}")
    if 4 * by_quorum < len(server.exchanges()):
        problems.append(f"F5: of {len(server.exchanges())} exchanges {by_quorum} had a quorum that the clients knew of")
    return problems, longest


def check_returns(server, federation, killed, asked, heard):
    """Who is back before a round is finished is asked in the next one. Its answer counts, unless it comes after those of
    a quorum and their grace: then the server says so. Returns problems, how many came back, and how many were too slow."""
    finished = {number: when for number, when, *_ in server.rounds}
    counted, said = rounds_of(federation), federation.errors()
    first_kill, gone = {}, {}
    for client, when in killed:
        first_kill[client] = min(when, first_kill.get(client, when))
        gone.setdefault(client, []).append(when)
    for when, client, what, _ in heard:
        if what == "ended":
            gone.setdefault(client, []).append(when)
    problems, returns, slow = [], 0, 0
    for when, client, what, _ in heard:
        if what != "welcome" or when < first_kill.get(client, math.inf):
            continue
        last = min((number for number in finished if finished[number] > when + ADMITTED), default=max(finished))
        leaves = min((left for left in gone[client] if left > when), default=math.inf)
        if last + 1 not in finished or leaves <= finished[last + 1]:
            continue  # there was no next round, or it was killed again before that was over
        returns += 1
        if client not in asked[last + 1]:
            problems.append(f"F5: client {client} was back before round {last} was finished and was not asked in the next")
        elif last + 1 not in counted.get(client, []):
            slow += 1
            if f"round {last + 1}: client {client} dropped out: it did not answer in time" not in said:
                problems.append(f"F5: client {client} was back and asked in round {last + 1}, and did not count")
    return problems, returns, slow


def clients_die(context):
    """Of ten clients three are killed at some moment of each round and started again; rounds go on without them."""
    count, rounds = (50, 200) if context.long else (10, 20)
    rules = {**RULES, "min_clients": count * 6 // 10}
    federation = Federation(context.binaries, context.folder / "clients-die", clients=count, rounds=rounds, server=rules)
    server = federation.start_server()
    alive = {client: federation.start_clients([client]) for client in range(count)}
    killed = []  # (client, when)
    while server.process.poll() is None and server.finished_round() < rounds - 2:
        last = server.finished_round()
        if not server.wait_for(lambda: server.finished_round() > last, 30):
            context.problems.append(f"F5: no round was finished in 30 s after round {last}")
            break
        for client in context.random.sample(range(count), count * 3 // 10):
            time.sleep(context.random.uniform(0, 0.03))
            killed.append((client, time.monotonic()))
            alive[client].kill()
            alive[client].wait()
            alive[client] = federation.start_clients([client])
    code = federation.end_life(server, "clients die", 120)
    if code != 0:
        context.problems.append(f"F5: the server ended with {code}: {federation.last_errors()}")
        federation.abandon()
        return
    problems = federation.end_clients(60) + federation.check(rounds_repeat=True)
    asked, heard = asked_in(federation), heard_by(federation)
    late, longest = check_exchanges(server, rules, asked, heard)
    forgotten, returns, slow = check_returns(server, federation, killed, asked, heard)
    problems += late + forgotten
    context.problems += problems
    context.finished(federation, problems)
    context.require(len(killed) >= rounds, f"F5: only {len(killed)} clients were killed")
    context.require(returns >= rounds // 4, f"F5: only {returns} clients came back and stayed for a round")
    context.require(2 * slow <= returns, f"F5: of {returns} clients that came back {slow} were too slow for the grace")
    context.note(f"F5: {rounds} rounds, {len(killed)} clients killed; the longest exchange took {longest:.2f} s; "
                 f"{returns} came back and stayed, all were asked in the next round, {slow} answered too late for it")


def everybody_leaves(context, stay):
    """All but `stay` clients leave for ten minutes of the server's clock; it waits, says so, and goes on."""
    clock = 0.005
    rules = {**RULES, "clock": clock, "min_clients": 4, "heartbeat_seconds": 40, "dead_seconds": 200, "round_seconds": 400,
             "rejoin_seconds": 40, "linger_seconds": 2000}
    federation = Federation(context.binaries, context.folder / f"leave-{stay}", clients=4, rounds=8, server=rules)
    server = federation.start_server()
    alive = {client: federation.start_clients([client]) for client in range(4)}
    server.wait_for(lambda: server.finished_round() >= 3)
    # At its start it waited for them too. It says so once, as soon as it wants to begin a round and the first is missing.
    before_they_left = len(federation.errors())
    for client in range(stay, 4):
        alive[client].kill()
        alive[client].wait()
    left = time.monotonic()
    time.sleep(0.3)
    before = server.finished_round()
    time.sleep(600 * clock)
    context.require(server.process.poll() is None, f"F16: the server ended: {federation.last_errors()}")
    context.require(server.finished_round() <= before + 1, "F16: rounds went on without enough clients")
    # Who was killed between two exchanges of a round is waited for in each of those that follow.
    pattern = re.compile(r"^round (\d+): waiting for 4 clients, [0-3] are there$", re.MULTILINE)
    most_exchanges = 3
    latest = time.monotonic() + most_exchanges * rules["round_seconds"] * clock
    while not pattern.search(said := federation.errors()[before_they_left:]) and time.monotonic() < latest:
        time.sleep(0.1)
    waits = pattern.search(said)
    context.require(waits is not None, f"F16: the server does not say that it waits: {said[-600:]}")
    of_next = waits and int(waits[1]) == server.finished_round() + 1
    context.require(not waits or of_next, f"F16: {server.finished_round()} rounds are finished, it says: {waits and waits[0]}")
    for client in range(stay, 4):
        federation.start_clients([client])
    code = federation.end_life(server, "clients leave")
    context.require(code == 0, f"F16: the server ended with {code}: {federation.last_errors()}")
    problems = federation.end_clients() + federation.check(rounds_repeat=True)
    context.problems += problems
    context.finished(federation, problems)
    context.note(f"F16: {4 - stay} of 4 clients were away for {time.monotonic() - left:.1f} s")


def run(context):
    clients_die(context)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda stay: everybody_leaves(context, stay), (0, 2)))
