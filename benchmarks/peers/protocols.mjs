// SPDX-License-Identifier: Apache-2.0
// Parses the texts of `protocol_parsers --texts` with the JavaScript parser. Prints a line of JSON per
// text and piece size with the minimum CPU time of several measurements.
//   node protocols.mjs TEXTS.json FOLDER_WITH_NODE_MODULES
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [textsFile, folder] = process.argv.slice(2);
const { tools, texts } = JSON.parse(readFileSync(textsFile, "utf8"));
const require = createRequire(pathToFileURL(join(folder, "x.js")));
const parser = require("@ai-sdk-tool/parser");

const makers = {
  hermes: parser.hermesProtocol,
  morph_xml: parser.morphXmlProtocol,
  yaml_xml: parser.yamlXmlProtocol,
  qwen3_coder: parser.qwen3CoderProtocol,
};
const repetitions = 9;
const secondsMax = 12; // per text, so slow parsers are measured less often
const pieceSizes = [16, 256, 4096];

// Returns the beginning of a text, cut after a call. Slow parsers would take too long for a whole text.
function beginning(text, size) {
  if (text.length <= size) return text;
  const end = text.lastIndexOf("\nI ", size);
  return text.slice(0, end > 0 ? end + 1 : size);
}

function piecesOf(text, size) {
  const out = [];
  for (let at = 0; at < text.length; at += size) out.push(text.slice(at, at + size));
  return out;
}

async function readOnce(protocol, pieces) {
  let calls = 0;
  const source = new ReadableStream({
    start(controller) {
      controller.enqueue({ type: "text-start", id: "1" });
      for (const delta of pieces) controller.enqueue({ type: "text-delta", id: "1", delta });
      controller.enqueue({ type: "text-end", id: "1" });
      controller.enqueue({ type: "finish", finishReason: "stop", usage: {} });
      controller.close();
    },
  });
  const stream = source.pipeThrough(protocol.createStreamParser({ tools, options: {} }));
  for await (const part of stream) if (part.type === "tool-call") ++calls;
  return calls;
}

const cpuSeconds = (since) => {
  const used = process.cpuUsage(since);
  return (used.user + used.system) / 1e6;
};

for (const [name, make] of Object.entries(makers)) {
  for (const kind of ["plain", "small", "large"]) {
    const text = beginning(texts[`${name}/${kind}`], kind === "plain" ? 1 << 18 : 1 << 16);
    const bytes = Buffer.byteLength(text);
    for (const size of pieceSizes) {
      const pieces = piecesOf(text, size);
      const begun = process.cpuUsage();
      let least = Infinity;
      let calls = 0;
      let readings = 0;
      // The first measurement is a warm-up.
      while (readings <= repetitions && (readings === 0 || cpuSeconds(begun) < secondsMax)) {
        const before = process.cpuUsage();
        calls = await readOnce(make(), pieces);
        least = Math.min(least, cpuSeconds(before));
        ++readings;
      }
      const row = { name: `${name}/${kind}/${size}`, bytes, calls, readings, seconds: least };
      console.log(JSON.stringify(row));
    }
  }
}
