// Workgroup sizes that were measured before, in this browser.

const NAMES = ["vendor", "architecture", "device", "description"];

/** The sizes for an adapter, by kernel; `tuned` are rows of {adapter, kernel, workgroup}. */
export function sizesFor(tuned, adapter) {
  const here = (tuned ?? []).filter((row) => NAMES.every((name) => (row.adapter[name] ?? "") === (adapter?.[name] ?? "")));
  return Object.fromEntries(here.map(({ kernel, workgroup }) => [kernel, workgroup]));
}
