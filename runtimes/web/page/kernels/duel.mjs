// Our own kernels against stock ones on the same inputs, each from numbers in the page to numbers in the page.

import { openGpu } from "./gpu.mjs";
import { matrices4, problem, source } from "./kernels.mjs";
import { byKernels, DEFAULT_SIZE } from "./log_mel.mjs";
import { distance, sound } from "./numbers.mjs";

const AGREE = 1e-3; // how far the two may be apart
const BUNDLE = "/packages/onnxruntime-web/dist/";
const TRANSFORMERS = "/packages/@huggingface/transformers/";

/** Whisper's front end against that of transformers.js. */
async function logMel({ shape, workgroups, seed }) {
  const { samples, rate, length, hop, bands } = shape;
  const wave = sound(samples, seed);
  const settings = { style: "whisper", rate, length, hop, bands, low: 0, high: rate / 2, scale: "slaney", even: true };
  const own = await byKernels(settings, samples, workgroups);
  const { WhisperFeatureExtractor, env } = await import(`${TRANSFORMERS}dist/transformers.min.js`);
  env.backends.onnx.wasm.wasmPaths = `${location.origin}${TRANSFORMERS}node_modules/onnxruntime-web/dist/`;
  const stock = new WhisperFeatureExtractor({
    feature_extractor_type: "WhisperFeatureExtractor",
    feature_size: bands,
    sampling_rate: rate,
    n_fft: length,
    hop_length: hop,
    n_samples: samples,
    nb_max_frames: Math.floor(samples / hop),
  });
  return {
    stock: "transformers.js",
    sides: {
      own: async () => (await own.features(wave))[1],
      stock: async () => (await stock(wave)).input_features.data,
    },
  };
}

/** A product with 4 bits against ONNX Runtime's MatMulNBits. */
async function matmul4({ shape, workgroups, seed }) {
  const task = problem("matmul4", shape, seed);
  const gpu = await openGpu();
  const size = workgroups?.matmul4 ?? DEFAULT_SIZE;
  const result = gpu.buffer(4 * task.count);
  const inputs = task.inputs.map((input) => gpu.buffer(input));
  const program = await gpu.program(await source("matmul4"), size, [...inputs, result], task.groups(size));
  const given = matrices4(shape, seed);
  const { matMulNBits } = await import("./onnx.mjs");
  const ort = await import(`${BUNDLE}${"Suspending" in WebAssembly ? "ort.jspi" : "ort.webgpu"}.min.mjs`);
  ort.env.wasm.wasmPaths = BUNDLE;
  const session = await ort.InferenceSession.create(matMulNBits(shape, given), {
    executionProviders: ["webgpu"],
    extra: { session: { disable_cpu_ep_fallback: "1" } }, // else it might be the CPU's kernel that is timed
  });
  const a = new ort.Tensor("float32", given.a, [shape.rows, shape.inner]);
  return {
    stock: "ONNX Runtime Web MatMulNBits",
    sides: {
      own: async () => {
        gpu.write(inputs[1], given.a);
        return gpu.run([program], result, task.count);
      },
      stock: async () => (await session.run({ a })).y.getData(),
    },
  };
}

const DUELS = { "log-mel": logMel, matmul4 };

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Both sides in turn, `rounds` times, after they were seen to agree: their milliseconds. */
export async function duel(asked) {
  const { stock, sides } = await DUELS[asked.duel](asked);
  const apart = distance(await sides.own(), await sides.stock());
  if (!(apart <= AGREE)) throw new Error(`the numbers of our own kernel and ${stock} are ${apart.toExponential(1)} apart`);
  const order = asked.stock_first ? ["stock", "own"] : ["own", "stock"];
  const ms = { own: [], stock: [] };
  for (const side of order) await sides[side](); // warm
  for (let round = 0; round < asked.rounds; round++) {
    for (const side of round % 2 ? [...order].reverse() : order) ms[side].push(await timed(sides[side]));
  }
  return { stock, apart, own_ms: ms.own, stock_ms: ms.stock };
}
