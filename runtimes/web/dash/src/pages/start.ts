// A run started from a form: the same request as the command line makes.
import { a, fill, h } from "../dom";
import { data, send, to } from "../data";
import type { Board } from "../board";
import { check, field, form, type Values } from "../form";
import { count, title } from "../format";
import { read } from "../state";

export async function start(main: HTMLElement): Promise<void> {
  const view = read();
  const b = await data<Board>("board");
  const families: [string, string][] = b.families.filter((_, i) => b.rows.some((r) => r.f === i)).map((f) => [f, title(f)]);
  const f = form("Start a run", "Start", [
    field({ name: "models", label: "Models", value: view.get("models") ?? "", wide: true, list: b.rows.map((r) => r.m), hint: "types or checkpoints, by comma: bert, vit, openai/whisper-tiny" }),
    field({ name: "family", label: "or a family", value: view.get("family") ?? "", options: [["", "none"], ...families] }),
    field({ name: "set", label: "or a set", options: [["", "none"], ["key", "the key models"], ["all", "all models"]] }),
    field({ name: "targets", label: "Targets", value: view.get("targets") ?? "", list: ["auto", "all", ...b.columns.map((c) => c.target)], hint: "by comma; none is auto, the best that is here" }),
    field({ name: "timing", label: "What", options: [["test", "does it work"], ["quick", "and how fast, quickly"], ["full", "and how fast, thoroughly"]] }),
    field({ name: "mode", label: "Mode", options: [["", "inference"], ["generate", "generation"], ["train", "training"]] }),
    field({ name: "size", label: "Size", options: [["", "tiny for types, full for checkpoints"], ["tiny", "tiny"], ["full", "full"]] }),
    field({ name: "dtypes", label: "Dtypes", hint: "none is the platform's own" }), field({ name: "batches", label: "Batch sizes", hint: "1, 4, 16" }), field({ name: "name", label: "Name", hint: "to compare it by later" }),
    h("div", { class: "row" }, check("strict", "Never fall back to another platform"), check("laws", "Check the laws")),
  ], async (v, out) => {
    const begun = await send<{ id: string; cells: number }>("POST", "/v1/runs", request(v));
    fill(out, h("p", {}, `Started with ${count(begun.cells, "cell")}: `, a(to("run", begun.id), begun.id)));
    location.assign(to("run", begun.id));
  });
  fill(main, h("h1", {}, "Start a run"), h("p", { class: "sub" }, "It runs on this machine, one run after another; what it finishes is kept even if it is cancelled."), f);
}

function request(v: Values): Record<string, unknown> {
  const r: Record<string, unknown> = { timing: v.text("timing") };
  const some = (name: string, list: unknown[]): void => { if (list.length > 0) r[name] = list; };
  some("models", v.list("models"));
  some("families", v.list("family"));
  some("targets", v.list("targets"));
  some("dtypes", v.list("dtypes"));
  some("batches", v.numbers("batches"));
  if (v.text("set") !== "") r[v.text("set")] = true;
  for (const name of ["mode", "size", "name"]) if (v.text(name) !== "") r[name] = v.text(name);
  if (v.on("strict")) r["strict"] = true;
  if (v.on("laws")) r["laws"] = true;
  return r;
}
