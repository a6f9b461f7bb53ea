// What clients have spent of their privacy budgets.
import { type Clients, type Run, ask, latest } from "./api";
import { axis, chart, colour, tooltip } from "./charts";
import { asTable, count, fixed, h, none, percent, renew, setText } from "./dom";
import type { View } from "./view";

function explained(run: Run): string {
  const { mode, epsilon_total, delta_total, noise } = run.privacy;
  switch (mode) {
    case "":
    case "off":
    case "none":
      return "Profiles leave clients as they are: this run has no privacy budget.";
    case "paper":
      return "Profiles carry the published noise, which is no guarantee: nothing is accounted for.";
    default:
      return (
        `Every client may spend ε = ${fixed(epsilon_total, 2)}${mode === "gaussian" ? ` at δ = ${delta_total}` : ""} on all its releases together (${mode} noise).` +
        (noise === "seeded" ? " The noise comes from the run's seed, so that it repeats and protects nothing; no budget is counted." : "")
      );
  }
}

export function privacyView(): View {
  const text = h("p");
  const where = h("p", { class: "quiet" });
  const histogram = chart("How many clients have spent which share of their budget");
  const table = asTable("Spent shares as a table");
  const rows = h("tbody");
  const figures = h(
    "div",
    { class: "grid inner" },
    h("div", {}, h("h3", {}, "Clients by what they have spent"), histogram.element, table.fold),
    h(
      "div",
      {},
      h("h3", {}, "Those who have spent most"),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Clients that have spent most" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ...["client", "ε spent", "of the budget", "last round"].map((name) => h("th", { scope: "col" }, name)))),
          rows,
        ),
      ),
    ),
  );
  const element = h("section", { class: "panel" }, h("h2", {}, "Privacy"), text, where, figures);
  let run: Run | null = null;
  let selected = "";
  let drawn = ""; // what the histogram was made of

  const budgetOf = () => run?.algorithms.find((a) => a.label === selected)?.epsilon ?? null;
  const draw = () => {
    const budget = budgetOf();
    drawn = JSON.stringify(budget);
    figures.hidden = budget === null;
    if (!run || !budget) {
      return;
    }
    const labels = budget.bins.map((_, i) => `${i * 10}–${(i + 1) * 10} %`);
    histogram.draw({
      grid: { left: 52, right: 12, top: 12, bottom: 48 },
      tooltip: tooltip({ trigger: "axis" }),
      xAxis: axis("spent share of the budget", { type: "category", data: labels }),
      yAxis: axis("clients", { type: "value", minInterval: 1, nameGap: 38 }),
      series: [{ name: "clients", type: "bar", data: budget.bins, color: colour(0), barCategoryGap: "8%" }],
    });
    table.show(["spent", "clients"], budget.bins.map((n, i) => [labels[i] ?? "", count(n)]));
  };

  const load = latest(async () => {
    if (!run || !budgetOf()) {
      return;
    }
    const total = run.privacy.epsilon_total ?? 0;
    try {
      const answer = await ask<Clients>("clients", { algorithm: selected, sort: "epsilon", order: "descending", size: 20 });
      renew(
        rows,
        ...answer.rows
          .filter((row) => row.epsilon !== null)
          .map((row) => {
            const share = total > 0 ? (100 * (row.epsilon ?? 0)) / total : null;
            return h(
              "tr",
              { "data-key": row.client },
              h("th", { scope: "row" }, String(row.client)),
              h("td", {}, fixed(row.epsilon, 3)),
              h("td", {}, h("meter", { min: 0, max: 100, high: 80, value: share ?? 0, "aria-label": `client ${row.client}` }), ` ${percent(share, 0)}`),
              h("td", {}, row.last_round ? String(row.last_round) : none),
            );
          }),
      );
    } catch {
      // The connection's own notice tells.
    }
  });

  return {
    id: "privacy",
    name: "Privacy",
    element,
    update: (now, algorithm) => {
      run = now;
      selected = algorithm;
      setText(text, explained(now));
      const known = budgetOf();
      setText(
        where,
        known
          ? `${algorithm}: of ${count(known.known)} clients the one that told most has spent ε = ${fixed(known.most, 3)}.`
          : now.privacy.guarded && now.federation
            ? "What a client has spent stands in its own ledger and is not told to the server; “feroma privacy audit” reads it there."
            : now.privacy.guarded
              ? `${algorithm || "No algorithm"} has released nothing under the budget yet.`
              : "",
      );
      if (JSON.stringify(budgetOf()) !== drawn) {
        draw();
      }
      load(undefined);
    },
    restyle: draw,
  };
}
