// A model's page: every target with its proof; on a dashboard also what own
// results say of speed, scaling, memory and numbers.
import { a, copy, fill, h, table, type Child } from "../dom";
import { about, placed, reason, tried, type About, type Line } from "../answer";
import { data, mode, to } from "../data";
import type { Board } from "../board";
import { age, count, day, power, title } from "../format";
import { badge, legend, shown } from "../marks";
import { open } from "../panel";
import { read } from "../state";
import { own } from "./own";

export async function model(main: HTMLElement, name: string): Promise<void> {
  const found = await about(name);
  const as = read().get("as");
  document.title = `${name} · Assay`;
  if (mode === "dash") found.model = await entry(name);
  fill(main, h("h1", {}, as ?? name), head(found, as), lines(found, name), legend());
  if (mode === "dash") await own(main, name, read().get("on") ?? "");
}

/** What the board knows of a model, as the catalogue has it. */
async function entry(name: string): Promise<NonNullable<About["model"]>> {
  const b = await data<Board>("board");
  const r = b.rows.find((x) => x.m === name);
  return { type: r?.t ?? name, class: r?.t !== undefined ? `a ${r.t}` : "", task: r?.k ?? "", family: b.families[r?.f ?? -1] ?? "", checkpoint: r?.a?.[0] ?? "", priority: r?.p ?? "" };
}

function head(f: About, as: string | undefined): Child {
  const e = f.model;
  const n = as !== undefined ? f.parameters?.[as] : undefined;
  const parts = [e?.class, e !== undefined && e.family !== "" && title(e.family), e?.task, e?.priority !== undefined && e.priority !== "" && `priority ${e.priority}`].filter(Boolean);
  return [
    parts.length > 0 && h("p", { class: "sub" }, parts.join(" · ")),
    as !== undefined && h("p", { class: "note" }, `As ${f.answer.as}: what is said here of ${as} is predicted from its type. `, n !== undefined && `${Math.round(n / 1e6)} M parameters, ${((4 * n) / 1e9).toFixed(1)} GB in fp32; not compared with a device's memory.`),
    e?.checkpoint !== undefined && e.checkpoint !== "" && as === undefined && h("p", { class: "note" }, `For example ${e.checkpoint}. `, f.answer.as !== "" && mode === "site" && "Everything here is about the type, tiny and with random weights."),
    f.answer.size !== undefined && h("p", { class: "note" }, f.answer.size),
  ];
}

function lines(f: About, name: string): HTMLElement {
  const known = f.answer.targets.filter((l) => l.verdict !== "unknown");
  const unknown = f.answer.targets.filter((l) => l.verdict === "unknown");
  return h("section", { "aria-labelledby": "h-targets" }, h("h2", { id: "h-targets" }, "Targets"),
    h("p", { class: "note" }, `An answer for ${known.length} of ${f.answer.targets.length} targets.`),
    table(known, [
      { head: "Target", header: true, cell: (l) => a(to("platform", l.target), l.target) },
      { head: "Verdict", cell: (l) => h("button", { type: "button", class: "bare", onclick: (e) => open(name, l.target, e.currentTarget as HTMLElement) }, badge(l.verdict, l.evidence), h("span", { class: "quiet" }, `: details of ${name} on ${l.target}`)) },
      { head: "In", cell: dtypes },
      { head: "Why, where", cell: (l) => h("span", { class: "clip" }, reason(l) || placed(l)) },
      { head: "Error", number: true, cell: (l) => (l.error !== undefined ? power(l.error) : "") },
      { head: "With", cell: (l) => h("small", { class: "roomy" }, tried(l)) },
      { head: "Age", cell: (l) => l.at !== undefined && h("span", { class: "nowrap", title: day(l.at) }, age(l.at), old(l) && h("span", { class: "grade old" }, "old")) },
      { head: "Check it here", cell: (l) => copy(l.check) },
    ], "Nobody ran it anywhere.", `${name} on every target`),
    unknown.length > 0 && h("details", {}, h("summary", {}, `${count(unknown.length, "target")} without an answer`),
      h("ul", { class: "plain" }, unknown.map((l) => h("li", {}, h("b", {}, l.target), ` · ${l.note ?? "never run"} `, copy(l.check))))));
}

function old(l: Line): boolean {
  return l.newer !== undefined || (l.at !== undefined && Date.now() - new Date(l.at).getTime() > 30 * 86400e3);
}

function dtypes(l: Line): Child {
  const rest = (l.others ?? []).filter((o) => o.verdict !== "unknown");
  return [l.dtype, rest.map((o) => [" ", h("small", { class: shown(o.verdict, o.evidence) === "fails" ? "struck" : undefined, title: `${o.dtype}: ${o.verdict}` }, `${o.dtype}${o.verdict === "fails" ? " ✗" : o.verdict === "partial" ? " ◐" : ""}`)])];
}
