// What is known of a model on every target: the JSON of can-i-use.
import type { Board } from "./board";
import { data, get, mode, file } from "./data";

export type Host = { id: string; os?: string; arch?: string; cpu?: string; cores?: number; memory_bytes?: number; devices?: string[] };
export type Claim = {
  target: string; dtype: string; verdict: string; evidence: string; basis?: string; of?: string; note?: string; class?: string; detail?: string;
  placement?: Record<string, number>; left_over?: Record<string, number>; error?: number; tolerance?: number; snr_db?: number;
  versions?: Record<string, string>; run?: { id?: string; assay?: string; host: Host }; at?: string; source?: string;
};
export type Line = Claim & { others?: Claim[]; contradicts?: string[]; fallback?: string; check: string; newer?: string };
export type Answer = { model: string; type: string; checkpoint?: string; as: string; size?: string; targets: Line[] };
export type Entry = { type: string; class: string; task: string; tasks?: string[]; family: string; families?: string[]; checkpoint?: string; priority?: string; inputs?: string[]; library?: string };
export type About = { model?: Entry; answer: Answer; parameters?: Record<string, number> };

export async function about(model: string): Promise<About> {
  if (mode === "site") return data<About>(`model/${file(model)}`);
  const on = (await data<Board>("board")).columns.slice(0, 20).map((c) => `&on=${encodeURIComponent(c.target)}`).join(""); // those of the matrix
  const found = await get<{ answers: Answer[] }>(`/v1/can-i-use?model=${encodeURIComponent(model)}${on}`);
  const answer = found.answers[0];
  if (answer === undefined) throw new Error(`nothing is known of ${model}`);
  return { answer };
}

/** Why a claim is less than works, in one line. */
export function reason(c: Claim): string {
  if (c.verdict === "fails") return [c.class, c.detail ?? c.note].filter(Boolean).join(": ");
  return c.note ?? "";
}

/** The share of operations on the device that ran most of them. */
export function placed(c: Claim): string {
  const all = Object.entries(c.placement ?? {}).sort((x, y) => y[1] - x[1]);
  const sum = all.reduce((n, [, k]) => n + k, 0);
  const first = all[0];
  return first === undefined ? "" : `${first[1]} of ${sum} operations on ${first[0]}`;
}

const engines: [RegExp, string[]][] = [
  [/coreml/, ["coremltools"]], [/onnxruntime/, ["onnxruntime"]], [/^openvino/, ["openvino"]], [/^qnn/, ["onnxruntime-qnn"]], [/^web|wasm/, ["onnxruntime-web", "browser"]], [/./, ["torch"]],
];

/** The versions that matter most; all of them stand in the details. */
export function tried(c: Claim): string {
  const v = c.versions ?? {};
  const telling = [...(engines.find(([target]) => target.test(c.target))?.[1] ?? []), "transformers", "device"];
  return telling.filter((n) => v[n] !== undefined).map((n) => (n === "device" ? v[n] : n === "browser" ? (v[n] ?? "").replace("packed ", "Assay's own Chromium ") : `${n} ${v[n]}`)).join(", ");
}
