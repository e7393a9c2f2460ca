// The kernels: for each its source, a problem of a given shape with inputs by seed, and what must come out.
//
// A problem is {inputs, groups, count, expected}: what the kernel's bindings hold before its last one, which it
// writes; how many workgroups a size needs; how many numbers it writes; and the reference, computed when asked for.

import { divisor } from "./fourier.mjs";
import { melBank } from "./mels.mjs";
import { sound, uniform } from "./numbers.mjs";
import { framesOf, hann, levels, product4, spectrum, turns } from "./reference.mjs";

/** How far a kernel may be from its reference: the largest error over the largest magnitude. */
export const TOLERANCE = 1e-4;

const LONGEST_FRAME = 1024; // stft.wgsl has room for it
const BLOCK = 32; // of matmul4.wgsl
const FLOOR = 1e-10;
const RATE = 16000;

/** The words that tell mel.wgsl its shape: the last is a number with a point. */
export function melShape(frames, bins, bands, floor) {
  const words = new Uint32Array([frames, bins, bands, 0]);
  new Float32Array(words.buffer)[3] = floor;
  return words;
}

/** The stft kernel's inputs for samples. */
export function stftInputs(samples, length, hop) {
  if (length > LONGEST_FRAME) throw new RangeError(`a frame of ${length} samples is longer than ${LONGEST_FRAME}`);
  const frames = framesOf(samples.length, length, hop);
  const bins = Math.floor(length / 2) + 1;
  const rows = divisor(length);
  const shape = new Uint32Array([frames, length, hop, bins, rows, length / rows]);
  return { frames, bins, inputs: [shape, samples, hann(length), turns(length)] };
}

function stft({ samples, length, hop }, seed) {
  const wave = sound(samples, seed);
  const { frames, bins, inputs } = stftInputs(wave, length, hop);
  const expected = () => spectrum(wave, hann(length), length, hop);
  return { inputs, groups: () => [frames], count: frames * bins, expected };
}

function mel({ frames, bins, bands }, seed) {
  const power = uniform(frames * bins, seed).map((value) => value * value);
  const bank = melBank({ bins, bands, low: 0, high: RATE / 2, rate: RATE, scale: "slaney", even: true });
  return {
    inputs: [melShape(frames, bins, bands, FLOOR), power, bank],
    groups: (size) => [Math.ceil((frames * bands) / size)],
    count: frames * bands,
    expected: () => levels(power, bank, frames, bins, bands, FLOOR),
  };
}

/** Matrices for a product with 4 bits: numbers by seed, whose whole range of values occurs. */
export function matrices4({ rows, columns, inner }, seed) {
  if (inner % BLOCK) throw new RangeError(`the inner dimension ${inner} is not a multiple of ${BLOCK}`);
  const packed = new Uint8Array(uniform((columns * inner) / 2, seed + 1).map((value) => Math.floor((value + 1) * 128)));
  const scales = uniform((columns * inner) / BLOCK, seed + 2).map((value) => 0.05 + 0.04 * value);
  return { a: uniform(rows * inner, seed), packed, scales };
}

function matmul4(shape, seed) {
  const { rows, columns, inner } = shape;
  const { a, packed, scales } = matrices4(shape, seed);
  return {
    inputs: [new Uint32Array([rows, columns, inner / BLOCK]), a, new Uint32Array(packed.buffer), scales],
    groups: () => [columns, rows],
    count: rows * columns,
    expected: () => product4(a, packed, scales, rows, columns, inner),
  };
}

const KERNELS = { stft, mel, matmul4 };

const sources = new Map();

/** A kernel's source. */
export async function source(name) {
  if (!sources.has(name)) {
    const answer = await fetch(new URL(`${name}.wgsl`, import.meta.url));
    if (!answer.ok) throw new Error(`the kernel ${name} cannot be loaded: status ${answer.status}`);
    sources.set(name, await answer.text());
  }
  return sources.get(name);
}

/** A kernel's problem of a shape. */
export function problem(name, shape, seed) {
  if (!(name in KERNELS)) throw new Error(`there is no kernel ${name}: there are ${Object.keys(KERNELS).join(", ")}`);
  return KERNELS[name](shape, seed);
}
