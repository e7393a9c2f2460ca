// Loads a model's parts in workers: by one, one after the other, or by one for each at the same time. Two sessions
// cannot be made at once in one thread.

const WORKER = new URL("parts_worker.mjs", import.meta.url);

function started() {
  const worker = new Worker(WORKER, { type: "module" });
  const ask = (message) =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
      worker.onerror = (event) => reject(new Error(event.message || "the worker could not be started"));
      worker.postMessage(message);
    });
  return { ask, end: () => worker.terminate() };
}

// A graph names the files beside it without their folder.
const base = (name) => name.split("/").pop();

/** Loads all parts; the milliseconds until the last one is ready, and the phases of each. */
export async function load({ platform, device, threads, parts, files, at_once: atOnce }) {
  const asked = parts.map((part) => ({
    platform,
    device,
    threads,
    graph: base(part.graph),
    files: Object.fromEntries(part.files.map((name) => [base(name), new URL(files[name], location.href).href])),
  }));
  const workers = atOnce ? asked.map(started) : [started()];
  try {
    const start = performance.now();
    const phases = [];
    if (atOnce) phases.push(...(await Promise.all(asked.map((part, i) => workers[i].ask(part)))));
    else for (const part of asked) phases.push(await workers[0].ask(part));
    return { ms: performance.now() - start, phases_ms: phases };
  } finally {
    for (const worker of workers) worker.end();
  }
}
