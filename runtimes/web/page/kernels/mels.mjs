// Mel filter banks: triangles between neighbouring points of a scale of pitches.

const SLANEY = { step: 200 / 3, from: 1000, log: 27 / Math.log(6.4) };

// The scale's name → [Hz → mel, mel → Hz].
const SCALES = {
  htk: [(hz) => 2595 * Math.log10(1 + hz / 700), (mel) => 700 * (10 ** (mel / 2595) - 1)],
  slaney: [
    (hz) => (hz < SLANEY.from ? hz / SLANEY.step : SLANEY.from / SLANEY.step + Math.log(hz / SLANEY.from) * SLANEY.log),
    (mel) => {
      const above = mel - SLANEY.from / SLANEY.step;
      return above < 0 ? mel * SLANEY.step : SLANEY.from * Math.exp(above / SLANEY.log);
    },
  ],
};

/** The bank, bands × bins. With `even` each triangle has the same area, else the same height. */
export function melBank({ bins, bands, low, high, rate, scale, even }) {
  const [toMel, toHz] = SCALES[scale];
  const [first, last] = [toMel(low), toMel(high)];
  const corners = Array.from({ length: bands + 2 }, (_, i) => toHz(first + ((last - first) * i) / (bands + 1)));
  const out = new Float32Array(bands * bins);
  for (let band = 0; band < bands; band++) {
    const [left, centre, right] = corners.slice(band, band + 3);
    const height = even ? 2 / (right - left) : 1;
    for (let bin = 0; bin < bins; bin++) {
      const hz = (bin * rate) / 2 / (bins - 1);
      const rise = (hz - left) / (centre - left);
      const fall = (right - hz) / (right - centre);
      out[band * bins + bin] = height * Math.max(0, Math.min(rise, fall));
    }
  }
  return out;
}
