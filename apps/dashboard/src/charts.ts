// ECharts with only what is used, drawn in the page's own colours.
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  DataZoomInsideComponent,
  GridComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from "echarts/components";
import { type EChartsType, init, use } from "echarts/core";
import type { EChartsCoreOption } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([
  BarChart,
  CustomChart,
  HeatmapChart,
  LineChart,
  ScatterChart,
  DataZoomInsideComponent,
  GridComponent,
  LegendScrollComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
  CanvasRenderer,
]);

export type Option = EChartsCoreOption;

/** Told apart by people who see colours differently (after Okabe and Ito), and by dashes and shapes as well. */
const onLight = ["#0072b2", "#c44e00", "#008060", "#a8558a", "#8f6a00", "#2f84b7", "#6a4c93", "#4d4d4d"];
const onDark = ["#56b4e9", "#ff9248", "#2fcf9f", "#e79ac4", "#f0c93a", "#8ec9ff", "#b79cf0", "#c8c8c8"];
const dashes = ["solid", "dashed", "dotted"] as const;
export const shapes = ["circle", "rect", "triangle", "diamond"] as const;

export function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function colour(index: number): string {
  const palette = isDark() ? onDark : onLight;
  return palette[index % palette.length] ?? "#888";
}
/** The first line is solid; others leave gaps, so that what they cover is seen. */
export function dash(index: number): (typeof dashes)[number] {
  return index === 0 ? "solid" : (dashes[1 + ((index - 1) % 2)] ?? "dashed");
}
/** Where colours begin again, shapes are shifted by one. */
export function shape(index: number): (typeof shapes)[number] {
  return shapes[(index + Math.floor(index / onLight.length)) % shapes.length] ?? "circle";
}

/** Light to dark on a light page, dark to light on a dark one: more is always further from the page. */
export function ramp(): string[] {
  return isDark()
    ? ["#161b22", "#16365a", "#2c6a94", "#7fa889", "#ffe27a"]
    : ["#ffffff", "#cfe2f1", "#83b4d8", "#2f7ab3", "#0a3459"];
}

export interface Ink {
  text: string;
  quiet: string;
  line: string;
  panel: string;
}
export function ink(): Ink {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return { text: value("--text"), quiet: value("--quiet"), line: value("--line"), panel: value("--panel") };
}

export function axis(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const { quiet, line } = ink();
  return {
    name,
    nameLocation: "middle",
    nameGap: 30,
    nameTextStyle: { color: quiet, fontSize: 12 },
    axisLabel: { color: quiet, fontSize: 11, hideOverlap: true },
    axisLine: { lineStyle: { color: line } },
    axisTick: { lineStyle: { color: line } },
    splitLine: { lineStyle: { color: line, opacity: 0.6 } },
    ...more,
  };
}

/** An axis of rounds; where somebody zoomed in it begins and ends between two of them, which are not numbered. */
export function roundAxis(more: Record<string, unknown> = {}): Record<string, unknown> {
  const plain = axis("round", { type: "value", minInterval: 1, ...more });
  const formatter = (round: number) => (Number.isInteger(round) ? String(round) : "");
  return { ...plain, axisLabel: { ...(plain["axisLabel"] as object), formatter } };
}

/** Drawn on the canvas: text from a run is never read as markup, and no style is needed that the page forbids. */
export function tooltip(more: Record<string, unknown> = {}): Record<string, unknown> {
  const { text, line, panel } = ink();
  return {
    renderMode: "richText",
    confine: true,
    transitionDuration: 0,
    backgroundColor: panel,
    borderColor: line,
    padding: [8, 10],
    textStyle: { color: text, fontSize: 12, lineHeight: 17 },
    ...more,
  };
}

export interface Chart {
  element: HTMLElement;
  draw: (option: Option) => void;
  core: () => EChartsType;
}

/** A chart in a box of its own; it is made when it first has a size, and follows it. */
export function chart(label: string, className = ""): Chart {
  const element = document.createElement("div");
  element.className = `chart ${className}`;
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", label);
  let core: EChartsType | null = null;
  let wanted: Option | null = null;
  const show = () => {
    if (element.clientWidth === 0) {
      return;
    }
    if (!core) {
      core = init(element);
    }
    if (wanted) {
      // What is drawn is made anew; how far somebody zoomed in and which lines they chose in the legend stays.
      core.setOption({ animation: false, ...wanted }, { replaceMerge: ["series", "visualMap"] });
      wanted = null;
    }
  };
  new ResizeObserver(() => {
    core?.resize();
    show();
  }).observe(element);
  return {
    element,
    draw: (option) => {
      wanted = option;
      show();
    },
    core: () => (core ??= init(element)),
  };
}
