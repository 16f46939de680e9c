// SPDX-License-Identifier: Apache-2.0
// Workloads of the prebuilt agent: one run, many runs, and streamed tokens.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import { digest } from "./graphs.mjs";
import { expect, Report } from "./measure.mjs";

const largeQuery = 3600;

/** Calls `echo` `calls` times in each of `rounds` rounds, then returns a text about its input. */
class ScriptedModel extends BaseChatModel {
  constructor(rounds, calls, large = false) {
    super({});
    Object.assign(this, { rounds, calls, large });
  }
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  answer(messages) {
    let [humans, answers, results] = [0, 0, 0];
    for (const message of messages) {
      const type = message.getType();
      if (type === "human") [humans, answers] = [humans + 1, 0];
      else if (type === "ai") ++answers;
      else if (type === "tool") ++results;
    }
    if (answers >= this.rounds) return new AIMessage(`done ${humans} ${results}`);
    const calls = Array.from({ length: this.calls }, (_, j) => {
      const name = `q${humans}-${answers}-${j}`;
      const query = this.large ? name.repeat(largeQuery / name.length + 1).slice(0, largeQuery) : name;
      return { name: "echo", args: { query }, id: `call_${humans}_${answers}_${j}`, type: "tool_call" };
    });
    return new AIMessage({ content: "", tool_calls: calls });
  }
  async _generate(messages) {
    return { generations: [{ text: "", message: this.answer(messages) }] };
  }
}

function makeEcho(latency = 0, large = false) {
  return tool(
    async ({ query }) => {
      if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
      return large ? `result for query: ${query}`.repeat(10) : `result for ${query}`;
    },
    { name: "echo", description: "Repeats the query.", schema: z.object({ query: z.string() }) },
  );
}

const hi = () => ({ messages: [new HumanMessage("hi")] });
const makeAgent = (llm, { version = "v2", latency = 0, large = false } = {}) =>
  createReactAgent({ llm, tools: [makeEcho(latency, large)], version });

async function react(p) {
  const [calls, rounds, version] = [p.integer("C", 1), p.integer("T", 3), p.text("version", "v2")];
  const [large, renewed, runs] = [p.integer("pay", 0) === 1, p.integer("new", 0) === 1, p.integer("runs", 1)];
  const reps = p.integer("reps", 3);
  p.done();
  const createAgent = renewed ? (await import("langchain")).createAgent : undefined;
  const make = (nRounds, nCalls) => {
    const model = new ScriptedModel(nRounds, nCalls, large);
    return renewed ? createAgent({ model, tools: [makeEcho(0, large)] }) : makeAgent(model, { version, large });
  };
  const runWith = async (agent) => {
    let result;
    for (let i = 0; i < runs; ++i) result = await agent.invoke(hi(), { recursionLimit: 2 * rounds + 10 });
    return result;
  };
  await runWith(make(1, 1));
  const agent = make(rounds, calls);
  const r = new Report("tool call", rounds * calls * runs);
  const { messages } = await r.measure(reps, () => runWith(agent));
  r.checks = { messages: messages.length, digest: digest(messages.map((m) => m.content)) };
  return r;
}

/** Calls `once` `count` times with at most `most` calls at a time (0: all), and keeps all results. */
async function inParallel(count, most, once) {
  const results = [];
  let started = 0;
  const worker = async () => {
    while (started < count) {
      const index = started++;
      results[index] = await once();
    }
  };
  await Promise.all(Array.from({ length: Math.min(most || count, count) }, worker));
  return results;
}

/** Measures several crowds. Returns the resident memory in kB that the first one added. */
async function measureCrowd(r, agent, runs, most, reps) {
  await inParallel(Math.min(10, runs), 0, () => agent.invoke(hi()));
  const before = process.memoryUsage().rss / 1024;
  let added = 0;
  for (let i = 0; i < reps; ++i) {
    const results = await r.measure(1, () => inParallel(runs, most, () => agent.invoke(hi())));
    added ||= process.resourceUsage().maxRSS - before;
    const messages = results.reduce((n, one) => n + one.messages.length, 0);
    const dones = results.filter((one) => one.messages.at(-1).content === "done 1 4").length;
    expect(messages === 8 * runs, `${messages} messages`);
    r.checks = { messages, dones };
  }
  return added;
}

async function batch(p) {
  const [runs, latency, most] = [p.integer("R", 1000), p.integer("lat", 0), p.integer("conc", 0)];
  const reps = p.integer("reps", 3);
  p.done();
  const r = new Report("run", runs);
  const added = await measureCrowd(r, makeAgent(new ScriptedModel(2, 2), { latency }), runs, most, reps);
  r.extra = { cpu_per_1000: (r.cpu / runs) * 1000, ...(most === 0 && { rss_per_run_kb: added / runs }) };
  return r;
}

async function modelHttp(p) {
  const most = p.integer("conc", 1);
  const [runs, url, stream] = [p.integer("R", Math.max(50, 2 * most)), p.text("url", ""), p.integer("stream", 0)];
  const reps = p.integer("reps", 3);
  p.done();
  const { ChatOpenAI } = await import("@langchain/openai");
  const llm = new ChatOpenAI({
    model: "scripted",
    apiKey: "none",
    maxRetries: 0,
    streaming: stream === 1,
    configuration: { baseURL: url },
  });
  const r = new Report("run", runs);
  await measureCrowd(r, makeAgent(llm), runs, most, reps);
  delete r.checks.dones;
  r.extra = { runs_per_s: runs / r.seconds, cpu_per_run_ms: (r.cpu / runs) * 1000 };
  return r;
}

const tokens = Array.from({ length: 200 }, (_, k) => `tok${k} `);

class TalkingModel extends ScriptedModel {
  async *_streamResponseChunks(messages, options, runManager) {
    for (const text of tokens) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
  answer() {
    return new AIMessage(tokens.join(""));
  }
}

async function streaming(p) {
  const [runs, reps] = [p.integer("R", 1000), p.integer("reps", 3)];
  p.done();
  const model = new TalkingModel(0, 0);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addEdge(START, "model")
    .addEdge("model", END)
    .compile();
  const read = async () => {
    const got = [];
    for await (const [chunk] of await graph.stream(hi(), { streamMode: "messages" }))
      if (chunk.content) got.push(chunk.content);
    expect(got.length === 200 && got.every((text, k) => text === tokens[k]), `${got.length} tokens`);
    return got.join("").length;
  };
  await read();
  const r = new Report("token", runs * 200);
  const chars = await r.measure(reps, () => inParallel(runs, 100, read));
  r.checks = { tokens: chars.length * 200, chars: chars.reduce((a, b) => a + b) };
  r.extra = { cpu_per_token_us: (r.cpuMin / r.units) * 1e6 };
  return r;
}

export const workloads = { W4: react, W7: batch, W10: streaming, W13: modelHttp };
