// The power spectrum of overlapping frames. A workgroup takes a frame into memory of its own, windowed, and transforms
// it in two steps, as a table of `rows` × `columns` samples: each column by itself, then across columns. With both near
// the root of a frame's length that is a fraction of the work of a sum over all samples for each frequency, and it asks
// nothing of the length, which front ends seldom make a power of two.
//
// Sines and cosines come from a table: those of software adapters are coarse. They turn the other way round than a
// Fourier transform's, which changes no power.

override WORKGROUP: u32 = 64;

const MOST = 1024u; // samples of a frame; kernels.mjs refuses longer ones

struct Shape {
  frames: u32,
  length: u32, // rows × columns
  hop: u32,
  bins: u32,
  rows: u32,
  columns: u32,
}

@group(0) @binding(0) var<storage, read> shape: Shape;
@group(0) @binding(1) var<storage, read> samples: array<f32>;
@group(0) @binding(2) var<storage, read> taper: array<f32>;
@group(0) @binding(3) var<storage, read> turns: array<vec2f>; // cosine and sine of `length` steps around the circle
@group(0) @binding(4) var<storage, read_write> power: array<f32>; // frames × bins

var<workgroup> frame: array<f32, MOST>;
var<workgroup> columnwise: array<vec2f, MOST>; // columns × rows

fn times(a: vec2f, b: vec2f) -> vec2f {
  return vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Less than two turns, without whole ones: a remainder costs more.
fn around(turn: u32) -> u32 {
  return turn - select(0u, shape.length, turn >= shape.length);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) me: u32) {
  let start = group.x * shape.hop;
  for (var i = me; i < shape.length; i += WORKGROUP) {
    frame[i] = samples[start + i] * taper[i];
  }
  workgroupBarrier();
  for (var i = me; i < shape.length; i += WORKGROUP) {
    let column = i / shape.rows;
    let step = (i % shape.rows) * shape.columns; // of the frequency that this row becomes
    var sum = vec2f();
    var turn = 0u;
    for (var at = column; at < shape.length; at += shape.columns) {
      sum += frame[at] * turns[turn];
      turn = around(turn + step);
    }
    columnwise[i] = times(sum, turns[column * (i % shape.rows)]);
  }
  workgroupBarrier();
  for (var bin = me; bin < shape.bins; bin += WORKGROUP) {
    let step = (bin / shape.rows) * shape.rows;
    var sum = vec2f();
    var turn = 0u;
    for (var at = bin % shape.rows; at < shape.length; at += shape.rows) {
      sum += times(columnwise[at], turns[turn]);
      turn = around(turn + step);
    }
    power[group.x * shape.bins + bin] = dot(sum, sum);
  }
}
