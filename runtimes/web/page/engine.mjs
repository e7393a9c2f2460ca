// ONNX Runtime Web: a session, its inputs, and the runs that are timed by the page's own clock.

import { adapter, deviceFeatures, WEBNN_DEVICE } from "./about.mjs";
import { ARRAYS } from "./frame.mjs";
import { frontEnd } from "./front_end.mjs";
import { taken } from "./logs.mjs";

const PACKAGE = "/packages/onnxruntime-web/dist/";
const MOST_BYTES = 2 ** 31 - 1; // of one array, in every browser

// The provider that each platform asks for. ONNX Runtime puts what a provider leaves over to its own CPU kernels.
// Graphs that hand each other tensors of WebNN have one context, which is then given.
const PROVIDERS = {
  webgpu: () => "webgpu",
  webnn: (device, context) => ({ name: "webnn", deviceType: device || WEBNN_DEVICE, ...(context && { context }) }),
  cpu: () => "wasm",
};

// Where outputs stay that are the next run's inputs.
const PLACES = { webgpu: "gpu-buffer", webnn: "ml-tensor", cpu: "cpu" };

const contexts = new Map(); // WebNN's device → the context of all graphs on it

async function contextOf(device) {
  const deviceType = device || WEBNN_DEVICE;
  if (!contexts.has(deviceType)) contexts.set(deviceType, await navigator.ml.createContext({ deviceType }));
  return contexts.get(deviceType);
}

// JSPI's build is half as large as the one that rewrites its code to be suspended, and starts sooner.
const bundle = (platform) => (platform === "cpu" ? "ort.wasm" : "Suspending" in WebAssembly ? "ort.jspi" : "ort.webgpu");

export const now = () => performance.now();

/** Does a piece of work, and adds what it took to a phase. */
export async function timed(phases, name, work) {
  const start = now();
  try {
    return await work();
  } finally {
    phases[name] = (phases[name] ?? 0) + now() - start;
  }
}

/** Calls until the rule of a timed repeat is met: the milliseconds that each call tells. */
export async function sampled(once, { min_s, min_n, max_s }) {
  const ms = [];
  const began = now();
  for (;;) {
    ms.push(await once());
    const spent = (now() - began) / 1e3;
    if (spent >= max_s || (spent >= min_s && ms.length >= min_n)) return ms;
  }
}

async function bytesOf(name, url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${name} cannot be loaded: status ${answer.status}`);
  const size = Number(answer.headers.get("content-length"));
  if (size > MOST_BYTES) {
    await answer.body?.cancel();
    throw new RangeError(`${name} has ${size} bytes, more than the 2 GB that an array of a browser holds`);
  }
  return new Uint8Array(await answer.arrayBuffer());
}

/** One graph on one provider. */
export class Engine {
  #ort;
  #session;
  #feeds = {};
  #fetched = {};
  #device;
  #platform;
  #front;

  /** Loads ONNX Runtime and the graph, and compiles it. Answers with phases in ms, names, what was printed. Outputs that
   * `stays` names stay where the platform has them. */
  async create({ platform, device, threads, graph, files, verbose, options, warm, stays = [] }) {
    const phases = {};
    const name = bundle(platform);
    const ort = await timed(phases, "load", () => import(`${PACKAGE}${name}.min.mjs`));
    this.#ort = ort;
    this.#platform = platform;
    ort.env.wasm.wasmPaths = PACKAGE;
    ort.env.wasm.numThreads = crossOriginIsolated ? threads : 1; // 0 is ONNX Runtime's own choice: half the cores, at most 4
    ort.env.logLevel = verbose ? "verbose" : "warning";
    const found = platform === "webgpu" ? await adapter() : null;
    if (platform === "webgpu" && !found) throw new Error("this browser gives no WebGPU adapter");
    const loaded = await timed(phases, "fetch", async () => {
      const all = {};
      for (const [file, url] of Object.entries(files)) all[file] = await bytesOf(file, url);
      return all;
    });
    const { [graph]: model, ...external } = loaded;
    const context = platform === "webnn" && stays.length ? await contextOf(device) : undefined;
    taken();
    this.#session = await timed(phases, "create", () =>
      ort.InferenceSession.create(model, {
        executionProviders: [PROVIDERS[platform](device, context)],
        ...(stays.length && { preferredOutputLocation: Object.fromEntries(stays.map((name) => [name, PLACES[platform]])) }),
        externalData: Object.entries(external).map(([path, data]) => ({ path, data })),
        logSeverityLevel: verbose ? 0 : 2,
        ...options,
      }),
    );
    this.#watchDevice(platform);
    if (warm) await timed(phases, "warm", () => this.#warm());
    return {
      phases_ms: phases,
      input_types: this.inputTypes(),
      kept_at: stays.length ? PLACES[platform] : null,
      outputs: this.#session.outputNames,
      adapter: found,
      device_features: found && (await deviceFeatures(ort.env)),
      build: name,
      threads: ort.env.wasm.numThreads,
      version: ort.env.versions?.web ?? ort.env.versions?.common ?? "",
      log: taken(),
    };
  }

  #watchDevice(platform) {
    if (platform !== "webgpu") return;
    Promise.resolve(this.#ort.env.webgpu?.device)
      .then((device) => device?.lost)
      .then((lost) => {
        if (lost) this.#device = `the WebGPU device was lost: ${lost.message || lost.reason}`;
      })
      .catch(() => {});
  }

  /** Runs once on blank inputs, so that what is compiled when first needed is compiled before the first request. */
  async #warm() {
    this.blank();
    await this.#once();
    for (const tensor of Object.values(this.#fetched)) tensor.dispose();
    this.#feeds = {};
    this.#fetched = {};
  }

  /** Holds inputs of zeros; a dimension that is free has one. */
  blank() {
    const blanks = this.#session.inputMetadata.map(({ name, type, shape }) => {
      const dims = shape.map((dim) => (typeof dim === "number" ? dim : 1));
      const count = dims.reduce((product, dim) => product * dim, 1);
      return [name, { dtype: type, shape: dims, data: new ARRAYS[type](count) }];
    });
    this.#hold(Object.fromEntries(blanks));
  }

  /** Holds inputs for the runs to come. With a front end one of them is raw, and made into the model's in each run. */
  async bind(tensors, front, tuned) {
    const { [front?.input]: raw, ...plain } = tensors;
    this.#front = front && (await frontEnd(front, raw, { platform: this.#platform, tuned }));
    this.#hold(plain);
    return { front_end: this.#front?.about ?? null };
  }

  #hold(tensors) {
    this.#feeds = Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, this.tensor(tensor)]));
  }

  /** The graph's inputs → their types. */
  inputTypes() {
    return Object.fromEntries(this.#session.inputMetadata.map(({ name, type }) => [name, type]));
  }

  /** A tensor of ONNX Runtime's. */
  tensor({ dtype, shape, data }) {
    return new this.#ort.Tensor(dtype, data, shape);
  }

  /** One inference with these inputs: its outputs, where they are. */
  async infer(feeds) {
    const out = await this.#session.run(feeds);
    if (this.#device) throw new Error(this.#device);
    return out;
  }

  async #once() {
    const start = now();
    const made = this.#front && { [this.#front.input]: this.tensor(await this.#front.run()) };
    this.#fetched = await this.infer({ ...this.#feeds, ...made });
    for (const tensor of Object.values(this.#fetched)) await tensor.getData();
    return now() - start;
  }

  /** One inference, its outputs awaited: the milliseconds it took. */
  async run() {
    return { ms: await this.#once() };
  }

  /** Runs until the rule of a timed repeat is met: the milliseconds of each. */
  async sample(rule) {
    return { ms: await sampled(() => this.#once(), rule) };
  }

  /** What the last run gave. */
  async outputs() {
    const out = {};
    for (const [name, tensor] of Object.entries(this.#fetched)) {
      out[name] = { dtype: tensor.type, shape: tensor.dims, data: await tensor.getData() };
    }
    return out;
  }

  /** Frees the session. */
  async release() {
    await this.#session?.release();
    this.#session = undefined;
  }
}
