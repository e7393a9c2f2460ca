// Machines, and the pool of loaded models.
import { a, facts, fill, h, section, table } from "../dom";
import { get, send, to } from "../data";
import type { Host } from "../answer";
import { bytes, age, count } from "../format";
import type { Listed, Run } from "../types";
import { resultTable } from "./own";
import { runs as runTable } from "./overview";

type Row = { host: Host & { kernel?: string; instance?: string }; runs: number; results: number; models: number; newest: string | null; platforms: string[]; imported: boolean };

export async function hosts(main: HTMLElement): Promise<void> {
  const list = (await get<{ hosts: Row[] }>("/v1/hosts")).hosts;
  fill(main, h("h1", {}, "Machines"), h("p", { class: "sub" }, "Where results came from. A machine is known by its facts; no names or serial numbers are kept."),
    table(list, [
      { head: "Machine", header: true, cell: (r) => a(to("host", r.host.id), r.host.cpu || r.host.id) }, { head: "Devices", cell: (r) => (r.host.devices ?? []).join(", ") }, { head: "Cores", number: true, cell: (r) => r.host.cores ?? "" },
      { head: "Memory", number: true, cell: (r) => (r.host.memory_bytes ? bytes(r.host.memory_bytes) : "") }, { head: "Results", number: true, cell: (r) => r.results }, { head: "Runs", number: true, cell: (r) => r.runs },
      { head: "Platforms", cell: (r) => h("span", { class: "roomy" }, r.platforms.join(", ")) }, { head: "Newest", cell: (r) => (r.newest !== null ? h("span", { class: "nowrap" }, age(r.newest)) : "") }, { head: "", cell: (r) => (r.imported ? "imported" : "") },
    ], "No results yet.", "Machines"));
}

export async function host(main: HTMLElement, id: string): Promise<void> {
  const [all, found, runs] = await Promise.all([get<{ hosts: Row[] }>("/v1/hosts"), get<{ total: number; results: Listed[] }>(`/v1/results?limit=200&host=${encodeURIComponent(id)}`), get<{ runs: Run[] }>("/v1/runs?limit=1000")]);
  const row = all.hosts.find((x) => x.host.id === id);
  if (row === undefined) throw new Error(`no results of a machine ${id}`);
  const x = row.host;
  fill(main, h("h1", {}, x.cpu || id), h("p", { class: "sub" }, `${count(row.results, "result")} of ${count(row.models, "model")} from ${count(row.runs, "run")}`),
    facts(["System", [x.os, x.arch, x.kernel].filter(Boolean).join(" ")], ["Cores", x.cores ?? ""], ["Memory", x.memory_bytes ? bytes(x.memory_bytes) : ""], ["Devices", (x.devices ?? []).join(", ")], ["Instance", x.instance ?? ""], ["Platforms", row.platforms.join(", ")], ["Id", id]),
    section("Runs", runTable(runs.runs.filter((r) => r.host.id === id).slice(0, 20))), section("Results", found.total > found.results.length && h("p", { class: "note" }, `The newest ${found.results.length} of ${found.total}.`), resultTable(found.results, true)));
}

type Pool = { cap_bytes: number; used_bytes: number; in_flight: number; limit: number; queue: { length: number; bound: number }; models: { model: string; key: string; target: string; dtype: string; state: string; bytes: { host: number; device: number }; requests: number; last_used: string }[] };

export async function pool(main: HTMLElement): Promise<void> {
  const p = await get<Pool>("/v1/pool");
  fill(main, h("h1", {}, "Loaded models"), h("p", { class: "sub" }, `${bytes(p.used_bytes)}${p.cap_bytes > 0 ? ` of ${bytes(p.cap_bytes)}` : ""} in use, ${p.in_flight} of ${count(p.limit, "request")} in flight, ${p.queue.length} of ${p.queue.bound} waiting.`),
    table(p.models, [
      { head: "Model", header: true, cell: (m) => a(to("model", m.model), m.model) }, { head: "On", cell: (m) => [a(to("platform", m.target), m.target), ` ${m.dtype}`] }, { head: "State", cell: (m) => m.state }, { head: "Memory", number: true, cell: (m) => bytes(m.bytes.host) + (m.bytes.device > 0 ? `, ${bytes(m.bytes.device)} on the device` : "") },
      { head: "Requests", number: true, cell: (m) => m.requests }, { head: "Last used", cell: (m) => age(m.last_used) },
      { head: "", cell: (m) => h("button", { type: "button", "aria-label": `Release ${m.model}`, onclick: () => void send("DELETE", `/v1/pool/${encodeURIComponent(m.key)}`).then(() => pool(main), (e: Error) => main.append(h("p", { class: "wrong", role: "alert" }, e.message))) }, "Release") },
    ], "No model is loaded: POST /v1/models/MODEL/run loads one.", "Loaded models"));
}
