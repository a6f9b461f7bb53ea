// The frame around the views: what runs, whether it is heard, which view is seen, light or dark.
import "./style.css";

import { type Connection, type Run, follow } from "./api";
import { isDark } from "./charts";
import { clientsView } from "./clients";
import { bytes, fill, h, percent, renew, setText } from "./dom";
import { mixingView } from "./mixing";
import { overview } from "./overview";
import { privacyView } from "./privacy";
import { profilesView } from "./profiles";
import { serverView } from "./server";
import type { View } from "./view";

const views: View[] = [overview(), profilesView(), mixingView(), clientsView(), privacyView(), serverView()];
const addressed = (): View | undefined => views.find((view) => `#${view.id}` === location.hash);
let current = addressed() ?? views[0]!;
let run: Run | null = null;
let connection: Connection = { kind: "told" };
let chosen = ""; // the algorithm; empty: the newest Feroma, else the newest that maps, else the newest

const get = (id: string): HTMLElement => document.getElementById(id)!;

// ---- header ----
const title = h("h1", {}, "Feroma");
const state = h("span", { class: "state", role: "status" }, "connecting");
const theme = h("button", { type: "button", class: "theme", onclick: () => switchTheme() });
fill(get("header"), h("span", { class: "brand", "aria-hidden": "true" }, "feroma"), title, state, h("span", { class: "spacer" }), theme);

function nameTheme(): void {
  const next = isDark() ? "light" : "dark";
  setText(theme, isDark() ? "☀ Light" : "☾ Dark");
  theme.setAttribute("aria-label", `Switch to the ${next} theme`);
}
function restyle(): void {
  nameTheme();
  current.restyle();
}
function switchTheme(): void {
  document.documentElement.dataset["theme"] = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("feroma-theme", document.documentElement.dataset["theme"] ?? "");
  } catch {
    // A browser that keeps nothing forgets this too.
  }
  restyle();
}
try {
  const kept = localStorage.getItem("feroma-theme");
  if (kept === "light" || kept === "dark") {
    document.documentElement.dataset["theme"] = kept;
  }
} catch {
  // As above.
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
nameTheme();

// ---- tabs ----
const tabs = views.map((view) =>
  h(
    "button",
    {
      type: "button",
      role: "tab",
      id: `tab-${view.id}`,
      "aria-controls": `view-${view.id}`,
      onclick: () => open(view),
    },
    view.name,
  ),
);
const list = h("div", { role: "tablist", "aria-label": "Views", class: "tabs" }, ...tabs);
const algorithm = h("select", { id: "algorithm" });
const algorithmLabel = h("label", { for: "algorithm", class: "algorithm" }, h("span", {}, "Algorithm"), algorithm);
fill(get("nav"), list, h("span", { class: "spacer" }), algorithmLabel);
for (const view of views) {
  get("main").append(h("div", { role: "tabpanel", id: `view-${view.id}`, "aria-labelledby": `tab-${view.id}` }, view.element));
}

function open(view: View): void {
  current = view;
  views.forEach((each, i) => {
    const selected = each === view;
    tabs[i]?.setAttribute("aria-selected", String(selected));
    tabs[i]?.setAttribute("tabindex", selected ? "0" : "-1");
    get(`view-${each.id}`).hidden = !selected;
  });
  history.replaceState(null, "", `#${view.id}`);
  update();
  view.restyle();
}
addEventListener("hashchange", () => {
  const view = addressed(); // a link or somebody who types; our own changes are silent
  if (view && view !== current) {
    open(view);
  }
});
list.addEventListener("keydown", (event) => {
  const at = views.indexOf(current);
  const to: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: views.length - 1 };
  const target = to[event.key];
  if (target === undefined) {
    return;
  }
  event.preventDefault();
  const next = (target + views.length) % views.length;
  open(views[next]!);
  tabs[next]?.focus();
});

// ---- what is told ----
algorithm.addEventListener("change", () => {
  chosen = algorithm.value;
  update();
});

function selectedAlgorithm(now: Run): string {
  if (now.algorithms.some((a) => a.label === chosen)) {
    return chosen;
  }
  const mapping = now.algorithms.filter((a) => a.mixing.length > 0 || a.profiles.length > 0);
  const ours = mapping.filter((a) => a.label.startsWith("feroma"));
  return (ours.at(-1) ?? mapping.at(-1) ?? now.algorithms.at(-1))?.label ?? "";
}

/** What is wrong with the connection; empty where nothing is. */
function connectionTrouble(): string {
  switch (connection.kind) {
    case "told":
      return "";
    case "asking":
      return "Too many pages are open for the server to tell this one of news at once: it asks every few seconds, until another page is closed.";
    case "refused":
      return `The server refuses this page: ${connection.why}. It is tried again.`;
    case "lost":
      return `The page has lost its server${run ? "; what you see is the last that it said" : ""}. It is tried again.`;
  }
}

function drawNotices(now: Run | null): void {
  const notices: HTMLElement[] = [];
  const trouble = connectionTrouble();
  if (trouble) {
    notices.push(h("p", { class: connection.kind === "asking" ? "notice" : "notice bad", role: "alert" }, trouble));
  }
  if (now && now.size_bytes - now.read_bytes > 1e6) {
    notices.push(h("p", { class: "notice" }, `Reading the run: ${bytes(now.read_bytes)} of ${bytes(now.size_bytes)} (${percent((100 * now.read_bytes) / now.size_bytes, 0)}).`));
  }
  if (now && now.damage.count > 0) {
    notices.push(
      h(
        "details",
        { class: "notice bad" },
        h("summary", {}, `${now.damage.count} ${now.damage.count === 1 ? "thing" : "things"} in this run's files cannot be read; the rest is shown.`),
        h("ul", {}, ...now.damage.first.map((text) => h("li", {}, text))),
      ),
    );
  }
  const text = notices.map((notice) => notice.textContent).join("|");
  const holder = get("notices");
  if (holder.dataset["text"] !== text) {
    holder.dataset["text"] = text;
    fill(holder, ...notices);
  }
}

const betweenAnnouncements = 5000; // milliseconds: not more often than somebody can listen to
let wanted = "";
let lastAnnouncement = 0;
let pending: ReturnType<typeof setTimeout> | null = null;
function announce(now: Run): void {
  const active = now.algorithms.at(-1);
  if (!active?.last) {
    return;
  }
  const accuracy = active.last.accuracy_after === null ? "" : `, accuracy ${percent(active.last.accuracy_after)}`;
  const text = `${active.label}: round ${active.rounds}${now.planned.rounds ? ` of ${now.planned.rounds}` : ""}${accuracy}`;
  if (text === wanted) {
    return;
  }
  wanted = text;
  // What comes too soon is told later, the newest of it.
  pending ??= setTimeout(
    () => {
      pending = null;
      lastAnnouncement = Date.now();
      setText(get("live"), wanted);
    },
    Math.max(0, lastAnnouncement + betweenAnnouncements - Date.now()),
  );
}

function update(): void {
  const connected = connection.kind === "told" || connection.kind === "asking";
  drawNotices(run);
  if (!run) {
    state.className = connected ? "state" : "state lost";
    setText(state, connected ? "connecting" : "not connected");
    return;
  }
  const now = run;
  const dataset = now.config["scenario.dataset"];
  setText(title, now.name);
  document.title = `${now.name} · Feroma`;
  const words = { waiting: "waiting for the first event", running: "running", stopped: "stopped before its end", finished: "finished" };
  const status = connected ? now.state : "lost";
  state.className = `state ${status}`;
  setText(state, connected ? words[now.state] : "not connected");
  const labels = now.algorithms.map((a) => a.label);
  if (labels.join() !== [...algorithm.options].map((o) => o.value).join()) {
    fill(algorithm, ...labels.map((label) => h("option", { value: label }, label)));
  }
  const selected = selectedAlgorithm(now);
  algorithm.value = selected;
  algorithmLabel.hidden = labels.length < 2;
  announce(now);
  current.update(now, selected);
  renew(
    get("footer"),
    h("span", {}, [dataset, now.config["scenario.shift"], now.config["scenario.level"]].filter(Boolean).join(" · ")),
    h("span", { class: "spacer" }),
    h("span", {}, `feroma ${now.version} · read only`),
  );
}

open(current);
follow(
  (next) => {
    run = next;
    update();
  },
  (now) => {
    if (JSON.stringify(connection) !== JSON.stringify(now)) {
      connection = now;
      update();
    }
  },
);
