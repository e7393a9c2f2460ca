// Pages of text: findings, the method, the quality of the data, and the data.
import { a, fill, h, table } from "../dom";
import { data, decoded, mode, to } from "../data";
import { tally, share, today, type Board } from "../board";
import { bytes, day, title } from "../format";
import { bar } from "../matrix";
import { legend } from "../marks";

/** A document that was made from Markdown, by Assay itself: its markup is its own. */
type Text = { title: string; html: string };

export async function text(main: HTMLElement, name: string): Promise<void> {
  const t = await data<Text>(name);
  document.title = `${t.title} · Assay`;
  const parsed = new DOMParser().parseFromString(t.html, "text/html");
  const box = h("article", { class: "text" });
  for (const wide of parsed.querySelectorAll("table,pre")) {
    const wrap = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Part that scrolls" });
    wide.replaceWith(wrap);
    wrap.append(wide);
  }
  box.append(...parsed.body.childNodes);
  fill(main, box);
  if (location.hash.length > 1) document.getElementById(decoded(location.hash.slice(1)))?.scrollIntoView();
  if (name === "method") main.append(legend());
}

type Quality = { columns: { target: string; dtype: string; of: number; measured: number; emulated: number; compiled: number; derived: number; predicted: number; unknown: number; oldest?: string; newest?: string; versions?: string[] }[] };

export async function quality(main: HTMLElement): Promise<void> {
  const [b, q] = await Promise.all([data<Board>("board"), data<Quality>("quality")]);
  const now = today();
  fill(main, h("h1", {}, "Quality of the data"),
    h("p", { class: "sub" }, "What each column rests on. Unknown is a value: it says that nobody ran it, and it is never counted as a failure."),
    table(q.columns, [
      { head: "Target", header: true, cell: (c) => a(to("platform", c.target), c.target) }, { head: "In", cell: (c) => c.dtype },
      { head: "Answered", number: true, cell: (c) => (c.of - c.unknown >= b.least * c.of ? `${c.of - c.unknown} of ${c.of}` : `incomplete, ${c.of - c.unknown} of ${c.of}`) },
      { head: "Measured", number: true, cell: (c) => c.measured || "" }, { head: "Emulated", number: true, cell: (c) => c.emulated || "" },
      { head: "Compiled", number: true, cell: (c) => c.compiled || "" }, { head: "Derived", number: true, cell: (c) => c.derived || "" }, { head: "Predicted", number: true, cell: (c) => c.predicted || "" },
      { head: "Unavailable", number: true, cell: (c) => c.of - c.unknown - c.measured - c.emulated - c.compiled - c.derived - c.predicted || "" }, { head: "Unknown", number: true, cell: (c) => c.unknown || "" },
      { head: "Oldest", cell: (c) => h("span", { class: "nowrap" }, c.oldest !== undefined ? `${day(c.oldest)} (${now - Math.floor(new Date(c.oldest).getTime() / 86400e3)} d)` : "") },
      { head: "Tried with", cell: (c) => h("small", {}, (c.versions ?? []).join("; ")) },
    ], "The atlas is empty.", "Quality by column"),
    h("h2", {}, "Stale cells"), h("p", { class: "note" }, `A cell is stale after ${b.stale_days} days, or when others ran with a newer engine.`),
    table(b.columns.map((c, i) => ({ c, t: tally(b, i) })), [
      { head: "Target", header: true, cell: ({ c }) => a(to("matrix", "", `stale=1&on=${encodeURIComponent(c.target)}`), c.target) }, { head: "Stale", number: true, cell: ({ t }) => (t.known > 0 ? `${t.stale} of ${t.known}` : "") },
      { head: "Works", number: true, cell: ({ t }) => share(t) }, { head: "Verdicts", cell: ({ t }) => h("div", { class: "wide" }, bar(t.verdicts, t.of)) },
    ], "The atlas is empty.", "Stale cells by target"));
}

export async function downloads(main: HTMLElement): Promise<void> {
  const files = await data<{ files: { name: string; what: string; bytes: number }[] }>("files");
  fill(main, h("h1", {}, "Data"), h("p", { class: "sub" }, "Everything that these pages show. The same claims are in the program: assay can-i-use --json."),
    table(files.files, [
      { head: "File", header: true, cell: (f) => h("a", { href: `data/${f.name}`, download: true }, f.name) }, { head: "What", cell: (f) => f.what }, { head: "Size", number: true, cell: (f) => bytes(f.bytes) },
    ], "No files.", "Data files"));
}

export function missing(main: HTMLElement, page: string): void {
  fill(main, h("h1", {}, "No such page"), h("p", {}, `There is no page “${title(page)}” here. `, a(to("home"), mode === "dash" ? "The overview" : "The front page")));
}
