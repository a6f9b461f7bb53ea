// What the models reached on test clients.
import type { Algorithm, Run } from "./api";
import { duration, fixed, h, renew } from "./dom";

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

export function resultTable(): { element: HTMLElement; draw: (run: Run) => void } {
  const element = h("section", { class: "panel wide", hidden: true });

  const draw = (now: Run) => {
    const done = now.algorithms.filter((a): a is Algorithm & { result: NonNullable<Algorithm["result"]> } => a.result !== null);
    element.hidden = done.length === 0;
    if (done.length === 0) {
      return;
    }
    const shown = results.filter(([key]) => done.some((a) => typeof a.result[key] === "number"));
    renew(
      element,
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
                { "data-key": a.label },
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

  return { element, draw };
}
