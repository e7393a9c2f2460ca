// Front ends: from raw sound or frames to a model's input, inside the page. Each kind takes the settings that an
// application has in its preprocessor's configuration, and raw material: {dtype, shape, data}, a batch of rows.

import { adapter as adapterOf } from "./about.mjs";
import { resized } from "./frames.mjs";
import { byKernels, byScript } from "./kernels/log_mel.mjs";
import { sizesFor } from "./kernels/sizes.mjs";

const rowsOf = ({ shape, data }) => {
  const length = data.length / shape[0];
  return Array.from({ length: shape[0] }, (_, i) => data.subarray(i * length, (i + 1) * length));
};

function stacked(rows) {
  const [shape, first] = rows[0];
  const data = new Float32Array(rows.length * first.length);
  rows.forEach(([, numbers], i) => data.set(numbers, i * first.length));
  return { dtype: "float32", shape: [rows.length, ...shape], data };
}

/** Zero mean and a deviation of one. */
export function normalised(samples) {
  let sum = 0;
  for (const value of samples) sum += value;
  const mean = sum / samples.length;
  let squares = 0;
  for (const value of samples) squares += (value - mean) ** 2;
  const scale = 1 / Math.sqrt(squares / samples.length + 1e-7);
  return samples.map((value) => (value - mean) * scale);
}

const script = (features) => ({ features: async (row) => features(row), workgroups: null });

// kind → how a row becomes features: {features, workgroups}, workgroups null where a script does it.
const KINDS = {
  "log-mel": async (settings, raw, { platform, tuned }) => {
    if (platform !== "webgpu") return byScript(settings);
    return byKernels(settings, raw.shape[1], sizesFor(tuned, await adapterOf()));
  },
  normalise: async () => script((row) => [[row.length], normalised(row)]),
  frames: async (settings, raw) => script((row) => resized(row, raw.shape.slice(1), settings)),
};

/** A front end over raw material: run() gives the input's tensor; about tells who computes it. */
export async function frontEnd(settings, raw, where) {
  if (!(settings.kind in KINDS)) throw new Error(`the page has no front end ${JSON.stringify(settings.kind)}`);
  const { features, workgroups } = await KINDS[settings.kind](settings, raw, where);
  const rows = rowsOf(raw);
  const run = async () => {
    const made = [];
    for (const row of rows) made.push(await features(row));
    return stacked(made);
  };
  const about = { kind: settings.kind, by: workgroups ? "kernels" : "script", workgroups };
  return { input: settings.input, run, about };
}
