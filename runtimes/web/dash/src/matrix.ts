// The matrix: models down, targets across. Only the rows that can be seen are in
// the document, so that a filter costs the same however many there are.
import { announce, fill, h, styled, type Child } from "./dom";
import { share, square, tally, verdictOf, type Board, type Row, type Square } from "./board";
import { to } from "./data";
import { bytes, count, milliseconds, times, title } from "./format";
import { grade, look, stale, unstable } from "./marks";
import { open } from "./panel";

export type Metric = "verdict" | "latency" | "speedup" | "memory" | "load";

export type Filter = { text: string; families: string[]; verdicts: string[]; evidences: string[]; columns: string[]; priority: string; staleOnly: boolean; ownOnly: boolean; metric: Metric; folded: string[]; sort: string };

type Item = { family: number; rows: Row[] } | { row: Row };

const rowHeight = 34;
const overscan = 6;

export class Matrix {
  readonly element: HTMLElement;
  private readonly head: HTMLElement;
  private readonly body: HTMLElement;
  private readonly table: HTMLElement;
  private items: Item[] = [];
  private columns: number[] = [];
  private first = -1;
  private last = -1;
  private at = { item: 0, column: -1 };
  private filter: Filter | undefined;

  constructor(private readonly board: Board, private readonly fold: (family: string) => void, private readonly sort: (target: string) => void) {
    this.head = h("thead");
    this.body = h("tbody");
    this.table = h("table", { class: "matrix", role: "grid", "aria-label": "Models on targets" }, this.head, this.body);
    this.element = h("div", { class: "wrap" }, this.table);
    addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => this.draw(), { passive: true });
    this.table.addEventListener("keydown", (e) => this.key(e));
    this.table.addEventListener("click", (e) => this.click(e));
  }

  /** Shows what passes the filter, and says how much that is. */
  apply(f: Filter): { rows: Row[]; columns: number[] } {
    const b = this.board;
    this.filter = f;
    this.columns = b.columns.flatMap((c, i) => (f.columns.length === 0 || f.columns.includes(c.target) ? [i] : []));
    const rows = b.rows.filter((r) => passes(b, r, f, this.columns));
    const by = b.columns.findIndex((c) => c.target === f.sort);
    if (by >= 0) {
      const order = (r: Row): number => {
        const s = square(b, r.c[by] ?? []);
        const n = value(s, f.metric);
        return n !== undefined ? n : 1e12 + b.verdicts.indexOf(s.verdict);
      };
      const keys = new Map(rows.map((r) => [r, order(r)]));
      rows.sort((x, y) => (keys.get(x) ?? 0) - (keys.get(y) ?? 0));
      this.items = rows.map((row) => ({ row }));
    } else {
      this.items = [];
      b.families.forEach((name, family) => {
        const members = rows.filter((r) => r.f === family);
        if (members.length === 0) return;
        this.items.push({ family, rows: members });
        if (!f.folded.includes(name)) this.items.push(...members.map((row) => ({ row })));
      });
    }
    this.table.setAttribute("aria-rowcount", String(this.items.length + 1));
    this.table.setAttribute("aria-colcount", String(this.columns.length + 1));
    this.at = { item: Math.min(this.at.item, Math.max(0, this.items.length - 1)), column: -1 };
    this.heads(f, rows);
    this.first = -1;
    this.draw();
    announce(`${count(rows.length, "model")} shown`);
    return { rows, columns: this.columns };
  }

  private heads(f: Filter, rows: Row[]): void {
    const b = this.board;
    fill(this.head, h("tr", { "aria-rowindex": 1 },
      h("th", { scope: "col", class: "name" }, "Model"),
      this.columns.map((i) => {
        const c = b.columns[i];
        if (c === undefined) return null;
        const t = tally(b, i, rows);
        return h("th", { scope: "col", "aria-sort": f.sort === c.target ? "ascending" : undefined },
          h("button", { type: "button", "data-sort": c.target, title: `Sort by ${c.target}` }, c.name, h("small", {}, c.vendor || " ")),
          bar(t.verdicts, t.of), h("small", { class: "share", title: `${share(t)}; ${t.known} of ${t.of} cells have an answer` }, t.complete ? share(t).replace(/^\d+ of (\d+) \((.*)\)$/, "$2 of $1") : `${t.known} of ${t.of}`));
      })));
  }

  /** Puts the rows that can be seen into the document. */
  private draw(): void {
    const top = this.table.getBoundingClientRect().top + this.head.offsetHeight;
    const from = Math.max(0, Math.floor(-top / rowHeight) - overscan);
    const to = Math.min(this.items.length, Math.ceil((innerHeight - top) / rowHeight) + overscan);
    if (from === this.first && to === this.last) return;
    const focused = this.table.contains(document.activeElement) && this.body.contains(document.activeElement);
    this.first = from;
    this.last = to;
    fill(this.body, this.gap(from), this.items.slice(from, to).map((item, i) => this.item(item, from + i)), this.gap(this.items.length - to),
      this.items.length === 0 && h("tr", {}, h("td", { colspan: this.columns.length + 1, class: "nothing" }, "No model passes these filters.")));
    if (focused) this.focus(false);
  }

  private gap(rows: number): Child {
    return rows > 0 && styled(h("tr", { class: "gap", "aria-hidden": "true" }, styled(h("td", { colspan: this.columns.length + 1 }), { height: `${rows * rowHeight}px` })), { height: `${rows * rowHeight}px` });
  }

  private item(item: Item, index: number): HTMLElement {
    return "row" in item ? this.row(item.row, index) : this.family(item.family, item.rows, index);
  }

  private family(family: number, rows: Row[], index: number): HTMLElement {
    const b = this.board;
    const name = b.families[family] ?? "";
    const open = !(this.filter?.folded.includes(name) ?? false);
    return h("tr", { class: "family", "aria-rowindex": index + 2 },
      h("th", { scope: "rowgroup", class: "name" }, h("button", { type: "button", "data-fold": name, "aria-expanded": String(open), tabindex: this.tab(index, -1), "data-item": index, "data-column": -1 },
        h("span", { class: "turn", "aria-hidden": "true" }, open ? "▾" : "▸"), title(name), h("small", {}, String(rows.filter((r) => r.t === undefined).length)))),
      this.columns.map((i) => {
        const t = tally(b, i, rows);
        return h("td", {}, h("div", { class: "sum", title: words(t.verdicts) }, t.known === 0 ? "·" : `${(t.verdicts.get("works") ?? 0) + (t.verdicts.get("should-work") ?? 0)}/${t.known}`, bar(t.verdicts, t.of)));
      }));
  }

  private row(r: Row, index: number): HTMLElement {
    const b = this.board;
    const metric = this.filter?.metric ?? "verdict";
    return h("tr", { "aria-rowindex": index + 2 },
      h("th", { scope: "row", class: r.t === undefined ? "name" : "name checkpoint" }, h("a", { href: to("model", r.m), tabindex: this.tab(index, -1), "data-item": index, "data-column": -1, title: r.m }, r.m)),
      this.columns.map((i, k) => {
        const c = b.columns[i];
        const s = square(b, r.c[i] ?? []);
        return h("td", { class: "cell" }, tile(s, metric, `${r.m} on ${c?.target ?? ""}`, { "data-model": r.m, "data-target": c?.target ?? "", "data-item": index, "data-column": k, tabindex: this.tab(index, k) }));
      }));
  }

  private tab(item: number, column: number): number {
    return item === this.at.item && column === this.at.column ? 0 : -1;
  }

  private click(e: Event): void {
    const t = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-model],[data-fold],[data-sort]") : null;
    if (t === null) return;
    const { model, target, fold, sort } = t.dataset;
    if (model !== undefined && target !== undefined) open(model, target, t);
    else if (fold !== undefined) this.fold(fold);
    else if (sort !== undefined) this.sort(sort);
  }

  private key(e: KeyboardEvent): void {
    const from = e.target instanceof HTMLElement ? e.target.dataset : {};
    if (from["item"] === undefined) return;
    const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 3);
    const moves: Record<string, [number, number]> = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageDown: [page, 0], PageUp: [-page, 0], Home: [0, -99], End: [0, 99] };
    const move = moves[e.key];
    if (move === undefined) return;
    e.preventDefault();
    const item = Math.min(this.items.length - 1, Math.max(0, Number(from["item"]) + move[0]));
    const target = this.items[item];
    const width = target !== undefined && "row" in target ? this.columns.length - 1 : -1;
    this.at = { item, column: Math.min(width, Math.max(-1, Number(from["column"]) + move[1])) };
    this.focus(true);
  }

  /** Gives the focus to the cell at hand, and scrolls to it. */
  private focus(scroll: boolean): void {
    if (scroll) {
      const y = scrollY + this.table.getBoundingClientRect().top + this.head.offsetHeight + this.at.item * rowHeight;
      const lid = this.head.offsetHeight + 60;
      if (y < scrollY + lid) scrollTo({ top: y - lid });
      else if (y + rowHeight > scrollY + innerHeight) scrollTo({ top: y + rowHeight - innerHeight + 8 });
      this.first = -1;
      this.draw();
    }
    const cell = this.body.querySelector<HTMLElement>(`[data-item="${this.at.item}"][data-column="${this.at.column}"]`);
    if (cell === null) return;
    this.body.querySelectorAll("[tabindex='0']").forEach((c) => c.setAttribute("tabindex", "-1"));
    cell.setAttribute("tabindex", "0");
    cell.focus({ preventScroll: true });
  }
}

function passes(b: Board, r: Row, f: Filter, columns: number[]): boolean {
  if (f.families.length > 0 && !f.families.includes(b.families[r.f] ?? "")) return false;
  if (f.priority !== "" && r.p !== f.priority) return false;
  if (f.text !== "") {
    const q = f.text.toLowerCase();
    const hit = r.m.toLowerCase().includes(q) || (r.k ?? "").includes(q) || (r.a ?? []).some((x) => x.toLowerCase().includes(q)) ||
      r.c.some((c) => typeof c[5] === "number" && c[5] > 0 && (b.words[c[5] - 1] ?? "").toLowerCase().includes(q));
    if (!hit) return false;
  }
  if (f.verdicts.length === 0 && f.evidences.length === 0 && !f.staleOnly && !f.ownOnly) return true;
  return columns.some((i) => {
    const c = r.c[i] ?? [];
    if (f.verdicts.length > 0 && !f.verdicts.includes(verdictOf(b, c))) return false;
    if (f.evidences.length === 0 && !f.staleOnly && !f.ownOnly) return true;
    const s = square(b, c);
    return (f.evidences.length === 0 || f.evidences.includes(s.evidence)) && (!f.staleOnly || s.stale) && (!f.ownOnly || s.own || s.imported);
  });
}

function value(s: Square, m: Metric): number | undefined {
  switch (m) {
    case "latency": return s.numbers.l;
    case "speedup": return s.numbers.s;
    case "memory": return s.numbers.b;
    case "load": return s.numbers.o;
    case "verdict": return undefined;
  }
}

function number(s: Square, m: Metric): string {
  const v = value(s, m);
  if (v === undefined) return "";
  switch (m) {
    case "latency": return milliseconds(v) + (s.numbers.u === true ? ` ${unstable}` : "");
    case "speedup": return times(v) + (s.numbers.su === true ? ` ${unstable}` : "");
    case "memory": return bytes(v);
    default: return milliseconds(v * 1000);
  }
}

/** A cell: a mark, the kind of evidence where it is not measured, and whether it is stale. */
export function tile(s: Square, metric: Metric, where: string, attributes: Record<string, string | number>): HTMLElement {
  const l = look(s.verdict);
  const g = grade(s.evidence);
  const n = number(s, metric);
  const tip = [`${where}: ${l.word}`, s.evidence !== "none" && s.evidence !== "" ? s.evidence : "", s.dtype, s.word, s.stale ? "stale" : "", s.versions].filter((x) => x !== "").join(", ");
  const all = { ...attributes, type: "button", class: `tile ${s.verdict} ${s.evidence}${s.stale ? " stale" : ""}`, title: tip };
  const starred = s.word !== "" && s.verdict !== "not-run" && s.verdict !== "fails";
  if (n === "" && g.short === "" && !s.stale && !s.own) return h("button", { ...all, "aria-label": tip }, starred ? `${l.mark} *` : l.mark); // most cells: one element
  return h("button", all, h("span", { class: "quiet" }, n === "" ? tip : `${tip}, ${n}`),
    h("span", { class: "inner", "aria-hidden": "true" },
      h("span", { class: n !== "" ? "val" : "mark" }, n !== "" ? n : starred ? `${l.mark} *` : l.mark),
      g.short !== "" && h("span", { class: "grade" }, g.short), s.stale && h("span", { class: "grade old" }, stale.short), s.own && h("span", { class: "dot" }, "•")));
}

function words(verdicts: Map<string, number>): string {
  return [...verdicts].map(([v, n]) => `${n} ${look(v).word}`).join(", ");
}

/** A bar divided among verdicts; what it says stands beside it in numbers. */
export function bar(verdicts: Map<string, number>, of: number): HTMLElement {
  const order = ["works", "should-work", "partial", "should-work-partly", "fails", "unavailable", "unknown"];
  return h("span", { class: "bar", role: "img", "aria-label": words(verdicts) }, order.filter((v) => (verdicts.get(v) ?? 0) > 0).map((v) =>
    styled(h("span", { class: `part ${v}` }), { "--part": `${(100 * (verdicts.get(v) ?? 0)) / of}%` })));
}
