// The view's settings, kept in the fragment of the address: every view can be
// linked to, from a disk too, and no server sees them.

export type View = Map<string, string>;

export function read(): View {
  return new Map(new URLSearchParams(location.hash.slice(1)));
}

/** Writes the settings that are not empty into the address, without a new entry in the history. */
export function write(view: View): void {
  const p = new URLSearchParams();
  for (const [name, value] of view) if (value !== "") p.set(name, value);
  const text = p.toString();
  if (text === location.hash.slice(1)) return;
  history.replaceState(null, "", text === "" ? location.pathname + location.search : `#${text}`);
}

export function list(view: View, name: string): string[] {
  return (view.get(name) ?? "").split(",").filter((s) => s !== "");
}
