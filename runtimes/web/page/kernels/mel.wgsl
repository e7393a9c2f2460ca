// A mel filter bank over power spectra, as decimal logarithms. An invocation computes one band of one frame.

override WORKGROUP: u32 = 64;

const PER_LN = 0.4342944819032518; // log10(e)

struct Shape {
  frames: u32,
  bins: u32,
  bands: u32,
  floor: f32,
}

@group(0) @binding(0) var<storage, read> shape: Shape;
@group(0) @binding(1) var<storage, read> power: array<f32>; // frames × bins
@group(0) @binding(2) var<storage, read> bank: array<f32>; // bands × bins
@group(0) @binding(3) var<storage, read_write> levels: array<f32>; // frames × bands

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.frames * shape.bands) {
    return;
  }
  let frame = id.x / shape.bands;
  let band = id.x % shape.bands;
  var sum = 0.0;
  for (var bin = 0u; bin < shape.bins; bin++) {
    sum += power[frame * shape.bins + bin] * bank[band * shape.bins + bin];
  }
  levels[id.x] = log(max(sum, shape.floor)) * PER_LN;
}
