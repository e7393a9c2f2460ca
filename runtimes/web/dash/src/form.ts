// Forms: labelled fields whose values are plain.
import { fill, h, id, type Child } from "./dom";

export type Field = { name: string; label: string; value?: string; hint?: string; options?: [string, string][]; list?: string[]; wide?: boolean; type?: string };

export function field(f: Field): HTMLElement {
  const at = id("f");
  const hints = f.hint !== undefined ? `${at}-hint` : undefined;
  const common = { id: at, name: f.name, "aria-describedby": hints };
  const input: HTMLElement = f.options !== undefined
    ? h("select", common, f.options.map(([v, text]) => h("option", { value: v, selected: v === (f.value ?? "") }, text)))
    : h("input", { ...common, type: f.type ?? "text", value: f.value ?? "", autocomplete: "off", spellcheck: "false", list: f.list !== undefined ? `${at}-list` : undefined });
  return h("div", { class: f.wide === true ? "row wide-row" : "row" }, h("label", { for: at }, f.label), input, f.list !== undefined && h("datalist", { id: `${at}-list` }, f.list.map((v) => h("option", { value: v }))), hints !== undefined && h("small", { id: hints }, f.hint));
}

export function check(name: string, label: string, checked = false): HTMLElement {
  return h("label", { class: "chip" }, h("input", { type: "checkbox", name, checked }), h("span", {}, label));
}

export type Values = { text(name: string): string; list(name: string): string[]; numbers(name: string): number[]; on(name: string): boolean };

export function values(form: HTMLFormElement): Values {
  const d = new FormData(form);
  const text = (name: string): string => String(d.get(name) ?? "").trim();
  const list = (name: string): string[] => d.getAll(name).flatMap((v) => String(v).split(/[\s,]+/)).filter((v) => v !== "");
  return { text, list, numbers: (name) => list(name).map(Number).filter((n) => Number.isFinite(n) && n > 0), on: (name) => d.get(name) === "on" };
}

/** A form that does something and says in place what went wrong. */
export function form(label: string, button: string, fields: Child, act: (v: Values, out: HTMLElement) => Promise<void>): HTMLFormElement {
  const out = h("div", { class: "out", role: "status" });
  const submit = h("button", { class: "main", type: "submit" }, button);
  const f = h("form", { class: "form", "aria-label": label }, h("div", { class: "rows" }, fields), h("div", { class: "picks" }, submit), out);
  f.addEventListener("submit", (e) => {
    e.preventDefault();
    submit.disabled = true;
    fill(out, h("p", { class: "empty" }, "Working…"));
    act(values(f), out).catch((x: unknown) => fill(out, h("p", { class: "wrong", role: "alert" }, x instanceof Error ? x.message : String(x)))).finally(() => (submit.disabled = false));
  });
  return f;
}
