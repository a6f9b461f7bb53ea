"""F7 with real processes: connections through a network that is disturbed by a seeded schedule."""
import random
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from federation import Federation
from kills import undisturbed
from meddler import Proxy

CLOCK = 0.05
RULES = {"clock": CLOCK, "heartbeat_seconds": 5, "dead_seconds": 20, "rejoin_seconds": 400}
SWEEP = 1  # seconds of the server's clock between its looks at who is silent
MISSED_BEATS = 6  # after so many unanswered ones a client gives up its server
# Seconds of this machine, which `clock` does not shorten: how often a client looks whether its server is silent, and how
# long threads of processes on two busy cores, and this one, may wait for their turn.
GLANCE, BUSY = 0.2, 0.5
# How long after the last byte the server counts a client away: it misses the client's beats, or the client misses its.
AWAY_AFTER = {"up": (RULES["dead_seconds"] + SWEEP) * CLOCK, "partition": (RULES["dead_seconds"] + SWEEP) * CLOCK,
              "down": MISSED_BEATS * RULES["heartbeat_seconds"] * CLOCK + GLANCE}


def disturb(proxies, draw, end):
    """One thing after the other happens to somebody's network, and ends again."""
    while not end.is_set():
        proxy = draw.choice(proxies)
        what = draw.choice(["partition", "up", "down", "delay", "stall", "cut", "half-open", "late", "loss"])
        weather = proxy.disturbance
        seconds = draw.uniform(0.05, 0.6)
        if what == "partition":
            weather.refuse = weather.blackhole["up"] = weather.blackhole["down"] = True
        elif what in ("up", "down"):
            weather.blackhole[what] = True
        elif what == "delay":
            weather.delay = 0.5 * CLOCK
        elif what == "late":
            weather.delay = draw.uniform(0.05, 0.4)
        elif what == "loss":
            weather.loss = 0.05
        elif what == "stall":
            weather.rate = {"up": 0.0, "down": 0.0}
        end.wait(seconds)
        if what == "late":
            proxy.hang_up()  # what was said arrives when its client has come again
        weather.delay, weather.loss, weather.refuse = 0.0, 0.0, False
        weather.rate = {"up": None, "down": None}
        lossy = weather.blackhole["up"] or weather.blackhole["down"]
        weather.blackhole = {"up": False, "down": False}
        # Bytes that vanished are missed by both ends: such a connection cannot go on.
        if what in ("stall", "cut") or lossy:
            proxy.cut()
        elif what == "half-open":
            proxy.cut(half=True)
        end.wait(draw.uniform(0, 0.2))


def come_to_an_end(context, name, federation, server, proxies, reference):
    code = federation.end_life(server, name)
    context.require(code == 0, f"F7: {name}: the server ended with {code}: {federation.last_errors()}")
    problems = federation.end_clients(30) + federation.check(reference)
    for proxy in proxies:
        proxy.stop()
    context.problems += [f"{name}: {problem}" for problem in problems]
    context.finished(federation, problems)


def play(context, seed, rounds, reference):
    federation = Federation(context.binaries, context.folder / f"network-{seed}", rounds=rounds, server=RULES)
    proxies = [Proxy(0, federation.port, seed=seed) for _ in range(federation.clients)]
    server = federation.start_server()
    for client, proxy in enumerate(proxies):
        federation.start_clients([client], port=proxy.port)
    end = threading.Event()
    weather = threading.Thread(target=disturb, args=(proxies, random.Random(seed), end))
    weather.start()
    server.wait_for(lambda: server.finished_round() >= rounds - 1)
    end.set()
    weather.join()
    come_to_an_end(context, f"schedule {seed}", federation, server, proxies, reference)


def fall_silent(context, seed, what, rounds, reference):
    """One client's network loses everything, in one direction or both, for longer than anybody waits. The server counts
    it away in time, and goes on when it is back."""
    name, draw = f"silence {what} {seed}", random.Random(f"{what} {seed}")
    federation = Federation(context.binaries, context.folder / f"silence-{what}-{seed}", rounds=rounds, server=RULES)
    proxy = Proxy(0, federation.port)
    server = federation.start_server()
    federation.start_clients(list(range(1, federation.clients)))
    federation.start_clients([0], port=proxy.port)
    begin = draw.randint(1, 3)
    server.wait_for(lambda: server.finished_round() >= begin)
    time.sleep(draw.uniform(0, 0.05))
    before = len(federation.errors())
    since, weather = time.monotonic(), proxy.disturbance
    for direction in ("up", "down"):
        weather.blackhole[direction] = what in (direction, "partition")
    weather.refuse = what == "partition"
    limit, noticed = AWAY_AFTER[what] + BUSY, None
    while noticed is None and time.monotonic() - since < limit + 5:
        time.sleep(0.01)
        if re.search(r"^client 0 left$", federation.errors()[before:], re.MULTILINE):
            noticed = time.monotonic() - since
    context.require(noticed is not None and noticed <= limit,
                    f"F7: {name}: counted away after {noticed and round(noticed, 2)} s, {limit:.2f} s are allowed")
    if what != "down":  # there it was the client that gave up
        gave_up = "client 0: refused (TOO_SLOW)" in federation.errors()[before:]
        context.require(gave_up, f"F7: {name}: the server did not give it up: {federation.errors()[before:][-600:]}")
    end = since + AWAY_AFTER[what] * draw.uniform(1.2, 1.8)
    time.sleep(max(0.0, end - time.monotonic()))
    weather.blackhole, weather.refuse = {"up": False, "down": False}, False
    proxy.cut()
    come_to_an_end(context, name, federation, server, [proxy], reference)
    return noticed


def all_silences(context, seed, rounds, reference):
    """Each kind once, side by side: they mostly wait. Returns how long each took to be noticed."""
    with ThreadPoolExecutor(len(AWAY_AFTER)) as pool:
        return dict(zip(AWAY_AFTER, pool.map(lambda what: fall_silent(context, seed, what, rounds, reference), AWAY_AFTER)))


def run(context):
    begin = time.monotonic()
    schedules, silences, rounds = (25, 5, 20) if context.long else (2, 1, 10)
    reference, _ = undisturbed(context, "network", rounds=rounds, server=RULES)
    for seed in range(schedules):
        play(context, context.seed + seed, rounds, reference.state)
        if context.problems:
            break
    context.note(f"F7: {schedules} schedules, {(time.monotonic() - begin) / schedules:.1f} s each")
    longest = {}
    for seed in range(silences if not context.problems else 0):
        for what, seconds in all_silences(context, context.seed + seed, rounds, reference.state).items():
            longest[what] = max(longest.get(what, 0), seconds or 0)
    told = ", ".join(f"{what} after {seconds:.2f} s" for what, seconds in longest.items())
    context.note(f"F7: {silences} silences of each kind; at the latest noticed {told}")
