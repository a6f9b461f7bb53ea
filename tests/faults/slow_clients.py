"""F6: clients that read or write a byte a second, and one that is stopped: the others' rounds do not suffer."""
import signal
import statistics

from clients import rounds_of
from federation import Federation
from meddler import Proxy

CLOCK = 0.05
COUNT = 6
RULES = {"clock": CLOCK, "quorum": 0.6, "min_clients": COUNT - 1, "grace_seconds": 0, "round_seconds": 200, "heartbeat_seconds": 5,
         "dead_seconds": 20, "linger_seconds": 20, "transfer_seconds": 10}


def resident(process):
    """Bytes of memory that a process has in use."""
    for line in open(f"/proc/{process.pid}/status", encoding="ascii"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def play(context, name, slow=None, stopped=False):
    """Rounds with one client that is slow; returns their median time, and by how much the server grew."""
    rounds = 600 if context.long else 40
    federation = Federation(context.binaries, context.folder / f"slow-{name}", clients=COUNT, rounds=rounds, server=RULES)
    proxy = Proxy(0, federation.port)
    server = federation.start_server()
    federation.start_clients(list(range(COUNT - 1)))
    last = federation.start_clients([COUNT - 1], port=proxy.port)
    server.wait_for(lambda: server.finished_round() >= 4)
    before = resident(server.process)
    if slow:
        proxy.disturbance.rate = slow
    if stopped:
        last.send_signal(signal.SIGSTOP)
    begin = server.finished_round()
    server.wait_for(lambda: server.finished_round() >= rounds - 2)
    grown = resident(server.process) - before if server.process.poll() is None else 0
    if stopped:
        last.send_signal(signal.SIGCONT)
    proxy.disturbance.rate = {"up": None, "down": None}
    code = federation.end_life(server, name, 120)
    context.require(code == 0, f"F6: {name}: the server ended with {code}: {federation.last_errors()}")
    times = [seconds for number, _, seconds, _, _ in server.rounds if number > begin + 1]
    if slow or stopped:
        took_part = [number for number in rounds_of(federation).get(COUNT - 1, []) if number > begin + 1]
        context.require(len(took_part) < len(times) / 2, f"F6: {name}: it took part in {len(took_part)} rounds: is it slow?")
    last.kill()  # it may have been away when everybody was told
    problems = federation.end_clients() + federation.check(rounds_repeat=True)
    proxy.stop()
    context.problems += [f"F6: {name}: {problem}" for problem in problems]
    context.finished(federation, problems)
    return statistics.median(times), grown


def run(context):
    usual, _ = play(context, "nobody")
    # A median of few rounds moves by itself; what a slow client must not do is make rounds wait for it.
    allowed = usual * 1.1 + (0 if context.long else 0.02)
    cases = {"writer": dict(slow={"up": 1.0, "down": None}), "reader": dict(slow={"up": None, "down": 1.0}),
             "stopped": dict(stopped=True)}
    notes = [f"nobody {usual * 1000:.0f} ms"]
    for name, case in cases.items():
        median, grown = play(context, name, **case)
        context.require(median <= allowed, f"F6: {name}: rounds took {median:.3f} s, {usual:.3f} s without it")
        context.require(grown < 64 << 20, f"F6: {name}: the server grew by {grown >> 20} MiB")
        notes.append(f"{name} {median * 1000:.0f} ms (+{grown >> 20} MiB)")
    context.note("F6, median round: " + ", ".join(notes))
