// SPDX-License-Identifier: Apache-2.0
// Runs a workload of superstep-bench with LangGraph.js and prints the same line of JSON.
//   node runner.mjs WORKLOAD key=value …
// Exit code: 0 measured, 1 wrong result or parameter, 3 a workload that LangGraph.js cannot express.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { cpuSeconds, expect, Parameters, Report } from "./measure.mjs";

// Callbacks in the background lose tokens of a stream that ends first.
process.env.LANGCHAIN_CALLBACKS_BACKGROUND = "false";
process.env.LANGSMITH_TRACING = process.env.LANGCHAIN_TRACING_V2 = "false";

async function startUp(p) {
  p.done();
  const { makeChain } = await import("./graphs.mjs");
  const loaded = cpuSeconds();
  const { n } = await makeChain(1).invoke({ n: 0 });
  expect(n === 1, `n is ${n}`);
  const r = new Report("process", 1, { n });
  r.add(performance.now() / 1e3, cpuSeconds());
  r.extra = { import_s: loaded, rss_kb: process.resourceUsage().maxRSS };
  return r;
}

async function find(name) {
  if (name === "W12") return startUp;
  const modules = await Promise.all([import("./graphs.mjs"), import("./agents.mjs")]);
  return modules.map((m) => m.workloads[name]).find(Boolean);
}

function versionOf(name) {
  const entry = createRequire(import.meta.url).resolve(name);
  return JSON.parse(readFileSync(entry.slice(0, entry.indexOf(name) + name.length) + "/package.json", "utf8")).version;
}

const [name, ...words] = process.argv.slice(2);
const workload = await find(name);
if (!workload) process.exit(3);
const p = new Parameters(words);
const r = await workload(p);
console.log(
  JSON.stringify({
    workload: name,
    params: p.effective,
    peer: "langgraph.js",
    version: versionOf("@langchain/langgraph"),
    seconds: r.seconds,
    unit: r.unit,
    units: r.units,
    per_unit: r.seconds / r.units,
    peak_rss_kb: process.resourceUsage().maxRSS,
    cpu_seconds: r.cpu,
    cpu_seconds_min: r.cpuMin,
    ...r.extra,
    checks: r.checks,
  }),
);
