// Rounds, accuracy over them, and results.
import { type Algorithm, type History, type Run, ask, headline, headlineName, isLeftOut, latest } from "./api";
import { colour, shape } from "./charts";
import { curves } from "./curves";
import { duration, h, percent, renew, setText } from "./dom";
import { resultTable } from "./results";
import { strategies } from "./strategies";
import { tiles } from "./tiles";
import type { View } from "./view";

function progressTable(): { element: HTMLElement; draw: (run: Run) => void } {
  const progress = h("tbody");
  const accuracy = h("th", { scope: "col" });
  const head = [h("th", { scope: "col" }, "algorithm"), h("th", { scope: "col" }, "round"), accuracy, h("th", { scope: "col" }, "per round")];
  const element = h(
    "section",
    { class: "panel" },
    h("h2", {}, "Progress"),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Progress of each algorithm" },
      h("table", { class: "progress" }, h("thead", {}, h("tr", {}, ...head)), progress),
    ),
  );

  const draw = (now: Run) => {
    const tested = now.algorithms.some((a) => a.tested);
    setText(accuracy, tested || now.algorithms.length === 0 ? "test accuracy" : "as served");
    renew(
      progress,
      ...now.algorithms.map((a, i) => {
        const planned = Math.max(now.planned.rounds ?? a.rounds, a.rounds);
        const swatch = h("span", { class: `swatch ${shape(i)}`, "aria-hidden": "true" });
        swatch.style.setProperty("--swatch", colour(i));
        return h(
          "tr",
          { "data-key": a.label },
          h("th", { scope: "row" }, swatch, a.label),
          isLeftOut(a)
            ? h("td", { class: "quiet" }, "not applicable")
            : h(
                "td",
                {},
                h("progress", { max: planned || 1, value: a.rounds, "aria-label": `${a.label}: rounds` }),
                ` ${a.rounds}/${planned}`,
              ),
          h("td", { title: headlineName(a.tested ?? a.last) }, percent(headline(a.tested ?? a.last))),
          h("td", {}, duration(a.seconds_per_round)),
        );
      }),
      now.algorithms.length === 0 && h("tr", {}, h("td", { colspan: 4, class: "quiet" }, "No round is finished yet.")),
    );
  };

  return { element, draw };
}

export function overview(): View {
  let run: Run | null = null;
  let selected = "";
  const histories = new Map<string, History>();
  const loaded = new Map<string, string>(); // what an algorithm's history was made of
  let epoch = 0;
  let loads = 0; // histories that came so far
  let drawn = ""; // what the curves were made of

  const numbers = tiles();
  const lines = curves(() => drawHistories());
  const progress = progressTable();
  const shares = strategies();
  const results = resultTable();
  const element = h(
    "div",
    { class: "grid" },
    numbers.element,
    lines.element,
    h("div", { class: "column" }, progress.element, shares.element),
    results.element,
  );
  const content = () => JSON.stringify([epoch, selected, loads, run?.algorithms.map((a) => a.label)]);
  const drawHistories = () => {
    if (run) {
      drawn = content();
      lines.draw(run, selected, histories);
      shares.draw(selected, histories.get(selected));
    }
  };
  const refresh = latest(async (now: Run) => {
    // Rounds come before the clients' lines that their spread and their alarms are made of.
    const state = (a: Algorithm): string => `${a.rounds}/${a.client_rows}/${a.alarms_so_far}`;
    const stale = now.algorithms.filter((a) => loaded.get(a.label) !== state(a));
    try {
      for (const a of stale) {
        const history = await ask<History>("history", { algorithm: a.label, points: 400 });
        if (now.epoch !== epoch) {
          return; // the run was cut meanwhile, and its histories are asked for next
        }
        histories.set(a.label, history);
        loaded.set(a.label, state(a));
        loads += 1;
      }
    } catch {
      // The connection's own notice tells.
    }
    // A server speaks every second, and has mostly nothing new for the curves.
    if (content() !== drawn) {
      drawHistories();
    }
  });

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
      numbers.draw(now);
      progress.draw(now);
      results.draw(now);
      refresh(now);
    },
    restyle: () => {
      if (run) {
        progress.draw(run);
      }
      drawHistories();
    },
  };
}
