// Continues a text by two graphs of fixed shapes: the prompt goes through one of them once, with an encoder's input where
// the model has one, each later token through the other. What is kept of the past is handed from run to run where the
// platform has it, and so is what every step reads of an encoder; only logits are read.

import { now, sampled } from "./engine.mjs";

const LOGITS = "logits";
const PAST = "past_";
const PRESENT = "present_";

const WHOLE = { int32: Int32Array, int64: BigInt64Array };

/** A tensor of whole numbers, of the type that the graph asks for. */
function whole(dtype, shape, values) {
  const data = new WHOLE[dtype](values.length);
  for (let i = 0; i < values.length; i++) data[i] = dtype === "int64" ? BigInt(values[i]) : values[i];
  return { dtype, shape, data };
}

/** The first of the largest elements, in each row. */
function largest(data, rows) {
  const width = data.length / rows;
  return Array.from({ length: rows }, (_, row) => {
    let best = row * width;
    for (let i = best + 1; i < (row + 1) * width; i++) if (data[i] > data[best]) best = i;
    return best - row * width;
  });
}

const kept = (out) => Object.entries(out).filter(([name]) => name.startsWith(PRESENT));

/** What the first graph gives for all steps to read. */
const shared = (out) => Object.entries(out).filter(([name]) => name !== LOGITS && !name.startsWith(PRESENT));

const dispose = (entries) => entries.forEach(([, tensor]) => tensor.dispose());

/** Both graphs of a language model, and the text that they continue. */
export class Continuation {
  #prompt;
  #step;
  #wanted;
  #types;
  #feeds = {};
  #batch = 0;
  #stamps = [];
  #chosen = [];
  #logits = [];

  constructor(prompt, step, { tokens }) {
    this.#prompt = prompt;
    this.#step = step;
    this.#wanted = tokens;
    this.#types = step.inputTypes();
  }

  /** Holds the prompt, and what an encoder reads. */
  bind(tensors) {
    const entries = Object.entries(tensors);
    this.#batch = entries[0][1].shape[0];
    this.#feeds = Object.fromEntries(entries.map(([name, tensor]) => [name, this.#prompt.tensor(tensor)]));
  }

  // What a step reads beside what is kept: its token, its place, and where slots are filled from the right, which of
  // them are seen.
  #beside(ids, past, slots) {
    const seen = Array.from({ length: slots + 1 }, (_, i) => (i >= slots - past ? 1 : 0));
    const values = {
      token: [[this.#batch, 1], ids],
      place: [[this.#batch, 1], Array(this.#batch).fill(past)],
      seen: [[this.#batch, slots + 1], Array(this.#batch).fill(seen).flat()],
    };
    const asked = Object.entries(values).filter(([name]) => name in this.#types);
    return Object.fromEntries(
      asked.map(([name, [shape, list]]) => [name, this.#step.tensor(whole(this.#types[name], shape, list))]),
    );
  }

  async #choose(out) {
    const logits = await out[LOGITS].getData();
    const ids = largest(logits, this.#batch);
    this.#logits.push(logits);
    this.#chosen.push(ids);
    this.#stamps.push(now());
    return ids;
  }

  async #once() {
    this.#logits = [];
    this.#chosen = [];
    this.#stamps = [now()];
    let out = await this.#prompt.infer(this.#feeds);
    const all = shared(out);
    const slots = kept(out)[0][1].dims[2]; // as many as the text will have in the end
    let ids = await this.#choose(out);
    for (let past = slots - this.#wanted; this.#chosen.length < this.#wanted; past++) {
      const before = kept(out);
      const feeds = { ...this.#beside(ids, past, slots), ...Object.fromEntries(all) };
      for (const [name, tensor] of before) feeds[PAST + name.slice(PRESENT.length)] = tensor;
      out = await this.#step.infer(feeds);
      dispose(before);
      ids = await this.#choose(out);
    }
    dispose([...kept(out), ...all]);
    return this.#stamps.at(-1) - this.#stamps[0];
  }

  /** One generation: the milliseconds it took, and when each token was there. */
  async run() {
    const ms = await this.#once();
    return { ms, stamps_ms: [this.#stamps] };
  }

  /** Generations until the rule of a timed repeat is met. */
  async sample(rule) {
    const stamps_ms = [];
    const once = async () => {
      const ms = await this.#once();
      stamps_ms.push(this.#stamps);
      return ms;
    };
    return { ms: await sampled(once, rule), stamps_ms };
  }

  /** The logits of each step of the last generation, and the ids that were chosen. */
  outputs() {
    const [batch, steps] = [this.#batch, this.#wanted];
    const width = this.#logits[0].length / batch;
    const logits = new Float32Array(batch * steps * width);
    const generated = new BigInt64Array(batch * steps);
    for (let row = 0; row < batch; row++) {
      for (let i = 0; i < steps; i++) {
        logits.set(this.#logits[i].subarray(row * width, (row + 1) * width), (row * steps + i) * width);
        generated[row * steps + i] = BigInt(this.#chosen[i][row]);
      }
    }
    return {
      logits: { dtype: "float32", shape: [batch, steps, width], data: logits },
      generated: { dtype: "int64", shape: [batch, steps], data: generated },
    };
  }

  /** Frees both graphs. */
  async release() {
    await this.#prompt.release();
    await this.#step.release();
  }
}
