// Who took how much from whom, in any round.
import { type Mixing, type Run, ask, latest } from "./api";
import { axis, chart, ink, ramp, tooltip } from "./charts";
import { asTable, clients, count, h, none, setText } from "./dom";
import { roundSlider } from "./slider";
import type { View } from "./view";

/** A weight as people read it. */
function weightText(weight: number | null | undefined): string {
  return weight == null ? none : weight >= 0.0995 || weight === 0 ? weight.toFixed(2) : weight.toPrecision(2);
}

/** Whether a cell of one is the same pair of clients, or of blocks, in the other. */
function isAlike(a: Mixing | null, b: Mixing): boolean {
  return a?.algorithm === b.algorithm && a.round === b.round && a.receivers.length === b.receivers.length && a.sources.length === b.sources.length;
}

const invitation = "Point at a cell, or move with the arrow keys.";

export function mixingView(): View {
  const map = chart("Mixing weights: a row for each client that received, a column for each that it took from", "square");
  // The arrows move a mark over the cells, and what it is on is read out.
  map.element.setAttribute("role", "application");
  map.element.setAttribute("aria-roledescription", "heat map");
  map.element.setAttribute("tabindex", "0");
  const readout = h("p", { class: "readout", id: "pair", "aria-live": "polite" }, invitation);
  const note = h("p", { class: "quiet" });
  const table = asTable("Largest weights of every client as a table");
  const slider = roundSlider((round) => show(round));
  const empty = h("p", { class: "quiet", hidden: true });
  const body = h("div", {}, map.element, readout, note, table.fold);
  const element = h(
    "section",
    { class: "panel" },
    h("div", { class: "bar" }, h("h2", {}, "Mixing"), h("span", { class: "spacer" }), slider.element),
    empty,
    body,
  );
  let epoch = 0;
  let selected = "";
  let shown = ""; // which round was asked for
  let known: Mixing | null = null;
  let cursor: [number, number] | null = null;
  let listening = false;

  const weightAt = (r: number, s: number) => known?.weights[r * known.sources.length + s] ?? null;

  const tellPair = (r: number, s: number) => {
    const receiver = known?.receivers[r];
    const source = known?.sources[s];
    if (!known || !receiver || !source) {
      return;
    }
    const each = receiver[0] === receiver[1] ? "took" : "took, each,";
    setText(readout, `Round ${known.round}: ${clients(receiver)} ${each} ${weightText(weightAt(r, s))} from ${clients(source)}`);
  };

  const mark = () => {
    if (known && cursor) {
      const core = map.core();
      core.dispatchAction({ type: "downplay", seriesIndex: 0 });
      core.dispatchAction({ type: "highlight", seriesIndex: 0, dataIndex: cursor[0] * known.sources.length + cursor[1] });
    }
  };

  const name = ([first, last]: [number, number]) => (first === last ? String(first) : `${first}–${last}`);

  const draw = () => {
    if (!known) {
      return;
    }
    const mixing = known;
    const rows = mixing.receivers.length;
    const cols = mixing.sources.length;
    const data: [number, number, number | null][] = [];
    let most = 0;
    mixing.weights.forEach((weight, at) => {
      most = Math.max(most, weight ?? 0);
      data.push([at % cols, Math.floor(at / cols), weight]);
    });
    const { quiet, text, line } = ink();
    map.draw({
      grid: { left: 64, right: 16, top: 56, bottom: 48 },
      tooltip: tooltip({
        formatter: (params: { data: [number, number, number | null] }) => {
          const [s, r, weight] = params.data;
          const receiver = mixing.receivers[r];
          const source = mixing.sources[s];
          return receiver && source ? `${clients(receiver)}\ntook ${weightText(weight)}\nfrom ${clients(source)}` : "";
        },
      }),
      xAxis: axis("taken from client", { type: "category", data: mixing.sources.map(name), splitLine: { show: false } }),
      yAxis: axis("given to client", { type: "category", inverse: true, nameGap: 46, data: mixing.receivers.map(name), splitLine: { show: false } }),
      visualMap: {
        type: "continuous",
        min: 0,
        max: most || 1,
        calculable: false,
        orient: "horizontal",
        top: 4,
        right: 12,
        itemWidth: 12,
        itemHeight: 120,
        precision: 2,
        text: [`${weightText(most)}`, "weight 0"],
        textStyle: { color: quiet },
        inRange: { color: ramp() },
      },
      series: [
        {
          type: "heatmap",
          data,
          progressive: 4000,
          itemStyle: rows * cols <= 900 ? { borderColor: line, borderWidth: 0.5 } : {},
          emphasis: { itemStyle: { borderColor: text, borderWidth: 2 } },
        },
      ],
    });
    if (!listening) {
      listening = true;
      map.core().on("mousemove", (event) => {
        const cell = event.data as [number, number, number] | undefined;
        if (cell) {
          cursor = [cell[1], cell[0]];
          tellPair(cell[1], cell[0]);
        }
      });
    }
    setText(
      note,
      rows < mixing.receivers_of || cols < mixing.sources_of
        ? `${count(mixing.receivers_of)} × ${count(mixing.sources_of)} clients, drawn in blocks: a cell is what a block's clients took, in the mean, from all of another block together.`
        : "Rows sum to 1. Columns are the models of the round before, or kept from earlier ones.",
    );
    const first = (r: number) => mixing.sources
      .map((source, s) => ({ source, weight: weightAt(r, s) ?? 0 }))
      .filter((pair) => pair.weight > 0)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, 5)
      .map((pair) => `${name(pair.source)} (${weightText(pair.weight)})`)
      .join(", ");
    table.show(["client", "took most from"], mixing.receivers.map((receiver, r) => [name(receiver), first(r)]));
    mark();
  };

  map.element.addEventListener("keydown", (event) => {
    const step: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const by = step[event.key];
    if (!known || !by) {
      return;
    }
    event.preventDefault();
    const [r, s] = cursor ?? [0, -1];
    cursor = [
      Math.min(known.receivers.length - 1, Math.max(0, r + by[0])),
      Math.min(known.sources.length - 1, Math.max(0, s + by[1])),
    ];
    mark();
    map.core().dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: cursor[0] * known.sources.length + cursor[1] });
    tellPair(cursor[0], cursor[1]);
  });

  const load = latest(async ({ key, algorithm, round }: { key: string; algorithm: string; round: number }) => {
    const forget = () => {
      if (shown === key) {
        shown = ""; // asked for again with the next news
      }
    };
    try {
      const answer = await ask<Mixing>("mixing", { algorithm, round, cells: innerWidth < 700 ? 64 : 128 });
      if (algorithm !== selected) {
        forget();
        return;
      }
      const alike = isAlike(known, answer);
      known = answer;
      if (!alike) {
        cursor = null;
        setText(readout, invitation);
      } else if (cursor) {
        tellPair(cursor[0], cursor[1]);
      }
      draw();
    } catch (error) {
      forget();
      if (algorithm === selected) {
        known = null;
        map.core().clear();
        table.show([], []);
        setText(readout, `Round ${round} cannot be shown: ${(error as Error).message}`);
      }
    }
  });
  /** Whoever asks, the slider or news: what is there already is not asked for again. */
  const show = (round: number) => {
    const key = `${epoch}/${selected}/${round}`;
    if (key !== shown) {
      shown = key;
      load({ key, algorithm: selected, round });
    }
  };

  return {
    id: "mixing",
    name: "Mixing",
    element,
    update: (run: Run, algorithm) => {
      epoch = run.epoch;
      selected = algorithm;
      const rounds = run.algorithms.find((a) => a.label === algorithm)?.mixing ?? [];
      slider.setRounds(rounds);
      body.hidden = rounds.length === 0;
      empty.hidden = rounds.length > 0;
      setText(empty, algorithm ? `${algorithm} has mixed nothing by profile yet: it has one model for all, or its warm-up is not over.` : "No round is finished yet.");
      const round = slider.round();
      if (round !== null) {
        show(round);
      }
    },
    restyle: draw,
  };
}
