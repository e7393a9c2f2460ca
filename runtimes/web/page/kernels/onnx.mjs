// Writes ONNX graphs of one node, to run a stock kernel on matrices of our own. ONNX files are protocol buffers: fields
// of a number and a wire type, here whole numbers (0) and bytes (2).

const IR_VERSION = 10;
const OPSET = 21;
const FLOAT = 1;
const UINT8 = 2;
const INT = 2; // the attribute type

const text = new TextEncoder();

function varint(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128);
  return [...out, value];
}

function joined(parts) {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

// A message of [field, value] pairs: a number, a string, or the bytes of a message inside.
const message = (...fields) =>
  joined(
    fields.flatMap(([field, value]) => {
      if (typeof value === "number") return [varint(field * 8), varint(value)];
      const bytes = typeof value === "string" ? text.encode(value) : value;
      return [varint(field * 8 + 2), varint(bytes.length), bytes];
    }),
  );

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

const initializer = (name, type, dims, data) =>
  message(...dims.map((dim) => [1, dim]), [2, type], [8, name], [9, bytesOf(data)]);

function value(name, dims) {
  const shape = message(...dims.map((dim) => [1, message([1, dim])]));
  return message([1, name], [2, message([1, message([1, FLOAT], [2, shape])])]);
}

const attribute = (name, number) => message([1, name], [3, number], [20, INT]);

/** A graph of one MatMulNBits: `y` of the input `a`, in blocks of 32 with 4 bits. */
export function matMulNBits({ rows, columns, inner }, { packed, scales }) {
  const settings = Object.entries({ K: inner, N: columns, bits: 4, block_size: 32 });
  const node = message(
    ...["a", "b", "scales"].map((name) => [1, name]),
    [2, "y"],
    [4, "MatMulNBits"],
    ...settings.map(([name, number]) => [5, attribute(name, number)]),
    [7, "com.microsoft"],
  );
  const graph = message(
    [1, node],
    [2, "product"],
    [5, initializer("b", UINT8, [columns, inner / 32, 16], packed)],
    [5, initializer("scales", FLOAT, [columns, inner / 32], scales)],
    [11, value("a", [rows, inner])],
    [12, value("y", [rows, columns])],
  );
  const opset = (domain, version) => message([1, domain], [2, version]);
  return message([1, IR_VERSION], [7, graph], [8, opset("", OPSET)], [8, opset("com.microsoft", 1)]);
}
