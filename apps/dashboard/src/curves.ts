// What was reached over the rounds, one line for each algorithm.
import type { History, Run } from "./api";
import { axis, chart, colour, dash, ink, roundAxis, shape, tooltip } from "./charts";
import { asTable, fixed, h, none } from "./dom";

type Metric = "test_accuracy" | "accuracy_after" | "accuracy_before" | "validation_accuracy" | "loss";
const metrics: [Metric, string][] = [
  ["test_accuracy", "Test accuracy"],
  ["accuracy_before", "Accuracy as served, on own data"],
  ["accuracy_after", "Accuracy after training, on own data"],
  ["validation_accuracy", "Validation accuracy of the served model"],
  ["loss", "Loss"],
];

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

/** `changed` is called when something else is to be drawn. */
export function curves(changed: () => void): {
  element: HTMLElement;
  draw: (run: Run, selected: string, histories: Map<string, History>) => void;
} {
  const select = h("select", { id: "metric" }, ...metrics.map(([key, name]) => h("option", { value: key }, name)));
  const spread = h("input", { type: "checkbox", id: "spread", checked: true });
  const ofClients = h("label", { class: "check" }, spread, "spread of clients");
  const curves = chart("Accuracy over the rounds, one line for each algorithm", "tall");
  const curvesTable = asTable("Accuracy over the rounds as a table");
  let chosen = false;
  select.addEventListener("change", () => {
    chosen = true;
    changed();
  });
  spread.addEventListener("change", changed);
  const element = h(
    "section",
    { class: "panel two" },
    h(
      "div",
      { class: "bar" },
      h("h2", {}, "Over the rounds"),
      h("span", { class: "spacer" }),
      h("label", { for: "metric", class: "unseen" }, "What is drawn"),
      select,
      ofClients,
    ),
    curves.element,
    curvesTable.fold,
  );

  const draw = (run: Run, selected: string, histories: Map<string, History>) => {
    if (!chosen) {
      // Older runs and federations have no test accuracy.
      const tested = [...histories.values()].some(({ columns }) => columns.test_accuracy?.some((value) => value !== null));
      select.value = tested || histories.size === 0 ? "test_accuracy" : "accuracy_before";
    }
    const metric = select.value as Metric;
    ofClients.hidden = metric !== "accuracy_after";
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
      if (spread.checked && metric === "accuracy_after" && (a.label === selected || run.algorithms.length === 1)) {
        series.push(band(columns, rounds, i));
      }
      series.push({
        name: a.label,
        type: "line",
        data,
        symbol: shape(i),
        symbolSize: i === 0 ? 9 : 6, // seen below others, as its line is between their dashes
        showSymbol: rounds.length <= 40,
        color: colour(i),
        lineStyle: { width: a.label === selected ? 2.6 : 1.8, type: dash(i) },
        emphasis: { focus: "series" },
        connectNulls: metric === "test_accuracy", // not every round is tested
      });
    });
    curves.draw({
      grid: { left: 52, right: 16, top: run.algorithms.length > 1 ? 36 : 12, bottom: 44 },
      legend: {
        show: run.algorithms.length > 1,
        type: "scroll",
        top: 0,
        data: run.algorithms.map((a) => a.label),
        textStyle: { color: quiet },
        pageTextStyle: { color: quiet },
        pageIconColor: quiet,
      },
      tooltip: tooltip({
        trigger: "axis",
        valueFormatter: (value: unknown) => (typeof value === "number" ? value.toFixed(metric === "loss" ? 3 : 1) : none),
      }),
      xAxis: roundAxis({ min: 1, max: "dataMax" }),
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

  return { element, draw };
}
