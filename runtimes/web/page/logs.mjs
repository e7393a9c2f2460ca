// What the page's libraries print. ONNX Runtime tells on the console, and nowhere else, where it placed a graph's nodes.

const MOST = 4 << 20; // characters

const CUT = "the log was cut here"; // what stands behind it is not known

let lines = [];
let held = 0;

const plain = (value) => (typeof value === "string" ? value : (value?.stack ?? String(value)));

for (const kind of ["log", "warn", "error", "info", "debug"]) {
  const original = console[kind].bind(console);
  console[kind] = (...values) => {
    const text = values.map(plain).join(" ");
    held += text.length;
    if (held <= MOST) lines.push(text);
    else if (lines.at(-1) !== CUT) lines.push(CUT);
    original(...values);
  };
}

/** What was printed since the last time, and forgets it. */
export function taken() {
  const out = lines;
  lines = [];
  held = 0;
  return out;
}
