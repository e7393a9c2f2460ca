// The details of one cell: what is known, since when, with what, how to check it,
// and the ways to the raw data.
import { a, copy, facts, fill, h, type Child } from "./dom";
import { about, placed, reason, tried, type Claim, type Line } from "./answer";
import { mode, to } from "./data";
import { age, day, power, bytes } from "./format";
import { badge, grade, shown } from "./marks";

let dialog: HTMLDialogElement | undefined;
let opener: HTMLElement | undefined;

/** Opens the details of a model on a target. The one who opened them gets the focus back. */
export function open(model: string, target: string, from: HTMLElement): void {
  opener = from;
  if (dialog === undefined) {
    dialog = h("dialog", { class: "panel", "aria-labelledby": "panel-title" });
    dialog.addEventListener("close", () => opener?.focus());
    dialog.addEventListener("click", (e) => e.target === dialog && dialog?.close());
    document.body.append(dialog);
  }
  const box = dialog;
  fill(box, frame(model, target, h("p", { class: "empty" }, "Loading…")));
  if (!box.open) box.showModal();
  void about(model).then((found) => {
    const line = found.answer.targets.find((l) => l.target === target);
    fill(box, frame(model, target, line === undefined ? h("p", {}, "Nothing is known of this target.") : details(model, line)));
  }, (e: Error) => fill(box, frame(model, target, h("p", { class: "wrong" }, e.message))));
}

function frame(model: string, target: string, ...children: Child[]): Child[] {
  return [
    h("form", { method: "dialog" }, h("button", { class: "close", "aria-label": "Close" }, "×")),
    h("p", { class: "where", id: "panel-title" }, model, h("span", {}, ` on ${target}`)),
    ...children,
  ];
}

function details(model: string, l: Line): Child[] {
  return [
    verdictLine(l),
    ...whyLines(l),
    factsOf(l),
    others(l),
    h("p", { class: "label" }, "Check it on your machine"), copy(l.check),
    l.fallback !== undefined && l.fallback !== "" && l.verdict !== "works" && h("p", {}, `Assay would run it on ${l.fallback} instead.`),
    links(model, l),
  ];
}

/** The verdict in words. */
export function verdictLine(l: Claim): HTMLElement {
  return h("p", { class: `verdict ${shown(l.verdict, l.evidence)} ${l.evidence}` }, badge(l.verdict, l.evidence), l.evidence !== "none" && `${l.evidence}: ${grade(l.evidence).meaning}`);
}

function whyLines(l: Line): Child[] {
  const why = reason(l);
  return [why !== "" && h("p", { class: "why" }, why), ...(l.contradicts ?? []).map((c) => h("p", { class: "why" }, `Contradicts the atlas: ${c}`))];
}

/** What is known of a claim, by name. */
export function factsOf(l: Line): HTMLElement {
  const host = l.run?.host;
  const left = Object.entries(l.left_over ?? {}).map(([op, n]) => `${n} × ${op}`).join(", ");
  return facts(
    ["What ran", l.of ?? ""], ["In", l.dtype], ["Basis", l.basis !== undefined ? `${l.basis} of the type` : ""],
    ["Error", l.error !== undefined ? `${power(l.error)} of the largest value, limit ${power(l.tolerance ?? 0)}` : l.snr_db !== undefined ? `${l.snr_db.toFixed(1)} dB signal to noise` : ""],
    ["Placement", placed(l)], ["Left over", left],
    ["Age", l.at !== undefined ? `${age(l.at)} (${day(l.at)})` : ""], ["Stale", l.newer !== undefined ? `others ran with ${l.newer}` : ""],
    ["With", tried(l)],
    ["Machine", host !== undefined ? [host.cpu, host.cores !== undefined ? `${host.cores} cores` : "", host.memory_bytes !== undefined ? bytes(host.memory_bytes) : "", ...(host.devices ?? [])].filter(Boolean).join(", ") || host.id : ""],
    ["Run", l.run?.id ?? ""], ["Assay", l.run?.assay ?? ""],
    ["From", l.source === "own" ? "your own result" : l.source === "imported" ? "a result that you imported" : l.verdict === "unknown" ? "" : "the atlas"],
  );
}

function others(l: Line): Child {
  const known = (l.others ?? []).filter((o) => o.verdict !== "unknown");
  if (known.length === 0) return null;
  return [h("p", { class: "label" }, "In other dtypes"),
    h("ul", { class: "plain" }, known.map((o) => h("li", {}, badge(o.verdict, o.evidence), ` ${o.dtype}`, o.error !== undefined && `, error ${power(o.error)}`, reason(o) !== "" && h("small", {}, reason(o)))))];
}

function links(model: string, l: Line): HTMLElement {
  return h("p", { class: "ways" }, a(to("model", model), "All targets of this model"), a(to("platform", l.target), `All models on ${l.target}`),
    mode === "dash" ? a(to("model", model, `on=${encodeURIComponent(l.target)}`), "Results: samples, log, versions") : null);
}
