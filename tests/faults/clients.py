"""F5: clients that are killed at random in every round. F16: everybody leaves, or too many do."""
import threading
import time

from federation import Federation

CLOCK = 0.05
RULES = {"clock": CLOCK, "quorum": 0.6, "min_clients": 6, "min_answers": 2, "grace_seconds": 4, "round_seconds": 60,
         "rejoin_seconds": 10, "heartbeat_seconds": 5, "dead_seconds": 20, "linger_seconds": 200}


def rounds_of(federation):
    """The rounds in which each client's answers counted, as the server's table has them; its last line may be half written."""
    rounds = {}
    for line in (federation.state / "clients.csv").read_text().rpartition("\n")[0].splitlines()[1:]:
        _, round_number, client, *_ = line.split(",")
        rounds.setdefault(int(client), []).append(int(round_number))
    return rounds


def clients_die(context):
    """Of ten clients three are killed at some moment of each round and started again; rounds go on without them."""
    count, rounds = (50, 200) if context.long else (10, 20)
    rules = {**RULES, "min_clients": count * 6 // 10}
    federation = Federation(context.binaries, context.folder / "clients-die", clients=count, rounds=rounds, server=rules)
    server = federation.start_server()
    alive = {client: federation.start_clients([client]) for client in range(count)}
    killed = []  # (client, the round that was finished when it was killed)
    while server.process.poll() is None and server.finished_round() < rounds - 2:
        last = server.finished_round()
        if not server.wait_for(lambda: server.finished_round() > last, 30):
            context.problems.append(f"F5: no round was finished in 30 s after round {last}")
            break
        for client in context.random.sample(range(count), count * 3 // 10):
            time.sleep(context.random.uniform(0, 0.03))
            alive[client].kill()
            alive[client].wait()
            killed.append((client, server.finished_round()))
            alive[client] = federation.start_clients([client])
    code = federation.end_life(server, "clients die", 120)
    context.require(code == 0, f"F5: the server ended with {code}: {federation.last_errors()}")
    problems = federation.end_clients(60) + federation.check(rounds_repeat=True)
    deadline = (RULES["round_seconds"] + 2) * CLOCK * 3 + RULES["rejoin_seconds"] * CLOCK  # three phases, at most
    slowest = max((seconds for _, _, seconds, _, _ in server.rounds), default=0)
    context.require(slowest < deadline, f"F5: a round took {slowest:.1f} s, at most {deadline:.1f} s are allowed")
    took_part = rounds_of(federation)
    for client, when in killed:
        # The round under way may be lost to it, and the next one if that began before it was back.
        if when + 4 <= rounds and not any(when < number <= when + 4 for number in took_part.get(client, [])):
            problems.append(f"F5: client {client} was killed after round {when} and took part in none of the next four")
    context.problems += problems
    context.finished(federation, problems)
    context.require(len(killed) >= rounds, f"F5: only {len(killed)} clients were killed")
    context.note(f"F5: {rounds} rounds, {len(killed)} clients killed; the slowest round took {slowest:.2f} s")


def everybody_leaves(context, stay):
    """All but `stay` clients leave for ten minutes of the server's clock; it waits, says so, and goes on."""
    clock = 0.005
    rules = {**RULES, "clock": clock, "min_clients": 4, "heartbeat_seconds": 40, "dead_seconds": 200, "round_seconds": 400,
             "rejoin_seconds": 40, "linger_seconds": 2000}
    federation = Federation(context.binaries, context.folder / f"leave-{stay}", clients=4, rounds=8, server=rules)
    server = federation.start_server()
    alive = {client: federation.start_clients([client]) for client in range(4)}
    server.wait_for(lambda: server.finished_round() >= 3)
    for client in range(stay, 4):
        alive[client].kill()
        alive[client].wait()
    left = time.monotonic()
    time.sleep(0.3)
    before = server.finished_round()
    time.sleep(600 * clock)
    context.require(server.process.poll() is None, f"F16: the server ended: {federation.last_errors()}")
    context.require(server.finished_round() <= before + 1, "F16: rounds went on without enough clients")
    said = "waiting for" in (federation.folder / "server.err").read_text()
    context.require(said, "F16: the server does not say that it waits")
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
    absences = [threading.Thread(target=everybody_leaves, args=(context, stay)) for stay in (0, 2)]
    for absence in absences:
        absence.start()
    for absence in absences:
        absence.join()
