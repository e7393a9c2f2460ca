// How verdicts and evidence look: the same marks as the command line's, so that
// nothing depends on colours.
import { h, type Child } from "./dom";

export type Look = { verdict: string; word: string; mark: string; meaning: string };

export const looks: Look[] = [
  { verdict: "works", word: "works", mark: "✓", meaning: "ran, and its output was checked against a reference" },
  { verdict: "partial", word: "partial", mark: "◐", meaning: "ran, but some of it elsewhere, or its graph does not take every input, or the check could not be made" },
  { verdict: "should-work", word: "should work", mark: "○", meaning: "did not run: it was converted for the platform, or a table of operators or past results say so" },
  { verdict: "should-work-partly", word: "should work partly", mark: "◌", meaning: "did not run, and by the same evidence some of it would run elsewhere" },
  { verdict: "fails", word: "fails", mark: "✗", meaning: "was tried and failed, or would by a table of operators; the reason is given" },
  { verdict: "unavailable", word: "unavailable", mark: "–", meaning: "no such device on the machines that were tried" },
  { verdict: "unknown", word: "unknown", mark: "?", meaning: "was tried, but the machine broke before the model could show anything" },
  { verdict: "not-run", word: "never run", mark: "·", meaning: "not tried" },
];

export type Grade = { evidence: string; short: string; meaning: string };

export const grades: Grade[] = [
  { evidence: "measured", short: "", meaning: "ran on that device" },
  { evidence: "emulated", short: "emu", meaning: "ran on the vendor's emulator or a software adapter: its numbers count, its times do not" },
  { evidence: "compiled", short: "cmp", meaning: "converted for the platform, not run" },
  { evidence: "derived", short: "drv", meaning: "from the platform's table of operators" },
  { evidence: "predicted", short: "prd", meaning: "from a model of past results" },
];

/** What stands beside cells that are older than the rest. */
export const stale = { short: "old", meaning: "older than 30 days, or others ran with a newer engine" };

/** What stands beside times whose repeats differ too much. */
export const unstable = "~";

export function look(verdict: string): Look {
  return looks.find((l) => l.verdict === verdict) ?? { verdict, word: verdict, mark: "?", meaning: "" };
}

export function grade(evidence: string): Grade {
  return grades.find((g) => g.evidence === evidence) ?? { evidence, short: "", meaning: "" };
}

/** What people are shown of a verdict: what did not run only should work. */
export function shown(verdict: string, evidence: string): string {
  const unrun = evidence === "compiled" || evidence === "derived" || evidence === "predicted";
  if (unrun && verdict === "works") return "should-work";
  if (unrun && verdict === "partial") return "should-work-partly";
  return verdict;
}

/** A verdict as a tile with its word. */
export function badge(verdict: string, evidence = "", ...more: Child[]): HTMLElement {
  const v = shown(verdict, evidence);
  const l = look(v);
  const g = grade(evidence);
  return h("span", { class: `badge ${v} ${evidence}` },
    h("span", { class: "mark", "aria-hidden": "true" }, l.mark), h("span", {}, l.word), g.short !== "" && h("span", { class: "grade", title: `${evidence}: ${g.meaning}` }, g.short), ...more);
}

/** The legend of marks. */
export function legend(): HTMLElement {
  return h("details", { class: "legend" }, h("summary", {}, "What the marks mean"),
    h("div", { class: "cols" },
      h("dl", { class: "keys" }, looks.map((l) => [h("dt", {}, h("span", { class: `key ${l.verdict}`, "aria-hidden": "true" }, l.mark), l.word), h("dd", {}, l.meaning)])),
      h("dl", { class: "keys" },
        grades.map((g) => [h("dt", {}, h("span", { class: `key works ${g.evidence}`, "aria-hidden": "true" }, g.short || "✓"), g.evidence), h("dd", {}, g.meaning)]),
        h("dt", {}, h("span", { class: "key plain", "aria-hidden": "true" }, stale.short), "stale"), h("dd", {}, stale.meaning),
        h("dt", {}, h("span", { class: "key plain", "aria-hidden": "true" }, unstable), "unstable"), h("dd", {}, "a time whose repeats differ too much, or a ratio of such"))));
}
