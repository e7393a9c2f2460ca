// The page's side of the relay: it connects, says what it is, and carries out one call after the other.

import { features, heapBytes, hello } from "./about.mjs";
import { Engine } from "./engine.mjs";
import { decode, encode } from "./frame.mjs";
import { taken } from "./logs.mjs";
import { TUNING } from "./tuning.mjs";

const engine = new Engine();

// op → what it does with the call's header and tensors: [header, tensors] of the answer.
const CALLS = {
  features: async (header) => [await features(header)],
  create: async (header) => [await engine.create(header)],
  blank: () => [engine.blank() ?? {}],
  bind: (_, tensors) => [engine.bind(tensors) ?? {}],
  run: async () => [await engine.run()],
  sample: async (header) => [await engine.sample(header)],
  outputs: async () => [{}, await engine.outputs()],
  release: async () => [(await engine.release()) ?? {}],
  ...TUNING,
};

const described = (error) => ({
  name: error?.name ?? "Error",
  message: String(error?.message ?? error).slice(0, 8000),
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

const socket = new WebSocket(new URL("socket", location.href.replace(/^http/, "ws")));
socket.binaryType = "arraybuffer";
socket.onopen = () => socket.send(JSON.stringify(hello()));
socket.onmessage = async ({ data }) => socket.send(await answer(data));
