"""The kills of F1 that matter most, a few seconds of them: what `mutants` runs against servers that are broken on purpose,
and, like every scenario, a test of its own."""
from kills import Kill, play_all, undisturbed


def run(context):
    federation, _ = undisturbed(context, "commits")
    kills = [Kill(point, passing) for point, passing in (("commit.appended", 2), ("file.renamed", 9), ("hub.verdict_told", 3),
                                                          ("round.phase_done", 2))]
    # What the first one leaves, the second one's round names, and the server after it reads.
    kills += [Kill("commit.models_written", 1, "names"), Kill("commit.cleaned", 1)]
    kills += [Kill(point, 2, loss) for point in ("announce.done", "commit.appended") for loss in ("everything", "names")]
    done = play_all(context, "commits", kills, federation.state)
    context.note(f"{done} kills")
