// The dashboard's front page: what changed, in ten rows; what runs now; what is known.
import { a, calmly, fill, h, section, table, type Child } from "../dom";
import { data, get, to } from "../data";
import type { Board } from "../board";
import { age, count, milliseconds, minute, percent } from "../format";
import { badge } from "../marks";
import { targets } from "./home";
import type { Run, Status } from "../types";

type Moment = { result: string; run: string; at: string; verdict: string; evidence: string; median_ms?: number };
type Change = { kind: string; worse: boolean; model: string; target: string; dtype: string; size: string; host: string; before: Moment | null; after: Moment; ratio?: number; lo?: number; hi?: number; p?: number; why?: string };
type Covered = { target?: string; dtype?: string; size?: string; models: number; planned: number; complete: boolean; text?: string; whole?: number };
type Overview = { results: number; runs: number; hosts: number; models: number; changes: Change[]; changes_total: number; compared: number; coverage: Covered[]; recent: Run[]; stale: { cells: number; of: number; days: number } };
type InProgress = { id: string; name: string; started_at: string } & { status?: Status } & Partial<Status>;

export async function overview(main: HTMLElement): Promise<void> {
  const live = h("div");
  const known = h("div", {}, h("p", { class: "empty" }, "Loading…"));
  const o = await get<Overview>("/v1/overview");
  fill(main, h("h1", {}, "What changed"), summary(o), live, changes(o), section("Newest runs", runs(o.recent)), known);
  performance.mark("overview-ready");
  await Promise.all([inProgress(live), data<Board>("board").then((b) => fill(known, targets(b))), lab(main)]);
  follow(live);
}

function summary(o: Overview): HTMLElement {
  return h("p", { class: "sub" }, `${count(o.results, "result")} of ${count(o.models, "model")} from ${count(o.runs, "run")} on ${count(o.hosts, "machine")}. `,
    `${o.stale.cells} of ${count(o.stale.of, "cell")} are older than ${o.stale.days} days. `, a(to("start"), "Start a run"));
}

const kinds: Record<string, string> = { broken: "broke", fixed: "fixed", slower: "slower", faster: "faster", first: "first result" };

function changes(o: Overview): HTMLElement {
  const text = o.results === 0 ? "There are no results yet: start a run, or import a journal." : `Nothing changed: ${o.compared} cells have an earlier result to compare with.`;
  return h("div", {}, table(o.changes, [
    { head: "", cell: (c) => h("span", { class: `turn-kind ${c.worse ? "worse" : c.before === null ? "" : "better"}` }, c.worse ? "▼ " : c.before === null ? "+ " : "▲ ", kinds[c.kind] ?? c.kind) },
    { head: "Model", header: true, cell: (c) => a(to("model", c.model), c.model) },
    { head: "Where", cell: (c) => [a(to("platform", c.target), c.target), h("small", {}, ` ${c.dtype}, ${c.size}`)] },
    { head: "Before", cell: (c) => (c.before === null ? "" : moment(c.before)) }, { head: "Now", cell: (c) => moment(c.after) },
    { head: "By", number: true, cell: (c) => (c.ratio !== undefined ? `${c.ratio >= 1 ? "+" : "−"}${percent(Math.abs(c.ratio - 1))}${c.p !== undefined ? `, p ${c.p.toPrecision(2)}` : ""}` : "") },
    { head: "Why", cell: (c) => h("span", { class: "clip" }, c.why ?? "") },
    { head: "When", cell: (c) => a(to("result", c.after.result), h("span", { class: "nowrap", title: minute(c.after.at) }, age(c.after.at))) },
  ], text, "What changed"), o.changes_total > o.changes.length && h("p", { class: "note" }, `The most important ${o.changes.length} of ${count(o.changes_total, "change")}. `, a(to("compare"), "Compare two runs to see all")));
}

function moment(m: Moment): Child {
  return [badge(m.verdict, m.evidence), m.median_ms !== undefined && ` ${milliseconds(m.median_ms)}`];
}

/** A table of runs. */
export function runs(list: (Run & { live?: Status | null })[]): HTMLElement {
  return table(list, [
    { head: "Run", header: true, cell: (r) => h("span", { class: "nowrap" }, a(to("run", r.id), r.id)) }, { head: "Name", cell: (r) => r.name }, { head: "By", cell: (r) => r.command },
    { head: "Results", number: true, cell: (r) => r.results.toLocaleString("en") }, { head: "Machine", cell: (r) => h("span", { class: "roomy" }, a(to("host", r.host.id), r.host.cpu || r.host.id), r.imported && " (imported)") },
    { head: "Began", cell: (r) => h("span", { class: "nowrap", title: minute(r.started_at) }, age(r.started_at)) }, { head: "", cell: (r) => (r.live != null ? `${r.live.state}, ${r.live.done} of ${r.live.planned}` : "") },
  ], "No runs yet.", "Runs");
}

async function inProgress(live: HTMLElement): Promise<void> {
  const list = (await get<{ runs: InProgress[] }>("/v1/live")).runs;
  fill(live, list.length > 0 && section("Running now", h("ul", { class: "plain" }, list.map((r) => {
    const s = r.status ?? r;
    return h("li", {}, a(to("run", r.id), r.name || r.id), ` ${s.state ?? ""}, ${s.done ?? 0} of ${s.planned ?? 0}`, h("progress", { max: s.planned ?? 1, value: s.done ?? 0, "aria-label": `Progress of ${r.id}` }));
  }))));
}

/** Looks again when runs begin or end, and when results changed. */
function follow(live: HTMLElement): void {
  const events = new EventSource("/v1/events");
  const look = calmly(() => inProgress(live).catch(() => undefined), 500);
  for (const kind of ["state", "finished", "end", "journal", "missed"]) events.addEventListener(kind, look);
}

async function lab(main: HTMLElement): Promise<void> {
  const v = await get<{ version: string; web_lab: string }>("/v1/version");
  if (v.web_lab !== "") main.append(section("The web lab", h("p", {}, "Run cells in any browser that reaches this machine, phones included: ", a(v.web_lab, "open the web lab"))));
}
