// Measures kernels at several workgroup sizes. One whose numbers are wrong at a size is refused there, and not timed.

import { openGpu } from "./gpu.mjs";
import { problem, source, TOLERANCE } from "./kernels.mjs";
import { distance } from "./numbers.mjs";

const LEAST_MS = 5; // of a pass: clocks are coarse, in some browsers a tenth of a millisecond
const MOST_LOOPS = 256;
const BACKWARDS = "the GPU's clock went backwards";

/** A kernel at a size, ready, after its numbers were compared with the reference; or why it is refused. */
async function checked(gpu, name, size, task, expected) {
  if (size > gpu.widest) return { size, refused: `a workgroup has at most ${gpu.widest} invocations here` };
  const result = gpu.buffer(4 * task.count);
  const buffers = [...task.inputs.map((input) => gpu.buffer(input)), result];
  let program;
  try {
    program = await gpu.program(await source(name), size, buffers, task.groups(size));
  } catch (error) {
    return { size, refused: String(error.message ?? error) };
  }
  const error = distance(await gpu.run([program], result, task.count), expected);
  if (!(error <= TOLERANCE)) return { size, error, refused: `its numbers are wrong by ${error.toExponential(1)}` };
  return { size, error, program };
}

/** How often a program must run in a pass for the clock to see it well. */
async function loopsFor(gpu, program) {
  let loops = 1;
  while (loops < MOST_LOOPS && ((await gpu.time(program, loops)) ?? 0) < LEAST_MS) loops *= 2;
  return loops;
}

/** Times a kernel once more, or refuses it where its time is not known. */
async function timeOnce(gpu, row, loops) {
  const ms = await gpu.time(row.program, loops);
  if (ms === null) Object.assign(row, { ms: undefined, refused: BACKWARDS });
  else (row.ms ??= []).push(ms / loops);
}

/** Times a kernel at each size, `rounds` times, all sizes in turn: rows of {size, error, ms} or {size, refused}. */
export async function search({ kernel, shape, sizes, rounds, seed }) {
  const gpu = await openGpu();
  try {
    const task = problem(kernel, shape, seed);
    const expected = task.expected();
    const rows = [];
    for (const size of sizes) rows.push(await checked(gpu, kernel, size, task, expected));
    const good = rows.filter((row) => row.program);
    const loops = good.length ? await loopsFor(gpu, good[0].program) : 0;
    for (let round = 0; round < rounds; round++) {
      // Every other round goes backwards, so that a drift of the machine favours no size.
      for (const row of round % 2 ? [...good].reverse() : good) {
        if (!row.refused) await timeOnce(gpu, row, loops);
      }
    }
    return { clock: gpu.clock, loops, rows: rows.map(({ program, ...row }) => row) };
  } finally {
    gpu.close();
  }
}
