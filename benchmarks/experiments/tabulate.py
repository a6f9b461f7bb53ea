#!/usr/bin/env python3
"""Markdown tables of finished cells beside the published figures.

  benchmarks/experiments/tabulate.py RESULTS_CSV RUN...

RESULTS_CSV holds the published figures (table, dataset, shift, level, drift, clients, method, variant, metric, mean,
std); RUN are run directories of benchmarks/experiments/paper-cells, and folders of such. ± is the standard deviation of
a sample (n - 1) over seeds, as in feroma report; one seed has none.
"""
import collections
import csv
import json
import math
import pathlib
import statistics
import sys

SHIFTS = {"covariate": "P(X)", "concept_feature": "P(X|Y)", "label_prior": "P(Y)", "concept_label": "P(Y|X)"}
DATASETS = {"mnist": "MNIST", "fmnist": "FMNIST", "cifar10": "CIFAR-10"}
LEVELS = ["low", "medium", "high"]
ALGORITHMS = ["fedavg", "fedavg-ft", "feroma-reference", "feroma-paper", "feroma-auto"]
# The figures of a result that tables show.
NATIVE, KNOWN, FEW, BEST = "accuracy", "accuracy_known", "accuracy_few_label", "accuracy_best_round"
Cell = collections.namedtuple("Cell", "dataset shift level drifts")


def figure_of(shift, label):
    """What a row shows: the paper's FedAvg keeps its best round, and nobody can serve P(Y|X) without labels."""
    if label == "fedavg":
        return BEST
    return FEW if shift == "concept_label" else NATIVE


def published(rows, cell, method, variant=""):
    wanted = (DATASETS[cell.dataset], SHIFTS[cell.shift], cell.level, f"{cell.drifts}/20", method, variant)
    for row in rows:
        found = (row["dataset"], row["shift"], row["level"], row["drift"], row["method"], row["variant"])
        if found == wanted and row["table"].startswith(("main_appe", "pyx_few_sample")):
            return float(row["mean"]), float(row["std"])
    return None


def few_variant(shift):
    return "Few labeled samples" if shift == "concept_label" else ""


def mean_and_spread(*cells):
    """Of one cell's seeds; of several cells the mean of their means and the root of their mean squared deviation."""
    cells = [[v for v in cell if v is not None] for cell in cells]
    if not all(cells):
        return "-"
    spread = ""
    if all(len(cell) > 1 for cell in cells):
        spread = f" ± {math.sqrt(statistics.mean(statistics.variance(cell) for cell in cells)):.1f}"
    return f"{statistics.mean(statistics.mean(cell) for cell in cells):.2f}{spread}"


def shown(figure):
    return "" if figure is None else f"{figure[0]:.1f} ± {figure[1]:.1f}"


def print_table(head, rows):
    """Columns without any figure are left out."""
    escape = lambda text: str(text).replace("|", "\\|")
    kept = [i for i in range(len(head)) if any(row[i] not in ("-", "") for row in rows)]
    print("\n| " + " | ".join(escape(head[i]) for i in kept) + " |")
    print("|" + "---|" * len(kept))
    for row in rows:
        print("| " + " | ".join(escape(row[i]) for i in kept) + " |")


def read_runs(paths):
    """{cell: {label: {seed: result}}} of the runs, and of the two kinds of ablations among them."""
    cells, joins, choices = (collections.defaultdict(lambda: collections.defaultdict(dict)) for _ in range(3))
    for path in map(pathlib.Path, paths):
        for summary_file in [path / "summary.json"] if (path / "summary.json").exists() else sorted(path.glob("*/summary.json")):
            summary = json.loads(summary_file.read_text())
            scenario = summary["scenario"]
            cell = Cell(scenario["dataset"], scenario["shift"], scenario["level"], scenario["drifts"])
            kind = summary_file.parent.name.split("-")[0]
            target = {"ablation": joins, "auto": choices}.get(kind, cells)
            for result in summary["results"]:
                target[cell][result["label"]][scenario["seed"]] = result
    return cells, joins, choices


def in_order(cells):
    return sorted(cells, key=lambda c: (list(DATASETS).index(c.dataset), c.drifts, list(SHIFTS).index(c.shift), LEVELS.index(c.level)))


def print_cells(cells, rows):
    table = []
    for cell in in_order(cells):
        line = [f"{DATASETS[cell.dataset]} {SHIFTS[cell.shift]} {cell.level} {cell.drifts}/20"]
        for label in ALGORITHMS:
            results = cells[cell][label].values()
            line.append(mean_and_spread([r[figure_of(cell.shift, label)] for r in results]))
            if label == "fedavg":
                line.append(shown(published(rows, cell, "FedAvg")))
            if label == "feroma-reference":
                line.append(shown(published(rows, cell, "Feroma", few_variant(cell.shift))))
        table.append(line)
    print_table(["cell", "fedavg", "FedAvg, published", "fedavg-ft", "reference", "Feroma, published", "paper", "auto"], table)


def print_known(cells, rows):
    table = []
    for cell in in_order(c for c in cells if c.shift == "concept_label"):
        line = [f"{DATASETS[cell.dataset]} {SHIFTS[cell.shift]} {cell.level} {cell.drifts}/20"]
        for label in ALGORITHMS[1:]:
            line.append(mean_and_spread([r[KNOWN] for r in cells[cell][label].values()]))
            if label == "feroma-reference":
                line.append(shown(published(rows, cell, "Feroma", "Known Association")))
        table.append(line)
    print("\nWith the association known:")
    print_table(["cell", "fedavg-ft", "reference", "Feroma, published", "paper", "auto"], table)


def print_means(cells, rows):
    """Over the levels, each of which counts alike. Whoever lacks a cell that auto has gets no mean."""
    table = []
    groups = collections.defaultdict(list)
    for cell in in_order(cells):
        groups[(cell.dataset, cell.shift, cell.drifts)].append(cell)
    for (dataset, shift, drifts), members in groups.items():
        line = [f"{DATASETS[dataset]} {SHIFTS[shift]} {drifts}/20"]
        for label in ALGORITHMS:
            levels = [[r[figure_of(shift, label)] for r in cells[c][label].values()] for c in members]
            comparable = all(set(cells[c][label]) >= set(cells[c]["feroma-auto"]) for c in members)
            line.append(mean_and_spread(*levels) if comparable else "-")
            if label == "feroma-reference":
                figures = [published(rows, c, "Feroma", few_variant(shift)) for c in members]
                complete = len(members) == len(LEVELS) and all(figures)
                line.append(f"{statistics.mean(f[0] for f in figures):.1f}" if complete else "")
        line.append(" ".join(f"{c.level} {len(cells[c]['feroma-auto'])}" for c in members))
        table.append(line)
    print_table(["mean over levels", "fedavg", "fedavg-ft", "reference", "Feroma, published", "paper", "auto", "seeds"], table)


def print_choices(choices):
    """Preset auto with one of its choices undone, a column per shift."""
    groups = collections.defaultdict(list)
    for cell in in_order(choices):
        groups[(cell.dataset, cell.level, cell.drifts)].append(cell)
    for (dataset, level, drifts), members in groups.items():
        print(f"\nPreset `auto` with one choice undone, {DATASETS[dataset]} {level} {drifts}/20:")
        labels = list(dict.fromkeys(label for c in members for label in choices[c]))
        table = [[label] + [mean_and_spread([r[figure_of(c.shift, label)] for r in choices[c][label].values()]) for c in members]
                 for label in labels]
        nearest = lambda c: [r["accuracy_nearest"] for r in choices[c]["auto"].values()] if c.shift != "concept_label" else []
        table.append(["nearest model at test time"] + [mean_and_spread(nearest(c)) for c in members])
        print_table(["undone"] + [SHIFTS[c.shift] for c in members], table)


def main():
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    cells, joins, choices = read_runs(sys.argv[2:])
    if cells:
        print_means(cells, rows)
        print_cells(cells, rows)
        print_known(cells, rows)
    print_choices(choices)
    for cell, results in joins.items():
        print(f"\nJoin of weights and models, preset `reference`, {DATASETS[cell.dataset]} {SHIFTS[cell.shift]} {cell.level} {cell.drifts}/20:")
        print_table(["weights", "accuracy"],
                    [[label, mean_and_spread([r[NATIVE] for r in results[label].values()])] for label in ("id-keyed", "positional", "uniform")])


if __name__ == "__main__":
    main()
