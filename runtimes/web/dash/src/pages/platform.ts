// A target's page: what runs on it.
import { a, fill, h, section, table, type Child } from "../dom";
import { data, get, mode, to } from "../data";
import { share, square, tally, type Board, type Row, type Square } from "../board";
import { bytes, count, milliseconds, times, title } from "../format";
import { badge, legend, look, unstable } from "../marks";
import { bar } from "../matrix";
import { open } from "../panel";
import { read, write } from "../state";

type Found = { row: Row; s: Square };

export async function platform(main: HTMLElement, name: string): Promise<void> {
  const b = await data<Board>("board");
  const i = b.columns.findIndex((c) => c.target === name || c.target.replaceAll(/[^A-Za-z0-9._-]/g, "_") === name);
  const c = b.columns[i];
  if (c === undefined) throw new Error(`no results of a target called ${name}`);
  const t = tally(b, i);
  document.title = `What runs on ${c.target} · Assay`;
  const rows = b.rows.map((row) => ({ row, s: square(b, row.c[i] ?? []) }));
  const chosen = h("div");
  const view = read();
  const pick = (verdict: string): void => {
    view.set("verdict", verdict);
    write(view);
    show();
  };
  const show = (): void => {
    const verdict = view.get("verdict") || firstOf(t.verdicts);
    picks.querySelectorAll("button").forEach((x) => x.setAttribute("aria-pressed", String(x.dataset["verdict"] === verdict)));
    fill(chosen, lists(b, c.target, rows.filter((r) => r.s.verdict === verdict)));
  };
  const picks = h("div", { class: "picks", role: "group", "aria-label": "Verdict" }, b.verdicts.filter((v) => (t.verdicts.get(v) ?? 0) > 0).map((v): [string, number] => [v, t.verdicts.get(v) ?? 0]).map(([v, n]) =>
    h("button", { type: "button", "data-verdict": v, "aria-pressed": "false", onclick: () => pick(v) }, h("span", { class: `key ${v}`, "aria-hidden": "true" }, look(v).mark), look(v).word, h("b", {}, String(n)))));
  fill(main, h("h1", {}, `What runs on ${c.name}${c.vendor === "" ? "" : ` (${c.vendor})`}`),
    h("p", { class: "sub" }, share(t), t.complete ? " work" : "", ` · ${[...t.evidences].map(([e, n]) => `${n} ${e}`).join(", ") || "no run is published"}`, t.stale > 0 && ` · ${t.stale} stale`),
    (c.also ?? []).length > 0 && h("p", { class: "note" }, `Also known by: ${(c.also ?? []).join(", ")}. `, a(to("matrix", "", `on=${encodeURIComponent(c.target)}`), "In the matrix")),
    h("div", { class: "wide" }, bar(t.verdicts, t.of)), picks, chosen, legend());
  show();
  if (mode === "dash") await devices(main, c.platform);
}

function firstOf(verdicts: Map<string, number>): string {
  return ["works", "partial", "should-work", "fails", "not-run"].find((v) => (verdicts.get(v) ?? 0) > 0) ?? "works";
}

function lists(b: Board, target: string, rows: Found[]): Child {
  return b.families.map((family, f) => {
    const members = rows.filter((r) => r.row.f === f);
    if (members.length === 0) return null;
    return h("details", { open: true, class: "group" }, h("summary", {}, title(family), h("small", {}, ` ${members.length}`)),
      h("ul", { class: "names" }, members.map(({ row, s }) => h("li", {}, a(to("model", row.m), row.m),
        h("button", { type: "button", class: "bare", title: `Details of ${row.m} on ${target}`, onclick: (e) => open(row.m, target, e.currentTarget as HTMLElement) }, "…", h("span", { class: "quiet" }, `details of ${row.m} on ${target}`)),
        (s.word !== "" || s.numbers.l !== undefined || s.stale) && h("small", {}, [s.word, s.stale ? "old" : "", s.numbers.l !== undefined ? milliseconds(s.numbers.l) + (s.numbers.u === true ? ` ${unstable}` : "") : "", s.numbers.s !== undefined ? times(s.numbers.s) + (s.numbers.su === true ? ` ${unstable}` : "") : ""].filter((x) => x !== "").join(" · "))))));
  });
}

type Device = { id: string; name?: string; memory_bytes?: number; features?: string[]; software?: boolean };
type Detected = { platforms: { platform: string; status: string; devices?: Device[]; evidence?: { source: string; detail: string }[]; hint?: string }[] };

async function devices(main: HTMLElement, platform: string): Promise<void> {
  const part = h("div", {}, h("p", { class: "empty" }, "Looking at this machine…"));
  main.append(section("On this machine", part));
  const p = (await get<Detected>("/v1/detect")).platforms.find((x) => x.platform === platform);
  if (p === undefined) return fill(part, h("p", { class: "empty" }, "Nothing is said of it here."));
  fill(part, h("p", {}, `${title(p.status)}. `, p.hint ?? ""),
    table(p.devices ?? [], [
      { head: "Device", header: true, cell: (d) => d.id || platform }, { head: "Name", cell: (d) => d.name ?? "" },
      { head: "Memory", number: true, cell: (d) => (d.memory_bytes !== undefined && d.memory_bytes > 0 ? bytes(d.memory_bytes) : "") },
      { head: "Features", cell: (d) => h("small", {}, (d.features ?? []).join(", ")) }, { head: "", cell: (d) => (d.software === true ? badge("works", "emulated") : "") },
    ], "No device of it is here.", "Devices"),
    (p.evidence ?? []).length > 0 && h("details", {}, h("summary", {}, count((p.evidence ?? []).length, "piece of evidence", "pieces of evidence")), h("ul", {}, (p.evidence ?? []).map((e) => h("li", {}, h("b", {}, e.source), ` ${e.detail}`)))));
}
