// What own results say of a model: history, speed, scaling, memory, numbers.
import { a, fill, h, section, table, type Child } from "../dom";
import { get, Refused, to } from "../data";
import { bars, lines, type Bar, type Line } from "../charts";
import { age, bytes, milliseconds, minute, power, rate } from "../format";
import { badge, unstable } from "../marks";
import { modelOf, peak, settings, timed, type Listed, type Result } from "../types";

export async function own(main: HTMLElement, model: string, on: string): Promise<void> {
  const part = h("div", {}, h("p", { class: "empty" }, "Loading your results…"));
  main.append(part);
  const found = await results(model);
  const list = on === "" ? found : found.filter((x) => x.result.cell.target === on);
  fill(part, on !== "" && h("p", { class: "note" }, `Only ${on}. `, a(to("model", model), "All targets")),
    list.length === 0 ? section("Your results", h("p", { class: "empty" }, "None of your results are of this model. ", a(to("start", "", `models=${encodeURIComponent(model)}`), "Run it"))) : sections(model, list));
}

async function results(model: string): Promise<Listed[]> {
  try {
    return (await get<{ results: Listed[] }>(`/v1/results?limit=500&model=${encodeURIComponent(model)}`)).results;
  } catch (e) {
    if (e instanceof Refused && e.status === 404) return [];
    throw e;
  }
}

function sections(model: string, list: Listed[]): Child[] {
  const runs = list.filter((x) => timed(x.result));
  const called = labels(list);
  return [
    section("Latency by target", bars("Median latency", newest(runs).map((x) => bar(x, called(x))), milliseconds), h("p", { class: "note" }, a(to("trends", "", `model=${encodeURIComponent(model)}`), "Over time, with steps"))),
    runs.length > 0 && section("Percentiles", percentiles(newest(runs), called)),
    section("Scaling", lines("Items a second by batch", scaling(runs), { name: "batch", log: true }, rate)),
    section("Memory", bars("Peak memory", newest(list).flatMap((x) => { const p = peak(x.result); return p === undefined ? [] : [{ label: called(x), value: p.bytes, note: `on the ${p.where}` }]; }), bytes)),
    generation(list, called),
    section("Numbers", numerics(list, called)),
    section("Findings", findings(list, called)),
    section("Every result", resultTable(list)),
  ];
}

function label(r: Result): string {
  return `${r.cell.target} ${settings(r.cell)}`;
}

/** What the cells of a list are called: with their machine, where two machines ran the same one. */
function labels(list: Listed[]): (x: Listed) => string {
  const hosts = new Map<string, Set<string>>();
  for (const x of list) hosts.set(label(x.result), (hosts.get(label(x.result)) ?? new Set()).add(x.host));
  return (x) => label(x.result) + ((hosts.get(label(x.result))?.size ?? 0) > 1 ? ` on ${machine(x)}` : "");
}

/** A machine by its id, shortly: the same one has one id here and another in what was imported. */
function machine(x: Listed): string {
  return `${x.host.replace(/^imported:/, "").slice(0, 6)}${x.imported ? ", imported" : ""}`;
}

/** Of each cell the newest. */
function newest(list: Listed[]): Listed[] {
  const seen = new Set<string>();
  return list.filter((x) => {
    const k = label(x.result) + x.host;
    const first = !seen.has(k);
    seen.add(k);
    return first;
  });
}

function bar(x: Listed, name: string): Bar {
  const l = x.result.latency;
  return { label: name, value: l?.median_ms ?? 0, lo: l?.lo_ms ?? null, hi: l?.hi_ms ?? null, weak: l?.stable === false, note: l?.stable === false ? (l.why ?? "unstable") : `${l?.repeats ?? 0} repeats` };
}

function percentiles(list: Listed[], called: (x: Listed) => string): HTMLElement {
  const ms = (v: number | null | undefined): string => (v === null || v === undefined ? "–" : milliseconds(v));
  return table(list, [
    { head: "Cell", header: true, cell: (x) => a(to("result", x.id), called(x)) }, { head: "Least", number: true, cell: (x) => ms(x.result.latency?.min_ms) },
    { head: "Median", number: true, cell: (x) => ms(x.result.latency?.median_ms) + (x.result.latency?.stable === false ? ` ${unstable}` : "") }, { head: "p90", number: true, cell: (x) => ms(x.result.latency?.p90_ms) },
    { head: "p95", number: true, cell: (x) => ms(x.result.latency?.p95_ms) }, { head: "p99", number: true, cell: (x) => ms(x.result.latency?.p99_ms) }, { head: "Most", number: true, cell: (x) => ms(x.result.latency?.max_ms) },
    { head: "n", number: true, cell: (x) => x.result.latency?.n ?? "" },
  ], "Nothing was timed.", "Percentiles");
}

function scaling(list: Listed[]): Line[] {
  const by = new Map<string, Map<number, number>>();
  const several = new Set(list.map((x) => x.host)).size > 1;
  for (const x of list) {
    const r = x.result;
    if (r.latency === null || (r.cell.mode ?? "infer") !== "infer") continue;
    const name = `${r.cell.target} ${r.cell.dtype} ${r.cell.size}${several ? ` on ${machine(x)}` : ""}`; // a line is of one machine
    const batch = r.cell.batch ?? 1;
    const points = by.get(name) ?? new Map<number, number>();
    if (!points.has(batch)) points.set(batch, (1000 * batch) / r.latency.median_ms);
    by.set(name, points);
  }
  return [...by].filter(([, p]) => p.size > 1).map(([name, p]) => ({ name, points: [...p].sort((x, y) => x[0] - y[0]).map(([x, y]) => ({ x, y })) }));
}

function generation(list: Listed[], called: (x: Listed) => string): Child {
  const some = newest(list).filter((x) => x.result.generation?.tokens_per_s != null);
  if (some.length === 0) return null;
  return section("Decoding", bars("Tokens a second", some.map((x) => ({ label: called(x), value: x.result.generation?.tokens_per_s ?? 0, weak: x.result.evidence !== "measured" })), rate),
    table(some, [{ head: "Cell", header: true, cell: (x) => a(to("result", x.id), called(x)) }, { head: "First token", number: true, cell: (x) => (x.result.generation?.ttft_ms ? milliseconds(x.result.generation.ttft_ms.median) : "") },
      { head: "Per token", number: true, cell: (x) => (x.result.generation?.tpot_ms ? milliseconds(x.result.generation.tpot_ms.median) : "") }, { head: "Tokens", number: true, cell: (x) => x.result.generation?.new_tokens ?? "" }], "", "Decoding"));
}

function numerics(list: Listed[], called: (x: Listed) => string): HTMLElement {
  return table(newest(list).filter((x) => x.result.numerics !== null), [
    { head: "Cell", header: true, cell: (x) => a(to("result", x.id), called(x)) }, { head: "Error", number: true, cell: (x) => (x.result.numerics?.max_rel != null ? power(x.result.numerics.max_rel) : "") },
    { head: "Limit", number: true, cell: (x) => power(x.result.numerics?.tolerance ?? 0) }, { head: "", cell: (x) => (x.result.numerics?.pass ? "within" : "beyond") }, { head: "Against", cell: (x) => x.result.numerics?.reference ?? "" },
  ], "Nothing was compared with a reference.", "Numbers");
}

function findings(list: Listed[], called: (x: Listed) => string): HTMLElement {
  const some = list.filter((x) => x.result.failure !== null || (x.result.note ?? "") !== "");
  return table(newest(some), [
    { head: "Cell", header: true, cell: (x) => a(to("result", x.id), called(x)) }, { head: "", cell: (x) => badge(x.result.verdict, x.result.evidence) },
    { head: "What", cell: (x) => h("span", { class: "clip" }, x.result.failure !== null ? `${x.result.failure.class}: ${x.result.failure.detail}` : (x.result.note ?? "")) }, { head: "What to do", cell: (x) => x.result.failure?.hint ?? "" },
  ], "Nothing was found wrong.", "Findings");
}

/** A table of results, each of which leads to its command, log, versions and samples. */
export function resultTable(list: Listed[], named = false): HTMLElement {
  return table(list, [
    { head: named ? "Model" : "Target", header: true, cell: (x) => (named ? [a(to("model", modelOf(x.result.cell)), modelOf(x.result.cell)), " ", h("small", {}, x.result.cell.target)] : x.result.cell.target) },
    { head: "Settings", cell: (x) => settings(x.result.cell) },
    { head: "Verdict", cell: (x) => badge(x.result.verdict, x.result.evidence) },
    { head: "Latency", number: true, cell: (x) => (timed(x.result) ? milliseconds(x.result.latency.median_ms) + (x.result.latency.stable ? "" : ` ${unstable}`) : "") },
    { head: "Memory", number: true, cell: (x) => { const p = peak(x.result); return p === undefined ? "" : bytes(p.bytes); } },
    { head: "Age", cell: (x) => h("span", { title: minute(x.result.started_at) }, age(x.result.started_at)) },
    { head: "Run", cell: (x) => [a(to("run", x.run), x.run.slice(0, 15)), x.imported && " imported"] },
    { head: "", cell: (x) => (x.id === "" ? "" : a(to("result", x.id), "Command, log, versions, samples")) },
  ], "No results.", "Results");
}
