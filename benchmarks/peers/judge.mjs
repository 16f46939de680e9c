// SPDX-License-Identifier: Apache-2.0
// Compares reports of protocol_parsers with the measurements of protocols.mjs.
//   node judge.mjs THEIRS.jsonl OURS.json…
import { readFileSync } from "node:fs";

const [theirsFile, ...oursFiles] = process.argv.slice(2);
const theirs = new Map();
for (const line of readFileSync(theirsFile, "utf8").split("\n").filter(Boolean)) {
  const row = JSON.parse(line);
  theirs.set(row.name, row.bytes / row.seconds / 1e6);
}
const ours = new Map(); // MB/s of the best report
for (const file of oursFiles)
  for (const run of JSON.parse(readFileSync(file, "utf8")).benchmarks) {
    if (run.aggregate_name !== "least") continue;
    const name = run.run_name.split("/").slice(0, 3).join("/");
    const speed = run.bytes / run.cpu_time * 1e3; // cpu_time is in nanoseconds
    ours.set(name, Math.max(speed, ours.get(name) ?? 0));
  }

const ratioMin = 20;
let failed = false;
const verdict = (is) => {
  failed ||= !is;
  return is ? "PASS" : "FAIL";
};
console.log("text                        MB/s  promised        their MB/s   ratio  promised");
for (const [name, speed] of ours) {
  const promised = name.includes("/plain/") ? 200 : name.startsWith("yaml_xml") ? 5 : 50;
  let line = `${name.padEnd(24)} ${speed.toFixed(1).padStart(7)}  ${String(promised).padStart(4)} ${verdict(speed >= promised)}`;
  const their = theirs.get(name);
  if (their !== undefined) {
    const ratio = speed / their;
    line += `       ${their.toFixed(2).padStart(8)} ${ratio.toFixed(1).padStart(7)}  ${ratioMin} ${verdict(ratio >= ratioMin)}`;
  }
  console.log(line);
}
process.exit(failed ? 1 : 0);
