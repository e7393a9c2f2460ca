// The matrix as the server and the site send it (Go package board), and what a
// page asks of it. Cells are lists of codes; see the Go package.

export type Numbers = { l?: number; s?: number; b?: number; o?: number; u?: boolean; su?: boolean };
export type Cell = (number | Numbers)[];
export type Column = { target: string; platform: string; name: string; vendor: string; also?: string[] };
export type Row = { m: string; t?: string; f: number; k?: string; p?: string; a?: string[]; c: Cell[] };

export type Board = {
  schema: number; made_at: string; assay: string; transformers: string; stale_days: number; least: number; own: number;
  columns: Column[]; verdicts: string[]; evidences: string[]; dtypes: string[]; families: string[]; versions: string[]; words: string[]; rows: Row[];
};

export const flag = { own: 1, imported: 2, newer: 4, contradicts: 8 };

/** A cell in words. */
export type Square = {
  verdict: string; evidence: string; dtype: string; day: number; versions: string; word: string;
  own: boolean; imported: boolean; newer: boolean; contradicts: boolean; stale: boolean; numbers: Numbers;
};

const daySeconds = 86400;

export function today(): number {
  return Math.floor(Date.now() / 1000 / daySeconds);
}

function code(c: Cell, i: number): number {
  const v = c[i];
  return typeof v === "number" ? v : 0;
}

export function verdictOf(b: Board, c: Cell): string {
  return b.verdicts[code(c, 0) - 1] ?? "not-run";
}

export function evidenceOf(b: Board, c: Cell): string {
  return b.evidences[code(c, 1) - 1] ?? "none";
}

export function isStale(b: Board, c: Cell, now = today()): boolean {
  const at = code(c, 3);
  return at > 0 && (now - at > b.stale_days || (code(c, 6) & flag.newer) !== 0);
}

export function square(b: Board, c: Cell): Square {
  const flags = code(c, 6);
  const numbers = c[7];
  return {
    verdict: verdictOf(b, c), evidence: evidenceOf(b, c), dtype: b.dtypes[code(c, 2) - 1] ?? "", day: code(c, 3), versions: b.versions[code(c, 4) - 1] ?? "",
    word: b.words[code(c, 5) - 1] ?? "", own: (flags & flag.own) !== 0, imported: (flags & flag.imported) !== 0, newer: (flags & flag.newer) !== 0,
    contradicts: (flags & flag.contradicts) !== 0, stale: isStale(b, c), numbers: typeof numbers === "object" ? numbers : {},
  };
}

/** How many cells of a column have each verdict, and how many have any. */
export type Tally = { of: number; known: number; complete: boolean; verdicts: Map<string, number>; evidences: Map<string, number>; stale: number; oldest: number };

export function tally(b: Board, column: number, rows: Row[] = b.rows): Tally {
  const t: Tally = { of: 0, known: 0, complete: false, verdicts: new Map(), evidences: new Map(), stale: 0, oldest: 0 };
  const now = today();
  const verdicts = new Uint16Array(b.verdicts.length + 1);
  const evidences = new Uint16Array(b.evidences.length + 1);
  const notRun = b.verdicts.indexOf("not-run") + 1;
  const unknown = b.verdicts.indexOf("unknown") + 1;
  for (const r of rows) {
    if (r.t !== undefined) continue; // a checkpoint of the user's own; the planned cells are those of types
    const c = r.c[column] ?? [];
    const v = code(c, 0) || notRun;
    t.of++;
    verdicts[v] = (verdicts[v] ?? 0) + 1;
    if (v === notRun || v === unknown) continue;
    t.known++;
    const e = code(c, 1);
    evidences[e] = (evidences[e] ?? 0) + 1;
    if (isStale(b, c, now)) t.stale++;
    const at = code(c, 3);
    if (at > 0 && (t.oldest === 0 || at < t.oldest)) t.oldest = at;
  }
  verdicts.forEach((n, i) => n > 0 && t.verdicts.set(b.verdicts[i - 1] ?? "not-run", n));
  evidences.forEach((n, i) => n > 0 && i > 0 && b.evidences[i - 1] !== "none" && t.evidences.set(b.evidences[i - 1] ?? "", n));
  t.complete = t.of > 0 && t.known >= b.least * t.of;
  return t;
}

/** A column's share of what works, or that it is incomplete. */
export function share(t: Tally): string {
  if (t.known === 0) return `never run, 0 of ${t.of}`;
  if (!t.complete) return `incomplete, ${t.known} of ${t.of}`;
  const good = (t.verdicts.get("works") ?? 0) + (t.verdicts.get("should-work") ?? 0);
  return `${good} of ${t.known} (${Math.round((100 * good) / t.known)} %)`;
}
