// The report builder: choose, preview, save, download.
import { fill, h, section, table } from "../dom";
import { data, get, send } from "../data";
import type { Board } from "../board";
import { check, field, form, type Values } from "../form";
import { bytes, minute, title } from "../format";

type Saved = { name: string; made_at: string; bytes: number; files: string[] };

const platforms = ["cpu", "cuda", "rocm", "mps", "openvino", "qnn", "webnn", "webgpu"];

export async function report(main: HTMLElement): Promise<void> {
  const b = await data<Board>("board");
  const preview = h("div", { id: "preview" });
  const saved = h("div", { id: "saved" });
  const chosen = form("Choose", "Preview", [
    field({ name: "title", label: "Title", hint: "stands at the top" }), field({ name: "models", label: "Models", hint: "types or checkpoints, by comma; none are all" }),
    field({ name: "since", label: "Since", type: "date" }),
    field({ name: "metric", label: "Squares show", options: [["", "verdicts"], ["latency", "latency"], ["speedup", "speed-up"], ["memory", "memory"], ["load", "load time"]] }),
    group("Platforms", "platforms", platforms), group("Families", "families", b.families.filter((_, i) => b.rows.some((r) => r.f === i))), h("div", { class: "row" }, check("by_family", "By family")),
  ], async (v, out) => {
    const q = query(v);
    const address = `/v1/reports/preview?${q}`;
    const probe = await fetch(`${address}&format=html`);
    if (!probe.ok) await get(`${address}&format=html`);
    fill(out);
    fill(preview, section("Preview", h("p", { class: "ways" }, ["html", "md", "svg", "json", "text"].map((f) => h("a", { href: `${address}&format=${f}`, download: `report.${f === "text" ? "txt" : f}` }, `Download ${f}`))),
      h("iframe", { src: `${address}&format=html`, title: "Preview of the report", class: "preview", sandbox: "allow-scripts" }), keep(v)));
  });
  const keep = (v: Values): HTMLElement => form("Save", "Save", field({ name: "name", label: "Save as", hint: "letters, digits, dots, dashes" }), async (named, out) => {
    const body: Record<string, unknown> = { name: named.text("name") };
    for (const [k, x] of Object.entries(choice(v))) body[k] = x;
    await send("POST", "/v1/reports", body);
    fill(out, h("p", {}, "Saved."));
    await list();
  });
  const list = async (): Promise<void> => {
    const { reports } = await get<{ reports: Saved[] }>("/v1/reports");
    fill(saved, table(reports, [
      { head: "Report", header: true, cell: (r) => r.name }, { head: "Made", cell: (r) => minute(r.made_at) }, { head: "Size", number: true, cell: (r) => bytes(r.bytes) },
      { head: "Files", cell: (r) => r.files.map((f) => [h("a", { href: `/v1/reports/${encodeURIComponent(r.name)}/${encodeURIComponent(f)}`, download: f }, f), " "]) },
      { head: "", cell: (r) => h("button", { type: "button", "aria-label": `Delete ${r.name}`, onclick: () => void send("DELETE", `/v1/reports/${encodeURIComponent(r.name)}`).then(list, (e: Error) => saved.append(h("p", { class: "wrong", role: "alert" }, e.message))) }, "Delete") },
    ], "No report is saved yet.", "Saved reports"));
  };
  fill(main, h("h1", {}, "Report"), h("p", { class: "sub" }, "Choose what it is about, look at it, save it, or take it away as one file."), chosen, preview, section("Saved reports", saved));
  await list();
}

function group(label: string, name: string, items: string[]): HTMLElement {
  return h("fieldset", { class: "row wide-row" }, h("legend", {}, label), h("div", { class: "picks" }, items.map((v) => h("label", { class: "chip" }, h("input", { type: "checkbox", name, value: v }), h("span", {}, name === "families" ? title(v) : v)))));
}

type Choice = { title?: string; models?: string[]; platforms?: string[]; families?: string[]; since?: string; metric?: string; by_family?: boolean };

function choice(v: Values): Choice {
  const c: Choice = {};
  if (v.text("title") !== "") c.title = v.text("title");
  if (v.list("models").length > 0) c.models = v.list("models");
  if (v.list("platforms").length > 0) c.platforms = v.list("platforms");
  if (v.list("families").length > 0) c.families = v.list("families");
  if (v.text("since") !== "") c.since = v.text("since");
  if (v.text("metric") !== "") c.metric = v.text("metric");
  if (v.on("by_family")) c.by_family = true;
  return c;
}

function query(v: Values): string {
  const q = new URLSearchParams();
  for (const [k, x] of Object.entries(choice(v))) q.set(k, Array.isArray(x) ? x.join(",") : String(x));
  return q.toString();
}
