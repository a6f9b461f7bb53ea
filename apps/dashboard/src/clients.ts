// The clients, sorted and filtered by the server: the page holds one page of them.
import { type Algorithm, type ClientRow, type Clients, type Run, ask, latest } from "./api";
import { ago, bytes, count, fill, fixed, h, none, percent, renew, setText } from "./dom";
import type { View } from "./view";

/** What some columns depend on. */
interface Facts {
  told: boolean; // whether exact counts may be shown
  spent: boolean; // whether clients spend a privacy budget that is known
}

interface Column {
  key: string;
  name: string;
  hint: string;
  number?: boolean;
  when?: keyof Facts;
  cell: (row: ClientRow) => Node | string;
}

function lastSeen(row: ClientRow): string {
  if (row.heard_seconds !== null) {
    return `connected, ${ago(row.heard_seconds)}`;
  }
  const time = row.last_time === null ? "" : `, ${ago(Math.max(0, Date.now() / 1000 - row.last_time))}`;
  return row.last_round ? `round ${row.last_round}${time}` : "never answered";
}

function drift(row: ClientRow): Node | string {
  if (row.alarm) {
    return h("span", { class: "chip alarm" }, `▲ ${fixed(row.moved)}×`);
  }
  if (row.moved === null) {
    return none;
  }
  return (row.moved === 0 ? "same data" : `${fixed(row.moved)}×`) + (row.last_alarm ? `, alarm in ${row.last_alarm}` : "");
}

/** Rounds that went on without it, and what the server refused of it. */
function refusals(row: ClientRow): Node | string {
  const refused = row.refused ?? null;
  if (row.drops === null && refused === null) {
    return none;
  }
  const all = (row.drops ?? 0) + (refused ?? 0);
  if (all === 0) {
    return "0";
  }
  const each = `${count(row.drops ?? 0)} × dropped out${refused === null ? "" : `, ${count(refused)} × refused by the server`}`;
  const reason = row.last_drop ? ` round ${row.last_drop}: ${row.reason ?? ""}` : "";
  return h("span", { title: each }, h("span", { class: "chip warn" }, count(all)), h("span", { class: "quiet reason" }, reason));
}

const columns: Column[] = [
  { key: "client", name: "client", hint: "its id", number: true, cell: (row) => String(row.client) },
  {
    key: "strategy",
    name: "strategy",
    hint: "how many others it learned from",
    cell: (row) => (row.strategy ? h("span", { class: `chip ${row.strategy}` }, row.strategy) : none),
  },
  {
    key: "moved",
    name: "drift",
    hint: "how far its profile moved in the last round, in noise floors",
    cell: drift,
  },
  { key: "last_round", name: "last seen", hint: "the last round that it answered, and when", cell: lastSeen },
  { key: "rounds", name: "rounds", hint: "that it took part in", number: true, cell: (row) => count(row.rounds) },
  { key: "bytes_up", name: "up", hint: "what came from it, all rounds", number: true, cell: (row) => bytes(row.bytes_up) },
  { key: "bytes_down", name: "down", hint: "what was sent to it, all rounds", number: true, cell: (row) => bytes(row.bytes_down) },
  {
    key: "drops",
    name: "refusals",
    hint: "how often it dropped out or was refused; sorted by how often it dropped out",
    cell: refusals,
  },
  { key: "epsilon", name: "ε spent", hint: "of its privacy budget, all rounds", number: true, when: "spent", cell: (row) => fixed(row.epsilon, 3) },
  { key: "num_examples", name: "samples", hint: "that it trains on", number: true, when: "told", cell: (row) => count(row.num_examples) },
  { key: "accuracy_after", name: "accuracy", hint: "after training, in its last round", number: true, when: "told", cell: (row) => percent(row.accuracy_after) },
];

const shownColumns = (facts: Facts) => columns.filter((column) => !column.when || facts[column.when]);

export function clientsView(): View {
  const search = h("input", { type: "search", id: "find", inputmode: "numeric", pattern: "[0-9]*", size: 8, placeholder: "id" });
  const filter = h(
    "select",
    { id: "filter" },
    h("option", { value: "all" }, "all clients"),
    h("option", { value: "alarm" }, "drift alarm now"),
    h("option", { value: "dropped" }, "refused or dropped out"),
  );
  const caption = h("caption", { class: "unseen" }, "Clients");
  const head = h("tr");
  const rows = h("tbody");
  const status = h("p", { class: "quiet", role: "status" });
  const note = h("p", { class: "quiet" });
  const driftNote = h("p", { class: "quiet", hidden: true });
  let page = 0;
  let sort = "client";
  let order: "ascending" | "descending" = "ascending";
  let selected = "";
  let run: Run | null = null;
  let spent = false;

  const previous = h("button", { type: "button", onclick: () => turn(-1) }, "‹ Previous");
  const next = h("button", { type: "button", onclick: () => turn(1) }, "Next ›");
  const turn = (by: number) => {
    page = Math.max(0, page + by);
    refresh();
  };
  const element = h(
    "section",
    { class: "panel" },
    h(
      "div",
      { class: "bar" },
      h("h2", {}, "Clients"),
      h("span", { class: "spacer" }),
      h("label", { for: "find" }, "Client"),
      search,
      h("label", { for: "filter", class: "unseen" }, "Which clients"),
      filter,
    ),
    note,
    driftNote,
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of clients" },
      h("table", { class: "clients" }, caption, h("thead", {}, head), rows),
    ),
    h("div", { class: "bar" }, status, h("span", { class: "spacer" }), previous, next),
  );

  const drawHead = (facts: Facts) => {
    fill(
      head,
      ...shownColumns(facts).map((column) => {
        const sorted = column.key === sort;
        return h(
          "th",
          { scope: "col", class: column.number ? "number" : "", "aria-sort": sorted ? order : undefined },
          h(
            "button",
            {
              type: "button",
              class: "sort",
              title: column.hint,
              "data-key": column.key,
              onclick: () => {
                order = sorted && order === "ascending" ? "descending" : "ascending";
                sort = column.key;
                page = 0;
                drawHead(facts);
                head.querySelector<HTMLElement>(`[data-key="${column.key}"]`)?.focus();
                refresh();
              },
            },
            column.name,
            h("span", { "aria-hidden": "true", class: "arrow" }, sorted ? (order === "ascending" ? "▲" : "▼") : ""),
          ),
        );
      }),
    );
  };

  /** Only those can be an alarm whose profile is known from the round before, too. */
  const tellDrift = (chosen: Algorithm | undefined) => {
    const known = chosen?.drift_known;
    driftNote.hidden = !chosen || known === undefined || chosen.profiles.length === 0 || known >= chosen.clients;
    setText(driftNote, driftNote.hidden ? "" : `In round ${chosen?.rounds} the drift is known for ${count(known)} of the ${count(chosen?.clients)} clients so far.`);
  };

  const draw = (answer: Clients) => {
    const shown = shownColumns({ told: answer.counts_told, spent });
    const anybody = filter.value === "all" && search.value.trim() === "";
    renew(
      rows,
      ...answer.rows.map((row) =>
        h(
          "tr",
          { "data-key": row.client },
          ...shown.map((column, i) => {
            const cell = column.cell(row);
            return i === 0
              ? h("th", { scope: "row", class: "number" }, cell)
              : h("td", { class: column.number ? "number" : "" }, cell);
          }),
        ),
      ),
      answer.rows.length === 0 && h("tr", {}, h("td", { colspan: shown.length, class: "quiet" }, anybody ? "No client is there yet." : "No client is like that.")),
    );
    const first = answer.page * answer.size;
    setText(
      status,
      (answer.matching === 0
        ? `0 of ${count(answer.of)} clients`
        : `${count(first + 1)} to ${count(first + answer.rows.length)} of ${count(answer.matching)}${answer.matching < answer.of ? ` (of ${count(answer.of)})` : ""} clients`) +
        (run?.algorithms.find((a) => a.label === selected)?.more_clients ? "; others have no rows" : "") +
        (run?.server ? `, ${count(answer.connected)} connected` : ""),
    );
    previous.disabled = answer.page === 0;
    next.disabled = first + answer.rows.length >= answer.matching;
    setText(
      note,
      (selected ? "" : "No round is finished yet. ") +
        `A drift alarm: the profile moved more than ${answer.alarm_above} noise floors since the round before.` +
        (answer.counts_told ? "" : " Exact sample counts, losses and accuracies are not shown: clients keep them under the privacy budget."),
    );
  };

  const load = latest(async () => {
    if (!selected && !run?.federation && !run?.server) {
      renew(rows);
      setText(status, "No round is finished yet.");
      return;
    }
    const query: Record<string, string | number> = { sort, order, filter: filter.value, page, size: 50 };
    if (selected) {
      query["algorithm"] = selected; // before there is one, those who are connected are shown
    }
    if (/^[0-9]{1,9}$/.test(search.value.trim())) {
      query["id"] = search.value.trim();
    }
    try {
      const answer = await ask<Clients>("clients", query);
      const last = Math.max(0, Math.ceil(answer.matching / answer.size) - 1);
      if (answer.page > last) {
        page = last; // there were more clients before, as in a run that was cut
        refresh();
        return;
      }
      draw(answer);
    } catch (error) {
      setText(status, (error as Error).message);
    }
  });
  const refresh = (): void => load(undefined);
  for (const control of [search, filter]) {
    control.addEventListener("input", () => {
      page = 0;
      refresh();
    });
  }

  let key = "";
  return {
    id: "clients",
    name: "Clients",
    element,
    update: (now, algorithm) => {
      if (algorithm !== selected) {
        page = 0;
      }
      run = now;
      selected = algorithm;
      const told = now.privacy.counts_told;
      const chosen = now.algorithms.find((a) => a.label === algorithm);
      spent = (chosen?.epsilon ?? null) !== null;
      tellDrift(chosen);
      if (key !== `${told}/${spent}`) {
        key = `${told}/${spent}`;
        drawHead({ told, spent });
      }
      refresh();
    },
    restyle: () => {},
  };
}
