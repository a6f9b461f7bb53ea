#!/usr/bin/env python3
"""Markdown tables of benchmarks/experiments/compare beside the published figures.

  benchmarks/experiments/tabulate-compare.py [--untimed] RESULTS_CSV KEPT_CSV [RUNS...]

RESULTS_CSV holds the published figures, RUNS are folders of runs; of one that was interrupted, the algorithms that are
done count. Their figures are added to KEPT_CSV, and the tables are made from all that is kept there, so that a
comparison may be measured in several sittings. --untimed leaves seconds out: the machine had other work.
"""
import collections
import csv
import json
import pathlib
import statistics
import sys

SHIFTS = {"covariate": "P(X)", "concept_feature": "P(X|Y)", "label_prior": "P(Y)", "concept_label": "P(Y|X)"}
PUBLISHED = {"fedavg": "FedAvg", "fedrc": "FedRC", "fedem": "FedEM", "fesem": "FeSEM", "cfl": "CFL", "ifca": "IFCA",
             "feddrift": "FedDrift", "pfedme": "pFedMe", "apfl": "APFL", "atp": "ATP", "cola": "CoLA",
             "feroma-auto": "Feroma"}
FIGURES = ["accuracy", "accuracy_known", "accuracy_few_label", "accuracy_worst10", "seconds_total",
           "bytes_up_per_client_round", "bytes_down_per_client_round", "forward_passes_per_client_round",
           "backward_passes_per_client_round"]
COLUMNS = ["scenario", "clients", "seed", "label", "commit"] + FIGURES
# A figure further from the published one than this, or than twice its spread, deserves a sentence.
APART = 5.0


def results_of(folder):
    """What is known of a run's algorithms: its summary or, while there is none, the events of those that are done."""
    summary = folder / "summary.json"
    if summary.exists():
        return json.loads(summary.read_text())["results"]
    lines = (folder / "events.jsonl").read_text().split("\n")[:-1]  # a torn last line has no end
    return [json.loads(line) for line in lines if line.startswith('{"event":"algorithm_finished"')]


def keep(file, folders, timed):
    """All kept rows, {(scenario, clients, seed, label): row}, with the runs' in place of older ones."""
    unknown = () if timed else ("seconds_total",)
    rows = {}
    if file.exists():
        with file.open(newline="") as source:
            rows = {tuple(row[c] for c in COLUMNS[:4]): row for row in csv.DictReader(source)}
    for folder in folders:
        for manifest in sorted(pathlib.Path(folder).glob("*,*,*/manifest.json")):
            scenario, clients, seed = manifest.parent.name.split(",")
            commit = json.loads(manifest.read_text())["commit"]
            for result in results_of(manifest.parent):
                row = {"scenario": scenario, "clients": clients, "seed": seed, "label": result["label"], "commit": commit}
                row.update({f: "" if f in unknown or result.get(f) is None else f"{result[f]:.2f}" for f in FIGURES})
                rows[(scenario, clients, seed, result["label"])] = row
    with file.open("w", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))
    return rows


def published(rows, shift, method, clients, variant=""):
    """The cell's mean and spread: medium, 10/20."""
    tables = ("main_appe_mnist", "pyx_few_sample_MNIST", "cola_p") if clients == "20" else ("n_client_p",)
    place = ("10/20", "") if clients == "20" else ("", clients)
    for row in rows:
        found = (row["dataset"], row["shift"], row["level"], row["drift"], row["clients"], row["method"], row["variant"])
        wanted = ("MNIST", SHIFTS[shift], "medium", *place, method, variant)
        if row["table"].startswith(tables) and row["metric"] == "accuracy" and found == wanted:
            return float(row["mean"]), float(row["std"])
    return None


def published_har(rows, method):
    """UCI-HAR's mean and spread, alpha 0.4."""
    for row in rows:
        if (row["table"], row["method"], row["variant"]) == ("uci_har", method, "alpha=0.4"):
            return float(row["mean"]), float(row["std"])
    return None


def figure(row, shift, known):
    """The paper's policies: on P(Y|X) test clients are known training clients, elsewhere strangers. Feroma and its
    control choose by few labels instead, unless everybody is known."""
    if shift != "concept_label":
        return row["accuracy"]
    if not known and row["label"].startswith("fe") and row["label"].endswith(("-auto", "-ft")):
        return row["accuracy_few_label"]
    return row["accuracy_known"] or row["accuracy"]


def mean_of(values):
    values = [float(v) for v in values if v not in ("", None)]
    return statistics.mean(values) if values else None


def shown(values):
    numbers = [float(v) for v in values if v not in ("", None)]
    if not numbers:
        return "-"
    return f"{statistics.mean(numbers):.1f}" + (f" ± {statistics.stdev(numbers):.1f}" if len(numbers) > 1 else "")


def table(head, lines):
    escape = lambda text: str(text).replace("|", "\\|")
    print("\n| " + " | ".join(map(escape, head)) + " |\n|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(map(escape, line)) + " |")


def beside(ours, theirs):
    """Our figure with the published one in brackets, and a star where they are far apart."""
    far = theirs and ours is not None and abs(ours - theirs[0]) > max(APART, 2 * theirs[1])
    return f" ({theirs[0]:.1f})" + (" *" if far else "") if theirs else ""


def kilobytes(rows):
    return " / ".join(f"{mean_of([row[f'bytes_{way}_per_client_round'] for row in rows]) / 1e3:.0f}" for way in ("up", "down"))


def print_more_clients(rows, papers, sizes):
    """P(Y|X) with one column group per number of clients."""
    shift, found = "concept_label", collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows.values():
        if row["scenario"] == shift and row["clients"] in sizes:
            found[row["label"]][row["clients"]].append(row)
    print(f"\n### MNIST, {SHIFTS[shift]}, more clients")
    lines = []
    for label, by_size in found.items():
        line = [label]
        for size in sizes:
            some = by_size[size]
            known = [row["accuracy_known"] or row["accuracy"] for row in some]
            ours = [figure(row, shift, False) for row in some]
            theirs = published(papers, shift, PUBLISHED.get(label), size)
            chosen = label == "feroma-auto"  # ours chooses by few labels; the published figure is of known clients
            line.append(shown(ours) + ("" if chosen else beside(mean_of(ours), theirs)))
            line.append(shown(known) + (beside(mean_of(known), theirs) if chosen else ""))
            seconds = mean_of([row["seconds_total"] for row in some])
            line += [f"{seconds:.0f}" if seconds else "-", kilobytes(some)]
        lines.append(line)
    lines.sort(key=lambda line: -float(line[-4].split(" ")[0]))
    table(["algorithm"] + [head for size in sizes for head in (f"{size} clients", "known", "seconds", "kB up / down")], lines)


def print_shifts(rows, papers, clients):
    """One line per algorithm, one column per shift and the published figure in brackets."""
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows.values():
        if row["scenario"] in SHIFTS and row["clients"] == clients:
            groups[row["label"]][row["scenario"]].append(row)
    if not groups:
        return
    print(f"\n### MNIST, {clients} clients, medium, 10/20")
    lines, apart = [], []
    for label, by_shift in groups.items():
        line, means, known_means = [label], [], []
        for shift in SHIFTS:
            ours = [figure(row, shift, False) for row in by_shift[shift]]
            variant = "Few labeled samples" if label == "feroma-auto" and shift == "concept_label" else ""
            theirs = published(papers, shift, PUBLISHED.get(label), clients, variant)
            means.append(mean_of(ours))
            known_means.append(mean_of([figure(row, shift, True) for row in by_shift[shift]]))
            mark = beside(means[-1], theirs)
            if mark.endswith("*"):
                apart.append(f"{label} {SHIFTS[shift]}: {means[-1]:.1f}, published {theirs[0]} ± {theirs[1]}")
            line.append(shown(ours) + mark)
        for part in (means, known_means):
            line.append(f"{statistics.mean(part):.2f}" if None not in part else "-")
        everything = [row for some in by_shift.values() for row in some]
        line.append(shown([mean_of([row["seconds_total"] for row in everything])]))
        line.append(kilobytes(everything))
        lines.append(line)
    lines.sort(key=lambda line: -float(line[5]) if line[5] != "-" else 0)
    seeds = {shift: len({row["seed"] for row in rows.values() if (row["scenario"], row["clients"]) == (shift, clients)})
             for shift in SHIFTS}
    table(["algorithm"] + [f"{name} ({seeds[shift]} seeds)" for shift, name in SHIFTS.items()]
          + ["mean", "mean, P(Y|X) known", "seconds", "kB up / down"], lines)
    print("\nFurther from the published figure than 5 points and twice its spread:\n")
    for sentence in apart:
        print(f"- {sentence}")
    for shift in SHIFTS:
        totals = collections.defaultdict(float)
        for row in rows.values():
            if (row["scenario"], row["clients"]) == (shift, clients):
                totals[row["seed"]] += float(row["seconds_total"] or 0)
        for seed, total in sorted(totals.items()):
            print(f"\n{SHIFTS[shift]}, seed {seed}: all algorithms in {total / 60:.1f} minutes.")


def print_others(rows, papers):
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows.values():
        if row["scenario"] not in SHIFTS:
            groups[(row["scenario"], row["clients"])][row["label"]].append(row)
    for (scenario, clients), labels in groups.items():
        print(f"\n### {scenario}, {clients} clients")
        lines = [[label] + [shown([row[f] for row in some]) for f in FIGURES[:5]] for label, some in labels.items()]
        for line in lines if scenario == "uci-har" else []:
            theirs = published_har(papers, PUBLISHED.get(line[0]))
            line[1] += f" ({theirs[0]:.1f})" if theirs else ""
        lines.sort(key=lambda line: -float(line[1].split(" ")[0]) if line[1] != "-" else 0)
        table(["algorithm", "unlabelled", "known", "few labels", "worst 10 %", "seconds"], lines)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--untimed"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    with open(arguments[0], newline="") as source:
        papers = list(csv.DictReader(source))
    rows = keep(pathlib.Path(arguments[1]), arguments[2:], timed="--untimed" not in sys.argv)
    print_shifts(rows, papers, "20")
    print_more_clients(rows, papers, ("50", "100"))
    print_others(rows, papers)


main()
