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

/** Makes a node like another one of its kind, changing only what differs. */
function become(node: ChildNode, like: Node): ChildNode {
  if (!(node instanceof HTMLElement && like instanceof HTMLElement)) {
    if (node.nodeValue !== like.nodeValue) {
      node.nodeValue = like.nodeValue;
    }
    return node;
  }
  for (const name of node.getAttributeNames()) {
    if (!like.hasAttribute(name)) {
      node.removeAttribute(name);
    }
  }
  for (const name of like.getAttributeNames()) {
    const value = like.getAttribute(name) ?? "";
    if (node.getAttribute(name) === value) {
      continue;
    }
    if (name === "style") {
      node.style.cssText = value; // which the page's own rules forbid as an attribute
    } else {
      node.setAttribute(name, value);
    }
  }
  renew(node, ...like.childNodes);
  return node;
}

/**
 * Fills an element as `fill` does, but keeps what is there already, so that a screen reader's place and a selection
 * survive. Children with a `data-key` are found again by it, others by their order.
 */
export function renew(parent: Element, ...children: Child[]): void {
  const keyOf = (node: Node) => (node instanceof HTMLElement ? node.dataset["key"] : undefined);
  const named = new Map<string, ChildNode>();
  const nameless: ChildNode[] = [];
  for (const node of parent.childNodes) {
    const key = keyOf(node);
    if (key === undefined) {
      nameless.push(node);
    } else {
      named.set(key, node);
    }
  }
  const wanted = children
    .filter((child): child is Node | string => Boolean(child))
    .map((child): Node => {
      const node = typeof child === "string" ? document.createTextNode(child) : child;
      const key = keyOf(node);
      const there = key === undefined ? nameless.shift() : named.get(key);
      if (key !== undefined) {
        named.delete(key);
      }
      return there && there.nodeName === node.nodeName ? become(there, node) : node;
    });
  // First what is gone: otherwise all that stands behind it would be moved, which is as bad as replacing it.
  const kept = new Set(wanted);
  for (const node of [...parent.childNodes]) {
    if (!kept.has(node)) {
      node.remove();
    }
  }
  wanted.forEach((node, at) => {
    const there = parent.childNodes[at] ?? null;
    if (there !== node) {
      parent.insertBefore(node, there);
    }
  });
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

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? none : value.toLocaleString("en-GB").replaceAll(",", "\u202f");
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) {
    return none;
  }
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
    renew(
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
