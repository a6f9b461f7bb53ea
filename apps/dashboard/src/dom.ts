// Elements, and numbers as people read them.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** An element with attributes, listeners (functions under `onclick` and the like) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}

/** Replaces a text only where it differs, so that screen readers and selections are left in peace. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

export const none = "–";

export function fixed(value: number | null | undefined, digits = 1): string {
  return value === null || value === undefined || !Number.isFinite(value) ? none : value.toFixed(digits);
}

export function percent(value: number | null | undefined, digits = 1): string {
  return value === null || value === undefined ? none : `${value.toFixed(digits)} %`;
}

export function count(value: number): string {
  return value.toLocaleString("en-GB").replaceAll(",", "\u202f");
}

export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) {
    return none;
  }
  if (seconds < 10) {
    return `${seconds.toFixed(1)} s`;
  }
  if (seconds < 100) {
    return `${Math.round(seconds)} s`;
  }
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function ago(seconds: number): string {
  return seconds < 2 ? "just now" : `${duration(seconds)} ago`;
}

/** "client 7" or "clients 10–19". */
export function clients([first, last]: [number, number]): string {
  return first === last ? `client ${first}` : `clients ${first}–${last}`;
}

/** A table behind a fold: what a chart shows, for those who cannot see it or want the numbers. */
export function asTable(summary: string): { fold: HTMLDetailsElement; show: (head: string[], rows: string[][]) => void } {
  const holder = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": summary });
  const fold = h("details", { class: "as-table" }, h("summary", {}, summary), holder);
  let pending: { head: string[]; rows: string[][] } | null = null;
  const draw = () => {
    if (!fold.open || !pending) {
      return;
    }
    const { head, rows } = pending;
    pending = null;
    fill(
      holder,
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
        h(
          "tbody",
          {},
          ...rows.map((row) =>
            h("tr", {}, ...row.map((text, i) => (i === 0 ? h("th", { scope: "row" }, text) : h("td", {}, text)))),
          ),
        ),
      ),
    );
  };
  fold.addEventListener("toggle", draw);
  return {
    fold,
    show: (head, rows) => {
      pending = { head, rows };
      draw();
    },
  };
}

/** A labelled slider over a list of rounds, with buttons for one step. */
export function roundSlider(onRound: (round: number) => void): {
  element: HTMLElement;
  setRounds: (rounds: number[]) => void;
  round: () => number | null;
} {
  let rounds: number[] = [];
  let newest = true;
  const input = h("input", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Round" });
  const output = h("output", { class: "round" }, none);
  const at = () => rounds[Number(input.value)] ?? null;
  const tell = () => {
    const round = at();
    setText(output, round === null ? "no round" : `round ${round}`);
    input.setAttribute("aria-valuetext", output.textContent ?? "");
    back.disabled = Number(input.value) <= 0;
    forth.disabled = Number(input.value) >= rounds.length - 1;
  };
  const move = (step: number) => {
    input.value = String(Number(input.value) + step);
    input.dispatchEvent(new Event("input"));
  };
  const back = h("button", { type: "button", "aria-label": "One round back", onclick: () => move(-1) }, "‹");
  const forth = h("button", { type: "button", "aria-label": "One round on", onclick: () => move(1) }, "›");
  input.addEventListener("input", () => {
    newest = Number(input.value) === rounds.length - 1;
    tell();
    const round = at();
    if (round !== null) {
      onRound(round);
    }
  });
  return {
    element: h("div", { class: "slider" }, back, input, forth, output),
    setRounds: (next) => {
      const before = at();
      rounds = next;
      input.max = String(Math.max(0, rounds.length - 1));
      const kept = before === null ? -1 : rounds.indexOf(before);
      input.value = String(newest || kept < 0 ? rounds.length - 1 : kept);
      input.disabled = rounds.length === 0;
      tell();
    },
    round: at,
  };
}
