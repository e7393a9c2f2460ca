// The page of the matrix: its filters, which stand in the address, and the table.
import { fill, h, id, type Child } from "../dom";
import { data, mode } from "../data";
import type { Board, Row } from "../board";
import { count, title } from "../format";
import { legend, looks, grades } from "../marks";
import { Matrix, type Filter, type Metric } from "../matrix";
import { list, read, write, type View } from "../state";

export async function matrix(main: HTMLElement): Promise<void> {
  const board = await data<Board>("board");
  let view = read();
  let ready = false;
  const shown = h("p", { class: "note", id: "shown" });
  const grid = new Matrix(board, (family) => toggle("fold", family), (target) => set("sort", view.get("sort") === target ? "" : target));

  function set(name: string, value: string): void {
    view.set(name, value);
    write(view);
    apply();
  }
  function toggle(name: string, value: string): void {
    const now = list(view, name);
    set(name, (now.includes(value) ? now.filter((v) => v !== value) : [...now, value]).join(","));
  }
  function apply(): void {
    const begun = performance.now();
    const { rows, columns } = grid.apply(filterOf(view));
    const types = (list: Row[]): number => list.filter((r) => r.t === undefined).length;
    const named = board.rows.length - types(board.rows); // checkpoints with results of their own
    shown.textContent = `${types(rows)} of ${count(types(board.rows), "type")}${named > 0 ? ` and ${rows.length - types(rows)} of ${count(named, "checkpoint")}` : ""} on ${count(columns.length, "target")}.`;
    if (ready) performance.measure("filter", { start: begun, end: performance.now() });
  }
  const controls = h("div", { class: "tools", role: "group", "aria-label": "Filters" });
  const controlsOf = (): void => fill(controls, tools(board, view, set, toggle, () => {
    view = new Map([["metric", view.get("metric") ?? ""]]);
    write(view);
    controlsOf();
    apply();
  }));
  controlsOf();
  addEventListener("hashchange", () => {
    view = read();
    controlsOf();
    apply();
  });
  fill(main, h("h1", {}, "Matrix"), shown, controls, grid.element, legend());
  apply();
  ready = true;
  performance.mark("matrix-ready");
}

function filterOf(v: View): Filter {
  return {
    text: v.get("q") ?? "", families: list(v, "family"), verdicts: list(v, "verdict"), evidences: list(v, "evidence"), columns: list(v, "on"), priority: v.get("priority") ?? "",
    staleOnly: v.get("stale") === "1", ownOnly: v.get("own") === "1", metric: (v.get("metric") || "verdict") as Metric, folded: list(v, "fold"), sort: v.get("sort") ?? "",
  };
}

type Set = (name: string, value: string) => void;

function tools(b: Board, view: View, set: Set, toggle: Set, clear: () => void): Child[] {
  const chosen = (name: string, value: string): boolean => list(view, name).includes(value);
  const box = (name: string, value: string, label: Child): HTMLElement =>
    h("label", { class: "chip" }, h("input", { type: "checkbox", checked: chosen(name, value), onchange: () => toggle(name, value) }), h("span", {}, label));
  const drop = (label: string, name: string, values: [string, Child][]): HTMLElement => {
    const n = list(view, name).length;
    const summary = h("summary", {}, label, n > 0 && h("b", {}, ` ${n}`));
    const menu = h("details", { class: "drop" }, summary, h("div", { class: "menu" }, values.map(([v, text]) => box(name, v, text))));
    menu.addEventListener("change", () => fill(summary, label, list(view, name).length > 0 && h("b", {}, ` ${list(view, name).length}`)));
    menu.addEventListener("keydown", (e) => {
      if (e.key !== "Escape") return;
      menu.open = false;
      summary.focus();
    });
    return menu;
  };
  const one = (label: string, name: string, values: [string, string][]): HTMLElement => {
    const field = id("pick");
    return h("span", { class: "field" }, h("label", { for: field }, label), h("select", { id: field, onchange: (e) => set(name, (e.target as HTMLSelectElement).value) },
      values.map(([v, text]) => h("option", { value: v, selected: (view.get(name) ?? "") === v }, text))));
  };
  const flag = (label: string, name: string): HTMLElement =>
    h("label", { class: "chip" }, h("input", { type: "checkbox", checked: view.get(name) === "1", onchange: (e) => set(name, (e.target as HTMLInputElement).checked ? "1" : "") }), h("span", {}, label));
  const measured = b.rows.some((r) => r.c.some((c) => c.length > 7));
  return [
    h("input", { type: "search", class: "find", "aria-label": "Filter models", placeholder: "Filter by model, checkpoint, task or reason", value: view.get("q") ?? "", oninput: (e) => set("q", (e.target as HTMLInputElement).value) }),
    drop("Families", "family", b.families.filter((_, i) => b.rows.some((r) => r.f === i)).map((f) => [f, title(f)])),
    drop("Targets", "on", b.columns.map((c) => [c.target, c.target])),
    drop("Verdicts", "verdict", looks.map((l) => [l.verdict, [h("span", { class: `key ${l.verdict}`, "aria-hidden": "true" }, l.mark), l.word]])),
    drop("Evidence", "evidence", grades.map((g) => [g.evidence, g.evidence])),
    one("Priority", "priority", [["", "any"], ["high", "high"], ["medium", "medium"], ["low", "low"]]),
    measured && one("Show", "metric", [["", "verdicts"], ["latency", "latency"], ["speedup", "speed-up over the CPU"], ["memory", "memory"], ["load", "load time"]]),
    flag("Stale", "stale"), mode === "dash" && flag("Own results", "own"),
    h("button", { type: "button", onclick: clear }, "Clear"),
    h("button", { type: "button", onclick: () => set("fold", list(view, "fold").length > 0 ? "" : b.families.join(",")) }, "Fold"),
  ];
}
