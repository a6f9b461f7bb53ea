// Where clients' profiles are on a plane, and which way they went.
import { type ProfileClient, type Profiles, type Run, ask, latest } from "./api";
import { axis, chart, colour, ink, shape, tooltip } from "./charts";
import { asTable, count, fixed, h, none, setText } from "./dom";
import { roundSlider } from "./slider";
import type { View } from "./view";

type By = "distribution" | "strategy" | "alarm";

const invitation = "Point at a client.";

export function profilesView(): View {
  const plane = chart("Profiles of the clients on a plane, with trails of where they came from", "square");
  const readout = h("p", { class: "readout", "aria-live": "polite" }, invitation);
  const note = h("p", { class: "quiet" });
  const table = asTable("Profiles as a table");
  const slider = roundSlider((round) => show(round));
  const by = h(
    "select",
    { id: "by" },
    h("option", { value: "distribution" }, "by true distribution"),
    h("option", { value: "strategy" }, "by strategy"),
    h("option", { value: "alarm" }, "by drift alarm"),
  );
  const trails = h("input", { type: "checkbox", checked: true });
  const empty = h("p", { class: "quiet", hidden: true });
  const body = h("div", {}, plane.element, readout, note, table.fold);
  const element = h(
    "section",
    { class: "panel" },
    h(
      "div",
      { class: "bar" },
      h("h2", {}, "Profiles"),
      h("span", { class: "spacer" }),
      h("label", { for: "by", class: "unseen" }, "Colours"),
      by,
      h("label", { class: "check" }, trails, "trails"),
      slider.element,
    ),
    empty,
    body,
  );
  let run: Run | null = null;
  let selected = "";
  let shown = ""; // what was asked for
  let known: Profiles | null = null;
  let pointed: number | null = null; // the client that is told of
  let listening = false;

  const group = (client: ProfileClient, how: By): string => {
    switch (how) {
      case "distribution":
        return client.distribution === null ? "unknown" : `distribution ${client.distribution}`;
      case "strategy":
        return client.strategy || "none";
      case "alarm":
        return client.moved === null ? "not known" : client.moved > (known?.alarm_above ?? 3) ? "drift alarm" : "quiet";
    }
  };

  const movedText = (client: ProfileClient) =>
    client.moved === null ? "not known to have moved" : client.moved === 0 ? "same data as before" : `moved ${fixed(client.moved)} noise floors`;

  const tell = (client: ProfileClient) =>
    setText(
      readout,
      `Round ${known?.round}: client ${client.client}, ${[client.distribution === null ? "" : `distribution ${client.distribution}`, client.strategy ?? "", movedText(client)].filter(Boolean).join(", ")}`,
    );

  const draw = () => {
    if (!known) {
      return;
    }
    const profiles = known;
    const { quiet, text } = ink();
    let how = by.value as By;
    if (how === "distribution" && profiles.clients.every((c) => c.distribution === null)) {
      how = "strategy";
    }
    const names = [...new Set(profiles.clients.map((c) => group(c, how)))].sort((a, b) =>
      a.localeCompare(b, "en", { numeric: true }),
    );
    const index = (client: ProfileClient) => names.indexOf(group(client, how));
    const series: Record<string, unknown>[] = [];
    if (trails.checked) {
      // Not seen: with them the axes reach as far as the trails do.
      series.push({
        type: "scatter",
        silent: true,
        symbolSize: 0,
        tooltip: { show: false },
        data: profiles.clients.flatMap((client) => client.path.filter((at) => at !== null)),
      });
      series.push({
        type: "custom",
        silent: true,
        z: 1,
        tooltip: { show: false },
        data: profiles.clients.map((_, i) => i),
        encode: { x: -1, y: -1 },
        renderItem: (params: { dataIndex: number }, api: { coord: (at: number[]) => number[] }) => {
          const client = profiles.clients[params.dataIndex];
          const points = (client?.path ?? []).filter((at) => at !== null).map((at) => api.coord(at));
          if (!client || points.length < 2) {
            return null;
          }
          const stroke = colour(index(client));
          return {
            type: "group",
            children: points.slice(1).map((to, i) => ({
              type: "line",
              shape: { x1: points[i]?.[0], y1: points[i]?.[1], x2: to[0], y2: to[1] },
              // Older steps fade.
              style: { stroke, lineWidth: 1.4, opacity: 0.15 + (0.55 * (i + 1)) / (points.length - 1) },
            })),
          };
        },
      });
    }
    names.forEach((name, i) => {
      series.push({
        name,
        type: "scatter",
        symbol: shape(i),
        symbolSize: profiles.clients.length > 150 ? 7 : 11,
        color: colour(i),
        itemStyle: { borderColor: ink().panel, borderWidth: 1 },
        emphasis: { itemStyle: { borderColor: text, borderWidth: 2 } },
        z: 3,
        data: profiles.clients
          .filter((c) => index(c) === i && c.path.at(-1))
          .map((c) => ({ value: c.path.at(-1), client: c, label: { show: profiles.clients.length <= 40, formatter: String(c.client), position: "right", color: quiet, fontSize: 11 } })),
      });
    });
    const share = (i: 0 | 1) => `component ${i + 1} (${(100 * profiles.explained[i]).toFixed(0)} % of the variance)`;
    plane.draw({
      grid: { left: 60, right: 24, top: 40, bottom: 48 },
      legend: { type: "scroll", top: 0, itemWidth: 12, itemHeight: 12, data: names, textStyle: { color: quiet }, pageTextStyle: { color: quiet }, pageIconColor: quiet },
      tooltip: tooltip({
        formatter: (params: { data?: { client?: ProfileClient } }) => {
          const client = params.data?.client;
          return client ? `client ${client.client}\n${group(client, how)}\n${movedText(client)}` : "";
        },
      }),
      xAxis: axis(share(0), { type: "value", scale: true }),
      yAxis: axis(share(1), { type: "value", scale: true, nameGap: 40 }),
      // No client is left out for being beyond one axis: where none is within it, the other would have nothing to span.
      dataZoom: ([{ xAxisIndex: 0 }, { yAxisIndex: 0 }] as const).map((which) => ({
        type: "inside",
        ...which,
        zoomOnMouseWheel: "shift",
        moveOnMouseMove: true,
        filterMode: "none",
      })),
      series,
    });
    if (!listening) {
      listening = true;
      plane.core().on("mousemove", (event) => {
        const client = (event.data as { client?: ProfileClient } | undefined)?.client;
        if (client) {
          pointed = client.client;
          tell(client);
        }
      });
    }
    setText(
      note,
      (profiles.clients.length < profiles.of ? `${count(profiles.clients.length)} of ${count(profiles.of)} clients are drawn. ` : "") +
        (profiles.rounds.length > 1 ? `Trails go back to round ${profiles.rounds[0]}.` : "There is no earlier profile to draw a trail from."),
    );
    table.show(
      ["client", "x", "y", "distribution", "strategy", "moved (noise floors)"],
      profiles.clients.map((c) => [
        String(c.client),
        fixed(c.path.at(-1)?.[0], 3),
        fixed(c.path.at(-1)?.[1], 3),
        c.distribution === null ? none : String(c.distribution),
        c.strategy || none,
        fixed(c.moved),
      ]),
    );
  };

  const load = latest(async ({ key, algorithm, round }: { key: string; algorithm: string; round: number }) => {
    const forget = () => {
      if (shown === key) {
        shown = ""; // asked for again with the next news
      }
    };
    try {
      const answer = await ask<Profiles>("profiles", { algorithm, round, trail: 6, points: 300 });
      if (algorithm !== selected) {
        forget();
        return;
      }
      const again = known?.algorithm === answer.algorithm && known.round === answer.round;
      known = answer;
      const client = again ? answer.clients.find((c) => c.client === pointed) : undefined;
      if (client) {
        tell(client);
      } else {
        pointed = null;
        setText(readout, invitation);
      }
      draw();
    } catch (error) {
      forget();
      if (algorithm === selected) {
        known = null;
        plane.core().clear();
        table.show([], []);
        setText(readout, `Round ${round} cannot be shown: ${(error as Error).message}`);
      }
    }
  });
  /** Whoever asks, the slider or news: what is there already is not asked for again. */
  const show = (round: number) => {
    const owner = run?.algorithms.find((a) => a.label === selected);
    // The newest round's clients may be read later than its profiles.
    const rows = owner && round === owner.profiles.at(-1)?.[1] ? owner.client_rows : 0;
    const key = `${run?.epoch}/${selected}/${round}/${rows}`;
    if (key !== shown) {
      shown = key;
      load({ key, algorithm: selected, round });
    }
  };
  by.addEventListener("change", draw);
  trails.addEventListener("change", draw);

  return {
    id: "profiles",
    name: "Profiles",
    element,
    update: (now, algorithm) => {
      run = now;
      selected = algorithm;
      const rounds = now.algorithms.find((a) => a.label === algorithm)?.profiles ?? [];
      slider.setRounds(rounds);
      body.hidden = rounds.length === 0;
      empty.hidden = rounds.length > 0;
      setText(empty, algorithm ? `${algorithm} has no profiles: it does not use them, or its warm-up is not over.` : "No round is finished yet.");
      const round = slider.round();
      if (round !== null) {
        show(round);
      }
    },
    restyle: draw,
  };
}
