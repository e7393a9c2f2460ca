// The power spectrum of overlapping frames. A workgroup takes a frame into memory of its own, windowed; its
// invocations then go over the frequencies. Sines and cosines come from a table: those of software adapters are coarse.

override WORKGROUP: u32 = 64;

const MOST = 2048u; // samples of a frame; kernels.mjs refuses longer ones

struct Shape {
  frames: u32,
  length: u32,
  hop: u32,
  bins: u32,
}

@group(0) @binding(0) var<storage, read> shape: Shape;
@group(0) @binding(1) var<storage, read> samples: array<f32>;
@group(0) @binding(2) var<storage, read> taper: array<f32>;
@group(0) @binding(3) var<storage, read> turns: array<vec2f>; // cosine and sine of each of `length` steps around the circle
@group(0) @binding(4) var<storage, read_write> power: array<f32>; // frames × bins

var<workgroup> frame: array<f32, MOST>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) me: u32) {
  let start = group.x * shape.hop;
  for (var i = me; i < shape.length; i += WORKGROUP) {
    frame[i] = samples[start + i] * taper[i];
  }
  workgroupBarrier();
  for (var bin = me; bin < shape.bins; bin += WORKGROUP) {
    var sum = vec2f();
    var turn = 0u;
    for (var i = 0u; i < shape.length; i++) {
      sum += frame[i] * turns[turn];
      turn += bin;
      if (turn >= shape.length) {
        turn -= shape.length;
      }
    }
    power[group.x * shape.bins + bin] = dot(sum, sum);
  }
}
