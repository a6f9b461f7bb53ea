// Who trains alone, in groups or with all, and who drifted.
import type { History } from "./api";
import { axis, chart, colour, ink, tooltip } from "./charts";
import { asTable, h, none, percent, setText } from "./dom";

export function strategies(): { element: HTMLElement; draw: (selected: string, history: History | undefined) => void } {
  const shares = chart("Shares of strategies and drift alarms over the rounds");
  const table = asTable("Strategies and drift alarms as a table");
  const title = h("h2", {}, "Who trains with whom");
  const element = h("section", { class: "panel grow" }, title, shares.element, table.fold);

  const draw = (selected: string, history: History | undefined) => {
    const columns = history?.columns;
    const rounds = columns?.round ?? [];
    const { quiet } = ink();
    const mapped = (columns?.clustered_share ?? []).some((value) => value !== null);
    element.hidden = !mapped;
    if (!mapped) {
      return;
    }
    // From the first round with a mapping on.
    const shown = rounds.map((_, at) => at).slice(columns?.clustered_share?.findIndex((value) => value !== null));
    setText(title, `Who trains with whom: ${selected}`);
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
    shares.draw({
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
    table.show(
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

  return { element, draw };
}
