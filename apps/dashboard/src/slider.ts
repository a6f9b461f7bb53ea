// A slider over rounds, which come as ranges: they stay short however long a run is.
import type { Range } from "./api";
import { h, none, setText } from "./dom";

/** How many rounds there are. */
function size(ranges: Range[]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

function roundAt(ranges: Range[], place: number): number | null {
  for (const [first, last] of ranges) {
    if (place <= last - first) {
      return first + place;
    }
    place -= last - first + 1;
  }
  return null;
}

/** The place of a round or, where it is not there, of the one nearest to it. */
function placeOf(ranges: Range[], round: number): number {
  let place = 0;
  let least = Infinity;
  let before = 0;
  for (const [first, last] of ranges) {
    const nearest = Math.min(last, Math.max(first, round));
    const distance = Math.abs(nearest - round);
    if (distance < least) {
      least = distance;
      place = before + nearest - first;
    }
    before += last - first + 1;
  }
  return place;
}

/** A labelled slider over rounds, with buttons for one step. */
export function roundSlider(onRound: (round: number) => void): {
  element: HTMLElement;
  setRounds: (rounds: Range[]) => void;
  round: () => number | null;
} {
  let rounds: Range[] = [];
  // The round that somebody chose, null: whichever is the newest. It is not forgotten while it is away, since a run
  // that was cut, or another algorithm, may have it later.
  let chosen: number | null = null;
  const input = h("input", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Round" });
  const output = h("output", { class: "round" }, none);
  const place = () => Number(input.value);
  const last = () => Math.max(0, size(rounds) - 1);
  const at = () => roundAt(rounds, place());
  const tell = () => {
    const round = at();
    setText(output, round === null ? "no round" : `round ${round}`);
    input.setAttribute("aria-valuetext", output.textContent ?? "");
    back.disabled = place() <= 0;
    forth.disabled = place() >= last();
  };
  const move = (step: number) => {
    input.value = String(place() + step);
    input.dispatchEvent(new Event("input"));
  };
  const back = h("button", { type: "button", "aria-label": "One round back", onclick: () => move(-1) }, "‹");
  const forth = h("button", { type: "button", "aria-label": "One round on", onclick: () => move(1) }, "›");
  input.addEventListener("input", () => {
    const round = at();
    chosen = place() >= last() ? null : round;
    tell();
    if (round !== null) {
      onRound(round);
    }
  });
  return {
    element: h("div", { class: "slider" }, back, input, forth, output),
    setRounds: (next) => {
      rounds = next;
      input.max = String(last());
      input.value = String(chosen === null ? last() : placeOf(rounds, chosen));
      input.disabled = rounds.length === 0;
      tell();
    },
    round: at,
  };
}
