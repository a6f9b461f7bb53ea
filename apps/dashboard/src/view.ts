import type { Run } from "./api";

/** A part of the page behind one tab. Only the one that is seen is kept up to date. */
export interface View {
  id: string;
  name: string;
  element: HTMLElement;
  update: (run: Run, algorithm: string) => void;
  /** After the colours changed. */
  restyle: () => void;
}
