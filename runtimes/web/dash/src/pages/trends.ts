// The speed of cells over time, with the places where it changed.
import { a, fill, h, section, table } from "../dom";
import { get, to } from "../data";
import { lines } from "../charts";
import { field, form } from "../form";
import { count, milliseconds, minute, percent } from "../format";
import { unstable } from "../marks";
import { read, write } from "../state";

type Point = { run: string; at: string; median_ms: number; repeats: number; unstable?: boolean };
type Step = { after: Point; before: Point; before_ms: number; after_ms: number; ratio: number; changed: { field: string; a: string; b: string }[] | null };
type Series = { cell: { model: string; target: string; dtype: string; settings?: string[] }; host: { id: string; cpu?: string }; timing: string; points: Point[]; steps: Step[] | null };

const platforms = ["cpu", "cuda", "rocm", "mps", "openvino", "qnn", "webnn", "webgpu"];
const most = 12;

export async function trends(main: HTMLElement): Promise<void> {
  const view = read();
  const out = h("div", { id: "series" });
  const f = form("Trends", "Show", [
    field({ name: "model", label: "Model", value: view.get("model") ?? "" }), field({ name: "platform", label: "Platform", value: view.get("platform") ?? "", options: [["", "all"], ...platforms.map((p): [string, string] => [p, p])] }),
    field({ name: "since", label: "Since", value: view.get("since") ?? "", type: "date" }), field({ name: "steps", label: "Show", value: view.get("steps") ?? "", options: [["", "all cells"], ["true", "cells with a step"]] }),
  ], async (v, said) => {
    const q = new URLSearchParams();
    for (const name of ["model", "platform", "since", "steps"]) {
      view.set(name, v.text(name));
      if (v.text(name) !== "") q.set(name, v.text(name));
    }
    write(view);
    const { series } = await get<{ series: Series[] }>(`/v1/trends?${q}`);
    fill(said);
    fill(out, series.length === 0 ? h("p", { class: "empty" }, "No cell was timed: measure some with assay bench, or start a run with timing.") : [h("p", { class: "note" }, `${count(series.length, "cell")} with a history${series.length > most ? `; the first ${most} are drawn` : ""}.`), series.slice(0, most).map(one)]);
  });
  fill(main, h("h1", {}, "Trends"), h("p", { class: "sub" }, "The medians of every run, and the steps in them: between which runs, and what of the context changed there. A hollow point is a run whose repeats differ too much."), f, out);
  f.requestSubmit();
}

function one(s: Series): HTMLElement {
  const steps = s.steps ?? [];
  const shaky = s.points.filter((p) => p.unstable).length;
  const by = (ratio: number): string => `${ratio >= 1 ? "+" : "−"}${percent(Math.abs(ratio - 1))}`;
  const name = `${s.cell.model} on ${s.cell.target}, ${s.cell.dtype} ${(s.cell.settings ?? []).join(", ")}`;
  return section(name, h("p", { class: "note" }, `${s.host.cpu || s.host.id}, ${s.timing}, ${count(s.points.length, "run")}${shaky > 0 ? `, ${shaky} of them with repeats that differ too much (${unstable})` : ""}. `, a(to("model", s.cell.model), "The model")),
    s.points.length < 2 ? h("p", {}, `One run so far: ${milliseconds(s.points[0]?.median_ms ?? 0)}${shaky > 0 ? ` ${unstable}` : ""}, ${minute(s.points[0]?.at ?? 0)}.`) : lines("Median latency", [{ name: s.cell.target, points: s.points.map((p) => ({ x: new Date(p.at).getTime(), y: p.median_ms, label: p.run, weak: p.unstable === true })), steps: steps.map((t) => ({ x: new Date(t.before.at).getTime(), label: by(t.ratio) })) }], { name: "time", time: true }, milliseconds),
    steps.length > 0 && table(steps, [
      { head: "Step", header: true, cell: (t) => h("span", { class: `turn-kind ${t.ratio > 1 ? "worse" : "better"}` }, t.ratio > 1 ? "▼ " : "▲ ", `${milliseconds(t.before_ms)} → ${milliseconds(t.after_ms)} (${by(t.ratio)})`) },
      { head: "Between", cell: (t) => [a(to("run", t.after.run), minute(t.after.at)), " and ", a(to("run", t.before.run), minute(t.before.at))] },
      { head: "What changed there", cell: (t) => (t.changed ?? []).map((c) => `${c.field}: ${c.a || "unknown"} → ${c.b || "unknown"}`).join("; ") || "nothing that was recorded" },
    ], "", "Steps"));
}
