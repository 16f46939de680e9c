// SPDX-License-Identifier: Apache-2.0
// Workloads of graphs without models: chains, loops, Sends, wide states and subgraphs.
import { createHash } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MemorySaver, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { expect, Report } from "./measure.mjs";

const Counter = Annotation.Root({ n: Annotation() });
const sum = { total: Annotation({ reducer: (a, b) => a + b, default: () => 0 }) };
const Sum = Annotation.Root(sum);
const TalkingSum = Annotation.Root({ ...MessagesAnnotation.spec, ...sum });
const appending = () => Annotation({ reducer: (a, b) => a.concat(b), default: () => [] });

export const digest = (texts) => createHash("sha256").update(texts.join("|")).digest("hex").slice(0, 16);
const addOne = ({ n }) => ({ n: n + 1 });

/** Returns a function that runs the graph `count` times and returns the last result. */
function runsOf(graph, given, count = 1, config = {}) {
  return async () => {
    let result;
    for (let i = 0; i < count; ++i) result = await graph.invoke(given, { recursionLimit: 1_000_000, ...config });
    return result;
  };
}

export function makeChain(length, state = Counter, body = addOne) {
  const g = new StateGraph(state);
  let last = START;
  for (let i = 0; i < length; ++i) {
    g.addNode(`n${i}`, body).addEdge(last, `n${i}`);
    last = `n${i}`;
  }
  return g.addEdge(last, END).compile();
}

async function sequential(p) {
  const [length, runs, reps] = [p.integer("K", 10), p.integer("runs", 1), p.integer("reps", 3)];
  p.done();
  await runsOf(makeChain(10), { n: 0 })();
  const r = new Report("super-step", length * runs, { n: length });
  const { n } = await r.measure(reps, runsOf(makeChain(length), { n: 0 }, runs));
  expect(n === length, `n is ${n}`);
  return r;
}

async function sequentialMessages(p) {
  const [length, reps] = [p.integer("K", 10), p.integer("reps", 3)];
  p.done();
  const run = runsOf(makeChain(length, MessagesAnnotation, () => ({})), { messages: [new HumanMessage("hi")] });
  await run();
  const r = new Report("super-step", length, { messages: 1 });
  expect((await r.measure(reps, run)).messages.length === 1, "messages");
  return r;
}

async function chain3(p) {
  const [runs, reps] = [p.integer("runs", 100), p.integer("reps", 3)];
  p.done();
  const r = new Report("run", runs, { n: 3 });
  expect((await r.measure(reps, runsOf(makeChain(3), { n: 0 }, runs))).n === 3, "n");
  return r;
}

async function fan5(p) {
  const [runs, reps] = [p.integer("runs", 100), p.integer("reps", 3)];
  p.done();
  const names = [0, 1, 2, 3, 4].map((i) => `one${i}`);
  const g = new StateGraph(Sum);
  for (const name of names) g.addNode(name, () => ({ total: 1 })).addEdge(START, name);
  g.addNode("join", () => ({})).addEdge(names, "join").addEdge("join", END);
  const run = runsOf(g.compile(), {}, runs);
  await run();
  const r = new Report("run", runs, { total: 5 });
  expect((await r.measure(reps, run)).total === 5, "total");
  return r;
}

function makeFan(width, state) {
  return new StateGraph(state)
    .addNode("worker", ({ i }) => ({ total: i }))
    .addConditionalEdges(START, () => Array.from({ length: width }, (_, i) => new Send("worker", { i })), ["worker"])
    .addEdge("worker", END)
    .compile();
}

async function measureFan(r, width, given, runs, reps, state) {
  await runsOf(makeFan(10, state), given)();
  const { total } = await r.measure(reps, runsOf(makeFan(width, state), given, runs));
  expect(total === (width * (width - 1)) / 2, `total is ${total}`);
  r.checks = { total };
  return r;
}

async function fanOut(p) {
  const [width, runs, reps] = [p.integer("N", 1000), p.integer("runs", 1), p.integer("reps", 3)];
  p.done();
  return measureFan(new Report("task", width * runs), width, {}, runs, reps, Sum);
}

async function sendState(p) {
  const [width, messages] = [p.integer("N", 100), p.integer("M", 2000)];
  const [runs, reps] = [p.integer("runs", 1), p.integer("reps", 3)];
  p.done();
  const given = { messages: Array.from({ length: messages }, () => new HumanMessage("m".repeat(100))) };
  const r = await measureFan(new Report("task", width * runs), width, given, runs, reps, TalkingSum);
  const few = await measureFan(new Report("task", runs), 1, given, runs, reps, TalkingSum);
  r.extra = { send_cpu_us: ((r.cpuMin - few.cpuMin) * 1e6) / (width - 1) / runs };
  return r;
}

function makeLoop(steps, options) {
  return new StateGraph(Counter)
    .addNode("a", addOne)
    .addNode("b", addOne)
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addConditionalEdges("b", ({ n }) => (n < steps ? "a" : END), ["a", END])
    .compile(options);
}

async function loop(p) {
  const [steps, runs, reps] = [p.integer("S", 1000), p.integer("runs", 1), p.integer("reps", 3)];
  p.done();
  await runsOf(makeLoop(2), { n: 0 })();
  const r = new Report("super-step", steps * runs, { n: steps });
  expect((await r.measure(reps, runsOf(makeLoop(steps), { n: 0 }, runs))).n === steps, "n");
  return r;
}

async function keptLoop(p) {
  const [steps, saver, durability] = [p.integer("S", 1000), p.text("saver", "mem"), p.text("dur", "async")];
  p.text("dir", ".");
  const reps = p.integer("reps", 3);
  p.done();
  if (saver === "sqlite") process.exit(3); // its package needs a compiled module that is not installed here
  const r = new Report("super-step", steps);
  let checkpoints = 0;
  for (let i = 0; i < reps; ++i) {
    const checkpointer = saver === "mem" ? new MemorySaver() : undefined;
    const graph = makeLoop(steps, { checkpointer });
    const config = { configurable: { thread_id: "t" }, ...(checkpointer && { durability }) };
    expect((await r.measure(1, runsOf(graph, { n: 0 }, 1, config))).n === steps, "n");
    checkpoints = 0;
    if (checkpointer) for await (const _ of checkpointer.list(config)) ++checkpoints;
  }
  r.checks = { n: steps, checkpoints };
  return r;
}

async function append(p) {
  const [steps, reps] = [p.integer("S", 1000), p.integer("reps", 3)];
  p.done();
  const tenth = Math.max(Math.floor(steps / 10), 1);
  const times = new Map();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("append", ({ messages }) => {
      times.set(messages.length, process.cpuUsage());
      return { messages: [new HumanMessage("m".repeat(100))] };
    })
    .addEdge(START, "append")
    .addConditionalEdges("append", ({ messages }) => (messages.length < steps ? "append" : END), ["append", END])
    .compile();
  const r = new Report("super-step", steps, { messages: steps });
  let last = Infinity;
  for (let i = 0; i < reps; ++i) {
    expect((await r.measure(1, runsOf(graph, { messages: [] }))).messages.length === steps, "messages");
    const [from, to] = [times.get(steps - 1 - tenth), times.get(steps - 1)];
    last = Math.min(last, to.user + to.system - from.user - from.system);
  }
  r.extra = { last_us: last / tenth };
  return r;
}

async function wideState(p) {
  const [keys, steps, reps] = [p.integer("M", 300), p.integer("S", 100), p.integer("reps", 3)];
  p.done();
  const names = Array.from({ length: keys }, (_, i) => `k${i}`);
  const all = (value) => Object.fromEntries(names.map((name) => [name, value(name)]));
  const graph = new StateGraph(Annotation.Root(all(() => Annotation())))
    .addNode("all", (s) => all((name) => s[name] + 1))
    .addEdge(START, "all")
    .addConditionalEdges("all", ({ k0 }) => (k0 < steps ? "all" : END), ["all", END])
    .compile();
  const r = new Report("key-write", keys * steps, { sum: keys * steps });
  const last = await r.measure(reps, runsOf(graph, all(() => 0)));
  expect(Object.values(last).reduce((a, b) => a + b) === keys * steps, "sum");
  return r;
}

function makeShow() {
  const below = new StateGraph(Annotation.Root({ subject: Annotation(), jokes: Annotation() }))
    .addNode("edit", ({ subject }) => ({ subject: `${subject} - hohoho` }))
    .addNode("generate", ({ subject }) => ({ jokes: [`Joke about ${subject}`] }))
    .addNode("bump", ({ jokes }) => ({ jokes: [`${jokes[0]} a`] }))
    .addEdge(START, "edit")
    .addEdge("edit", "generate")
    .addEdge("generate", "bump")
    .addEdge("generate", END)
    .addConditionalEdges("bump", ({ jokes }) => (jokes[0].endsWith(" a".repeat(10)) ? END : "bump"), ["bump", END])
    .compile();
  return new StateGraph(Annotation.Root({ subjects: Annotation(), jokes: appending() }))
    .addNode("generate_joke", below)
    .addConditionalEdges(START, ({ subjects }) => subjects.map((subject) => new Send("generate_joke", { subject })), [
      "generate_joke",
    ])
    .addEdge("generate_joke", END)
    .compile();
}

async function subgraphs(p) {
  const [width, runs, reps] = [p.integer("N", 100), p.integer("runs", 1), p.integer("reps", 3)];
  p.done();
  const subjects = Array.from({ length: width }, (_, k) => `s${k}-`.padEnd(1000, "x"));
  await runsOf(makeShow(), { subjects: subjects.slice(0, 1) })();
  const r = new Report("subgraph super-step", 12 * width * runs);
  const { jokes } = await r.measure(reps, runsOf(makeShow(), { subjects }, runs));
  expect(jokes.length === width, `${jokes.length} jokes`);
  r.checks = { jokes: jokes.length, digest: digest(jokes) };
  return r;
}

export const workloads = {
  W1: sequential,
  W1m: sequentialMessages,
  W2: fanOut,
  W3: loop,
  W5k: wideState,
  W6: subgraphs,
  W8loop: keptLoop,
  chain3,
  fan5,
  append,
  "send-state": sendState,
  "wide-step": fanOut,
};
