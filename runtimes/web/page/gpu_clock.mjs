// The GPU's own time. While it is watched, every compute pass of the page is written with a timestamp at both ends,
// whoever opened the device: ONNX Runtime, transformers.js or our own kernels. What runs stays as it is; outside of a
// watch nothing is changed, so that timed runs know nothing about it.

import { sampled } from "./engine.mjs";
import { busyMs, stepOf } from "./kernels/timestamps.mjs";

const CLOCK = "timestamp-query";
const MOST = 4096; // queries of a set, by the standard
const BYTES = 8; // of a timestamp, in nanoseconds

/** Why there is no time, in words. */
class Unknown extends Error {}

/** The timestamps of one device. */
class Marks {
  #device;
  #sets = [];
  #used = MOST; // of the last set

  constructor(device) {
    if (!device) throw new Unknown("a pass was begun on commands from before");
    if (!device.features.has(CLOCK)) throw new Unknown(`the device was opened without ${CLOCK}`);
    this.#device = device;
  }

  /** Where the next pass writes its own. */
  next() {
    if (this.#used === MOST) {
      this.#sets.push(this.#device.createQuerySet({ type: "timestamp", count: MOST }));
      this.#used = 0;
    }
    this.#used += 2;
    return {
      querySet: this.#sets.at(-1),
      beginningOfPassWriteIndex: this.#used - 2,
      endOfPassWriteIndex: this.#used - 1,
    };
  }

  /** All of them, once the work before is done. */
  async read() {
    const counts = this.#sets.map((_, i) => (i + 1 < this.#sets.length ? MOST : this.#used));
    const size = BYTES * MOST * this.#sets.length;
    const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const resolved = this.#device.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC });
    const staged = this.#device.createBuffer({ size, usage: COPY_DST | MAP_READ });
    const encoder = this.#device.createCommandEncoder();
    this.#sets.forEach((set, i) => encoder.resolveQuerySet(set, 0, counts[i], resolved, BYTES * MOST * i));
    encoder.copyBufferToBuffer(resolved, 0, staged, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    await staged.mapAsync(GPUMapMode.READ);
    const all = new BigUint64Array(staged.getMappedRange().slice(0));
    for (const held of [resolved, staged, ...this.#sets]) held.destroy();
    return counts.flatMap((count, i) => [...all.subarray(MOST * i, MOST * i + count)]);
  }
}

/** The timestamps of all passes that are begun while `work` runs. */
async function stampsOf(work) {
  const owners = new WeakMap(); // an encoder → its device
  const marks = new Map(); // a device → its timestamps
  let unknown;
  const { createCommandEncoder } = GPUDevice.prototype;
  const { beginComputePass } = GPUCommandEncoder.prototype;
  GPUDevice.prototype.createCommandEncoder = function (...given) {
    const encoder = createCommandEncoder.apply(this, given);
    owners.set(encoder, this);
    return encoder;
  };
  GPUCommandEncoder.prototype.beginComputePass = function (given) {
    try {
      const device = owners.get(this);
      if (!marks.has(device)) marks.set(device, new Marks(device));
      return beginComputePass.call(this, { ...given, timestampWrites: marks.get(device).next() });
    } catch (error) {
      unknown ??= error; // the work itself goes on
      return beginComputePass.call(this, given);
    }
  };
  try {
    await work();
  } finally {
    Object.assign(GPUDevice.prototype, { createCommandEncoder });
    Object.assign(GPUCommandEncoder.prototype, { beginComputePass });
  }
  if (unknown) throw unknown;
  const all = [];
  for (const own of marks.values()) all.push(...(await own.read()));
  return all;
}

/** Runs until a rule is met: the milliseconds that the GPU computed in each, how many passes that were, and the step of
 * its clock; or why that is not known. */
export async function gpuTimes(once, rule) {
  let [passes, step] = [0, 0n];
  const measured = async () => {
    const stamps = await stampsOf(once);
    passes = stamps.length / 2;
    if (!passes) throw new Unknown("no compute pass was seen");
    step = stepOf([step, ...stamps]);
    const ms = busyMs(stamps);
    if (ms === null) throw new Unknown("the GPU's clock went backwards");
    if (ms === 0) throw new Unknown("the GPU's clock is too coarse for it");
    return ms;
  };
  try {
    return { ms: await sampled(measured, rule), passes, step_ms: Number(step) / 1e6, why: "" };
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    return { ms: null, passes: null, step_ms: null, why: error.message };
  }
}
