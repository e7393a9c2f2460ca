// A fleet: its workers, its sweeps, and what nobody can run. It is asked again as long as the page is in view.
import { facts, fill, h, section, table } from "../dom";
import { get } from "../data";
import { age, count } from "../format";

type Worker = { name: string; state: string; why: string; seen?: string; healthy?: string; skew_s: number; slots: number; accepted: number; runs: string[]; targets: string[] };
type Sweep = { id: string; name: string; command: string; by: string; at: string; tasks: number; answered: number; state: string };
type Fleet = {
  named: boolean; problem: string; version: string; workers: Worker[]; sweeps: Sweep[]; tasks: Record<string, number>;
  attempts: number; accepted: number; elsewhere: number; lost: number; late: number; stuck: { target: string; tasks: number; missing: string }[];
};

const EVERY_MS = 2000;
const SKEWED_S = 60;

function show(main: HTMLElement, f: Fleet): void {
  const here = f.workers.filter((w) => w.state !== "away").length;
  fill(main, h("h1", {}, "Fleet"), h("p", { class: "sub" }, f.named ? `${count(here, "worker")} of ${f.workers.length} here.` : "Many machines, one matrix. This server was started without a coordinator's address: assay serve --fleet nats://HOST:4222, or a ticket's file, shows its fleet here."),
    f.problem !== "" && h("p", { class: "wrong", role: "alert" }, f.problem));
  if (!f.named) return;
  main.append(
    facts(["Cells", Object.entries(f.tasks).map(([state, n]) => `${n} ${state}`).join(", ") || "none"], ["Attempts", `${f.attempts}, of them ${f.accepted} accepted, ${f.elsewhere} tried elsewhere, ${f.lost} lost`], ["Late answers kept", f.late], ["Coordinator's version", f.version]),
    section("Workers", table(f.workers, [
      { head: "Worker", header: true, cell: (w) => w.name }, { head: "State", cell: (w) => [w.state, w.why].filter(Boolean).join(": ") }, { head: "Heard", cell: (w) => h("span", { class: "nowrap" }, w.seen ? age(w.seen) : "") },
      { head: "Healthy", cell: (w) => h("span", { class: "nowrap" }, w.healthy ? age(w.healthy) : "") }, { head: "Clock off", number: true, cell: (w) => (Math.abs(w.skew_s) > SKEWED_S ? `${Math.round(w.skew_s)} s` : "") },
      { head: "Accepted", number: true, cell: (w) => w.accepted }, { head: "Runs", cell: (w) => w.runs.join(", ") }, { head: "Has", long: true, cell: (w) => w.targets.join(", ") },
    ], "No worker has joined: assay-worker join URL starts one.", "Workers")),
    ...(f.stuck.length === 0 ? [] : [section("Nobody can run", table(f.stuck, [{ head: "Target", header: true, cell: (x) => x.target }, { head: "Cells", number: true, cell: (x) => x.tasks }, { head: "Why", cell: (x) => x.missing }], "", "Nobody can run"))]),
    section("Sweeps", table(f.sweeps, [
      { head: "Sweep", header: true, cell: (x) => x.name || x.id }, { head: "Command", cell: (x) => x.command }, { head: "By", cell: (x) => x.by }, { head: "Begun", cell: (x) => h("span", { class: "nowrap" }, age(x.at)) },
      { head: "Answered", number: true, cell: (x) => `${x.answered} of ${x.tasks}` }, { head: "State", cell: (x) => x.state },
    ], "No sweep was sent: assay test --key --fleet URL sends one.", "Sweeps")),
  );
}

export async function fleet(main: HTMLElement): Promise<void> {
  let shown = "";
  const look = async (): Promise<void> => {
    const f = await get<Fleet>("/v1/fleet");
    const text = JSON.stringify({ ...f, at: "" });
    if (text !== shown) show(main, f); // whoever reads it is not disturbed for nothing
    shown = text;
  };
  await look();
  setInterval(() => {
    if (!document.hidden) look().catch(() => {}); // the next time it may answer
  }, EVERY_MS);
}
