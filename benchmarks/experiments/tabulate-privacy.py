#!/usr/bin/env python3
"""A markdown table of benchmarks/experiments/privacy beside the published one.

  benchmarks/experiments/tabulate-privacy.py RESULTS_CSV KEPT_CSV [RUNS...]

RESULTS_CSV holds the published figures, RUNS are folders of finished runs. Their figures are added to KEPT_CSV, and the
table is made from all that is kept there.
"""
import csv
import json
import pathlib
import statistics
import sys

SHIFTS = {"covariate": "P(X)", "concept_feature": "P(X|Y)", "label_prior": "P(Y)", "concept_label": "P(Y|X)"}
COLUMNS = ["variant", "shift", "seed", "commit", "accuracy", "accuracy_few_label", "accuracy_known", "match_rate", "epsilon"]


def keep(file, folders):
    rows = {}
    if file.exists():
        with file.open(newline="") as source:
            rows = {(r["variant"], r["shift"], r["seed"]): r for r in csv.DictReader(source)}
    for folder in folders:
        for summary in sorted(pathlib.Path(folder).glob("*,*,*/summary.json")):
            shift, variant, seed = summary.parent.name.split(",")
            result = json.loads(summary.read_text())["results"][0]
            commit = json.loads((summary.parent / "manifest.json").read_text())["commit"]
            row = {"variant": variant, "shift": shift, "seed": seed, "commit": commit}
            row.update({c: "" if result.get(c) is None else f"{result[c]:.4g}" for c in COLUMNS[4:]})
            rows[(variant, shift, seed)] = row
    with file.open("w", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))
    return rows


def published(papers, shift, epsilon):
    for row in papers:
        if row["table"].startswith("dp_") and (row["shift"], row["level"], row["metric"]) == (shift, "medium", "accuracy"):
            if row["variant"].replace(" ", "").endswith(f"={epsilon}") or (epsilon == "off" and "no" in row["variant"].lower()):
                return float(row["mean"])
    return None


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="") as source:
        papers = list(csv.DictReader(source))
    rows = keep(pathlib.Path(sys.argv[2]), sys.argv[3:])
    variants = sorted({key[0] for key in rows}, key=lambda v: (v.startswith("p"), v != "auto", v != "off",
                                                               -float(v) if v.replace(".", "").isdigit() else 0))
    print("| profiles | " + " | ".join(n.replace("|", "\\|") for n in SHIFTS.values()) + " | mean | spent |\n|" + "---|" * 7)
    for variant in variants:
        cells, means, spent = [], [], []
        for shift, name in SHIFTS.items():
            some = [r for (v, s, _), r in rows.items() if (v, s) == (variant, shift)]
            # Nobody can tell a permutation of labels without labels: few of them choose.
            figures = [float(r["accuracy_few_label" if shift == "concept_label" else "accuracy"]) for r in some]
            if not figures:
                cells.append("-")
                continue
            means.append(statistics.mean(figures))
            spent += [float(r["epsilon"]) for r in some if r["epsilon"]]
            theirs = published(papers, name, variant.removeprefix("paper-"))
            spread = f" ± {statistics.stdev(figures):.2f}" if len(figures) > 1 else ""
            cells.append(f"{means[-1]:.2f}{spread}" + (f" ({theirs:.1f})" if theirs else ""))
        mean = f"{statistics.mean(means):.2f}" if len(means) == 4 else "-"
        print(f"| {variant} | " + " | ".join(cells) + f" | {mean} | {max(spent):.2f} |" if spent else
              f"| {variant} | " + " | ".join(cells) + f" | {mean} | - |")


main()
