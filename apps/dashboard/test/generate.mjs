// Writes what a run would leave in its folder, as large as one likes: for tests and pictures.
import { appendFileSync, closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** The same numbers every time. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

function npy(rows, cols, values) {
  const dict = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${cols}), }`;
  const head = dict.padEnd(Math.ceil((10 + dict.length + 1) / 64) * 64 - 11) + "\n";
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length & 255, head.length >> 8]);
  return Buffer.concat([start, Buffer.from(head, "latin1"), Buffer.from(Float32Array.from(values).buffer)]);
}

/**
 * A run that can be continued round by round; in a folder that has one, it is cut and begins anew. `moved` says how far
 * the profile of a client moved, null: not known.
 */
export class SampleRun {
  constructor(folder, { clients, rounds, kinds = 4, mixed = clients, algorithms = ["fedavg", "feroma-auto"], privacy = "off", seed = 1, moved = null }) {
    Object.assign(this, { folder, clients, rounds, kinds, mixed, algorithms, moved, random: random(seed) });
    for (const name of ["mixing", "profiles"]) {
      mkdirSync(join(folder, name), { recursive: true });
    }
    writeFileSync(join(folder, "manifest.json"), "{}");
    writeFileSync(
      join(folder, "clients.csv"),
      "algorithm,round,client,distribution,num_examples,loss,accuracy_before,accuracy_after,strategy\n",
    );
    writeFileSync(join(folder, "events.jsonl"), "");
    const config = {
      "scenario.dataset": "fmnist",
      "scenario.shift": "covariate",
      "scenario.level": "high",
      "scenario.clients": clients,
      "scenario.rounds": rounds,
      "privacy.mode": privacy,
      "privacy.epsilon_total": 5,
      "privacy.delta_total": 1e-5,
      "privacy.noise": "os",
    };
    algorithms.forEach((label, i) => (config[`algorithm.${i}.name`] = label.split("-")[0]));
    this.guarded = privacy === "gaussian";
    this.event({ event: "run_started", schema: 1, config });
  }

  event(value) {
    appendFileSync(join(this.folder, "events.jsonl"), JSON.stringify(value) + "\n");
  }

  /** Who has which kind of data: everybody moves on every ten rounds, a third of them at a time. */
  kind(client, round) {
    return (client + Math.floor((round + (client % 3) * 3) / 10)) % this.kinds;
  }

  round(algorithm, round) {
    const maps = algorithm.startsWith("feroma") && round > 3;
    const top = algorithm.startsWith("feroma") ? 88 : 52;
    const mean = top * (1 - 0.8 * Math.exp(-round / 9)) + this.random();
    const ids = Array.from({ length: this.clients }, (_, i) => i);
    const drifted = (client) => maps && round > 4 && this.kind(client, round) !== this.kind(client, round - 1);
    const csv = openSync(join(this.folder, "clients.csv"), "a");
    let lines = "";
    for (const id of ids) {
      const after = Math.max(0, Math.min(100, mean + 14 * (this.random() - 0.5) - (drifted(id) ? 12 : 0)));
      lines += `${algorithm},${round},${id},${this.kind(id, round) + 1},${400 + (id % 7) * 50},${(2 / round).toFixed(4)},${(after - 4).toFixed(2)},${after.toFixed(2)},${maps ? (id % 9 === 0 ? "personal" : "clustered") : ""}\n`;
      if (lines.length > 1 << 20) {
        writeSync(csv, lines);
        lines = "";
      }
    }
    writeSync(csv, lines);
    closeSync(csv);
    if (round % 7 === 3) {
      this.event({ event: "client_dropped", algorithm, round, client: round % this.clients, reason: "no answer within 600 s" });
    }
    this.event({
      event: "round_finished", algorithm, round, loss: 2 / round, accuracy_before: mean - 4, accuracy_after: mean,
      validation_loss: 2 / round, validation_accuracy: mean - 1, test_accuracy: this.guarded || round % 2 ? null : mean - 2,
      global_share: maps ? 0 : null, clustered_share: maps ? 0.89 : null, personal_share: maps ? 0.11 : null,
      mixing_auc: null, contraction: null, column_sum_min: null, column_sum_max: null, seconds: 1.2 + 0.2 * this.random(),
      bytes_up: 252088 * this.clients, bytes_down: 248024 * this.clients, epsilon: this.guarded ? (4.6 * round) / this.rounds : null,
    });
    this.event({
      event: "clients", algorithm, round, time: Date.now() / 1000, client: ids, bytes_up: ids.map(() => 252088),
      bytes_down: ids.map(() => 248024),
      ...(maps && round > 4 ? { moved: ids.map((id) => (this.moved ? this.moved(id) : drifted(id) ? 3.2 + 4 * this.random() : 0)) } : {}),
      ...(this.guarded ? { epsilon: ids.map((id) => ((2.4 + (id % 11) * 0.24) * round) / this.rounds) } : {}),
    });
    if (maps) {
      this.arrays(algorithm, round);
    }
  }

  /** What an algorithm reached on test clients; with a reason it has no meaning here and reached nothing. */
  finish(label, notApplicable = null) {
    const top = notApplicable ? null : label.startsWith("feroma") ? 86.5 : 51.25;
    const known = label.startsWith("feroma") ? top : null;
    this.event({
      event: "algorithm_finished", label, algorithm: label.split("-")[0], preset: label.split("-")[1] ?? null, seed: 42,
      accuracy: top, accuracy_std_clients: top && 4.5, accuracy_worst10: top && top - 9, accuracy_known: known && known + 2,
      accuracy_few_label: null, accuracy_nearest: null, accuracy_best_round: top, metric: "accuracy",
      match_rate: known && 0.95, seconds_total: 61, seconds: { train: 50 }, samples_per_second: 1e5,
      bytes_up_per_client_round: 252088, bytes_down_per_client_round: 248024, profile_floats: known && 40,
      peak_rss_bytes: 1e8, epsilon: this.guarded ? 4.6 : null, accuracy_newcomers: null, accuracy_expectation: null,
      accuracy_personal: null, forward_passes_per_client_round: 2, backward_passes_per_client_round: 2,
      not_applicable: notApplicable,
    });
  }

  /** The end of the run; without it somebody still writes, or was stopped. */
  end() {
    this.event({ event: "run_finished", seconds: 100 });
  }

  arrays(algorithm, round) {
    const ids = Array.from({ length: this.mixed }, (_, i) => i);
    const weights = new Float32Array(this.mixed * this.mixed);
    for (const r of ids) {
      let sum = 0;
      for (const s of ids) {
        const same = this.kind(r, round) === this.kind(s, round - 1);
        const weight = (same ? 1 + 0.5 * this.random() : 0.02 * this.random()) * (r === s && same ? 3 : 1);
        weights[r * this.mixed + s] = weight;
        sum += weight;
      }
      for (const s of ids) {
        weights[r * this.mixed + s] /= sum;
      }
    }
    const length = 40;
    const profiles = new Float32Array(this.mixed * length);
    for (const r of ids) {
      const angle = (2 * Math.PI * this.kind(r, round)) / this.kinds;
      for (let i = 0; i < length; ++i) {
        const middle = i % 2 === 0 ? Math.cos(angle + (i >> 3)) : Math.sin(angle - (i >> 3));
        profiles[r * length + i] = middle + 0.25 * (this.random() - 0.5) + 0.1 * Math.sin(r * 7.3 + i);
      }
    }
    writeFileSync(join(this.folder, "mixing", `${algorithm}-${round}.npy`), npy(this.mixed, this.mixed, weights));
    writeFileSync(join(this.folder, "profiles", `${algorithm}-${round}.npy`), npy(this.mixed, length, profiles));
    this.event({ event: "mixing", algorithm, round, receivers: ids, sources: ids, file: `mixing/${algorithm}-${round}.npy` });
    this.event({ event: "profiles", algorithm, round, receivers: ids, file: `profiles/${algorithm}-${round}.npy` });
    this.weights = weights;
  }
}
