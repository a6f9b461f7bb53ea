"""F1: a server that is killed at every named point and at random times, and loses what it had not synced (F2 in part)."""
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from federation import FEROMA, PRIVATE, SCAFFOLD, Federation

# Points that a server passes only when it is started again, or when somebody asks for a model.
ELSEWHERE = {"file.truncate": 3, "file.truncated": 3, "hub.visitor_asked": 2}
# Points at the end of a federation: nothing can follow them.
LATE = ("results.", "index.", "hub.goodbye_said")
# What matters to a disk that forgets.
ON_DISK = ("commit.", "journal.", "announce.", "round.committed", "file.", "folder.", "results.", "index.")
KILLS_PER_CHAIN = 9
TRIES = 4
PLACES = threading.BoundedSemaphore(6)  # federations at a time: they mostly wait


@dataclass(frozen=True)
class Kill:
    point: str = ""
    passing: int = 1
    power_loss: str = ""  # names, everything
    seconds: float = 0  # without a point
    tries: int = 0

    def arguments(self):
        if not self.point:
            return []
        return ["--kill", f"{self.point}:{self.passing}"] + (["--power-loss", self.power_loss] if self.power_loss else [])

    def late(self):
        return self.point.startswith(LATE)

    def __str__(self):
        where = f"{self.point}:{self.passing}" if self.point else f"{self.seconds:.3f} s"
        return where + (f", power lost, {self.power_loss}" if self.power_loss else "")


def undisturbed(context, name, **how):
    """A run that nobody disturbs, and how often it passed each point."""
    federation = Federation(context.binaries, context.folder / f"reference-{name}", **how)
    federation.start_clients()
    points = federation.folder / "points"
    code = federation.live("--points", points)
    problems = federation.end_clients() + federation.check()
    if code != 0 or problems:
        raise RuntimeError(f"the undisturbed run failed ({code}): {problems} {federation.last_errors()}")
    counts = {point: int(count) for point, count in (line.split() for line in points.read_text().splitlines())}
    return federation, counts


def wrong_end(federation, life, code):
    """What is wrong where a life ended otherwise than it should; nobody is left running. A server that had to be ended
    says nothing by itself, but what its clients wrote down may name what keeps it waiting."""
    federation.abandon()
    if code is None:
        # Ledgers and results are those of a federation that is over.
        return [f"hung: {life} did not end: {federation.last_errors()}"] + federation.check(finishes=False, private=False)
    return [f"I5: {life} ended with {code}: {federation.last_errors()}"]


def play(context, name, kills, reference, **how):
    """One federation whose server is killed again and again; returns problems, and kills that came too late."""
    federation = Federation(context.binaries, context.folder / name, **how)
    federation.start_clients(visits=any(kill.point == "hub.visitor_asked" for kill in kills))
    problems, left, code, done = [], [], None, 0
    for number, kill in enumerate(kills):
        code = federation.live(*kill.arguments(), kill_after=None if kill.point else kill.seconds, how=str(kill))
        if code == 0:
            left = kills[number:]
            break
        if code != -9:
            problems += wrong_end(federation, f"life {number} ({kill})", code)
            break
        done += 1
    else:
        code = federation.live()
        if code != 0:
            problems += wrong_end(federation, "the last life", code)
    if not problems:
        problems += federation.end_clients()
        problems += federation.check(reference)
    context.finished(federation, problems)
    return problems, left, done


def batches(kills):
    """Chains of kills for a federation each, in their order: some are meant to follow one another. One late kill ends a
    chain: a second might wait for what is done already. What came too late before is the first of a chain, while the
    federation has all of its rounds to go."""
    again = [kill for kill in kills if kill.tries > 0 and not kill.late()]
    early = [kill for kill in kills if kill.tries == 0 and not kill.late()]
    late = [kill for kill in kills if kill.late()]
    chains = [early[i:i + KILLS_PER_CHAIN] for i in range(0, len(early), KILLS_PER_CHAIN)]
    chains += [[] for _ in range(len(again) - len(chains))]
    for kill, chain in zip(again, chains):
        chain.insert(0, kill)
    chains += [[] for _ in range(len(late) - len(chains))]
    for kill, chain in zip(late, chains):
        chain.append(kill)
    return chains


def play_all(context, name, kills, reference, **how):
    """Every kill in some federation; returns how many there were."""
    total, waiting, turn = 0, list(kills), 0

    def play_chain(place, chain):
        with PLACES:
            return play(context, f"{name}-{place}", chain, reference, **how)

    with ThreadPoolExecutor(32) as pool:
        while waiting:
            chains = batches(waiting)
            results = pool.map(play_chain, [f"{turn}-{number}" for number in range(len(chains))], chains)
            waiting, turn = [], turn + 1
            for problems, left, done in results:
                context.problems += problems
                total += done
                # The first of those left was tried and came too late; the others have not had their turn.
                waiting += [replace(kill, passing=max(1, kill.passing // 2), seconds=kill.seconds / 2, tries=kill.tries + 1)
                            for kill in left[:1]] + left[1:]
            for kill in waiting:
                if kill.tries >= TRIES:
                    context.problems.append(f"{name}: {kill} was never reached: is the point still there?")
            waiting = [kill for kill in waiting if kill.tries < TRIES]
            if context.problems:
                break
    return total


def at_points(context, counts, times, power_loss=""):
    """So many kills at each point, at passings that a life of a few rounds reaches."""
    kills = []
    for point, count in sorted({**counts, **ELSEWHERE}.items()):
        if power_loss and not point.startswith(ON_DISK):
            continue
        most = 1 if point.startswith(LATE) else max(1, count // 6)
        kills += [Kill(point, context.random.randint(1, most), power_loss) for _ in range(times)]
    context.random.shuffle(kills)
    return kills


def run(context):
    repetitions, random_kills = (25, 1000) if context.long else (1, 50)
    federation, counts = undisturbed(context, "feroma", algorithm=FEROMA)
    # Methods with memory at their clients, and clients under a privacy budget.
    scaffold, scaffold_counts = undisturbed(context, "scaffold", algorithm=SCAFFOLD)
    named = len({**counts, **ELSEWHERE})
    context.require(named >= 25, f"at least 25 named points, got {named}")

    def at_random(times):
        return [Kill(seconds=context.random.uniform(0, 0.8)) for _ in range(times)]

    def power_losses(loss):
        kills = at_points(context, counts, 5 if context.long else 1, loss)
        return kills if context.long else kills[:12]

    few = [kill for kill in at_points(context, scaffold_counts, 1) if kill.point.startswith(("hub.", "round.", "announce."))]
    # Drawn before any is played, so that a seed always means the same kills; then all wait for their servers at once.
    plays = {"point": (at_points(context, counts, repetitions), federation.state, {}),
             "random": (at_random(random_kills), federation.state, {}),
             "power-everything": (power_losses("everything"), federation.state, {}),
             "power-names": (power_losses("names"), federation.state, {}),
             "scaffold": (few, scaffold.state, {"algorithm": SCAFFOLD}),
             "private": (at_random(100 if context.long else 8), None, {"extra": PRIVATE}),
             "counting": ([Kill("hub.release_counted", passing) for passing in (1, 2)], None, {"extra": PRIVATE})}
    with ThreadPoolExecutor(len(plays)) as pool:
        done = dict(zip(plays, pool.map(lambda name: play_all(context, name, *plays[name][:2], **plays[name][2]), plays)))
    killed = done["point"] + done["scaffold"] + done["counting"]
    context.note(f"{named} points, {killed} kills at them, {done['random'] + done['private']} at random times, "
                 f"{done['power-everything'] + done['power-names']} power losses")
