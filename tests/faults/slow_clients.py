"""F6: clients that read or write a byte a second, and one that is stopped for five minutes: the others' rounds do not suffer."""
import signal
import statistics
import time

from clients import rounds_of
from federation import Federation
from meddler import Proxy

CLOCK = 0.05
COUNT = 6
RULES = {"clock": CLOCK, "quorum": 0.6, "min_clients": COUNT - 1, "grace_seconds": 0, "round_seconds": 200, "heartbeat_seconds": 5,
         "dead_seconds": 20, "linger_seconds": 20, "transfer_seconds": 10}
STOPPED = 300 * CLOCK  # five minutes of the server's clock
# As the product has them: the others are waited for in each phase, until the slow one is given up.
GRACE = 5
PATIENT = {**RULES, "grace_seconds": GRACE, "dead_seconds": 60}
PHASES = 2  # of a round after the warm-up: profiles, then models
ENDLESS = 20_000  # rounds; more than there is time for
MOST_GROWTH = 16 << 20  # bytes; a model has 172 kB, a peer is sent one at a time


def resident(process):
    """Bytes of memory that a process has in use."""
    for line in open(f"/proc/{process.pid}/status", encoding="ascii"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def play(context, name, slow=None, stopped=False, rules=RULES, hold=0):
    """Rounds with one client that is slow; returns the time of each, and by how much the server grew. With `hold` it is
    slow for so many seconds, however many rounds that takes, and must take part again afterwards."""
    rounds = ENDLESS if hold else 150 if context.long else 40
    federation = Federation(context.binaries, context.folder / f"slow-{name}", clients=COUNT, rounds=rounds, server=rules)
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
    begin, since = server.finished_round(), time.monotonic()
    if hold:
        server.wait_for(lambda: time.monotonic() - since >= hold, hold + 10)
    else:
        server.wait_for(lambda: server.finished_round() >= rounds - 2)
    end = server.finished_round()
    grown = resident(server.process) - before if server.process.poll() is None else 0
    if stopped:
        last.send_signal(signal.SIGCONT)
    proxy.disturbance.rate = {"up": None, "down": None}
    problems = (let_it_come_back if hold else play_to_the_end)(context, name, federation, server)
    proxy.stop()
    times = [seconds for number, _, seconds, _, _ in server.rounds if begin + 1 < number <= end]
    if slow or stopped:
        took_part = [number for number in rounds_of(federation).get(COUNT - 1, []) if begin + 1 < number <= end]
        context.require(len(took_part) < len(times) / 2, f"F6: {name}: it took part in {len(took_part)} rounds: is it slow?")
    context.problems += [f"F6: {name}: {problem}" for problem in problems]
    context.finished(federation, problems)
    return times, grown


def play_to_the_end(context, name, federation, server):
    code = federation.end_life(server, name, 120)
    context.require(code == 0, f"F6: {name}: the server ended with {code}: {federation.last_errors()}")
    federation.running[-1].kill()  # the slow one may have been away when everybody was told
    return federation.end_clients() + federation.check(rounds_repeat=True)


def let_it_come_back(context, name, federation, server):
    """Until the client that was slow counts again; then the server is killed, as its rounds have no end."""
    number = server.finished_round()  # not all six are waited for, so it need not be there in every round
    came_back = server.wait_for(lambda: max(rounds_of(federation).get(COUNT - 1, [0])) > number + 1)
    context.require(came_back and server.process.poll() is None,
                    f"F6: {name}: it does not take part again: {federation.last_errors()}")
    number = server.finished_round()
    server.wait_for(lambda: server.finished_round() > number)  # so that no line of a table is half written
    server.process.kill()
    federation.end_life(server, name)
    federation.abandon()
    return federation.check(rounds_repeat=True, finishes=False)


def be_patient(context):
    """With the usual grace a stopped client costs the others that much in each phase, and no more."""
    times, _ = play(context, "patient", stopped=True, rules=PATIENT)
    most = PHASES * GRACE * CLOCK + 0.25  # a busy machine may think for a moment
    slowest = max(times, default=0)
    context.require(slowest >= GRACE * CLOCK, f"F6: no round waited for the stopped client: {slowest:.3f} s")
    context.require(slowest <= most, f"F6: a round took {slowest:.3f} s, {PHASES} times the grace is {most - 0.25:.3f} s")
    context.note(f"F6, the usual grace: the slowest round took {slowest * 1000:.0f} ms")


def run(context):
    cases = {"nobody": {}, "writer": dict(slow={"up": 1.0, "down": None}), "reader": dict(slow={"up": None, "down": 1.0}),
             "stopped": dict(stopped=True, hold=STOPPED if context.long else 0)}
    times, grown = {name: [] for name in cases}, dict.fromkeys(cases, 0)
    # The machine is faster in one minute than in the next: the cases take turns, so that each sees all of it.
    for turn in range(4 if context.long else 1):
        for name, case in cases.items():
            more, growth = play(context, f"{name}-{turn}", **case)
            times[name] += more
            grown[name] = max(grown[name], growth)
    medians = {name: statistics.median(values) for name, values in times.items()}
    usual = medians.pop("nobody")
    # A median of few rounds moves by itself; what a slow client must not do is make rounds wait for it.
    allowed = usual * 1.1 + (0 if context.long else 0.02)
    notes = [f"nobody {usual * 1000:.0f} ms"]
    for name, median in medians.items():
        context.require(median <= allowed, f"F6: {name}: rounds took {median:.3f} s, {usual:.3f} s without it")
        context.require(grown[name] < MOST_GROWTH, f"F6: {name}: the server grew by {grown[name] >> 20} MiB")
        notes.append(f"{name} {median * 1000:.0f} ms (+{grown[name] >> 20} MiB)")
    context.note("F6, median round: " + ", ".join(notes))
    be_patient(context)
