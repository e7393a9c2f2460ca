// The pages that only a server has.
import { compare } from "./compare";
import { fleet } from "./fleet";
import { host, hosts, pool } from "./hosts";
import { overview } from "./overview";
import { report } from "./report";
import { result, run, runs } from "./run";
import { plots } from "./speed";
import { start } from "./start";
import { trends } from "./trends";

export const dashboard: Record<string, (main: HTMLElement, name: string) => Promise<void> | void> = { home: overview, compare, fleet, host, hosts, plots, pool, report, result, run, runs, start, trends };
