// A WebGPU device for kernels of our own: compiling, running, reading back, and timing by the finest clock there is.

import { busyMs } from "./timestamps.mjs";

const WIDEST = [
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxStorageBufferBindingSize",
  "maxBufferSize",
];

/** Opens the adapter's device with all that it allows of what kernels need. */
export async function openGpu() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("this browser gives no WebGPU adapter");
  const clock = adapter.features.has("timestamp-query");
  const device = await adapter.requestDevice({
    requiredFeatures: clock ? ["timestamp-query"] : [],
    requiredLimits: Object.fromEntries(WIDEST.map((name) => [name, adapter.limits[name]])),
  });
  return new Gpu(device, clock);
}

/** A device, and what is run on it. */
export class Gpu {
  #device;
  #marks; // where timestamps go: [the query, where it is resolved to, what is read]

  constructor(device, clock) {
    this.#device = device;
    if (!clock) return;
    this.#marks = [
      device.createQuerySet({ type: "timestamp", count: 2 }),
      device.createBuffer({ size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC }),
      device.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ }),
    ];
  }

  /** How time is taken: by the device itself, or by waiting for its queue. */
  get clock() {
    return this.#marks ? "timestamp-query" : "queue";
  }

  /** The most invocations that a workgroup may have along one line. */
  get widest() {
    const { maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX } = this.#device.limits;
    return Math.min(maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX);
  }

  /** A buffer with these numbers, or of this many bytes. */
  buffer(content) {
    const bytes = typeof content === "number" ? content : content.byteLength;
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const out = this.#device.createBuffer({ size: Math.ceil(bytes / 16) * 16, usage: STORAGE | COPY_SRC | COPY_DST });
    if (typeof content !== "number") this.write(out, content);
    return out;
  }

  /** Puts numbers into a buffer. */
  write(buffer, content) {
    this.#device.queue.writeBuffer(buffer, 0, content.buffer, content.byteOffset, content.byteLength);
  }

  /** A kernel over buffers, compiled with a workgroup size. What the device says against it is thrown. */
  async program(code, size, buffers, groups) {
    this.#device.pushErrorScope("validation");
    let pipeline;
    try {
      const module = this.#device.createShaderModule({ code });
      pipeline = await this.#device.createComputePipelineAsync({
        layout: "auto",
        compute: { module, entryPoint: "main", constants: { WORKGROUP: size } },
      });
    } finally {
      const refused = await this.#device.popErrorScope();
      if (refused && pipeline) throw new Error(refused.message);
    }
    const bindings = this.#device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
    return (pass) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(...groups);
    };
  }

  /** Runs programs one after the other and reads `count` numbers of a buffer. */
  async run(programs, buffer, count) {
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const program of programs) program(pass);
    pass.end();
    const { COPY_DST, MAP_READ } = GPUBufferUsage;
    const staged = this.#device.createBuffer({ size: 4 * count, usage: COPY_DST | MAP_READ });
    encoder.copyBufferToBuffer(buffer, 0, staged, 0, 4 * count);
    this.#device.queue.submit([encoder.finish()]);
    await staged.mapAsync(GPUMapMode.READ);
    const out = new Float32Array(staged.getMappedRange().slice(0));
    staged.destroy();
    return out;
  }

  /** The milliseconds of a program that is run this many times in one pass; null where the device's clock went backwards. */
  async time(program, loops) {
    const encoder = this.#device.createCommandEncoder();
    const [query, resolved, read] = this.#marks ?? [];
    const timestampWrites = query && { querySet: query, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
    const pass = encoder.beginComputePass(timestampWrites ? { timestampWrites } : {});
    for (let i = 0; i < loops; i++) program(pass);
    pass.end();
    if (query) {
      encoder.resolveQuerySet(query, 0, 2, resolved, 0);
      encoder.copyBufferToBuffer(resolved, 0, read, 0, 16);
    }
    const start = performance.now();
    this.#device.queue.submit([encoder.finish()]);
    await this.#device.queue.onSubmittedWorkDone();
    const waited = performance.now() - start;
    if (!query) return waited;
    await read.mapAsync(GPUMapMode.READ);
    const stamps = new BigUint64Array(read.getMappedRange().slice(0));
    read.unmap();
    return busyMs(stamps);
  }

  /** Gives the device back. */
  close() {
    this.#device.destroy();
  }
}
