// Elements without markup in strings: what comes from data is always text.

export type Child = Node | string | number | null | undefined | false | Child[];

type Attributes = { [name: string]: string | number | boolean | undefined | ((event: Event) => void) };

/** An element; attributes that begin with "on" are listeners, true is an empty attribute, false is none. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value !== undefined) e.setAttribute(name, String(value));
  }
  put(e, children);
  return e;
}

function put(to: ParentNode, children: Child[]): void {
  for (const c of children) {
    if (Array.isArray(c)) put(to, c);
    else if (c !== null && c !== undefined && c !== false) to.append(c instanceof Node ? c : String(c));
  }
}

export function fill(e: Element, ...children: Child[]): void {
  e.replaceChildren();
  put(e, children);
}

/** What is asked for many times at once is done once, and again later where it was asked for meanwhile. */
export function calmly(act: () => void | Promise<void>, pause = 0): () => void {
  let busy = false;
  let again = false;
  const go = async (): Promise<void> => {
    busy = true;
    again = false;
    await act();
    await new Promise((done) => setTimeout(done, pause));
    busy = false;
    if (again) void go();
  };
  return () => {
    if (busy) again = true;
    else void go();
  };
}

/** A link to a page, or anywhere else. */
export function a(href: string, ...children: Child[]): HTMLAnchorElement {
  return h("a", { href }, ...children);
}

/** A number as a custom property: a policy forbids style attributes, not this. */
export function styled<E extends HTMLElement>(e: E, properties: Record<string, string>): E {
  for (const [name, value] of Object.entries(properties)) e.style.setProperty(name, value);
  return e;
}

let ids = 0;

export function id(prefix: string): string {
  return `${prefix}-${++ids}`;
}

/** Says something to those who hear the page. */
export function announce(text: string): void {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}

/** A section with its heading. */
export function section(title: string, ...children: Child[]): HTMLElement {
  const heading = id("h");
  return h("section", { "aria-labelledby": heading }, h("h2", { id: heading }, title), ...children);
}

/** A button that copies a text and says so. */
export function copy(text: string): HTMLElement {
  const button = h("button", { class: "copy", type: "button", "aria-label": `Copy: ${text}` }, "Copy");
  button.addEventListener("click", () => {
    void write(text).then((done) => {
      button.textContent = done ? "Copied" : "Select it";
      announce(done ? "Copied" : "It could not be copied: select the text");
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  });
  const words = text.split(" ").flatMap((w, i): Child[] => [i > 0 && " ", w.startsWith("-") ? h("span", { class: "nowrap" }, w) : w]); // a flag is not broken after its dashes
  return h("span", { class: "command" }, h("code", { tabindex: 0 }, words), button);
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export type Column<T> = { head: string; number?: boolean; cell: (row: T) => Child; header?: boolean; long?: boolean };

/** A table that scrolls by itself where the screen is narrow. */
export function table<T>(rows: T[], columns: Column<T>[], empty: string, label: string): HTMLElement {
  if (rows.length === 0) return h("p", { class: "empty" }, empty);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", { class: "list" },
      h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: c.number ? "n" : undefined }, c.head)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((c) =>
        c.header ? h("th", { scope: "row" }, c.cell(row)) : h("td", { class: c.number ? "n" : c.long ? "long" : undefined }, c.cell(row))))))));
}

/** Terms and what they mean; those without a value are left out. */
export function facts(...pairs: [string, Child][]): HTMLElement {
  const list = h("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value === "" || value === null || value === undefined || value === false) continue;
    list.append(h("dt", {}, name), h("dd", {}, value));
  }
  return list;
}
