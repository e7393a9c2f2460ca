// Workgroup sizes that were measured before, in this browser.

const NAMES = ["vendor", "architecture", "device", "description"];

/** The sizes for an adapter, by kernel; `tuned` are rows of {adapter, kernel, workgroup}. */
export function sizesFor(tuned, adapter) {
  const same = (other) => NAMES.every((name) => (other[name] ?? "") === (adapter?.[name] ?? ""));
  const here = (tuned ?? []).filter((row) => same(row.adapter));
  return Object.fromEntries(here.map(({ kernel, workgroup }) => [kernel, workgroup]));
}
