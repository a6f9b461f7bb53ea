// The run in a few numbers.
import { type Run, headline, headlineName, isLeftOut } from "./api";
import { bytes, count, duration, h, none, percent, setText } from "./dom";

function tile(name: string): { element: HTMLElement; set: (value: string, note?: string) => void } {
  const value = h("dd", { class: "value" }, none);
  const note = h("dd", { class: "note" });
  return {
    element: h("div", { class: "tile" }, h("dt", {}, name), value, note),
    set: (text, more = "") => {
      setText(value, text);
      setText(note, more);
    },
  };
}

/** Seconds until all algorithms are done, at the pace of the last rounds. */
function timeLeft(run: Run): number | null {
  const planned = run.planned.rounds;
  if (run.state !== "running" || !planned || run.algorithms.length === 0) {
    return null;
  }
  const paces = run.algorithms.filter((a) => a.seconds_per_round > 0).map((a) => a.seconds_per_round);
  if (paces.length === 0) {
    return null;
  }
  const mean = paces.reduce((a, b) => a + b, 0) / paces.length;
  const begun = run.algorithms.reduce(
    (sum, a) => sum + (a.result ? 0 : Math.max(0, planned - a.rounds) * (a.seconds_per_round || mean)),
    0,
  );
  return begun + Math.max(0, run.planned.algorithms - run.algorithms.length) * planned * mean;
}

export function tiles(): { element: HTMLElement; draw: (run: Run) => void } {
  const tiles = {
    rounds: tile("Rounds"),
    left: tile("Time left"),
    accuracy: tile("Best accuracy"),
    clients: tile("Clients"),
    alarms: tile("Drift alarms"),
    refusals: tile("Refusals"),
    traffic: tile("Traffic"),
  };
  const draw = (now: Run) => {
    const done = now.algorithms.reduce((sum, a) => sum + a.rounds, 0);
    const several = Math.max(now.planned.algorithms, now.algorithms.length) - now.algorithms.filter(isLeftOut).length;
    const planned = (now.planned.rounds ?? 0) * several;
    tiles.rounds.set(planned ? `${count(done)} / ${count(Math.max(planned, done))}` : count(done),
                     several > 1 ? `over ${several} algorithms` : "");
    const left = timeLeft(now);
    const spent = now.algorithms.reduce((sum, a) => sum + a.seconds, 0);
    const ended = { waiting: "", running: "", stopped: "stopped", finished: "done" }[now.state];
    tiles.left.set(ended || duration(left), `${duration(spent)} so far`);
    const best = now.algorithms
      .filter((a) => headline(a.best) !== null)
      .sort((a, b) => Number(b.tested !== null) - Number(a.tested !== null) || (headline(b.best) ?? 0) - (headline(a.best) ?? 0))[0];
    tiles.accuracy.set(percent(headline(best?.best)), best ? `${headlineName(best.best)}: ${best.label}, round ${best.best?.round}` :
      now.privacy.accuracy_told ? "" : "clients keep it to themselves");
    const seen = Math.max(0, ...now.algorithms.map((a) => a.clients));
    const more = now.algorithms.some((a) => a.more_clients);
    tiles.clients.set(more ? `> ${count(seen)}` : count(seen), now.planned.clients && now.planned.clients > seen ? `of ${count(now.planned.clients)}` : "");
    const alarms = now.algorithms.reduce((sum, a) => sum + a.alarms, 0);
    const drops = now.algorithms.reduce((sum, a) => sum + a.drops, 0);
    const before = now.algorithms.reduce((sum, a) => sum + a.alarms_so_far, 0);
    tiles.alarms.set(`${count(alarms)} now`, `${count(before)} so far`);
    const away = Object.values(now.server?.refused ?? {}).reduce((sum, n) => sum + n, 0);
    const refused = now.refusals ?? 0;
    // Not their sum: who sent what was refused may have dropped out for it.
    tiles.refusals.set(
      count(drops + away),
      now.server ? `${count(drops)} in rounds, ${count(away)} at the door; ${count(refused)} messages refused` : "dropped out",
    );
    tiles.traffic.set(
      bytes(now.algorithms.reduce((sum, a) => sum + a.bytes_up + a.bytes_down, 0)),
      `${bytes(now.algorithms.reduce((sum, a) => sum + a.bytes_up, 0))} up`,
    );
  };

  return { element: h("dl", { class: "tiles wide" }, ...Object.values(tiles).map((t) => t.element)), draw };
}
