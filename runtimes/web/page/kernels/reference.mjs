// What the kernels compute, in plain JavaScript with 64 bits: slow, and what they are compared with.

const angle = (step, length) => (2 * Math.PI * step) / length;

/** Hann's window, the periodic one. */
export const hann = (length) => Float32Array.from({ length }, (_, i) => 0.5 - 0.5 * Math.cos(angle(i, length)));

/** Cosine and sine of each of `length` steps around the circle, in pairs. */
export function turns(length) {
  const out = new Float32Array(2 * length);
  for (let i = 0; i < length; i++) {
    out[2 * i] = Math.cos(angle(i, length));
    out[2 * i + 1] = Math.sin(angle(i, length));
  }
  return out;
}

/** How many frames fit. */
export const framesOf = (samples, length, hop) => 1 + Math.floor((samples - length) / hop);

/** The power of each frequency of each frame. */
export function spectrum(samples, window, length, hop) {
  const frames = framesOf(samples.length, length, hop);
  const bins = Math.floor(length / 2) + 1;
  const circle = Array.from({ length }, (_, i) => [Math.cos(angle(i, length)), Math.sin(angle(i, length))]);
  const out = new Float64Array(frames * bins);
  for (let frame = 0; frame < frames; frame++) {
    for (let bin = 0; bin < bins; bin++) {
      let real = 0;
      let imaginary = 0;
      for (let i = 0; i < length; i++) {
        const value = samples[frame * hop + i] * window[i];
        const [cos, sin] = circle[(bin * i) % length];
        real += value * cos;
        imaginary += value * sin;
      }
      out[frame * bins + bin] = real * real + imaginary * imaginary;
    }
  }
  return out;
}

/** Decimal logarithms of a filter bank's bands; bank is bands × bins. */
export function levels(power, bank, frames, bins, bands, floor) {
  const out = new Float64Array(frames * bands);
  for (let frame = 0; frame < frames; frame++) {
    for (let band = 0; band < bands; band++) {
      let sum = 0;
      for (let bin = 0; bin < bins; bin++) sum += power[frame * bins + bin] * bank[band * bins + bin];
      out[frame * bands + band] = Math.log10(Math.max(sum, floor));
    }
  }
  return out;
}

/** a · bᵀ with b in 4 bits and blocks of 32; packed holds two numbers a byte, the lower half first. */
export function product4(a, packed, scales, rows, columns, inner) {
  const out = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      for (let k = 0; k < inner; k++) {
        const byte = packed[(column * inner + k) >> 1];
        const value = (k & 1 ? byte >> 4 : byte & 15) - 8;
        sum += a[row * inner + k] * value * scales[(column * inner + k) >> 5];
      }
      out[row * columns + column] = sum;
    }
  }
  return out;
}
