"""F3: a disk that is full, fails, interrupts or writes less than it was given, at the n-th call for n = 1, 2, ..."""
import threading

from federation import FEROMA, Federation
from kills import undisturbed

ROUNDS = 40  # a chain of servers, each of which gets a little further


def every_call(context, kind, reference):
    """Each call is interrupted once, or writes a few bytes only: nobody may notice."""
    federation = Federation(context.binaries, context.folder / f"every-{kind}")
    federation.start_clients()
    points = federation.folder / "points"
    code = federation.live("--fail", f"{kind}:0", "--points", points)
    context.require(code == 0, f"{kind} at every call: the server ended with {code}: {federation.last_errors()}")
    failures = dict(line.split() for line in points.read_text().splitlines()).get("failure", "0")
    context.require(int(failures) > 100, f"{kind}: {failures} calls failed: is the disk still watched?")
    problems = federation.end_clients() + federation.check(reference)
    context.problems += [f"{kind} at every call: {problem}" for problem in problems]
    context.finished(federation, problems)


def each_call(context, kind, suffix, stride, most, reference, rounds=ROUNDS):
    """Servers over one state, one after the other, whose n-th call fails. Each ends with code 1 or goes on."""
    number, calls, stops, chain = 1, 0, 0, 0
    done = False
    while not done and not context.problems:
        federation = Federation(context.binaries, context.folder / f"{kind}{suffix}-{rounds}-{chain}", rounds=rounds)
        federation.start_clients()
        points = federation.folder / "points"
        code = None
        while not done:
            fault = f"{kind}:{number}{suffix}"
            code = federation.live("--fail", fault, "--points", points, how=fault)
            if code not in (0, 1):
                context.problems.append(f"I5: {fault}: the server ended with {code}: {federation.last_errors()}")
                break
            reached = "failure" in points.read_text()
            if code == 0 and not reached and federation.lives[1:]:
                break  # the rounds ran out: once more with a new federation
            calls, stops = calls + 1, stops + (code == 1)
            number += stride
            done = number > most or (code == 0 and not reached)
            if code == 0:
                break
        if code == 1:
            code = federation.live()
            context.require(code == 0, f"I5: after {kind}: the server ended with {code}: {federation.last_errors()}")
        problems = federation.end_clients() + federation.check(reference)
        context.problems += [f"{kind}{suffix}: {problem}" for problem in problems]
        context.finished(federation, problems)
        chain += 1
    context.require(stops > 0, f"{kind}{suffix}: no server stopped: is the disk still watched?")
    return f"{kind}{suffix} over {rounds} rounds {calls} ({stops} stops)"


def run(context):
    reference, counts = undisturbed(context, "files", algorithm=FEROMA)
    long_reference, _ = undisturbed(context, "files-long", algorithm=FEROMA, rounds=ROUNDS)
    for kind in ("EINTR", "SHORT"):
        every_call(context, kind, reference.state)
    # Calls of one start, and of the rounds after it; a later round makes the same ones again.
    per_round = sum(count for point, count in counts.items() if point in ("file.open", "file.write", "file.sync", "file.rename",
                                                                            "folder.sync", "file.truncate")) // reference.rounds
    most = 4 * per_round if context.long else 2 * per_round
    stride = 1 if context.long else max(1, most // 12)
    notes = []

    def play(*which):
        notes.append(each_call(context, *which))

    turns = [(kind, suffix, stride, most, long_reference.state) for kind, suffix in (("ENOSPC", ""), ("EIO", ""), ("ENOSPC", "+"))]
    if context.long:
        # Every call of a whole life, until one ends without reaching the n-th: results are written at its end.
        brief, _ = undisturbed(context, "files-brief", algorithm=FEROMA, rounds=2)
        turns.append(("EIO", "", 1, 10000, brief.state, 2))
    threads = [threading.Thread(target=play, args=turn) for turn in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    context.note(f"{per_round} calls a round; servers with a failing call: {', '.join(sorted(notes))}")
