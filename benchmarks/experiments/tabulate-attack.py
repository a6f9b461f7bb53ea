#!/usr/bin/env python3
"""A markdown table of benchmarks/experiments/attack: what honest clients lose to those that lie.

  benchmarks/experiments/tabulate-attack.py RUNS

RUNS is the folder of the runs, each named ATTACK,DEFENCE,SEED. The accuracy is that of the model a client is given in
the last round, on its held-out samples; lost is against the run without liars and with the mean, of the same seed.
"""
import collections
import csv
import pathlib
import re
import statistics
import sys


def setting(config, key, otherwise):
    found = re.search(rf'^{key} = "?([^"\n]*)"?$', config[config.index("[attack]"):], re.M)
    return found.group(1) if found else otherwise


def read(folder):
    """{distribution: {client: accuracy}} after the last round, liars left out; that round; the liars; their kind."""
    config = (folder / "config.toml").read_text()
    liars = {int(client) for client in setting(config, "clients", "").split()}
    with (folder / "clients.csv").open(newline="") as source:
        rows = list(csv.DictReader(source))
    last = max((int(row["round"]) for row in rows), default=0)
    accuracy = collections.defaultdict(dict)
    for row in rows:
        if int(row["round"]) == last and int(row["client"]) not in liars:
            accuracy[row["distribution"]][int(row["client"])] = float(row["accuracy_before"])
    return accuracy, last, liars, setting(config, "kind", "none")


def aimed_at(base, liars, kind):
    """The distributions that liars aim at: their own, or that of the client whose profile they copy."""
    owner = {client: d for d, clients in base.items() for client in clients}
    return {owner[min(set(owner) - liars)]} if kind == "forged_profile" else {owner[client] for client in liars}


def mean(accuracy, distributions):
    values = [value for d in distributions for value in accuracy[d].values()]
    return statistics.mean(values) if values else None


def shown(values):
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    return f"{statistics.mean(values):.1f}" + (f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else "")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    runs = collections.defaultdict(dict)
    for folder in sorted(pathlib.Path(sys.argv[1]).glob("*,*,*")):
        attack, defence, seed = folder.name.split(",")
        if (folder / "clients.csv").exists():
            runs[(attack, defence)][seed] = read(folder)
    print("| attack | defence | untouched | lost | attacked | lost | seeds |\n|---|---|---|---|---|---|---|")
    for (attack, defence), seeds in runs.items():
        columns = collections.defaultdict(list)
        early = ""
        for seed, (accuracy, last, liars, kind) in seeds.items():
            if seed not in runs[("none", "mean")]:
                continue
            base, rounds, _, _ = runs[("none", "mean")][seed]
            aimed = aimed_at(base, liars, kind)
            early = early or (f" (ended in round {last})" if last < rounds else "")
            for name, some in (("untouched", set(base) - aimed), ("attacked", aimed)):
                honest = {d: {c: base[d][c] for c in accuracy[d]} for d in some}
                now, before = mean(accuracy, some), mean(honest, some)
                columns[name].append(now)
                columns[name + " lost"].append(None if now is None else before - now)
        cells = [shown(columns[c]) for c in ("untouched", "untouched lost", "attacked", "attacked lost")]
        print(f"| {attack} | {defence}{early} | " + " | ".join(cells) + f" | {len(seeds)} |")


main()
