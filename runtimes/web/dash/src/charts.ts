// Plots: each has its numbers as a table beside it, and says in words what it
// shows. The library is loaded when the first is drawn.
import { h, styled, table, type Child } from "./dom";
import { asset } from "./data";

type Option = Record<string, unknown>;
type Redraw = (option: Option) => void;

declare global {
  var assayCharts: { draw(element: HTMLElement, option: Option): Redraw } | undefined;
}

let library: Promise<void> | undefined;

function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** A box in which a plot appears. */
function box(label: string, height: number, option: () => Option, width = "100%"): HTMLElement {
  const e = styled(h("div", { class: "chart", role: "img", "aria-label": label }, h("p", { class: "empty" }, "Drawing…")), { height: `${height}px`, "max-width": width });
  library ??= asset("charts.js");
  void library.then(() => globalThis.assayCharts?.draw(e, { animation: false, textStyle: { fontFamily: "system-ui, sans-serif", color: ink("ink") }, ...option() }), () => e.replaceChildren("The plots could not be loaded; the table has the numbers."));
  return e;
}

function narrow(): boolean {
  return matchMedia("(max-width: 600px)").matches;
}

function axis(more: Option): Option {
  return { axisLabel: { color: ink("soft"), fontSize: 11 }, axisLine: { lineStyle: { color: ink("line") } }, splitLine: { lineStyle: { color: ink("hair") } }, nameTextStyle: { color: ink("soft") }, ...more };
}

function tip(text: (p: { dataIndex: number; seriesIndex: number }) => string): Option {
  return { tooltip: { trigger: "item", confine: true, className: "tip", formatter: (p: { dataIndex: number; seriesIndex: number }) => h("span", {}, text(p)) as unknown as string } };
}

function numbers<T>(rows: T[], columns: { head: string; number?: boolean; cell: (row: T) => Child; header?: boolean }[], label: string): HTMLElement {
  return h("details", { class: "numbers" }, h("summary", {}, "The numbers"), table(rows, columns, "None.", label));
}

export type Bar = { label: string; value: number; lo?: number | null; hi?: number | null; note?: string; weak?: boolean };

/** Horizontal bars with their intervals. Weak ones (unstable, emulated) are hatched. */
export function bars(title: string, rows: Bar[], text: (v: number) => string): HTMLElement {
  if (rows.length === 0) return h("p", { class: "empty" }, `${title}: nothing was measured.`);
  const shown = [...rows].reverse();
  const slim = narrow(); // names stand above their bars, which would have no room beside them
  const whisker = shown.map((r, i) => [i, r.lo ?? r.value, r.hi ?? r.value]);
  return h("figure", {}, h("figcaption", {}, title), box(`${title}: ${rows.map((r) => `${r.label} ${text(r.value)}`).join("; ")}`, 54 + (slim ? 44 : 30) * rows.length, () => ({
    ...tip((p) => { const r = shown[p.dataIndex]; return r === undefined ? "" : `${r.label}: ${text(r.value)}${r.lo != null && r.hi != null ? ` (${text(r.lo)} to ${text(r.hi)})` : ""}${r.note ? `, ${r.note}` : ""}`; }),
    grid: { left: 8, right: slim ? 16 : 76, top: slim ? 14 : 8, bottom: 8, containLabel: true },
    xAxis: axis({ type: "value", axisLabel: { formatter: text, color: ink("soft"), fontSize: 11, hideOverlap: true } }),
    yAxis: axis({ type: "category", data: shown.map((r) => r.label), axisTick: { show: false }, axisLabel: { show: !slim, color: ink("soft"), fontSize: 11 } }),
    series: [
      { type: "bar", barWidth: 14, data: shown.map((r) => ({ value: r.value, itemStyle: r.weak ? { color: ink("works-edge"), decal: { symbol: "rect", color: ink("card"), dashArrayX: [1, 0], dashArrayY: [2, 3], rotation: Math.PI / 4 } } : { color: ink("works-edge") } })),
        itemStyle: { borderRadius: [0, 4, 4, 0] }, label: { show: true, ...(slim ? { position: [0, -15] } : { position: "right", distance: 14 }), color: ink("ink"), fontSize: 11,
          formatter: (p: { dataIndex: number }) => { const r = shown[p.dataIndex]; return r === undefined ? "" : `${slim ? `${r.label}: ` : ""}${text(r.value)}${r.weak ? " ~" : ""}`; } } },
      { type: "custom", data: whisker, encode: { x: [1, 2], y: 0 }, silent: true, renderItem: (_: unknown, api: { value(i: number): number; coord(v: number[]): number[] }) => {
        const [x1 = 0, y = 0] = api.coord([api.value(1), api.value(0)]);
        const [x2 = 0] = api.coord([api.value(2), api.value(0)]);
        return { type: "line", shape: { x1, y1: y, x2, y2: y }, style: { stroke: ink("ink"), lineWidth: 2 } };
      } },
    ],
  })), numbers(rows, [{ head: "", header: true, cell: (r) => r.label }, { head: title, number: true, cell: (r) => text(r.value) + (r.weak ? " ~" : "") },
    { head: "Interval", number: true, cell: (r) => (r.lo != null && r.hi != null ? `${text(r.lo)} to ${text(r.hi)}` : "") }, { head: "", cell: (r) => r.note ?? "" }], title));
}

export type Line = { name: string; points: { x: number; y: number; label?: string; weak?: boolean }[]; steps?: { x: number; label: string }[] };

const dashes = ["solid", "dashed", "dotted"];
const symbols = ["circle", "triangle", "rect", "diamond", "pin"];

/** Lines over time or size; the points of unstable times are hollow, and each line has a dash and a symbol of its own, so that colours are not needed. */
export function lines(title: string, list: Line[], x: { name: string; time?: boolean; log?: boolean }, text: (v: number) => string): HTMLElement {
  if (list.every((l) => l.points.length === 0)) return h("p", { class: "empty" }, `${title}: nothing was measured.`);
  const colours = ["accent", "partial-edge", "works-edge", "fails-edge", "unknown-edge", "soft"];
  const when = (v: number): string => (x.time ? new Date(v).toISOString().slice(0, 16).replace("T", " ") : String(v));
  return h("figure", {}, h("figcaption", {}, title), box(`${title}: ${list.map((l) => `${l.name}, ${l.points.length} points`).join("; ")}`, 300, () => ({
    ...tip((p) => { const l = list[p.seriesIndex]; const at = l?.points[p.dataIndex]; return at === undefined ? "" : `${l?.name}: ${text(at.y)}${at.weak ? " ~" : ""} at ${when(at.x)}${at.label ? `, ${at.label}` : ""}`; }),
    legend: { show: list.length > 1, type: "scroll", bottom: 0, textStyle: { color: ink("ink"), fontSize: 11 } },
    grid: { left: 8, right: 24, top: 22, bottom: (list.length > 1 ? 30 : 8) + (x.time ? 0 : 18), containLabel: true },
    xAxis: axis({ type: x.time ? "time" : x.log ? "log" : "value", logBase: 2, name: x.time ? "" : x.name, nameLocation: "middle", nameGap: 26, min: x.time ? undefined : "dataMin" }),
    yAxis: axis({ type: "value", scale: true, ...(x.time ? wide(list) : {}), axisLabel: { formatter: text, showMinLabel: !x.time, showMaxLabel: !x.time, color: ink("soft"), fontSize: 11 } }),
    series: list.map((l, i) => ({
      type: "line", name: l.name, data: l.points.map((p) => (p.weak ? { value: [p.x, p.y], itemStyle: { color: ink("card"), borderColor: ink(colours[i % colours.length] ?? "accent"), borderWidth: 1.5 } } : [p.x, p.y])), symbol: symbols[i % symbols.length], symbolSize: l.points.length > 60 ? 4 : 8, lineStyle: { type: dashes[i % dashes.length], width: 2 }, color: ink(colours[i % colours.length] ?? "accent"),
      markLine: l.steps !== undefined && l.steps.length > 0 ? { symbol: "none", silent: true, lineStyle: { color: ink("fails-edge"), type: "solid" }, label: { color: ink("ink"), fontSize: 11, formatter: (p: { name: string }) => p.name }, data: l.steps.map((s) => ({ xAxis: s.x, name: s.label })) } : undefined,
    })),
  })), numbers(list.flatMap((l) => l.points.map((p) => ({ l, p }))), [{ head: "", header: true, cell: ({ l }) => l.name }, { head: x.name, cell: ({ p }) => when(p.x) }, { head: title, number: true, cell: ({ p }) => text(p.y) + (p.weak ? " ~" : "") }, { head: "", cell: ({ p }) => p.label ?? "" }], title));
}

/** A scale over time holds a tenth of the values' middle at least: noise alone must not fill a plot from bottom to top. */
function wide(list: Line[]): { min?: number; max?: number } {
  const all = list.flatMap((l) => l.points.map((p) => p.y));
  const low = Math.min(...all), high = Math.max(...all), least = ((low + high) / 2) * 0.1;
  return high - low >= least ? {} : { min: (low + high - least) / 2, max: (low + high + least) / 2 };
}

export type Heat = { rows: string[]; columns: string[]; cells: { row: number; column: number; value: number; shaky?: boolean }[] };

/** A heat map of ratios: each square has its number, with a ~ where a time was unstable. */
export function heat(title: string, d: Heat, text: (v: number) => string): HTMLElement {
  if (d.cells.length === 0) return h("p", { class: "empty" }, `${title}: nothing was measured.`);
  const label = (c: { value: number; shaky?: boolean }): string => text(c.value) + (c.shaky ? " ~" : "");
  const span = Math.max(1, ...d.cells.map((c) => Math.abs(Math.log2(c.value))));
  return h("figure", {}, h("figcaption", {}, title), box(`${title}: ${d.cells.length} squares`, 70 + 26 * d.rows.length, () => ({
    ...tip((p) => { const c = d.cells[p.dataIndex]; return c === undefined ? "" : `${d.rows[c.row]} on ${d.columns[c.column]}: ${label(c)}`; }),
    grid: { left: 8, right: 8, top: 30, bottom: 8, containLabel: true },
    xAxis: axis({ type: "category", position: "top", data: d.columns, splitArea: { show: false } }), yAxis: axis({ type: "category", data: d.rows, inverse: true }),
    visualMap: { show: false, min: -span, max: span, dimension: 2, inRange: { color: [ink("fails"), ink("card"), ink("works")] } },
    series: [{ type: "heatmap", data: d.cells.map((c) => [c.column, c.row, Math.log2(c.value)]), itemStyle: { borderColor: ink("line"), borderWidth: 1 },
      label: { show: true, color: ink("ink"), fontSize: 11, formatter: (p: { dataIndex: number }) => { const c = d.cells[p.dataIndex]; return c === undefined ? "" : label(c); } } }],
  }), `${280 + 130 * d.columns.length}px`), numbers(d.cells, [{ head: "Model", header: true, cell: (c) => d.rows[c.row] }, { head: "Target", cell: (c) => d.columns[c.column] }, { head: title, number: true, cell: label }], title));
}
