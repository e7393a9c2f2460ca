// Frames of a video as vision models take them: the shorter edge resized to the wanted one, the middle cut out, colours
// from 0 to 255 normalised, channels first. Weights are whole numbers of at most 15 bits and sums are rounded after each
// direction, as image libraries do for bytes: other rounding moves one pixel in a hundred by a level.

/** For each place of a line of `to` pixels, the first pixel of `from` that it sees and its weights: a triangle. */
export function triangle(from, to) {
  const step = from / to;
  const reach = Math.max(step, 1);
  return Array.from({ length: to }, (_, place) => {
    const centre = (place + 0.5) * step;
    const first = Math.max(0, Math.floor(centre - reach + 0.5));
    const last = Math.min(from, Math.floor(centre + reach + 0.5));
    const weight = (pixel) => Math.max(0, 1 - Math.abs((pixel + 0.5 - centre) / reach));
    const weights = Array.from({ length: last - first }, (_, i) => weight(first + i));
    const sum = weights.reduce((total, each) => total + each, 0);
    return { first, weights: weights.map((each) => each / sum) };
  });
}

const MOST_BITS = 22;
const WEIGHT_LIMIT = 1 << 15;

/** The same with weights in whole numbers of 1 / 2^bits, as fine as they fit. */
export function fixed(places) {
  const largest = Math.max(...places.flatMap(({ weights }) => weights));
  let bits = 0;
  while (bits < MOST_BITS && Math.floor(0.5 + largest * 2 ** (bits + 1)) < WEIGHT_LIMIT) bits++;
  const rounded = (weight) => Math.floor(weight * 2 ** bits + 0.5);
  const whole = places.map(({ first, weights }) => ({ first, weights: weights.map(rounded) }));
  return { places: whole, level: (sum) => Math.min(255, (sum + 2 ** (bits - 1)) >> bits) };
}

// Lines of pixels, resized along their length: `pixels` is lines × from × channels.
function along(pixels, lines, from, to, channels) {
  const out = new Uint8Array(lines * to * channels);
  const { places, level } = fixed(triangle(from, to));
  for (let line = 0; line < lines; line++) {
    places.forEach(({ first, weights }, place) => {
      for (let channel = 0; channel < channels; channel++) {
        let sum = 0;
        weights.forEach((weight, i) => (sum += weight * pixels[(line * from + first + i) * channels + channel]));
        out[(line * to + place) * channels + channel] = level(sum);
      }
    });
  }
  return out;
}

// Rows and columns exchanged.
function turned(pixels, height, width, channels) {
  const out = new Uint8Array(pixels.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let c = 0; c < channels; c++) out[(x * height + y) * channels + c] = pixels[(y * width + x) * channels + c];
    }
  }
  return out;
}

function frame(pixels, [height, width, channels], settings, out, at) {
  const short = Math.min(settings.height, settings.width);
  const tall = height <= width ? short : Math.floor((short * height) / width);
  const wide = height <= width ? Math.floor((short * width) / height) : short;
  const across = along(pixels, height, width, wide, channels);
  const both = along(turned(across, height, wide, channels), wide, height, tall, channels); // columns × rows
  const top = Math.floor((tall - settings.height) / 2);
  const left = Math.floor((wide - settings.width) / 2);
  for (let c = 0; c < channels; c++) {
    for (let y = 0; y < settings.height; y++) {
      for (let x = 0; x < settings.width; x++) {
        const value = both[((left + x) * tall + top + y) * channels + c] / 255;
        out[at + (c * settings.height + y) * settings.width + x] = (value - settings.mean) / settings.deviation;
      }
    }
  }
}

/** A video, frames × height × width × channels: [shape, numbers]. */
export function resized(video, [frames, height, width, channels], settings) {
  const size = channels * settings.height * settings.width;
  const out = new Float32Array(frames * size);
  const bytes = height * width * channels;
  for (let i = 0; i < frames; i++) {
    frame(video.subarray(i * bytes, (i + 1) * bytes), [height, width, channels], settings, out, i * size);
  }
  return [[frames, channels, settings.height, settings.width], out];
}
