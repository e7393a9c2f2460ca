// The calls with which Assay tunes: what this page's adapter is, kernels at several sizes, own kernels against stock
// ones, a model's parts loaded by one worker or by many.

import { adapter } from "./about.mjs";
import { duel } from "./kernels/duel.mjs";
import { search } from "./kernels/search.mjs";
import { load } from "./parts.mjs";

/** op → what it does with the call's header: [header of the answer]. */
export const TUNING = {
  adapter: async () => [{ adapter: await adapter() }],
  search: async (header) => [await search(header)],
  duel: async (header) => [await duel(header)],
  load: async (header) => [await load(header)],
};
