// The frame of every page, and which page is shown. There is no framework: a
// page is a function that fills <main>.
import { a, fill, h } from "./dom";
import { mode, to, where } from "./data";
import { home, listen } from "./pages/home";
import { matrix } from "./pages/matrix";
import { model } from "./pages/model";
import { platform } from "./pages/platform";
import { downloads, missing, quality, text } from "./pages/texts";
import { search } from "./search";
import { dashboard } from "./pages/dashboard";

type Page = (main: HTMLElement, name: string) => Promise<void> | void;

const shared: Record<string, Page> = {
  matrix, model, platform, quality,
  findings: (main) => text(main, "findings"), method: (main) => text(main, "method"),
};
const pages: Record<string, Page> = mode === "dash" ? { ...shared, ...dashboard } : { ...shared, home, data: downloads };

const links: [string, string][] = mode === "dash"
  ? [["home", "Overview"], ["matrix", "Matrix"], ["runs", "Runs"], ["start", "Start"], ["compare", "Compare"], ["trends", "Trends"], ["plots", "Plots"], ["report", "Report"], ["hosts", "Machines"], ["fleet", "Fleet"], ["pool", "Pool"], ["findings", "Findings"], ["method", "Method"]]
  : [["matrix", "Matrix"], ["findings", "Findings"], ["method", "Method"], ["quality", "Quality"], ["data", "Data"]];

function brand(): SVGElement {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  for (const [x, y, part] of [[1, 1, "b1"], [13, 1, "b2"], [1, 13, "b2"], [13, 13, "b3"]] as const) {
    const r = document.createElementNS(ns, "rect");
    for (const [k, v] of Object.entries({ x, y, width: 10, height: 10, rx: 2.5, class: part })) r.setAttribute(k, String(v));
    svg.append(r);
  }
  return svg;
}

function frame(page: string): HTMLElement {
  const main = h("main", { id: "main", tabindex: -1 });
  const nav = h("nav", { "aria-label": "Pages" }, links.map(([name, label]) => h("a", { href: to(name), "aria-current": name === page ? "page" : undefined }, label)));
  document.querySelector("header.top")?.remove(); // what the page shows before this script is there
  document.body.prepend(
    h("a", { class: "skip", href: "#main", onclick: (e) => { e.preventDefault(); main.focus(); } }, "Skip to content"),
    h("header", { class: "top" }, h("a", { class: "brand", href: to("home") }, brand(), h("span", {}, "Assay")), nav, !(page === "home" && mode === "site") && search("Search models and targets")),
    main, h("footer", {}, mode === "dash" ? ["Assay on this machine. Nothing is loaded from elsewhere. ", a(to("quality"), "Quality of the data"), " · ", a("/openapi.json", "The API")] : "The atlas of Assay. Nothing is loaded from elsewhere."), h("div", { id: "live", class: "quiet", role: "status" }));
  const here = nav.querySelector<HTMLElement>("[aria-current]");
  if (here !== null) nav.scrollLeft = here.offsetLeft - nav.offsetLeft - 40; // a phone's row of pages scrolls
  return main;
}

async function start(): Promise<void> {
  const { page, name } = where();
  const main = frame(page);
  listen(main);
  const show = pages[page] ?? ((m: HTMLElement) => missing(m, page));
  fill(main, h("p", { class: "empty" }, "Loading…"));
  try {
    await show(main, name);
  } catch (e) {
    document.title = "Not shown · Assay";
    fill(main, h("h1", {}, "This page could not be shown"), h("p", { class: "wrong", role: "alert" }, e instanceof Error ? e.message : String(e)), h("p", {}, a(location.href, "Try again"), " · ", a(to("home"), mode === "dash" ? "The overview" : "The front page")));
  }
  document.documentElement.dataset["ready"] = "yes";
}

void start();
