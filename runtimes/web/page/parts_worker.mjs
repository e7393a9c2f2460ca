// A worker that loads graphs, each into its own session, which it keeps.

import { Engine } from "./engine.mjs";

const engines = [];

onmessage = async ({ data }) => {
  try {
    const engine = new Engine();
    const { phases_ms } = await engine.create(data);
    engines.push(engine);
    postMessage(phases_ms);
  } catch (error) {
    postMessage({ error: String(error?.message ?? error) });
  }
};
