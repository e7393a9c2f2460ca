// What the page shows: choices and results, made of what the lab says. All text is set as text.

export const $ = (id) => document.getElementById(id);

/** An element with properties and children. */
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

/** A box to tick, with its words. */
function choice({ type, name, value, checked, disabled, title, detail }) {
  const input = element("input", { type, name, value, checked: checked && !disabled, disabled });
  return element("label", {}, input, element("b", { textContent: title }), detail ? element("small", { textContent: detail }) : null);
}

const MANY = 24; // models, from which on they are searched

const sized = ({ family, size, weights }) => [family, size === "tiny" && weights === "random" ? "" : `${size}, ${weights}`].filter(Boolean).join(" · ");

/** Shows what may be chosen; what was chosen before stays so. */
export function showOffer({ machine, browser, models, targets, timings }, before) {
  $("device").textContent = `${browser} on ${machine}`;
  const kept = (name, value, otherwise) => (before ? before[name].includes(String(value)) : otherwise);
  $("models").replaceChildren(
    ...models.map((model, i) =>
      choice({ type: "checkbox", name: "model", value: i, checked: kept("model", i, i === 0), title: model.name, detail: sized(model) }),
    ),
  );
  const first = targets.findIndex(({ present }) => present);
  $("targets").replaceChildren(
    ...targets.map(({ target, title, detail, present, software }, i) =>
      choice({
        type: "checkbox", name: "target", value: target, title, disabled: !present, checked: kept("target", target, i === first),
        detail: present ? detail + (software ? " (software: slow, and its times say nothing)" : "") : `not here: ${detail}`,
      }),
    ),
  );
  $("timings").replaceChildren(
    ...timings.map(({ timing, title, detail }, i) =>
      choice({ type: "radio", name: "timing", value: timing, title, detail, checked: kept("timing", timing, i === 0) }),
    ),
  );
  $("find").hidden = models.length < MANY;
  $("choice").hidden = false;
}

/** Shows that this browser works for others, and with what. */
export function showLent({ machine, browser, to, targets }) {
  $("title").textContent = "This browser works for a fleet";
  $("device").textContent = `${browser} on ${machine}`;
  $("lent").replaceChildren(
    `As long as this page is open and in front, cells of ${to} that need `, element("b", { textContent: targets.join(", ") }),
    " run here, one after the other. Close the page to end that.",
  );
  $("lent").hidden = false;
  $("where").textContent = "Results go to those who sent the cells.";
}

/** What is ticked: name → values. While a run is under way the whole form is disabled, and still says what was chosen. */
export function chosen() {
  const values = (name) => [...$("choice").querySelectorAll(`input[name=${name}]:checked:not([disabled])`)].map(({ value }) => value);
  return { model: values("model"), target: values("target"), timing: values("timing") };
}

/** Shows those models alone whose words hold the text. */
export function filterModels(text) {
  const wanted = text.trim().toLowerCase();
  for (const label of $("models").children) label.hidden = !label.textContent.toLowerCase().includes(wanted);
}

/** Ticks all models that are shown, or none at all. */
export function tickModels(on) {
  for (const label of $("models").children) {
    if (!on || !label.hidden) label.querySelector("input").checked = on;
  }
}

const DIGITS = 3;
const number = (x) => (x >= 1000 ? Math.round(x).toString() : Number(x.toPrecision(DIGITS)).toString());
const ms = (x) => (x === null || x === undefined ? "" : `${number(x)} ms`);

/** What there is to say of a verdict beside itself. */
function because({ note, failure, evidence, hidden }) {
  const words = [evidence === "none" ? "" : evidence, note, hidden, failure && `${failure.class}: ${failure.detail}`, failure?.hint];
  return words.filter(Boolean).map((textContent) => element("small", { textContent }));
}

/** A cell of the table of results. */
const cell = (properties, ...children) => element("td", { role: "cell", ...properties }, ...children);

/** A cell with a number; narrow screens have no head above it, and show its label. */
function figure(label, text, detail) {
  const made = cell({ className: "number" }, text, detail ? element("small", { textContent: detail }) : null);
  if (text) made.dataset.label = label;
  return made;
}

const range = ({ lo_ms, hi_ms }) => (lo_ms === null ? "" : `${number(lo_ms)} to ${ms(hi_ms)}`);

/** Adds a result, the newest first. */
export function showResult(row) {
  const fresh = $("results").hidden;
  $("results").hidden = false;
  const size = row.size === "tiny" && row.weights === "random" ? "tiny, random weights" : `${row.size}, ${row.weights}`;
  $("rows").prepend(
    element(
      "tr", { role: "row" },
      cell({}, element("b", { textContent: row.model }), element("small", { textContent: size })),
      cell({ textContent: row.target }),
      cell({}, element("span", { className: `verdict ${row.verdict}`, textContent: row.word }), ...because(row)),
      figure("one run", ms(row.median_ms), range(row)),
      figure("difference", row.max_rel === null ? "" : row.max_rel.toExponential(1)),
    ),
  );
  if (fresh) $("results").scrollIntoView({ block: "nearest" }); // on a phone it is below everything
}

/** Says in one line how many results of each verdict there are. */
export function showTally(tally) {
  $("tally").textContent = Object.entries(tally).map(([word, n]) => `${n} × ${word}`).join(", ");
}

/** Adds a sentence above the results. */
export function showNote(text) {
  $("results").hidden = false;
  $("notes").hidden = false;
  $("notes").append(element("li", { textContent: text }));
}

/** Says what is wrong, with a button where something can be done; without words it is over. */
export function showAlert(text, action) {
  $("alert").hidden = !text;
  $("alert").replaceChildren(text ?? "");
  if (text && action) $("alert").append(element("button", { type: "button", textContent: action.title, onclick: action.do }));
}
