// The web lab: says what this browser is, lets the user choose, has the lab run the choice in frames of this page, and
// shows what comes out. The lab decides everything; this page only asks and shows.

import { about } from "./about.mjs";
import { Connection } from "./connection.mjs";
import { closeFrame, closeFrames, openFrame } from "./frames.mjs";
import { $, chosen, filterModels, showAlert, showLent, showNote, showOffer, showResult, showTally, tickModels } from "./view.mjs";

const PROBE = "probe";
const RUNNING = "assay-running"; // the cell under way, so that a page that comes back after a crash can tell

const run = { busy: false, cells: 0, finished: 0, now: "" };
let ready = false;
let lent = false; // this browser works for others: nothing is chosen here
let choices; // as they were when the connection was lost
const tally = {};

// The screen stays on while cells run, where the browser lets us.
let lock;
const stayAwake = async () => (lock = await navigator.wakeLock?.request("screen").catch(() => undefined));
const mayRest = () => lock?.release().catch(() => {});

function refresh() {
  if (lent) return refreshLent();
  const { model, target, timing } = chosen();
  const cells = model.length * target.length;
  swap($("run"), $("stop"), run.busy);
  $("progress").hidden = !run.busy;
  $("run").disabled = !ready || !cells;
  $("run").textContent = timing[0] === "test" || !timing.length ? "Run" : "Run and time";
  for (const field of $("choice").elements) {
    if (field.localName === "fieldset") field.disabled = run.busy;
  }
  if (run.busy) {
    $("progress").max = run.cells || 1;
    $("progress").value = run.finished;
    $("status").textContent = run.cells ? `${run.finished} of ${run.cells} done${run.now && `: ${run.now}`}` : "Starting…";
  } else if (ready) {
    $("status").textContent = cells ? `${cells} ${cells === 1 ? "cell" : "cells"} chosen` : "Choose a model and a platform";
  }
}

/** What stands below a browser that works for others. */
function refreshLent() {
  $("run").hidden = $("stop").hidden = true;
  $("progress").hidden = true;
  if (!ready) return;
  const done = `${run.finished} ${run.finished === 1 ? "cell" : "cells"} done`;
  $("status").textContent = run.busy ? `${run.now || "Starting…"}. ${done}` : `Waiting for cells. ${done}`;
}

/** Shows one of two buttons. Whoever is at the one that goes is at the other then. */
function swap(first, second, other) {
  const [shown, gone] = other ? [second, first] : [first, second];
  const held = document.activeElement === gone;
  shown.hidden = false;
  gone.hidden = true;
  if (held) shown.focus();
}

function ended() {
  Object.assign(run, { busy: false, now: "" });
  sessionStorage.removeItem(RUNNING);
  closeFrames();
  if (!lent || !ready) mayRest();
  refresh();
}

const on = {
  connected: async () => connection.say({ kind: "hello", about: await about() }),
  ask: ({ path }) => openFrame(PROBE, path),
  offer: (offer) => {
    closeFrame(PROBE);
    showAlert(afterCrash());
    showOffer(offer, choices);
    ready = true;
    refresh();
  },
  lent: (offer) => {
    closeFrame(PROBE);
    showAlert(afterCrash());
    showLent(offer);
    lent = ready = true;
    stayAwake(); // as long as the page is open: a cell may come at any time
    refresh();
  },
  open: ({ id, path }) => openFrame(id, path),
  close: ({ id }) => closeFrame(id),
  planned: ({ cells }) => {
    if (lent) run.busy = true;
    else Object.assign(run, { cells, finished: 0 });
    refresh();
  },
  started: ({ model, target }) => {
    run.now = `${model} on ${target}`;
    sessionStorage.setItem(RUNNING, run.now);
    refresh();
  },
  finished: (row) => {
    run.finished++;
    tally[row.word] = (tally[row.word] ?? 0) + 1;
    showResult(row);
    showTally(tally);
    refresh();
  },
  note: ({ text }) => showNote(text),
  done: ({ stopped, error }) => {
    const { finished, cells } = run;
    ended();
    if (lent) return;
    if (error && !stopped) showAlert(`The run failed: ${error}`);
    $("status").textContent = stopped ? `Stopped after ${finished} of ${cells}: what was finished is kept.` : `Done: ${finished} of ${cells}.`;
  },
  refused: ({ error }) => {
    ended();
    showAlert(`Assay refused: ${error}.`);
  },
  lost: (stopped) => {
    if (ready) choices = chosen();
    ready = false;
    const under = run.busy ? ` What was finished is kept${run.now && `; ${run.now} is not`}.` : "";
    ended();
    $("status").textContent = "Not connected";
    showAlert((stopped ? "Assay was stopped." : whyLost()) + under, { title: "Connect", do: () => connection.connect() });
  },
};

let everConnected = false;

/** Why there is no connection, as far as a page can know. */
function whyLost() {
  if (everConnected) return "The connection to Assay was lost: is this device still on the same network, and Assay still running?";
  return location.protocol === "https:"
    ? "This browser loaded the page but refuses the connection for results. Some, such as Safari on an iPhone, need a certificate that they trust: see Assay's docs/web-lab.md."
    : "Assay cannot be reached: is it still running?";
}

/** A sentence for a page that comes back after its tab ended in mid-run. */
function afterCrash() {
  const cell = sessionStorage.getItem(RUNNING);
  sessionStorage.removeItem(RUNNING);
  return cell && `This page ended while ${cell} was running: the browser may have run out of memory. Nothing was recorded for it.`;
}

const connection = new Connection({ ...on, connected: () => ((everConnected = true), on.connected()) });

$("choice").addEventListener("change", refresh);
$("choice").addEventListener("submit", (event) => {
  event.preventDefault();
  const { model, target, timing } = chosen();
  showAlert();
  if (!connection.say({ kind: "run", models: model.map(Number), targets: target, timing: timing[0] })) return;
  Object.assign(run, { busy: true, cells: 0, finished: 0, now: "" });
  stayAwake();
  refresh();
});
$("stop").addEventListener("click", () => connection.say({ kind: "stop" }));
$("all").addEventListener("click", () => (tickModels(true), refresh()));
$("none").addEventListener("click", () => (tickModels(false), refresh()));
$("find").addEventListener("input", ({ target }) => filterModels(target.value));
document.addEventListener("visibilitychange", () => {
  if (run.busy && document.hidden) showNote("This page was hidden during a run: browsers slow hidden pages down. A time taken meanwhile says so in its result.");
  if ((run.busy || (lent && ready)) && !document.hidden) stayAwake();
});

if (isSecureContext) connection.connect();
else showAlert("This page is not secure, and browsers allow WebGPU and WebNN only on secure pages: open the https address that Assay printed.");
