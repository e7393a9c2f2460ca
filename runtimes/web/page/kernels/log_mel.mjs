// Log-mel features of sound: frames centred on multiples of the hop, their power spectra, a mel filter bank, logarithms.
// By our own kernels, where both stay on the device and only the levels come back; or by a script, without a GPU.

import { spectrumInSteps } from "./fourier.mjs";
import { openGpu } from "./gpu.mjs";
import { melShape, source, stftInputs } from "./kernels.mjs";
import { melBank } from "./mels.mjs";
import { hann, levels } from "./reference.mjs";

const FLOOR = 1e-10;

/** Workgroup sizes where nothing was tuned. */
export const DEFAULT_SIZE = 64;

/** The samples with half a frame mirrored at both ends. */
export function centred(samples, length) {
  const half = length >> 1;
  const count = samples.length;
  const out = new Float32Array(count + 2 * half);
  out.set(samples, half);
  for (let i = 1; i <= half; i++) {
    out[half - i] = samples[i];
    out[half + count - 1 + i] = samples[count - 1 - i];
  }
  return out;
}

const bankOf = ({ length, bands, low, high, rate, scale, even }) =>
  melBank({ bins: (length >> 1) + 1, bands, low, high, rate, scale, even });

// What comes of the levels, frames × bands, in each library's style: [shape of a row, numbers].
const STYLES = {
  // Bands × frames without the last frame; no more than 8 below the loudest, moved to about -1 to 1.
  whisper(found, frames, bands) {
    const kept = frames - 1;
    const out = new Float32Array(bands * kept);
    for (let frame = 0; frame < kept; frame++) {
      for (let band = 0; band < bands; band++) out[band * kept + frame] = found[frame * bands + band];
    }
    const least = out.reduce((most, value) => Math.max(most, value), -Infinity) - 8;
    return [[bands, kept], out.map((value) => (Math.max(value, least) + 4) / 4)];
  },
  // One channel of frames × bands, in decibel.
  clap: (found, frames, bands) => [[1, frames, bands], Float32Array.from(found, (value) => 10 * value)],
};

/** Features by a script: samples → [shape, numbers]. */
export function byScript(settings) {
  const { length, hop, bands } = settings;
  const bank = bankOf(settings);
  const window = hann(length);
  const bins = (length >> 1) + 1;
  const features = async (samples) => {
    const power = spectrumInSteps(centred(samples, length), window, length, hop);
    const frames = power.length / bins;
    return STYLES[settings.style](levels(power, bank, frames, bins, bands, FLOOR), frames, bands);
  };
  return { features, workgroups: null };
}

/** Features by our kernels, for sounds of `count` samples: samples → [shape, numbers]. */
export async function byKernels(settings, count, sizes = {}) {
  const workgroups = { stft: sizes.stft ?? DEFAULT_SIZE, mel: sizes.mel ?? DEFAULT_SIZE };
  const { length, hop, bands } = settings;
  const gpu = await openGpu();
  const { frames, bins, inputs } = stftInputs(centred(new Float32Array(count), length), length, hop);
  const [shape, wave, ...tables] = inputs.map((input) => gpu.buffer(input));
  const power = gpu.buffer(4 * frames * bins);
  const result = gpu.buffer(4 * frames * bands);
  const bank = [melShape(frames, bins, bands, FLOOR), bankOf(settings)].map((input) => gpu.buffer(input));
  const groups = Math.ceil((frames * bands) / workgroups.mel);
  const programs = [
    await gpu.program(await source("stft"), workgroups.stft, [shape, wave, ...tables, power], [frames]),
    await gpu.program(await source("mel"), workgroups.mel, [bank[0], power, bank[1], result], [groups]),
  ];
  const features = async (samples) => {
    gpu.write(wave, centred(samples, length));
    return STYLES[settings.style](await gpu.run(programs, result, frames * bands), frames, bands);
  };
  return { features, workgroups };
}
