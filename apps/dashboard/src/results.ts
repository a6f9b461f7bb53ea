// What the models reached on test clients.
import type { Algorithm, Run } from "./api";
import { duration, fixed, h, renew } from "./dom";

const results: [string, string, string?][] = [
  ["accuracy", "accuracy"],
  ["accuracy_std_clients", "± clients"],
  ["accuracy_worst10", "worst 10 %"],
  [
    "accuracy_known",
    "known",
    "if test client k had the model of training client k; where data drift, or tests are on others' data, that client has trained on something else",
  ],
  ["accuracy_few_label", "few labels", "the model is chosen by a few labelled samples of each class"],
  ["accuracy_nearest", "nearest", "with the one model whose client's profile, or data, is nearest"],
  ["match_rate", "match", "test clients whose model came, for its largest part, from data of their own distribution"],
  ["epsilon", "ε"],
];

/** Where one model serves everybody it does not matter who is known. */
function figure(result: NonNullable<Algorithm["result"]>, key: string): number | null {
  const value = result[key];
  const sameForAll = key === "accuracy_known" && typeof value === "number" && Math.abs(value - Number(result["accuracy"])) < 1e-9;
  return typeof value === "number" && !sameForAll ? value : null;
}

export function resultTable(): { element: HTMLElement; draw: (run: Run) => void } {
  const element = h("section", { class: "panel wide", hidden: true });

  const draw = (now: Run) => {
    const done = now.algorithms.filter((a): a is Algorithm & { result: NonNullable<Algorithm["result"]> } => a.result !== null);
    element.hidden = done.length === 0;
    if (done.length === 0) {
      return;
    }
    const shown = results.filter(([key]) => done.some((a) => figure(a.result, key) !== null));
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
                        const value = figure(a.result, key);
                        const shownValue = value !== null && key === "match_rate" ? 100 * value : value;
                        return h("td", { class: "number" }, fixed(shownValue, key === "epsilon" ? 2 : 1));
                      }),
                      h("td", {}, duration(a.result["seconds_total"] as number)),
                    ]),
              ),
            ),
          ),
        ),
      ),
      ...shown.filter(([, , meaning]) => meaning).map(([, name, meaning]) => h("p", { class: "quiet" }, `${name}: ${meaning}`)),
    );
  };

  return { element, draw };
}
