"""F7 with real processes: connections through a network that is disturbed by a seeded schedule."""
import random
import threading
import time

from federation import Federation
from kills import undisturbed
from meddler import Proxy

CLOCK = 0.05
ROUNDS = 20
RULES = {"clock": CLOCK, "heartbeat_seconds": 5, "dead_seconds": 20, "rejoin_seconds": 400}


def disturb(proxies, draw, end):
    """One thing after the other happens to somebody's network, and ends again."""
    while not end.is_set():
        proxy = draw.choice(proxies)
        what = draw.choice(["partition", "up", "down", "delay", "stall", "cut", "half-open"])
        weather = proxy.disturbance
        seconds = draw.uniform(0.05, 0.6)
        if what == "partition":
            weather.refuse = weather.blackhole["up"] = weather.blackhole["down"] = True
        elif what in ("up", "down"):
            weather.blackhole[what] = True
        elif what == "delay":
            weather.delay = 0.5 * CLOCK
        elif what == "stall":
            weather.rate = {"up": 0.0, "down": 0.0}
        end.wait(seconds)
        weather.delay, weather.refuse = 0.0, False
        weather.rate = {"up": None, "down": None}
        lossy = weather.blackhole["up"] or weather.blackhole["down"]
        weather.blackhole = {"up": False, "down": False}
        # Bytes that vanished are missed by both ends: such a connection cannot go on.
        if what in ("stall", "cut") or lossy:
            proxy.cut()
        elif what == "half-open":
            proxy.cut(half=True)
        end.wait(draw.uniform(0, 0.2))


def play(context, seed, rounds, reference):
    federation = Federation(context.binaries, context.folder / f"network-{seed}", rounds=rounds, server=RULES)
    proxies = [Proxy(0, federation.port) for _ in range(federation.clients)]
    server = federation.start_server()
    for client, proxy in enumerate(proxies):
        federation.start_clients([client], port=proxy.port)
    end = threading.Event()
    weather = threading.Thread(target=disturb, args=(proxies, random.Random(seed), end))
    weather.start()
    server.wait_for(lambda: server.finished_round() >= rounds - 1)
    end.set()
    weather.join()
    code = federation.end_life(server, f"schedule {seed}")
    context.require(code == 0, f"F7: schedule {seed}: the server ended with {code}: {federation.last_errors()}")
    problems = federation.end_clients(30) + federation.check(reference)
    for proxy in proxies:
        proxy.stop()
    context.problems += [f"schedule {seed}: {problem}" for problem in problems]
    context.finished(federation, problems)


def run(context):
    begin = time.monotonic()
    schedules, rounds = (25, 20) if context.long else (2, 10)
    reference, _ = undisturbed(context, "network", rounds=rounds, server=RULES)
    for seed in range(schedules):
        play(context, context.seed + seed, rounds, reference.state)
        if context.problems:
            break
    context.note(f"F7: {schedules} schedules, {(time.monotonic() - begin) / schedules:.1f} s each")
