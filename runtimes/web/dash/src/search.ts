// The search of every page: models, checkpoints and targets as one types. A
// combobox after the ARIA pattern: arrows move, Enter goes, Escape closes.
import { fill, h, id, announce } from "./dom";
import { data, to } from "./data";
import type { Board } from "./board";
import { count } from "./format";

export type Hit = { label: string; kind: string; href: string; rank: number };

/** What a text finds, the best first. */
export function find(b: Board, text: string, most = 12): Hit[] {
  const q = text.trim().toLowerCase();
  if (q === "") return [];
  const hits: Hit[] = [];
  for (const c of b.columns) {
    const words = [c.target, c.name, c.vendor, ...(c.also ?? [])];
    const at = Math.min(...words.map((w) => rank(w, q)));
    if (at < none) hits.push({ label: c.target, kind: `what runs on ${words.find((w) => rank(w, q) === at && w !== c.target) ?? c.name}`, href: to("platform", c.target), rank: at });
  }
  for (const r of b.rows) {
    const own = rank(r.m, q);
    if (own < none) hits.push({ label: r.m, kind: b.families[r.f] ?? "", href: to("model", r.m), rank: own });
    for (const name of r.a ?? []) {
      const at = rank(name, q);
      if (at < none && own >= at) hits.push({ label: name, kind: `a ${r.m}`, href: to("model", r.m, `as=${encodeURIComponent(name)}`), rank: at + 1 });
    }
  }
  return hits.sort((x, y) => x.rank - y.rank || x.label.length - y.label.length || x.label.localeCompare(y.label)).slice(0, most);
}

const none = 9;

/** How well a name fits: whole, from its start, from the start of a word, inside. */
function rank(name: string, q: string): number {
  const n = name.toLowerCase();
  const at = n.indexOf(q);
  if (at < 0) return bare(n).includes(bare(q)) && bare(q) !== "" ? 6 : none;
  if (n === q) return 0;
  if (at === 0) return 2;
  return /[a-z0-9]/.test(n.charAt(at - 1)) ? 5 : 3;
}

function bare(s: string): string {
  return s.replaceAll(/[-_./ ]/g, "");
}

/** The search box. */
export function search(label: string, large = false): HTMLElement {
  const listID = id("hits");
  const input = h("input", { type: "search", role: "combobox", "aria-label": label, placeholder: label, "aria-controls": listID, "aria-expanded": "false", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false" });
  const options = h("ul", { id: listID, role: "listbox", "aria-label": "Found", hidden: true });
  let hits: Hit[] = [];
  let at = -1;

  const show = (open: boolean): void => {
    options.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
  };
  const choose = (i: number): void => {
    at = i;
    options.querySelectorAll("[role=option]").forEach((o, k) => o.setAttribute("aria-selected", String(k === i)));
    const chosen = options.children[i];
    if (chosen) {
      input.setAttribute("aria-activedescendant", chosen.id);
      chosen.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  };
  const update = (b: Board): void => {
    hits = find(b, input.value);
    at = -1;
    input.removeAttribute("aria-activedescendant");
    fill(options, hits.map((hit) => h("li", { role: "option", id: id("hit"), "aria-selected": "false", onmousedown: (e) => e.preventDefault(), onclick: () => location.assign(hit.href) },
      h("b", {}, hit.label), h("small", {}, hit.kind))));
    if (hits.length === 0 && input.value.trim() !== "") fill(options, h("li", { class: "empty", role: "option", "aria-selected": "false", "aria-disabled": "true" }, `Nothing is called “${input.value.trim()}”`));
    show(input.value.trim() !== "");
    announce(input.value.trim() === "" ? "" : count(hits.length, "match", "matches"));
  };
  input.addEventListener("focus", () => void data<Board>("board").catch(() => undefined), { once: true });
  input.addEventListener("input", () => void data<Board>("board").then(update));
  input.addEventListener("blur", () => show(false));
  input.addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (hits.length > 0) choose((at + (e.key === "ArrowDown" ? 1 : hits.length + (at < 0 ? 0 : -1))) % hits.length);
    } else if (e.key === "Enter") {
      e.preventDefault(); // the form has nowhere to go by itself
      const hit = hits[Math.max(at, 0)];
      if (hit !== undefined) location.assign(hit.href);
    } else if (e.key === "Escape") show(false);
  });
  return h("div", { class: large ? "search large" : "search", role: "search" }, input, options);
}
