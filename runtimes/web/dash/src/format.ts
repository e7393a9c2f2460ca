// Numbers as the command line prints them.

export function milliseconds(ms: number): string {
  if (ms < 1) return `${significant(ms * 1000)} µs`;
  if (ms < 1000) return `${significant(ms)} ms`;
  return `${significant(ms / 1000)} s`;
}

export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  while (Math.abs(n) >= 1000 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return `${i === 0 ? n : significant(n)} ${units[i]}`;
}

export function times(ratio: number): string {
  return `${significant(ratio)}×`;
}

/** A number of things a second. */
export function rate(x: number): string {
  return x >= 100 ? Math.round(x).toLocaleString("en") : significant(x);
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

function significant(x: number): string {
  if (x === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x))));
  return x.toFixed(Math.min(digits, 4));
}

/** A number in powers of ten: 3.9e-7. */
export function power(x: number): string {
  return x === 0 ? "0" : x.toExponential(1).replace("e+", "e");
}

export function count(n: number, one: string, many = one + "s"): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export function day(t: string | number | Date): string {
  return new Date(t).toISOString().slice(0, 10);
}

export function minute(t: string | number | Date): string {
  return new Date(t).toISOString().slice(0, 16).replace("T", " ");
}

/** How long ago, in the largest unit that is not zero. */
export function age(t: string | number | Date, now = Date.now()): string {
  const s = Math.max(0, (now - new Date(t).getTime()) / 1000);
  if (s < 60) return "just now";
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} d ago`;
}

/** A family or another word as a heading, as reports have it: Encoder-only. */
export function title(words: string): string {
  return words === "rag" ? "Retrieval (RAG)" : words.charAt(0).toUpperCase() + words.slice(1);
}
