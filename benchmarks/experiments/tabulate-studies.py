#!/usr/bin/env python3
"""Markdown tables of the runs that benchmarks/experiments/studies makes.

  benchmarks/experiments/tabulate-studies.py RUNS...

A run's folder is named STUDY,VALUE,SEED; each study becomes a table with a row per value and a column per algorithm:
the mean over seeds ± the standard deviation between them, that of a sample (n - 1) as in feroma report. Runs of the
same name in several folders are joined, so that algorithms may be run apart.
"""
import collections
import json
import pathlib
import statistics
import sys

FIGURES = {"accuracy": "unlabelled clients", "accuracy_few_label": "with few labels", "accuracy_newcomers": "newcomers"}


def figures_of(scenario, results):
    """What a study shows after the last round, of every algorithm alike: nobody can serve P(Y|X) without labels, and
    newcomers exist only where clients come and go."""
    shown = ["accuracy_few_label" if scenario["shift"] == "concept_label" else "accuracy"]
    if any(result.get("accuracy_newcomers") is not None for result in results):
        shown.append("accuracy_newcomers")
    return shown


def cell(values):
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    return f"{statistics.mean(values):.1f}" + (f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else "")


def read_runs(folders):
    """{study: {value: {seed: [result of each algorithm]}}} and the scenario of each study."""
    studies = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    scenarios = {}
    for folder in folders:
        for file in sorted(pathlib.Path(folder).glob("*,*,*/summary.json")):
            study, value, seed = file.parent.name.split(",")
            summary = json.loads(file.read_text())
            scenarios[study] = summary["scenario"]
            studies[study][value][seed] += summary["results"]
    return studies, scenarios


def main():
    studies, scenarios = read_runs(sys.argv[1:])
    for study, rows in studies.items():
        results = [result for seeds in rows.values() for some in seeds.values() for result in some]
        labels = list(dict.fromkeys(result["label"] for result in results))
        for figure in figures_of(scenarios[study], results):
            print(f"\n{study} ({results[0]['metric']}, {FIGURES[figure]}):\n")
            print("| | " + " | ".join(labels) + " | seeds |")
            print("|---" * (len(labels) + 2) + "|")
            for value, seeds in sorted(rows.items(), key=lambda row: (len(row[0]), row[0])):
                by_label = collections.defaultdict(list)
                for result in (result for some in seeds.values() for result in some):
                    by_label[result["label"]].append(result[figure])
                print(f"| {value} | " + " | ".join(cell(by_label[label]) for label in labels) + f" | {len(seeds)} |")


if __name__ == "__main__":
    main()
