#!/usr/bin/env python3
"""Markdown tables of finished cells beside the published figures.

  benchmarks/experiments/tabulate.py RESULTS_CSV RUN...

RESULTS_CSV holds the published figures (table, dataset, shift, level, drift, clients, method, variant, metric, mean,
std); RUN are run directories of benchmarks/experiments/paper-cells.
"""
import csv
import json
import pathlib
import statistics
import sys

SHIFTS = {"covariate": "P(X)", "concept_feature": "P(X|Y)", "label_prior": "P(Y)", "concept_label": "P(Y|X)"}
DATASETS = {"mnist": "MNIST", "fmnist": "FMNIST"}
# The figure of ours that a row shows, per shift.
NATIVE, KNOWN, FEW, BEST = "accuracy", "accuracy_known", "accuracy_few_label", "accuracy_best_round"


def published(rows, dataset, shift, level, drifts, method, variant):
    for row in rows:
        wanted = (DATASETS[dataset], shift, level, f"{drifts}/20", method, variant)
        if (row["dataset"], row["shift"], row["level"], row["drift"], row["method"], row["variant"]) == wanted:
            if row["table"].startswith(("main_appe", "pyx_few_sample")):
                return f'{float(row["mean"]):.1f} ± {float(row["std"]):.1f}'
    return ""


def show(results, label, field):
    values = [r[field] for r in results.get(label, []) if r[field] is not None]
    if not values:
        return "-"
    spread = f" ± {statistics.pstdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def main():
    with open(sys.argv[1], newline="") as file:
        rows = list(csv.DictReader(file))
    cells = {}
    ablation = {}
    for folder in map(pathlib.Path, sys.argv[2:]):
        summary = json.loads((folder / "summary.json").read_text())
        scenario = summary["scenario"]
        key = (scenario["dataset"], scenario["shift"], scenario["level"], scenario["drifts"])
        target = ablation if folder.name.startswith("ablation") else cells
        for result in summary["results"]:
            target.setdefault(key, {}).setdefault(result["label"], []).append(result)

    print("| cell | row | ours | published |")
    print("|---|---|---|---|")
    for key in sorted(cells, key=lambda k: (k[0], list(SHIFTS).index(k[1]))):
        dataset, shift, level, drifts = key
        name = SHIFTS[shift]
        cell = f"{DATASETS[dataset]} {name} {level} {drifts}/20"
        paper = lambda method, variant="": published(rows, dataset, name, level, drifts, method, variant)
        results = cells[key]
        table = [("`fedavg`, best validation round", "fedavg", BEST, paper("FedAvg")), ("`fedavg`, last round", "fedavg", NATIVE, "")]
        presets = ["fedavg-ft", "feroma-reference", "feroma-paper", "feroma-auto"]
        if shift == "concept_label":
            for label in presets:
                table.append((f"`{label}`, known association", label, KNOWN, paper("Feroma", "Known Association") if label == "feroma-reference" else ""))
            for label in presets:
                table.append((f"`{label}`, 20 labels per class", label, FEW, paper("Feroma", "Few labeled samples") if label == "feroma-reference" else ""))
        else:
            for label in presets:
                table.append((f"`{label}`", label, NATIVE, paper("Feroma") if label == "feroma-reference" else ""))
            table.append(("`feroma-auto`, 20 labels per class", "feroma-auto", FEW, ""))
        for i, (row, label, field, figure) in enumerate(table):
            print(f"| {cell.replace('|', chr(92) + '|') if i == 0 else ''} | {row} | {show(results, label, field)} | {figure} |")
    for key, results in ablation.items():
        print(f"\nJoin of weights and models, preset `reference`, {DATASETS[key[0]]} {SHIFTS[key[1]]} {key[2]} {key[3]}/20:\n")
        print("| weights | accuracy |\n|---|---|")
        for label in ("id-keyed", "positional", "uniform"):
            print(f"| {label} | {show(results, label, NATIVE)} |")


if __name__ == "__main__":
    main()
