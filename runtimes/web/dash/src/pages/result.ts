// The parts of one result's page.
import { facts, h, section, table, type Child } from "../dom";
import { lines } from "../charts";
import { bytes, milliseconds, power, rate } from "../format";
import { peak, type Result } from "../types";

export function resultSections(r: Result): Child[] {
  const p = peak(r);
  const l = r.latency;
  const ms = (v: number | null | undefined): string => (v === null || v === undefined ? "" : milliseconds(v));
  return [
    r.failure !== null && section("Failure", h("p", { class: "why" }, `${r.failure.class}: ${r.failure.detail}`), h("p", {}, r.failure.hint)),
    section("Facts", facts(
      ["Note", r.note ?? ""], ["Fallback", r.fallback !== null ? `${r.fallback.from ? `from ${r.fallback.from}` : `to ${r.fallback.to ?? "nowhere"}`}: ${r.fallback.reason}` : ""],
      ["Error", r.numerics?.max_rel != null ? `${power(r.numerics.max_rel)} of the largest value, limit ${power(r.numerics.tolerance)}, against ${r.numerics.reference}` : (r.numerics?.note ?? "")],
      ["Ran on", r.placement !== null ? [r.placement.device, ...Object.entries(r.placement.nodes ?? {}).map(([d, n]) => `${n.toLocaleString("en")} operations on ${d}`)].join(", ") : ""],
      ["Outputs", (r.outputs ?? []).map((o) => `${o.name} ${(o.shape ?? []).join("×")} ${o.dtype}`).join(", ")],
      ["Latency", l !== null ? `${ms(l.median_ms)}${l.lo_ms !== null && l.hi_ms !== null ? ` (${ms(l.lo_ms)} to ${ms(l.hi_ms)})` : ""}, ${l.repeats} repeats, ${l.n} times${l.stable ? "" : `, unstable ~: ${l.why ?? ""}`}` : ""],
      ["Timing", r.timing], ["Throughput", r.throughput !== null ? `${rate(r.throughput.value)} ${r.throughput.unit.replaceAll("_", " ")}` : ""],
      ["Peak memory", p !== undefined ? `${bytes(p.bytes)} on the ${p.where}` : ""], ["Energy", r.energy_j !== undefined ? `${r.energy_j.toPrecision(3)} J an inference` : ""], ["Attempts", r.attempts],
    )),
    l !== null && section("Samples", samples(l.samples_ms ?? [])),
    r.phases_ms !== null && section("Phases", table(Object.entries(r.phases_ms), [{ head: "Phase", header: true, cell: ([n]) => n }, { head: "Time", number: true, cell: ([, v]) => milliseconds(v) }], "No phase was timed.", "Phases")),
    section("Log", r.failure !== null && r.failure.log !== "" ? h("pre", { class: "log", tabindex: 0, "aria-label": "Log of the failure" }, r.failure.log) : h("p", { class: "empty" }, r.failure !== null ? "It left no log: the failure above says all." : "A log is kept where a cell fails; this one did not.")),
  ];
}

/** Every time that was taken, repeat by repeat. */
function samples(list: number[][]): HTMLElement {
  if (list.length === 0) return h("p", { class: "empty" }, "No samples were kept.");
  return lines("Time of each inference", list.slice(0, 6).map((s, i) => ({ name: `repeat ${i + 1}`, points: s.map((y, k) => ({ x: k + 1, y })) })), { name: "inference" }, milliseconds);
}
