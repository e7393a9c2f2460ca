// Frames: how calls and answers travel. Four bytes with the length of the header (little-endian), the header in JSON,
// padded so that what follows is aligned, then raw tensors at the offsets that the header's `tensors` gives.

const ALIGNMENT = 8;
const PREFIX = 4;

/** The dtype of a tensor → the array that holds its numbers. */
export const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

const aligned = (n) => Math.ceil(n / ALIGNMENT) * ALIGNMENT;

/** The header of a frame and its tensors: name → {dtype, shape, data}. Data are copies. */
export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, PREFIX, length)));
  const tensors = {};
  for (const { name, dtype, shape, offset, bytes } of header.tensors ?? []) {
    const start = PREFIX + length + offset;
    tensors[name] = { dtype, shape, data: new ARRAYS[dtype](buffer.slice(start, start + bytes)) };
  }
  return { header, tensors };
}

/** A frame of a header and tensors: name → {dtype, shape, data}. */
export function encode(header, tensors = {}) {
  let offset = 0;
  const rows = Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
    const row = { name, dtype, shape: [...shape], offset, bytes: data.byteLength };
    offset += aligned(data.byteLength);
    return row;
  });
  let text = JSON.stringify({ ...header, tensors: rows });
  const encoded = new TextEncoder().encode(text);
  const length = aligned(PREFIX + encoded.length) - PREFIX;
  const out = new Uint8Array(PREFIX + length + offset).fill(0x20, PREFIX + encoded.length, PREFIX + length);
  new DataView(out.buffer).setUint32(0, length, true);
  out.set(encoded, PREFIX);
  for (const row of rows) {
    const { data } = tensors[row.name];
    out.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), PREFIX + length + row.offset);
  }
  return out;
}
