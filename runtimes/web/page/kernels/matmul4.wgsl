// y = a · bᵀ, with b in whole numbers of 4 bits, each block of 32 along the inner dimension with a scale of its own: the
// layout of ONNX Runtime's MatMulNBits without zero points. A workgroup computes one number of y: its invocations
// share the blocks of a row of b, so that neighbours read neighbouring words, and their sums are added up pairwise.

override WORKGROUP: u32 = 64;

const MOST = 1024u; // invocations
const WORDS = 4u; // of a block: eight numbers each
const MIDDLE = 8.0;

struct Shape {
  rows: u32,
  columns: u32,
  blocks: u32, // of a row of b
}

@group(0) @binding(0) var<storage, read> shape: Shape;
@group(0) @binding(1) var<storage, read> a: array<f32>; // rows × blocks × 32
@group(0) @binding(2) var<storage, read> b: array<u32>; // columns × blocks × WORDS
@group(0) @binding(3) var<storage, read> scales: array<f32>; // columns × blocks
@group(0) @binding(4) var<storage, read_write> y: array<f32>; // rows × columns

var<workgroup> sums: array<f32, MOST>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) me: u32) {
  let column = group.x;
  let row = group.y;
  var sum = 0.0;
  for (var word = me; word < shape.blocks * WORDS; word += WORKGROUP) {
    var packed = b[column * shape.blocks * WORDS + word];
    let first = (row * shape.blocks * WORDS + word) * 8u;
    var part = 0.0;
    for (var i = 0u; i < 8u; i++) {
      part += a[first + i] * (f32(packed & 15u) - MIDDLE);
      packed >>= 4u;
    }
    sum += part * scales[column * shape.blocks + word / WORDS];
  }
  sums[me] = sum;
  for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (me < half) {
      sums[me] += sums[me + half];
    }
  }
  if (me == 0u) {
    y[row * shape.columns + column] = sums[0];
  }
}
