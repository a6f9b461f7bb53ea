// How the server is, where one is running behind the page; otherwise what the run was started with.
import type { Run } from "./api";
import { bytes, count, duration, fill, h, renew, setText } from "./dom";
import type { View } from "./view";

function pairs(rows: [string, string][]): HTMLElement[] {
  return rows.map(([name, value]) => h("div", { class: "pair", "data-key": name }, h("dt", {}, name), h("dd", {}, value)));
}

function counts(title: string, values: Record<string, number>): HTMLElement {
  const rows = Object.entries(values).filter(([, n]) => n > 0);
  return h(
    "div",
    { "data-key": title },
    h("h3", {}, title),
    rows.length === 0
      ? h("p", { class: "quiet" }, "None so far.")
      : h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "reason"), h("th", { scope: "col", class: "number" }, "count"))),
          h("tbody", {}, ...rows.map(([name, n]) => h("tr", { "data-key": name }, h("th", { scope: "row" }, name.toLowerCase().replaceAll("_", " ")), h("td", { class: "number" }, count(n))))),
        ),
  );
}

export function serverView(): View {
  const state = h("p", { class: "health" });
  const numbers = h("dl", { class: "pairs" });
  const tables = h("div", { class: "grid inner" });
  const health = h("section", { class: "panel" }, h("h2", {}, "Server"), state, numbers, tables);
  const settings = h("tbody");
  const config = h(
    "section",
    { class: "panel" },
    h("h2", {}, "Configuration"),
    h(
      "div",
      { class: "scroll high", tabindex: 0, role: "region", "aria-label": "Configuration" },
      h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "key"), h("th", { scope: "col" }, "value"))), settings),
    ),
  );
  let shown = "";
  return {
    id: "server",
    name: "Server",
    element: h("div", { class: "grid" }, health, config),
    update: (run: Run) => {
      const server = run.server;
      state.className = `health ${!server ? "" : server.healthy && !server.draining ? "good" : "bad"}`;
      setText(
        state,
        !server
          ? "No server is running behind this page: it shows files. With “feroma server --dashboard” it adds the server's own state."
          : !server.healthy
            ? `Not well: ${server.reason}`
            : server.draining
              ? "Was told to stop: it ends with the round under way."
              : server.round > 0
                ? `Well: round ${server.round} is under way, exchange ${server.phase}.`
                : "Well: between rounds.",
      );
      renew(
        numbers,
        ...(server
          ? pairs([
              ["Running for", duration(server.uptime_seconds)],
              ["Rounds", `${server.rounds_finished} of ${server.rounds_planned}`],
              ["Clients connected", count(server.clients)],
              ["Connections open", count(server.connections)],
              ["Connections made", count(server.connections_made)],
              ["Received", bytes(server.bytes_up)],
              ["Sent", bytes(server.bytes_down)],
              ["Memory", bytes(server.memory_bytes)],
              ["Descriptors", count(server.descriptors)],
              ["Threads", count(server.threads)],
            ])
          : []),
      );
      renew(tables, server && counts("What clients were told", server.answers), server && counts("Turned away at the door", server.refused));
      const text = JSON.stringify(run.config);
      if (text !== shown) {
        shown = text;
        fill(settings, ...Object.entries(run.config).map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value))));
      }
    },
    restyle: () => {},
  };
}
