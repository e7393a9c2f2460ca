// Where a page's data come from: files of scripts beside it, for a site that is
// opened from a disk, where nothing may be fetched; else the server.

export type Mode = "site" | "dash";

const root = document.documentElement;
export const mode: Mode = root.dataset["mode"] === "dash" ? "dash" : "site";
const base = root.dataset["root"] ?? "";

type Waiting = { done: (value: unknown) => void };
const waiting = new Map<string, Waiting>();
const loaded = new Map<string, Promise<unknown>>();

declare global {
  var assayPut: ((name: string, value: unknown) => void) | undefined;
}

globalThis.assayPut = (name, value) => waiting.get(name)?.done(value);

/** One of the data files that site and server both have: board, quality, findings, method. */
export function data<T>(name: string): Promise<T> {
  let p = loaded.get(name);
  if (p === undefined) {
    p = mode === "dash" ? get(`/data/${name}.json`) : script(name);
    loaded.set(name, p);
  }
  return p as Promise<T>;
}

function script(name: string): Promise<unknown> {
  return new Promise((done, failed) => {
    waiting.set(name, { done });
    const s = document.createElement("script");
    s.src = `${base}data/${name.split("/").map(encodeURIComponent).join("/")}.js`;
    s.onerror = () => failed(new Error(`${name} is missing: the site was copied without its folder "data"`));
    document.head.append(s);
  });
}

/** A script of this site, once. */
export function asset(name: string): Promise<void> {
  return new Promise((done, failed) => {
    const s = document.createElement("script");
    s.src = mode === "dash" ? `/${name}` : `${base}assets/${name}`;
    s.onload = () => done();
    s.onerror = () => failed(new Error(`${name} could not be loaded`));
    document.head.append(s);
  });
}

export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export async function get<T>(path: string): Promise<T> {
  return answer<T>(await fetch(path, { headers: { Accept: "application/json" } }));
}

export async function text(path: string): Promise<string> {
  const r = await fetch(path);
  if (!r.ok) return answer<string>(r);
  return r.text();
}

export async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, headers: { Accept: "application/json", "Content-Type": "application/json" } };
  if (body !== undefined) init.body = JSON.stringify(body);
  return answer<T>(await fetch(path, init));
}

type Problem = { title?: string; detail?: string; errors?: { message: string; location?: string }[] };

async function answer<T>(r: Response): Promise<T> {
  const body = await r.text();
  if (r.ok) return (body === "" ? {} : JSON.parse(body)) as T;
  let why = `${r.status} ${r.statusText}`;
  try {
    const p = JSON.parse(body) as Problem;
    why = [p.detail ?? p.title ?? why, ...(p.errors ?? []).map((e) => (e.location ? `${e.location}: ${e.message}` : e.message))].join("; ");
  } catch {
    // not a problem of the API: the status says it
  }
  throw new Refused(r.status, why);
}

/** The address of a page. */
export function to(page: string, name = "", view = ""): string {
  const part = name.split("/").map(encodeURIComponent).join("/");
  const fragment = view === "" ? "" : `#${view}`;
  if (mode === "dash") return (page === "home" ? "/" : name === "" ? `/${page}` : `/${page}/${part}`) + fragment;
  if (page === "home") return `${base}index.html${fragment}`;
  return (name === "" ? `${base}${page}.html` : `${base}${page}/${encodeURIComponent(file(name))}.html`) + fragment;
}

/** The name of a model's or target's file: one that every system can have. */
export function file(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, "_");
}

/** A part of an address as it is meant; one that is no text stays as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export type Where = { page: string; name: string };

/** The page that the address asks for. */
export function where(): Where {
  if (mode === "site") return { page: root.dataset["page"] ?? "home", name: root.dataset["name"] ?? "" };
  const [page = "", ...rest] = location.pathname.split("/").slice(1);
  return { page: page === "" ? "home" : page, name: rest.map(decoded).join("/") };
}
