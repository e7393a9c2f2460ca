// The front page of the site: the question, the targets, the key models.
import { a, fill, h } from "../dom";
import { data, to } from "../data";
import { share, square, tally, type Board, type Column } from "../board";
import { count, day } from "../format";
import { bar, tile } from "../matrix";
import { legend } from "../marks";
import { open } from "../panel";
import { search } from "../search";

export async function home(main: HTMLElement): Promise<void> {
  const box = search("A model or a device: whisper, TinyLlama, Snapdragon 8 Gen 3 …", true);
  const rest = h("div");
  fill(main, h("div", { class: "hero" }, h("h1", {}, "Does this model run on that hardware?"),
    h("p", { class: "sub" }, "Every verdict here comes from a run: with its evidence, versions, machine and date, and the command that checks it on yours."), box), rest);
  performance.mark("first-paint");
  const b = await data<Board>("board");
  fill(rest, targets(b), keys(b), legend());
  main.querySelector<HTMLElement>(".hero input")?.focus({ preventScroll: true });
}

/** A card for each target, with what is known there. */
export function targets(b: Board): HTMLElement {
  return h("section", { "aria-labelledby": "h-targets" }, h("h2", { id: "h-targets" }, "What runs where"),
    h("p", { class: "note" }, `${count(b.rows.filter((r) => r.t === undefined).length, "model type")} of transformers ${b.transformers} and diffusers, tiny and with random weights. A share stands only where nine tenths of the planned cells have an answer. Made ${day(b.made_at)}.`),
    h("ul", { class: "cards" }, b.columns.map((c, i) => card(b, c, i))));
}

function card(b: Board, c: Column, i: number): HTMLElement {
  const t = tally(b, i);
  const kinds = [...t.evidences].map(([e, n]) => `${n} ${e}`).join(", ");
  return h("li", {}, h("a", { href: to("platform", c.target), class: "card" }, h("b", {}, c.name, c.vendor !== "" && h("small", {}, c.vendor)),
    h("span", { class: t.complete ? "big" : "big soft" }, t.complete ? `${(t.verdicts.get("works") ?? 0) + (t.verdicts.get("should-work") ?? 0)}` : "–", t.complete && h("small", {}, ` of ${t.known} work`)),
    bar(t.verdicts, t.of), h("small", {}, t.complete ? kinds : share(t), t.stale > 0 && `, ${t.stale} stale`)));
}

/** The models that people ask for most. */
function keys(b: Board): HTMLElement {
  const high = b.rows.filter((r) => r.p === "high" && r.t === undefined);
  const rows = b.families.flatMap((_, f) => high.filter((r) => r.f === f).slice(0, 3));
  return h("section", { "aria-labelledby": "h-keys" }, h("h2", { id: "h-keys" }, "Models of high priority"),
    h("p", { class: "note" }, `${rows.length} of ${high.length}, some of each family. `, a(to("matrix"), `All ${count(b.rows.length, "model")} are in the matrix`)),
    h("div", { class: "wrap scroll", tabindex: 0, role: "region", "aria-label": "Models of high priority on every target" }, h("table", { class: "matrix small" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "name" }, "Model"), b.columns.map((c) => h("th", { scope: "col" }, a(to("platform", c.target), c.name), h("small", {}, c.vendor || " "))))),
      h("tbody", {}, rows.map((r) => h("tr", {}, h("th", { scope: "row", class: "name" }, a(to("model", r.m), r.m)),
        r.c.map((c, i) => {
          const target = b.columns[i]?.target ?? "";
          return h("td", { class: "cell" }, tile(square(b, c), "verdict", `${r.m} on ${target}`, { "data-model": r.m, "data-target": target }));
        })))))));
}

/** Tiles outside the matrix open their details too. */
export function listen(main: HTMLElement): void {
  main.addEventListener("click", (e) => {
    const t = e.target instanceof Element ? e.target.closest<HTMLElement>("button[data-model]") : null;
    if (t !== null && t.closest("[role=grid]") === null) open(t.dataset["model"] ?? "", t.dataset["target"] ?? "", t);
  });
}
