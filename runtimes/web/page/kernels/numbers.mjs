// Numbers by seed, and how far two lists of them are apart.

/** Uniform numbers from -1 to 1: the same for a seed in every browser. */
export function uniform(count, seed) {
  const out = new Float32Array(count);
  let state = seed >>> 0;
  for (let i = 0; i < count; i++) {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    out[i] = ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1;
  }
  return out;
}

/** A second of something like a voice: a few tones that come and go, and noise. */
export function sound(count, seed) {
  const noise = uniform(count, seed);
  return noise.map((value, i) => {
    const swell = 0.5 + 0.5 * Math.sin((2 * Math.PI * 3 * i) / 16000);
    const tones = Math.sin((2 * Math.PI * 220 * i) / 16000) + 0.5 * Math.sin((2 * Math.PI * 1870 * i) / 16000);
    return 0.3 * swell * tones + 0.02 * value;
  });
}

/** The largest difference over the largest magnitude of what is expected; Infinity where they cannot be compared. */
export function distance(found, expected) {
  if (found.length !== expected.length || !found.length) return Infinity;
  let worst = 0;
  let largest = 0;
  for (let i = 0; i < found.length; i++) {
    const off = Math.abs(found[i] - expected[i]);
    if (!(off <= worst)) worst = Number.isNaN(off) ? Infinity : off;
    largest = Math.max(largest, Math.abs(expected[i]));
  }
  return largest ? worst / largest : worst && Infinity;
}
