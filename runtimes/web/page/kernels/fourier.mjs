// Power spectra by a script, for pages without a GPU of their own: the two steps of stft.wgsl.

import { framesOf } from "./reference.mjs";

/** The largest divisor of a number that is no larger than its root. */
export function divisor(number) {
  let found = Math.floor(Math.sqrt(number));
  while (number % found) found--;
  return found;
}

// Transforms one frame, a table of rows × columns: first each column, into `real` and `imaginary`, columns × rows.
function columnwise(frame, rows, columns, cos, sin, real, imaginary) {
  const length = frame.length;
  for (let column = 0; column < columns; column++) {
    for (let row = 0; row < rows; row++) {
      let a = 0;
      let b = 0;
      for (let i = 0, turn = 0; i < rows; i++, turn = (turn + row * columns) % length) {
        const value = frame[i * columns + column];
        a += value * cos[turn];
        b += value * sin[turn];
      }
      const twist = column * row;
      real[column * rows + row] = a * cos[twist] - b * sin[twist];
      imaginary[column * rows + row] = a * sin[twist] + b * cos[twist];
    }
  }
}

// The power of one frequency, across columns.
function across(bin, rows, columns, cos, sin, real, imaginary) {
  const step = Math.floor(bin / rows) * rows;
  let a = 0;
  let b = 0;
  for (let column = 0, turn = 0; column < columns; column++, turn = (turn + step) % real.length) {
    const at = column * rows + (bin % rows);
    a += real[at] * cos[turn] - imaginary[at] * sin[turn];
    b += real[at] * sin[turn] + imaginary[at] * cos[turn];
  }
  return a * a + b * b;
}

/** The power of each frequency of each frame, frames × bins. */
export function spectrumInSteps(samples, window, length, hop) {
  const frames = framesOf(samples.length, length, hop);
  const bins = Math.floor(length / 2) + 1;
  const rows = divisor(length);
  const columns = length / rows;
  const circle = (of) => Float64Array.from({ length }, (_, i) => of((2 * Math.PI * i) / length));
  const [cos, sin] = [circle(Math.cos), circle(Math.sin)];
  const [frame, real, imaginary] = [new Float64Array(length), new Float64Array(length), new Float64Array(length)];
  const out = new Float64Array(frames * bins);
  for (let f = 0; f < frames; f++) {
    for (let i = 0; i < length; i++) frame[i] = samples[f * hop + i] * window[i];
    columnwise(frame, rows, columns, cos, sin, real, imaginary);
    for (let bin = 0; bin < bins; bin++) out[f * bins + bin] = across(bin, rows, columns, cos, sin, real, imaginary);
  }
  return out;
}
