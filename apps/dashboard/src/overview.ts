// Rounds, accuracy over them, and results.
import { type Algorithm, type History, type Run, ask, latest } from "./api";
import { axis, chart, colour, dash, ink, shape, tooltip } from "./charts";
import { asTable, bytes, count, duration, fill, fixed, h, none, percent, setText } from "./dom";
import type { View } from "./view";

type Metric = "accuracy_after" | "accuracy_before" | "validation_accuracy" | "loss";
const metrics: [Metric, string][] = [
  ["accuracy_after", "Accuracy after training"],
  ["accuracy_before", "Accuracy before training"],
  ["validation_accuracy", "Validation accuracy of the served model"],
  ["loss", "Loss"],
];

const results: [string, string][] = [
  ["accuracy", "accuracy"],
  ["accuracy_std_clients", "± clients"],
  ["accuracy_worst10", "worst 10 %"],
  ["accuracy_known", "known"],
  ["accuracy_few_label", "few labels"],
  ["accuracy_nearest", "nearest"],
  ["match_rate", "match"],
  ["epsilon", "ε"],
];

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

export function overview(): View {
  const tiles = {
    rounds: tile("Rounds"),
    left: tile("Time left"),
    accuracy: tile("Best accuracy"),
    clients: tile("Clients"),
    alarms: tile("Drift alarms"),
    refusals: tile("Refusals"),
    traffic: tile("Traffic"),
  };
  const select = h("select", { id: "metric" }, ...metrics.map(([key, name]) => h("option", { value: key }, name)));
  const spread = h("input", { type: "checkbox", id: "spread", checked: true });
  const curves = chart("Accuracy over the rounds, one line for each algorithm", "tall");
  const curvesTable = asTable("Accuracy over the rounds as a table");
  const strategies = chart("Shares of strategies and drift alarms over the rounds");
  const strategiesTable = asTable("Strategies and drift alarms as a table");
  const strategiesTitle = h("h2", {}, "Who trains with whom");
  const progress = h("tbody");
  const resultsHolder = h("section", { class: "panel wide", hidden: true });
  const strategiesPanel = h(
    "section",
    { class: "panel grow" },
    strategiesTitle,
    strategies.element,
    strategiesTable.fold,
  );
  const element = h(
    "div",
    { class: "grid" },
    h("dl", { class: "tiles wide" }, ...Object.values(tiles).map((t) => t.element)),
    h(
      "section",
      { class: "panel two" },
      h(
        "div",
        { class: "bar" },
        h("h2", {}, "Over the rounds"),
        h("span", { class: "spacer" }),
        h("label", { for: "metric", class: "unseen" }, "What is drawn"),
        select,
        h("label", { class: "check" }, spread, "spread of clients"),
      ),
      curves.element,
      curvesTable.fold,
    ),
    h(
      "div",
      { class: "column" },
      h(
        "section",
        { class: "panel" },
        h("h2", {}, "Progress"),
        h(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": "Progress of each algorithm" },
          h(
            "table",
            { class: "progress" },
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ...["algorithm", "round", "accuracy", "per round"].map((text) => h("th", { scope: "col" }, text)),
              ),
            ),
            progress,
          ),
        ),
      ),
      strategiesPanel,
    ),
    resultsHolder,
  );

  const histories = new Map<string, History>();
  const loaded = new Map<string, string>(); // what an algorithm's history was made of
  let run: Run | null = null;
  let selected = "";

  const drawProgress = (now: Run) => {
    fill(
      progress,
      ...now.algorithms.map((a, i) => {
        const planned = Math.max(now.planned.rounds ?? a.rounds, a.rounds);
        const swatch = h("span", { class: `swatch ${shape(i)}`, "aria-hidden": "true" });
        swatch.style.setProperty("--swatch", colour(i));
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, swatch, a.label),
          h(
            "td",
            {},
            h("progress", { max: planned || 1, value: a.rounds, "aria-label": `${a.label}: rounds` }),
            ` ${a.rounds}/${planned}`,
          ),
          h("td", {}, percent(a.last?.accuracy_after)),
          h("td", {}, duration(a.seconds_per_round)),
        );
      }),
      now.algorithms.length === 0 && h("tr", {}, h("td", { colspan: 4, class: "quiet" }, "No round is finished yet.")),
    );
  };

  const drawTiles = (now: Run) => {
    const done = now.algorithms.reduce((sum, a) => sum + a.rounds, 0);
    const planned = (now.planned.rounds ?? 0) * Math.max(now.planned.algorithms, now.algorithms.length);
    const several = Math.max(now.planned.algorithms, now.algorithms.length);
    tiles.rounds.set(planned ? `${count(done)} / ${count(Math.max(planned, done))}` : count(done),
                     several > 1 ? `over ${several} algorithms` : "");
    const left = timeLeft(now);
    const spent = now.algorithms.reduce((sum, a) => sum + a.seconds, 0);
    tiles.left.set(now.state === "finished" ? "done" : duration(left), `${duration(spent)} so far`);
    const best = now.algorithms
      .filter((a) => a.best?.accuracy_after !== null && a.best !== null)
      .sort((a, b) => (b.best?.accuracy_after ?? 0) - (a.best?.accuracy_after ?? 0))[0];
    tiles.accuracy.set(percent(best?.best?.accuracy_after), best ? `${best.label}, round ${best.best?.round}` :
      now.privacy.accuracy_told ? "" : "clients keep it to themselves");
    const seen = Math.max(0, ...now.algorithms.map((a) => a.clients));
    tiles.clients.set(count(seen), now.planned.clients && now.planned.clients > seen ? `of ${count(now.planned.clients)}` : "");
    const alarms = now.algorithms.reduce((sum, a) => sum + a.alarms, 0);
    const drops = now.algorithms.reduce((sum, a) => sum + a.drops, 0);
    const before = now.algorithms.reduce((sum, a) => sum + a.alarms_so_far, 0);
    tiles.alarms.set(`${count(alarms)} now`, `${count(before)} so far`);
    tiles.refusals.set(count(drops), "dropped out or refused");
    tiles.traffic.set(
      bytes(now.algorithms.reduce((sum, a) => sum + a.bytes_up + a.bytes_down, 0)),
      `${bytes(now.algorithms.reduce((sum, a) => sum + a.bytes_up, 0))} up`,
    );
  };

  const drawCurves = () => {
    if (!run) {
      return;
    }
    const metric = select.value as Metric;
    const { quiet } = ink();
    const series: Record<string, unknown>[] = [];
    const head = ["round"];
    const byRound = new Map<number, string[]>();
    run.algorithms.forEach((a, i) => {
      const columns = histories.get(a.label)?.columns;
      const rounds = columns?.round ?? [];
      const values = columns?.[metric] ?? [];
      head.push(a.label);
      const data = rounds.map((round, at) => [round, values[at] ?? null]);
      data.forEach(([round, value]) => {
        const row = byRound.get(round ?? 0) ?? [];
        row[i] = fixed(value, metric === "loss" ? 3 : 1);
        byRound.set(round ?? 0, row);
      });
      if (spread.checked && metric === "accuracy_after" && (a.label === selected || run?.algorithms.length === 1)) {
        series.push(band(columns, rounds, i));
      }
      series.push({
        name: a.label,
        type: "line",
        data,
        symbol: shape(i),
        symbolSize: 6,
        showSymbol: rounds.length <= 40,
        color: colour(i),
        lineStyle: { width: a.label === selected ? 2.6 : 1.8, type: dash(i) },
        emphasis: { focus: "series" },
        connectNulls: false,
      });
    });
    curves.draw({
      grid: { left: 52, right: 16, top: run.algorithms.length > 1 ? 36 : 12, bottom: 44 },
      legend:
        run.algorithms.length > 1
          ? { type: "scroll", top: 0, data: run.algorithms.map((a) => a.label), textStyle: { color: quiet }, pageTextStyle: { color: quiet }, pageIconColor: quiet }
          : undefined,
      tooltip: tooltip({
        trigger: "axis",
        valueFormatter: (value: unknown) => (typeof value === "number" ? value.toFixed(metric === "loss" ? 3 : 1) : none),
      }),
      xAxis: axis("round", { type: "value", minInterval: 1, min: 1, max: "dataMax" }),
      yAxis: axis(metric === "loss" ? "loss" : "percent", { type: "value", scale: true, nameGap: 38 }),
      dataZoom: [{ type: "inside", zoomOnMouseWheel: "shift", moveOnMouseWheel: false }],
      series,
    });
    curvesTable.show(
      head,
      [...byRound.entries()].sort((a, b) => a[0] - b[0]).map(([round, row]) => [
        String(round),
        ...head.slice(1).map((_, i) => row[i] ?? none),
      ]),
    );
  };

  const drawStrategies = () => {
    const columns = histories.get(selected)?.columns;
    const rounds = columns?.round ?? [];
    const { quiet } = ink();
    const mapped = (columns?.clustered_share ?? []).some((value) => value !== null);
    strategiesPanel.hidden = !mapped;
    if (!mapped) {
      return;
    }
    // From the first round with a mapping on.
    const shown = rounds.map((_, at) => at).slice(columns?.clustered_share?.findIndex((value) => value !== null));
    setText(strategiesTitle, `Who trains with whom: ${selected}`);
    const share = (key: "global_share" | "clustered_share" | "personal_share", name: string, i: number) => ({
      name,
      type: "bar",
      stack: "share",
      barCategoryGap: "12%",
      color: colour(i),
      data: shown.map((at) => {
        const value = columns?.[key]?.[at];
        return value == null ? null : 100 * value;
      }),
    });
    strategies.draw({
      grid: { left: 48, right: 48, top: 36, bottom: 44 },
      legend: { type: "scroll", top: 0, textStyle: { color: quiet } },
      tooltip: tooltip({ trigger: "axis", valueFormatter: (v: unknown) => (typeof v === "number" ? v.toFixed(0) : none) }),
      xAxis: axis("round", { type: "category", data: shown.map((at) => String(rounds[at])), splitLine: { show: false } }),
      yAxis: [
        axis("clients, percent", { type: "value", max: 100 }),
        axis("drift alarms", { type: "value", minInterval: 1, splitLine: { show: false } }),
      ],
      series: [
        share("personal_share", "personal", 3),
        share("clustered_share", "clustered", 0),
        share("global_share", "global", 2),
        {
          name: "drift alarms",
          type: "line",
          yAxisIndex: 1,
          symbol: "diamond",
          symbolSize: 7,
          showSymbol: shown.length <= 60,
          color: colour(1),
          data: shown.map((at) => columns?.alarms?.[at] ?? null),
        },
      ],
    });
    strategiesTable.show(
      ["round", "personal", "clustered", "global", "drift alarms", "dropped"],
      shown.map((at) => [
        String(rounds[at]),
        ...(["personal_share", "clustered_share", "global_share"] as const).map((key) => {
          const value = columns?.[key]?.[at];
          return value == null ? none : percent(100 * value, 0);
        }),
        String(columns?.alarms?.[at] ?? none),
        String(columns?.dropped?.[at] ?? none),
      ]),
    );
  };

  const drawResults = (now: Run) => {
    const done = now.algorithms.filter((a): a is Algorithm & { result: NonNullable<Algorithm["result"]> } => a.result !== null);
    resultsHolder.hidden = done.length === 0;
    if (done.length === 0) {
      return;
    }
    const shown = results.filter(([key]) => done.some((a) => typeof a.result[key] === "number"));
    fill(
      resultsHolder,
      h("h2", {}, `Results on test clients${done.some((a) => a.result["metric"] === "auroc") ? " (AUROC)" : ", percent"}`),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Results" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "algorithm"), ...shown.map(([, name]) => h("th", { scope: "col", class: "number" }, name)), h("th", { scope: "col" }, "time"))),
          h(
            "tbody",
            {},
            ...done.map((a) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, a.label),
                ...(typeof a.result["not_applicable"] === "string"
                  ? [h("td", { colspan: shown.length + 1, class: "quiet" }, `not applicable: ${a.result["not_applicable"]}`)]
                  : [
                      ...shown.map(([key]) => {
                        const value = a.result[key];
                        const number = typeof value === "number" ? (key === "match_rate" ? 100 * value : value) : null;
                        return h("td", { class: "number" }, fixed(number, key === "epsilon" ? 2 : 1));
                      }),
                      h("td", {}, duration(a.result["seconds_total"] as number)),
                    ]),
              ),
            ),
          ),
        ),
      ),
    );
  };

  const refresh = latest(async (now: Run) => {
    // Rounds come before the clients' lines that their spread is made of.
    const state = (a: Algorithm): string => `${a.rounds}/${a.client_rows}`;
    const stale = now.algorithms.filter((a) => loaded.get(a.label) !== state(a));
    for (const a of stale) {
      try {
        histories.set(a.label, await ask<History>("history", { algorithm: a.label, points: 400 }));
        loaded.set(a.label, state(a));
      } catch {
        return; // the connection's own notice tells
      }
    }
    drawCurves();
    drawStrategies();
  });

  let epoch = 0;
  select.addEventListener("change", () => {
    drawCurves();
  });
  spread.addEventListener("change", drawCurves);
  return {
    id: "overview",
    name: "Overview",
    element,
    update: (now, algorithm) => {
      if (now.epoch !== epoch) {
        histories.clear();
        loaded.clear();
        epoch = now.epoch;
      }
      run = now;
      selected = algorithm;
      drawTiles(now);
      drawProgress(now);
      drawResults(now);
      refresh(now);
    },
    restyle: () => {
      if (run) {
        drawProgress(run);
      }
      drawCurves();
      drawStrategies();
    },
  };
}

/** Between what a tenth of the clients is below and a tenth above, one piece for every step. */
function band(columns: History["columns"] | undefined, rounds: (number | null)[], i: number): Record<string, unknown> {
  const data = rounds
    .map((round, at) => [round, columns?.low?.[at] ?? null, columns?.high?.[at] ?? null])
    .filter((row): row is [number, number, number] => row.every((value) => value !== null));
  const fill = colour(i);
  return {
    type: "custom",
    silent: true,
    z: 1,
    tooltip: { show: false },
    data,
    encode: { x: 0, y: [1, 2] },
    renderItem: (params: { dataIndex: number }, api: { coord: (at: number[]) => number[] }) => {
      const from = data[params.dataIndex];
      const to = data[params.dataIndex + 1];
      if (!from || !to) {
        return null;
      }
      const points = [api.coord([from[0], from[1]]), api.coord([to[0], to[1]]), api.coord([to[0], to[2]]), api.coord([from[0], from[2]])];
      return { type: "polygon", shape: { points }, style: { fill, opacity: 0.16 } };
    },
  };
}
