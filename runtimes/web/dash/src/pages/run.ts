// Runs: the list, and one of them, followed while it goes.
import { a, announce, calmly, copy, fill, h, section, styled, table } from "../dom";
import { get, send, text, to } from "../data";
import { bytes, count, minute, percent } from "../format";
import { badge } from "../marks";
import { modelOf, over, settings, type Cell, type Listed, type Result, type Run, type Status } from "../types";
import { resultTable } from "./own";
import { resultSections } from "./result";
import { runs as runTable } from "./overview";

export async function runs(main: HTMLElement): Promise<void> {
  const list = await get<{ total: number; runs: (Run & { live: Status | null })[] }>("/v1/runs?limit=200");
  fill(main, h("h1", {}, "Runs"), h("p", { class: "sub" }, `${count(list.total, "run")}. `, a(to("start"), "Start a run"), " · ", a(to("compare"), "Compare two")), runTable(list.runs));
}

type Page = { run: Run; results: Listed[]; live: Status | null };
type Sample = { at: string; cpu: number | null; memory_bytes: number | null; memory_of_bytes: number | null; temperature_c: number | null; devices: { id: string; name: string; utilisation: number | null; temperature_c: number | null; memory_bytes: number | null; memory_of_bytes: number | null }[] | null };

export async function run(main: HTMLElement, id: string): Promise<void> {
  const page = await get<Page>(`/v1/runs/${encodeURIComponent(id)}`);
  document.title = `Run ${id} · Assay`;
  const head = h("div");
  const machine = h("div");
  const log = h("pre", { class: "log", tabindex: 0, "aria-label": "Log" }, "…");
  const list = h("div");
  fill(main, h("h1", {}, page.run.name || "Run", " ", h("small", {}, id)), h("p", { class: "sub" }, `${page.run.command}, began ${minute(page.run.started_at)} on `, a(to("host", page.run.host.id), page.run.host.cpu || page.run.host.id)),
    head, machine, section("Results", list), section("Log", log, h("p", {}, h("a", { href: `/v1/runs/${encodeURIComponent(id)}/log?bytes=1000000` }, "More of it as text"))));
  const view = new Live(id, page, head, machine, list, log);
  view.draw();
  await view.tail();
  if (page.live !== null && !over(page.live.state)) view.follow(page.live.events);
}

/** More rows than that nobody reads, and drawing them takes longer than the next event. */
const mostRows = 500;

class Live {
  private status: Status | null;
  private readonly results: Listed[];
  private spoke = false;
  private readonly redraw = calmly(() => this.draw(), 100);

  constructor(private readonly id: string, page: Page, private readonly head: HTMLElement, private readonly machine: HTMLElement, private readonly list: HTMLElement, private readonly log: HTMLElement) {
    this.status = page.live;
    this.results = page.results;
  }

  draw(): void {
    this.drawHead();
    const newest = this.results.slice(-mostRows).reverse();
    fill(this.list, newest.length === 0 ? h("p", { class: "empty" }, "None yet.") : [newest.length < this.results.length && h("p", { class: "note" }, `The newest ${newest.length} of ${this.results.length.toLocaleString("en")}.`), resultTable(newest, true)]);
  }

  private drawHead(): void {
    const s = this.status;
    const bad = this.results.filter((x) => (x.result.verdict === "fails" || x.result.verdict === "unknown") && !x.result.fallback?.from).length; // what the server takes as failed
    const counts = new Map<string, number>();
    for (const x of this.results) counts.set(x.result.verdict, (counts.get(x.result.verdict) ?? 0) + 1);
    const running = s !== null && !over(s.state);
    fill(this.head, s !== null && [
      h("p", { class: "state", role: "status" }, h("b", {}, s.state), ` · ${s.done} of ${count(s.planned, "cell")}`, s.error !== undefined && s.error !== "" && h("span", { class: "wrong" }, s.error)),
      h("progress", { max: Math.max(1, s.planned), value: s.done, "aria-label": "Progress" }),
      running && s.running.length === 0 && s.done === 0 && h("p", { class: "empty" }, s.state === "waiting" ? "It waits for another run to end." : "It is being prepared: no cell is in progress yet."),
      running && s.running.length > 0 && h("div", { class: "now" }, h("h3", {}, "In progress"), h("ul", { class: "plain" }, s.running.map((c: Cell) => h("li", {}, modelOf(c), h("small", {}, ` ${c.target}, ${settings(c)}`))))),
    ], h("p", { class: "picks" }, [...counts].map(([v, n]) => h("span", {}, badge(v), ` ${n} `))),
    h("p", { class: "picks" }, running && h("button", { type: "button", onclick: () => void this.post("cancel") }, "Cancel"),
      !running && (s !== null || this.results.length > 0) && h("button", { type: "button", onclick: () => void this.post("retry?only=all") }, "Run all again"),
      !running && bad > 0 && h("button", { type: "button", onclick: () => void this.post("retry?only=failed") }, `Retry ${count(bad, "failed cell")}`),
      h("a", { class: "button", href: to("compare", "", `b=${encodeURIComponent(this.id)}`) }, "Compare")));
  }

  private async post(what: string): Promise<void> {
    try {
      const done = await send<{ id: string }>("POST", `/v1/runs/${encodeURIComponent(this.id)}/${what}`);
      if (done.id !== this.id) location.assign(to("run", done.id));
      else announce("Cancelling");
    } catch (e) {
      this.head.append(h("p", { class: "wrong", role: "alert" }, (e as Error).message));
    }
  }

  /** The end of the log. */
  async tail(): Promise<void> {
    try {
      const said = await text(`/v1/runs/${encodeURIComponent(this.id)}/log?bytes=16384`);
      this.spoke = said !== "";
      this.log.textContent = said || "It has said nothing yet.";
    } catch (e) {
      this.log.textContent = (e as Error).message;
    }
    this.log.scrollTop = this.log.scrollHeight;
  }

  /** Listens until the run is over. */
  follow(after: number): void {
    const events = new EventSource(`/v1/runs/${encodeURIComponent(this.id)}/events?after=${after}`);
    const on = <T>(kind: string, take: (e: T) => void): void => events.addEventListener(kind, (e) => {
      const event = JSON.parse((e as MessageEvent<string>).data) as T & { at?: string };
      performance.mark(`event-${kind}`);
      take(event);
    });
    const s = this.status;
    if (s === null) return;
    on<{ state: string; error?: string }>("state", (e) => {
      s.state = e.state;
      if (e.error !== undefined) s.error = e.error;
      this.drawHead();
    });
    on<{ cells: number }>("planned", (e) => { s.planned = e.cells; this.redraw(); });
    on<{ cell: Cell }>("started", (e) => {
      if (!s.running.some((c) => c.hash === e.cell.hash)) s.running.push(e.cell);
      this.redraw();
    });
    on<unknown>("missed", () => { // this page was too slow, or another server answers: what it has is not all
      events.close();
      void this.again(0).then(() => { if (this.status !== null && !over(this.status.state)) this.follow(this.status.events); });
    });
    on<{ result: Result; text?: string }>("finished", (e) => {
      s.running = s.running.filter((c) => c.hash !== e.result.cell.hash);
      if (this.results.some((x) => x.result.cell.hash === e.result.cell.hash && x.result.started_at === e.result.started_at)) return; // it was in the page's first answer
      s.done++;
      this.results.push({ id: "", run: this.id, host: "", imported: false, result: e.result });
      this.redraw();
      this.say(`${modelOf(e.result.cell)} on ${e.result.cell.target}: ${e.result.verdict}`);
    });
    on<{ text: string }>("note", (e) => this.say(e.text));
    on<Sample>("sample", (e) => fill(this.machine, gauges(e)));
    on<unknown>("end", () => {
      events.close();
      announce("The run is over");
      void this.again(20);
    });
  }

  /** Asks again, until all results are stored: only those have pages of their own. */
  private async again(tries: number): Promise<void> {
    const p = await get<Page>(`/v1/runs/${encodeURIComponent(this.id)}`);
    this.status = p.live;
    this.results.splice(0, this.results.length, ...p.results);
    this.draw();
    if (tries > 0 && p.results.some((x) => x.id === "")) setTimeout(() => void this.again(tries - 1), 700);
    else await this.tail();
  }

  private say(line: string): void {
    if (!this.spoke) this.log.textContent = "";
    this.spoke = true;
    this.log.append(`${line}\n`);
    this.log.scrollTop = this.log.scrollHeight;
  }
}

function gauges(s: Sample): HTMLElement {
  const one = (name: string, value: string, share: number | null): HTMLElement => h("li", {}, h("small", {}, name), h("b", {}, value), share !== null && styled(h("span", { class: "meter" }), { "--share": `${100 * share}%` }));
  const unknown = "not known here";
  return h("ul", { class: "gauges", "aria-label": "This machine" },
    one("Processors", s.cpu !== null ? percent(s.cpu) : unknown, s.cpu),
    one("Memory", s.memory_bytes !== null ? bytes(s.memory_bytes) : unknown, s.memory_bytes !== null && s.memory_of_bytes !== null ? s.memory_bytes / s.memory_of_bytes : null),
    one("Temperature", s.temperature_c !== null ? `${Math.round(s.temperature_c)} °C` : "no sensor", null),
    (s.devices ?? []).map((d) => one(d.name || d.id, [
      d.utilisation !== null ? `${percent(d.utilisation)} busy` : "how busy is not known",
      d.temperature_c !== null ? `${Math.round(d.temperature_c)} °C` : "no sensor",
      d.memory_bytes !== null && bytes(d.memory_bytes),
    ].filter((x) => x !== false).join(", "), d.utilisation)));
}

type Whole = { id: string; run: Run | null; host: { id: string; cpu?: string }; imported: boolean; command: string; result: Result };

/** One result: its command, log, versions and samples. */
export async function result(main: HTMLElement, id: string): Promise<void> {
  const w = await get<Whole>(`/v1/results/${encodeURIComponent(id)}`);
  const r = w.result;
  const model = modelOf(r.cell);
  document.title = `${model} on ${r.cell.target} · Assay`;
  fill(main, h("h1", {}, a(to("model", model), model), " on ", a(to("platform", r.cell.target), r.cell.target)),
    h("p", { class: "sub" }, badge(r.verdict, r.evidence), ` ${settings(r.cell)} · ${minute(r.started_at)} · `, a(to("host", w.host.id), w.host.cpu || w.host.id), w.run !== null && [" · run ", a(to("run", w.run.id), w.run.id)]),
    section("Command", copy(w.command)), resultSections(r),
    section("Versions", table(Object.entries(r.context.versions ?? {}).sort(), [{ head: "Package", header: true, cell: ([n]) => n }, { head: "Version", cell: ([, v]) => v }], "None were recorded.", "Versions")),
    h("p", {}, h("a", { href: `/v1/results/${encodeURIComponent(id)}` }, "All of it as JSON")));
}
