// The page's side of the relay: it connects, says what it is, and carries out one call after the other.

import { features, heapBytes, hello } from "./about.mjs";
import { lastRefusal, watch } from "./builder.mjs";
import { Continuation } from "./continuation.mjs";
import { Engine } from "./engine.mjs";
import { decode, encode } from "./frame.mjs";
import { gpuTimes } from "./gpu_clock.mjs";
import { taken } from "./logs.mjs";
import { Pipeline } from "./transformers.mjs";
import { TUNING } from "./tuning.mjs";
import { watched } from "./visibility.mjs";

const parts = {}; // the graphs that were made, by name
let active; // what runs: a graph, the two of a language model, or a pipeline

/** Makes a graph; a page has one, or the two of a pair. */
async function create(header) {
  const engine = new Engine();
  const told = await engine.create(header);
  parts[header.part ?? ""] = active = engine;
  return told;
}

/** Makes a pipeline of transformers.js. */
async function pipeline(header) {
  const made = new Pipeline();
  const told = await made.create(header);
  active = made;
  return told;
}

function pair(header) {
  active = new Continuation(parts.prompt, parts.step, header);
  return {};
}

// op → what it does with the call's header and tensors: [header, tensors] of the answer.
const CALLS = {
  features: async (header) => [await features(header)],
  create: async (header) => [await create(header)],
  pair: (header) => [pair(header)],
  pipeline: async (header) => [await pipeline(header)],
  blank: () => [active.blank() ?? {}],
  bind: async ({ front_end, tuned }, tensors) => [(await active.bind(tensors, front_end, tuned)) ?? {}],
  run: async () => [await active.run()],
  sample: async (header) => [await watched(() => active.sample(header))],
  gpu: async (header) => [await gpuTimes(() => active.run(), header)],
  outputs: async () => [active.told?.() ?? {}, await active.outputs()],
  release: async () => [(await active.release()) ?? {}],
  ...TUNING,
};

const described = (error) => ({
  name: error?.name ?? "Error",
  message: [String(error?.message ?? error), lastRefusal()].filter(Boolean).join("; ").slice(0, 8000),
  stack: String(error?.stack ?? "").slice(0, 8000),
});

async function answer(buffer) {
  try {
    const { header, tensors } = decode(buffer);
    if (!(header.op in CALLS)) throw new Error(`the page has no call ${JSON.stringify(header.op)}`);
    const [reply, out] = await CALLS[header.op](header, tensors);
    return encode({ ...reply, heap_bytes: heapBytes() }, out);
  } catch (error) {
    return encode({ error: described(error), log: taken().slice(-400) });
  }
}

watch();
const socket = new WebSocket(new URL("socket", location.href.replace(/^http/, "ws")));
socket.binaryType = "arraybuffer";
socket.onopen = () => socket.send(JSON.stringify(hello()));
socket.onmessage = async ({ data }) => socket.send(await answer(data));
