// Two sides compared, with statistics: the JSON of assay compare.
import { a, fill, h, section, table, type Child } from "../dom";
import { get, to } from "../data";
import { field, form } from "../form";
import { bytes, count, milliseconds, minute, percent } from "../format";
import { read, write } from "../state";
import type { Run } from "../types";

type Named = { model: string; family?: string; target: string; target_b?: string; dtype: string; settings?: string[] };
type Speed = { cell: Named; verdict: string; unit: string; a: number; b: number; repeats_a: number; repeats_b: number; ratio: number; lo: number | null; hi: number | null; p: number | null; adjusted: number | null; finds: number | null; warnings: string[] | null };
type Side = { name: string; kind: string; runs: string[] | null; cells: number; from: string; to: string };
type Report = {
  a: Side; b: Side; outcome: string; compared: number; turns: { cell: Named; kind: string; worse: boolean; a: string; b: string; detail?: string; hint?: string }[] | null; speed: Speed[] | null;
  changes: { cell: Named; what: string; unit: string; a: number; b: number; ratio: number }[] | null; context: { field: string; a: string; b: string; cells?: number }[] | null; refused: { cell: Named; what: string; field?: string; a?: string; b?: string }[] | null;
  means: { by: string; name: string; cells: number; ratio: number }[] | null; only_a: Named[] | null; only_b: Named[] | null; notes: string[] | null; verdict: string; trust: string[];
};

export async function compare(main: HTMLElement): Promise<void> {
  const view = read();
  const [runs, hosts] = await Promise.all([get<{ runs: Run[] }>("/v1/runs?limit=100"), get<{ hosts: { host: { id: string } }[] }>("/v1/hosts")]);
  const sides = [...new Set([...runs.runs.flatMap((r) => (r.name !== "" ? [r.name, r.id] : [r.id])), ...hosts.hosts.map((x) => `host:${x.host.id}`)])];
  const ended = runs.runs.filter((r) => r.results > 0).map((r) => r.id); // of others there is nothing to compare
  const out = h("div", { id: "compared" });
  const f = form("Compare", "Compare", [
    field({ name: "a", label: "Before (A)", value: view.get("a") ?? ended.find((r) => r !== view.get("b") && (view.has("b") || r !== ended[0])) ?? "", list: sides, hint: "a run, the name of one, a baseline, host:ID, a target, transformers=5.22.2, or a day" }),
    field({ name: "b", label: "After (B)", value: view.get("b") ?? ended[0] ?? "", list: sides }),
    field({ name: "across", label: "Across", value: view.get("across") ?? "", hint: "what may differ, where it is what you compare: target, host, dtype" }),
  ], async (v, said) => {
    for (const name of ["a", "b", "across"]) view.set(name, v.text(name));
    write(view);
    fill(out);
    const q = new URLSearchParams({ a: v.text("a"), b: v.text("b") });
    for (const x of v.list("across")) q.append("across", x);
    const r = await get<Report>(`/v1/compare?${q}`);
    fill(said);
    fill(out, shown(r));
  });
  fill(main, h("h1", {}, "Compare"), h("p", { class: "sub" }, "Two runs, hosts, versions or days: what changed, and how sure that is."), f, out);
  if (view.get("a") && view.get("b")) f.requestSubmit();
}

function cell(c: Named): Child {
  return [a(to("model", c.model), c.model), h("small", {}, ` ${c.target}${c.target_b !== undefined && c.target_b !== "" ? ` → ${c.target_b}` : ""} ${c.dtype} ${(c.settings ?? []).join(", ")}`)];
}

const by = (ratio: number): string => `${ratio >= 1 ? "+" : "−"}${percent(Math.abs(ratio - 1))}`;

function shown(r: Report): Child {
  const side = (s: Side): string => `${s.name} (${s.kind}, ${count(s.cells, "cell")}, ${minute(s.from)} to ${minute(s.to)})`;
  const speed = r.speed ?? [];
  const refused = r.refused ?? [];
  return [
    h("p", { class: "state", "data-outcome": r.outcome }, h("b", {}, r.verdict), ` · ${count(r.compared, "cell")} compared`), h("p", { class: "note" }, `A: ${side(r.a)}. B: ${side(r.b)}.`), (r.notes ?? []).map((n) => h("p", { class: "note" }, n)),
    section("Verdicts that changed", table(r.turns ?? [], [
      { head: "", cell: (t) => h("span", { class: `turn-kind ${t.worse ? "worse" : "better"}` }, t.worse ? "▼ " : "▲ ", t.kind) }, { head: "Cell", header: true, cell: (t) => cell(t.cell) }, { head: "A", cell: (t) => t.a }, { head: "B", cell: (t) => t.b }, { head: "Why", cell: (t) => h("span", { class: "clip" }, t.detail ?? "") },
    ], "No verdict changed.", "Verdicts that changed")),
    section("Speed", table(speed, [
      { head: "Cell", header: true, cell: (s) => cell(s.cell) }, { head: "", cell: (s) => h("span", { class: `turn-kind ${s.verdict === "slower" ? "worse" : s.verdict === "faster" ? "better" : ""}` }, s.verdict === "slower" ? "▼ " : s.verdict === "faster" ? "▲ " : "", s.verdict) },
      { head: "A", number: true, cell: (s) => milliseconds(s.a) }, { head: "B", number: true, cell: (s) => milliseconds(s.b) }, { head: "By", number: true, cell: (s) => by(s.ratio) },
      { head: "Interval", number: true, cell: (s) => (s.lo !== null && s.hi !== null ? `${by(s.lo)} to ${by(s.hi)}` : "too few repeats") }, { head: "p", number: true, cell: (s) => (s.p !== null ? s.p.toPrecision(2) : "–") },
      { head: "Corrected", number: true, cell: (s) => (s.adjusted !== null ? s.adjusted.toPrecision(2) : "–") }, { head: "Would notice", number: true, cell: (s) => (s.finds === null ? "–" : s.finds > 1 ? `×${roughly(1 + s.finds)}` : `±${percent(s.finds)}`) }, { head: "Repeats", number: true, cell: (s) => `${s.repeats_a} + ${s.repeats_b}` },
    ], "No cell was timed on both sides.", "Speed"), warnings(speed)),
    (r.means ?? []).length > 0 && section("Geometric means", table(r.means ?? [], [{ head: "Of", header: true, cell: (m) => (m.by === "all" ? "all cells" : `${m.by} ${m.name}`) }, { head: "Cells", number: true, cell: (m) => m.cells }, { head: "By", number: true, cell: (m) => by(m.ratio) }], "", "Geometric means"), h("p", { class: "note" }, "Of the ratios of speed: more is slower.")),
    section("Load, memory, energy", table(r.changes ?? [], [{ head: "Cell", header: true, cell: (x) => cell(x.cell) }, { head: "What", cell: (x) => x.what }, { head: "A", number: true, cell: (x) => quantity(x.a, x.unit) }, { head: "B", number: true, cell: (x) => quantity(x.b, x.unit) }, { head: "By", number: true, cell: (x) => by(x.ratio) }], "Nothing of it changed.", "Load, memory, energy")),
    section("What else differs", table(r.context ?? [], [{ head: "Field", header: true, cell: (x) => x.field }, { head: "A", long: true, cell: (x) => x.a }, { head: "B", long: true, cell: (x) => x.b }, { head: "Cells", number: true, cell: (x) => x.cells ?? "" }], "Nothing else that was recorded.", "What else differs")),
    refused.length > 0 && section("Not compared", table(refused, [{ head: "Cell", header: true, cell: (x) => cell(x.cell) }, { head: "What", cell: (x) => x.what }, { head: "Because", cell: (x) => [x.field, x.a, x.b].filter(Boolean).join(" · ") }], "", "Not compared")),
    h("p", { class: "note" }, `Only in A: ${(r.only_a ?? []).length}; only in B: ${(r.only_b ?? []).length}.`),
    section("How far to trust it", h("ul", { class: "trust" }, r.trust.map((line) => h("li", {}, line)))),
  ];
}

/** What is to be known about some cells' times, below their table: beside them it would fill the page. */
function warnings(list: Speed[]): Child {
  const some = list.filter((s) => (s.warnings ?? []).length > 0);
  if (some.length === 0) return null;
  return h("details", { class: "numbers" }, h("summary", {}, `Of ${some.length} of ${count(list.length, "cell")} there is something to know`),
    h("ul", { class: "trust" }, some.map((s) => h("li", {}, cell(s.cell), h("ul", {}, (s.warnings ?? []).map((w) => h("li", {}, h("small", {}, w))))))));
}

/** Three digits, without an exponent. */
function roughly(v: number): string {
  return v < 1000 ? v.toPrecision(3) : Number(v.toPrecision(3)).toLocaleString("en");
}

function quantity(v: number, unit: string): string {
  return unit === "bytes" ? bytes(v) : unit === "ms" ? milliseconds(v) : `${v.toPrecision(3)} ${unit}`;
}
