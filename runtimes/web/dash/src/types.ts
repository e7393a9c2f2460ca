// The JSON of results, runs and comparisons, as far as pages read it: the same
// words as --json.
import type { Host } from "./answer";

export type Cell = { type: string; checkpoint?: string; class?: string; task?: string; family?: string; target: string; platform: string; device?: string; engine?: string; size: string; weights: string; dtype: string; batch?: number; seq?: number; threads?: number; mode?: string; hash?: string };
export type Spread = { median: number; lo: number | null; hi: number | null; p90: number | null; p95: number | null; p99: number | null; n: number };
export type Latency = { repeats: number; n: number; median_ms: number; lo_ms: number | null; hi_ms: number | null; min_ms: number; max_ms: number; p90_ms: number | null; p95_ms: number | null; p99_ms: number | null; cv_within: number | null; cv_between: number | null; stable: boolean; why?: string; sync?: string; samples_ms?: number[][] | null };
export type Numerics = { max_abs?: number | null; max_rel?: number | null; tolerance: number; reference: string; pass: boolean; note?: string; snr_db?: number | null };
export type Result = {
  cell: Cell; verdict: string; evidence: string; note?: string; timing: string; failure: { class: string; detail: string; hint: string; log: string } | null;
  fallback: { to?: string; from?: string; reason: string } | null; outputs: { name: string; shape: number[] | null; dtype: string }[] | null; numerics: Numerics | null;
  placement: { device: string; nodes?: Record<string, number> } | null; phases_ms: Record<string, number> | null; latency: Latency | null; throughput: { value: number; unit: string } | null;
  memory: { host_baseline_bytes: number | null; host_peak_bytes: number | null; device_peak_bytes: number | null; device_baseline_bytes?: number | null } | null; energy_j?: number;
  generation?: { prompt_tokens: number; new_tokens: number; prefill_ms: number | null; ttft_ms?: Spread; tpot_ms?: Spread; tokens_per_s: number | null };
  laws?: { law: string; verdict?: string; broken?: boolean; detail?: string }[]; context: { versions?: Record<string, string>; [more: string]: unknown }; attempts: number; started_at: string;
};
export type Listed = { id: string; run: string; host: string; imported: boolean; result: Result };
export type Run = { id: string; started_at: string; command: string; name: string; imported: boolean; results: number; host: Host };
export type Status = { state: string; planned: number; done: number; running: Cell[]; counts: Record<string, number>; notes: { at: string; text: string }[]; error?: string; began_at?: string; ended_at?: string; events: number };
export type Whole = { id: string; run: Run | null; host: Host; imported: boolean; command: string; result: Result };

export const over = (state: string): boolean => !["waiting", "queued", "planned", "starting", "running", "cancelling"].includes(state);

/** What a cell is called in a row. */
export function modelOf(c: Cell): string {
  return c.size === "full" && c.checkpoint !== undefined && c.checkpoint !== "" ? c.checkpoint : c.type;
}

/** The settings of a cell that are not the usual ones. */
export function settings(c: Cell): string {
  return [c.dtype, c.size, (c.batch ?? 1) > 1 ? `batch ${c.batch}` : "", c.seq !== undefined && c.seq > 0 ? `length ${c.seq}` : "", c.mode !== undefined && c.mode !== "infer" ? c.mode : ""].filter((x) => x !== "").join(", ");
}

/** The most memory that a result held, where that is known. */
export function peak(r: Result): { bytes: number; where: string } | undefined {
  const m = r.memory;
  if (m === null) return undefined;
  if (m.device_peak_bytes !== null) return { bytes: Math.max(0, m.device_peak_bytes - (m.device_baseline_bytes ?? 0)), where: "device" };
  if (m.host_peak_bytes !== null && m.host_baseline_bytes !== null) return { bytes: Math.max(0, m.host_peak_bytes - m.host_baseline_bytes), where: "host" };
  return undefined;
}

/** Whether a result's times may be shown as latency. */
export function timed(r: Result): r is Result & { latency: Latency } {
  return r.evidence === "measured" && r.latency !== null && r.timing !== "test" && r.timing !== "";
}
