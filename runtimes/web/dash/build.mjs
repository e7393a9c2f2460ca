// Builds the pages: one script, one style sheet, and the charts apart, which
// only some pages load. Scripts are plain ones, since a page that is opened from
// a disk may load no modules. The same sources give the same bytes.
import { build } from "esbuild";

const out = process.argv[2] ?? "dist";
const common = { bundle: true, minify: true, target: "es2022", charset: "utf8", legalComments: "none", logLevel: "warning", outdir: out };
await build({ ...common, entryPoints: { app: "src/main.ts" }, format: "iife" });
await build({ ...common, entryPoints: { charts: "src/echarts.ts" }, format: "iife" });
await build({ ...common, entryPoints: { app: "src/style/app.css" } });
