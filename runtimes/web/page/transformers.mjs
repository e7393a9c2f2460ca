// A model through transformers.js, as a web application has it: one of its pipelines, on a folder in its layout, with
// the build of ONNX Runtime Web that it brings along. Nothing is loaded from anywhere else.
//
// The pipeline runs whole. What its model is given in place of what the pipeline made of an image, a recording or a
// text is what Assay bound, so that the numbers inside it can be compared; what a generation makes is its own. What the
// pipeline made, and what it gives in the end, is told beside.

import { adapter, deviceFeatures, WEBNN_DEVICE } from "./about.mjs";
import { now, sampled, timed } from "./engine.mjs";
import { ARRAYS } from "./frame.mjs";
import { taken } from "./logs.mjs";

const PACKAGE = "/packages/@huggingface/transformers/";
const FOLDER = "/folder/"; // of models, as transformers.js sees it
const MODEL = "model";

const DEVICES = {
  webgpu: () => "webgpu",
  webnn: (device) => `webnn-${device || WEBNN_DEVICE}`,
  cpu: () => "wasm",
};

/** Lets transformers.js find the files of the folder, and nothing else. */
function settle(env, files, threads, verbose) {
  Object.assign(env, {
    allowLocalModels: true,
    allowRemoteModels: false,
    localModelPath: FOLDER,
    useBrowserCache: false,
    useWasmCache: false,
    fetch: (address, options) => {
      const name = String(address).split(`${FOLDER}${MODEL}/`)[1];
      return name in files ? fetch(files[name], options) : Promise.resolve(new Response(null, { status: 404 }));
    },
  });
  env.backends.onnx.wasm.wasmPaths = `${PACKAGE}node_modules/onnxruntime-web/dist/`;
  env.backends.onnx.wasm.numThreads = crossOriginIsolated ? threads || 1 : 1;
  env.backends.onnx.logLevel = verbose ? "verbose" : "warning";
}

/** Weights beside the graph, under the names by which it knows them. */
const externalData = (files) =>
  Object.keys(files)
    .filter((name) => name.endsWith(".data"))
    .map((name) => ({ path: name.split("/").at(-1), data: name }));

/** What a pipeline is called with. */
const INPUTS = {
  image: (library, [width, height]) => {
    const data = Uint8ClampedArray.from({ length: width * height * 3 }, (_, i) => (i * 37) % 256);
    return new library.RawImage(data, width, height, 3);
  },
  samples: (_, count) => Float32Array.from({ length: count }, (_, i) => Math.sin(i / 20)),
  texts: (_, texts) => texts,
};

const asked = (library, call) => {
  const kind = Object.keys(INPUTS).find((name) => name in call);
  return INPUTS[kind](library, call[kind]);
};

/** A pipeline, and the text that it continues or the tensors that its model is given. */
export class Pipeline {
  #library;
  #pipe;
  #input;
  #tokens;
  #begun; // the ids that a decoder begins with, where the model has an encoder
  #given = {};
  #made; // what the pipeline made for its model, in the first call of a run
  #result;
  #out = {};
  #stamps = [];
  #logits = [];
  #chosen;

  /** Loads transformers.js and the folder, and makes the pipeline. */
  async create({ platform, device, threads, files, call, tokens, verbose }) {
    const phases = {};
    const library = await timed(phases, "load", () => import(`${PACKAGE}dist/transformers.min.js`));
    this.#library = library;
    settle(library.env, files, threads, verbose);
    const found = platform === "webgpu" ? await adapter() : null;
    if (platform === "webgpu" && !found) throw new Error("this browser gives no WebGPU adapter");
    taken();
    const options = {
      device: DEVICES[platform](device),
      dtype: "fp32",
      session_options: { logSeverityLevel: verbose ? 0 : 2, externalData: externalData(files) },
    };
    this.#pipe = await timed(phases, "create", () => library.pipeline(call.task, MODEL, options));
    this.#input = asked(library, call);
    this.#tokens = tokens ?? 0;
    this.#begun = call.decoder_input_ids;
    this.#watch();
    const { onnx } = library.env.backends;
    return {
      phases_ms: phases,
      adapter: found,
      device_features: found && (await deviceFeatures(onnx)),
      build: "transformers.js",
      threads: onnx.wasm.numThreads,
      versions: { "transformers.js": library.env.version, "onnxruntime-web": onnx.versions?.web ?? "" },
      log: taken(),
    };
  }

  // Every way through a pipeline leads to its model's forward: there the bound tensors go in and the outputs come by.
  // What a generation chose, its model's generate gives.
  #watch() {
    const { model } = this.#pipe;
    // Not every class says that its decoder may be given the ids that it begins with: they would be dropped.
    if (this.#begun) model.forward_params = [...new Set([...model.forward_params, "decoder_input_ids"])];
    const [forward, generate] = [model.forward.bind(model), model.generate?.bind(model)];
    model.forward = async (inputs) => {
      this.#made ??= inputs;
      const out = await forward(this.#tokens ? inputs : { ...inputs, ...this.#given });
      if (this.#tokens) await this.#see(out.logits);
      else this.#out = out;
      return out;
    };
    model.generate = async (options) => {
      this.#made = { ...options };
      const { input_features } = this.#given; // a text is the pipeline's own; what is heard is Assay's
      return (this.#chosen = await generate(input_features ? { ...options, inputs: input_features } : options));
    };
  }

  async #see(logits) {
    const [batch, length, width] = logits.dims;
    const data = await logits.ort_tensor.getData();
    this.#stamps.push(now());
    const rows = Array.from({ length: batch }, (_, row) => ((row + 1) * length - 1) * width);
    this.#logits.push(rows.map((start) => data.slice(start, start + width)));
  }

  /** Holds what the model is given; a generation has its text. */
  bind(tensors) {
    const entries = Object.entries(tensors).map(([name, { dtype, shape, data }]) => [
      name,
      new this.#library.Tensor(dtype, data, shape),
    ]);
    this.#given = Object.fromEntries(entries);
  }

  async #once() {
    const start = now();
    this.#stamps = [start];
    this.#logits = [];
    const more = this.#tokens ? this.#generating() : {};
    this.#made = undefined;
    this.#result = await this.#pipe(this.#input, more);
    return now() - start;
  }

  // Settings of a generation; a model without an encoder would give its prompt back too.
  #generating() {
    const own = this.#begun ? { decoder_input_ids: this.#begun } : { return_full_text: false };
    return { max_new_tokens: this.#tokens, do_sample: false, ...own };
  }

  /** The pipeline once: the milliseconds it took, and when each token was there. */
  async run() {
    const ms = await this.#once();
    return { ms, stamps_ms: this.#tokens ? [this.#stamps] : [] };
  }

  /** The pipeline until the rule of a timed repeat is met. */
  async sample(rule) {
    const stamps_ms = [];
    const once = async () => {
      const ms = await this.#once();
      if (this.#tokens) stamps_ms.push(this.#stamps);
      return ms;
    };
    return { ms: await sampled(once, rule), stamps_ms };
  }

  /** What the pipeline gave, where that is not a tensor. */
  told() {
    return this.#result instanceof this.#library.Tensor ? {} : { result: this.#result };
  }

  /** What the model inside gave: its outputs, or the logits of each step and the ids that were chosen; and the tensors
   * that the pipeline itself made before and after. */
  outputs() {
    const inside = this.#tokens ? this.#generated() : this.#plain("", this.#out);
    const after = this.#result instanceof this.#library.Tensor ? { "result:": this.#result } : {};
    return { ...this.#plain("made:", this.#made), ...this.#plain("", after), ...inside };
  }

  // The tensors among these values that lie in the page.
  #plain(prefix, values) {
    const tensors = Object.entries(values).filter(([, value]) => value instanceof this.#library.Tensor);
    const here = tensors.filter(([, tensor]) => tensor.location === "cpu" && tensor.type in ARRAYS);
    return Object.fromEntries(
      here.map(([name, { type, dims, data }]) => [prefix + name, { dtype: type, shape: dims, data }]),
    );
  }

  #generated() {
    const [steps, batch, width] = [this.#logits.length, this.#logits[0].length, this.#logits[0][0].length];
    const logits = new Float32Array(batch * steps * width);
    const generated = new BigInt64Array(batch * steps);
    const length = this.#chosen.dims[1]; // the prompt, and what follows it
    for (let row = 0; row < batch; row++) {
      this.#logits.forEach((step, i) => logits.set(step[row], (row * steps + i) * width));
      generated.set(this.#chosen.data.slice((row + 1) * length - steps, (row + 1) * length), row * steps);
    }
    return {
      logits: { dtype: "float32", shape: [batch, steps, width], data: logits },
      generated: { dtype: "int64", shape: [batch, steps], data: generated },
    };
  }

  /** Frees the model. */
  async release() {
    await this.#pipe.dispose();
  }
}
