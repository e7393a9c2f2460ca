// Plots over all models: how much faster than the CPU, and by how many.
import { fill, h } from "../dom";
import { data } from "../data";
import { square, type Board } from "../board";
import { bars, heat, type Heat } from "../charts";
import { bytes, milliseconds, times } from "../format";

export async function plots(main: HTMLElement): Promise<void> {
  const b = await data<Board>("board");
  const d: Heat = { rows: [], columns: [], cells: [] };
  const memory: { label: string; value: number }[] = [];
  const latency: { label: string; value: number; weak: boolean }[] = [];
  for (const r of b.rows) {
    r.c.forEach((c, i) => {
      const target = b.columns[i]?.target ?? "";
      const { numbers: n } = square(b, c);
      if (n.s !== undefined) d.cells.push({ row: place(d.rows, r.m), column: place(d.columns, target), value: n.s, shaky: n.su === true });
      if (n.b !== undefined) memory.push({ label: `${r.m} ${target}`, value: n.b });
      if (n.l !== undefined) latency.push({ label: `${r.m} ${target}`, value: n.l, weak: n.u === true });
    });
  }
  const most = 30;
  const top = <T extends { value: number }>(list: T[]): T[] => list.sort((x, y) => y.value - x.value).slice(0, most);
  fill(main, h("h1", {}, "Plots"), h("p", { class: "sub" }, "From your own results, and those that you imported. A ~ marks times whose repeats differ too much, and ratios of such."),
    heat("Speed-up over the CPU of the same machine", d, times), bars(`Median latency${latency.length > most ? `, the longest ${most} of ${latency.length}` : ""}`, top(latency), milliseconds), bars(`Peak memory${memory.length > most ? `, the largest ${most} of ${memory.length}` : ""}`, top(memory), bytes));
}

function place(list: string[], name: string): number {
  const at = list.indexOf(name);
  return at >= 0 ? at : list.push(name) - 1;
}
