#!/usr/bin/env python3
"""Loads a run directory with numpy alone and prints what is in it.

    python3 examples/read_run.py runs/demo

Copy the functions you need; docs/files.md describes every file and field.
"""

import csv
import json
import pathlib
import sys

import numpy as np

KNOWN_SCHEMA = 1


def check_schema(record, name):
    """Files written before the field existed have none; a newer one may mean something else by the same names."""
    if record.get("schema", 1) > KNOWN_SCHEMA:
        raise ValueError(f"{name}: schema {record['schema']} is newer than {KNOWN_SCHEMA}")
    return record


def read_csv(path):
    """The columns of a file by name: words as they are, numbers as floats, with nan where a field is empty.

    A line that was not finished when the run stopped is left out.
    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if line.endswith("\n")))
    columns = {}
    for name in rows[0] if rows else []:
        texts = [row[name] for row in rows]
        words = name in ("algorithm", "strategy")  # of which some look like numbers
        columns[name] = np.array(texts if words else [float(text) if text else np.nan for text in texts])
    return columns


def read_events(path):
    """One dictionary per event; a line that was not finished when the run stopped is left out."""
    with open(path, encoding="utf-8") as file:
        events = [json.loads(line) for line in file if line.endswith("\n")]
    for event in events:
        if event["event"] == "run_started":
            check_schema(event, path)
    return events


def read_arrays(folder):
    """{(label, round): array}; labels may hold dashes, the round stands behind the last one."""
    arrays = {}
    for path in sorted(folder.glob("*.npy")):
        label, _, number = path.stem.rpartition("-")
        arrays[label, int(number)] = np.load(path, allow_pickle=False)
    return arrays


def read_run(folder):
    folder = pathlib.Path(folder)
    summary = folder / "summary.json"
    return {
        "config": (folder / "config.toml").read_text(encoding="utf-8"),
        "metrics": read_csv(folder / "metrics.csv"),
        "clients": read_csv(folder / "clients.csv"),
        "events": read_events(folder / "events.jsonl"),
        "mixing": read_arrays(folder / "mixing"),
        "profiles": read_arrays(folder / "profiles"),
        # Only a finished run has one.
        "summary": check_schema(json.loads(summary.read_text(encoding="utf-8")), summary) if summary.exists() else None,
    }


def main(folder):
    run = read_run(folder)
    labels = list(dict.fromkeys(run["metrics"].get("algorithm", [])))
    rounds = len(run["metrics"].get("round", []))
    lines = len(run["clients"].get("round", []))
    print(f"{len(labels)} algorithms, {rounds} rounds in metrics.csv, {lines} lines in clients.csv, "
          f"{len(run['events'])} events, {len(run['config'].splitlines())} lines of config")
    for result in run["summary"]["results"] if run["summary"] else []:
        accuracy = "none" if result["accuracy"] is None else f"{result['accuracy']:.2f}"
        print(f"{result['label']}: accuracy {accuracy}, {result['bytes_up_per_client_round'] or 0:.0f} bytes up")
    for label in labels:
        rows = run["metrics"]["algorithm"] == label
        after = run["metrics"]["accuracy_after"][rows]
        print(f"{label}: accuracy after training {after[0]:.2f} in the first round, {after[-1]:.2f} in the last")
        for kind in ("mixing", "profiles"):
            of_label = [number for name, number in run[kind] if name == label]
            if of_label:
                array = run[kind][label, max(of_label)]
                shape = f"{kind} of round {max(of_label)}: {array.shape[0]} x {array.shape[1]}"
                sums = f", rows sum to {array.sum(axis=1).mean():.3g}" if kind == "mixing" else ""
                print(f"  {shape}{sums}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1])
    except (OSError, ValueError) as error:
        sys.exit(f"read_run.py: {sys.argv[1]} cannot be read as a run: {error}")
