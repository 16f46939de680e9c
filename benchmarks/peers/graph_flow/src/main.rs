// SPDX-License-Identifier: Apache-2.0

//! Runs a workload of superstep-bench with graph-flow and prints the same line of JSON.
//!
//!     graph-flow-bench WORKLOAD key=value …
//!
//! Exit code: 0 measured, 1 wrong result or parameter, 3 a workload that graph-flow cannot express. graph-flow has no
//! reducers, no Sends and no prebuilt agent. Its context is a map of JSON values.

use async_trait::async_trait;
use graph_flow::{Context, ExecutionStatus, FanOutTask, Graph, GraphBuilder, NextAction, Session, Task, TaskResult};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

fn fail(what: impl Display) -> ! {
    eprintln!("graph-flow-bench: {what}");
    std::process::exit(1)
}

struct Parameters {
    given: BTreeMap<String, String>,
    effective: Map<String, Value>,
}

impl Parameters {
    fn new(words: impl Iterator<Item = String>) -> Self {
        let pairs = words.map(|word| match word.split_once('=') {
            Some((key, value)) => (key.to_string(), value.to_string()),
            None => fail(format!("'{word}' is not a parameter")),
        });
        let mut out = Self { given: pairs.collect(), effective: Map::new() };
        out.given.remove("mode"); // there is one engine
        out
    }

    fn integer(&mut self, key: &str, fallback: usize) -> usize {
        let value = match self.given.remove(key) {
            Some(text) => text.parse().unwrap_or_else(|_| fail(format!("{key} must be a number"))),
            None => fallback,
        };
        self.effective.insert(key.to_string(), json!(value));
        value
    }

    fn done(&self) {
        if let Some(key) = self.given.keys().next() {
            fail(format!("unknown parameter {key}"));
        }
    }
}

struct Report {
    unit: &'static str,
    units: usize,
    seconds: f64,
    cpu: f64,
    cpu_min: f64,
    checks: Value,
    extra: Map<String, Value>,
}

/// Returns the CPU time of the process in seconds, user and system time together.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for the duration of the call.
    if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) } != 0 {
        fail("clock_gettime failed");
    }
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn memory_kb(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

impl Report {
    fn new(unit: &'static str, units: usize) -> Self {
        let (seconds, cpu, cpu_min) = (f64::INFINITY, 0.0, f64::INFINITY);
        Self { unit, units, seconds, cpu, cpu_min, checks: json!({}), extra: Map::new() }
    }

    fn add(&mut self, wall: f64, cpu: f64) {
        self.cpu_min = self.cpu_min.min(cpu);
        if wall < self.seconds {
            (self.seconds, self.cpu) = (wall, cpu);
        }
    }
}

/// Adds one to the value `n`. Without `last`, the next task follows in the same call.
struct AddOne {
    id: String,
    last: bool,
}

#[async_trait]
impl Task for AddOne {
    fn id(&self) -> &str {
        &self.id
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        let n: i64 = context.get("n").unwrap_or(0);
        context.set("n", n + 1)?;
        let next = if self.last { NextAction::End } else { NextAction::ContinueAndExecute };
        Ok(TaskResult::new(None, next))
    }
}

/// Writes 1 to a key of its own: parallel tasks of graph-flow have no reducers.
struct WriteOne(String);

#[async_trait]
impl Task for WriteOne {
    fn id(&self) -> &str {
        &self.0
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        context.set(self.0.clone(), 1)?;
        Ok(TaskResult::new(None, NextAction::End))
    }
}

/// Sums the keys of the parallel tasks.
struct Join;

#[async_trait]
impl Task for Join {
    fn id(&self) -> &str {
        "join"
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        let total: i64 = (0..5).filter_map(|i| context.get::<i64>(&format!("one{i}"))).sum();
        context.set("n", total)?;
        Ok(TaskResult::new(None, NextAction::End))
    }
}

struct End;

#[async_trait]
impl Task for End {
    fn id(&self) -> &str {
        "end"
    }

    async fn run(&self, _: Context) -> graph_flow::Result<TaskResult> {
        Ok(TaskResult::new(None, NextAction::End))
    }
}

fn build(builder: GraphBuilder) -> Graph {
    builder.build().unwrap_or_else(|e| fail(e))
}

fn make_chain(length: usize) -> Graph {
    let mut out = GraphBuilder::new("chain");
    for i in 0..length {
        out = out.add_task(Arc::new(AddOne { id: format!("n{i}"), last: i + 1 == length }));
        if i > 0 {
            out = out.add_edge(format!("n{}", i - 1), format!("n{i}"));
        }
    }
    build(out)
}

/// The loop ends in a task of its own, because only a task can end a run.
fn make_loop(steps: usize) -> Graph {
    let add = |id: &str| Arc::new(AddOne { id: id.to_string(), last: false });
    let builder = GraphBuilder::new("loop").add_task(add("a")).add_task(add("b")).add_task(Arc::new(End));
    let goes_on = move |context: &Context| context.get::<usize>("n").unwrap_or(0) < steps;
    build(builder.add_edge("a", "b").add_conditional_edge("b", goes_on, "a", "end"))
}

fn make_fan5() -> Graph {
    let children = (0..5).map(|i| Arc::new(WriteOne(format!("one{i}"))) as Arc<dyn Task>).collect();
    let fan = FanOutTask::new("fan", children).with_next_action(NextAction::ContinueAndExecute);
    build(GraphBuilder::new("fan5").add_task(fan).add_task(Arc::new(Join)).add_edge("fan", "join"))
}

async fn run_once(graph: &Graph) -> i64 {
    let start = graph.start_task_id().unwrap_or_default();
    let mut session = Session::new_from_task("bench".to_string(), start);
    match graph.execute_session(&mut session).await {
        Ok(ended) if matches!(ended.status, ExecutionStatus::Completed) => session.context.get("n").unwrap_or(-1),
        Ok(ended) => fail(format!("the run ended as {:?}", ended.status)),
        Err(e) => fail(e),
    }
}

fn measure(p: &mut Parameters, mut r: Report, graph: Graph, expected: usize, runs: usize, check: &str) -> Report {
    let repetitions = p.integer("reps", 3);
    let workers = p.integer("workers", 0);
    p.done();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if workers > 0 {
        builder.worker_threads(workers);
    }
    let runtime = builder.enable_time().build().unwrap_or_else(|e| fail(e));
    let graph = Arc::new(graph);
    for repetition in 0..=repetitions {
        let (graph, count) = (graph.clone(), if repetition == 0 { 1 } else { runs });
        let (cpu, wall) = (cpu_seconds(), Instant::now());
        let ended = runtime.block_on(async move {
            let mut last = 0;
            for _ in 0..count {
                last = run_once(&graph).await;
            }
            last
        });
        if ended != expected as i64 {
            fail(format!("wrong result: {ended}"));
        }
        if repetition > 0 {
            r.add(wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        }
    }
    r.checks = json!({ check: expected });
    r
}

fn run(name: &str, p: &mut Parameters) -> Option<Report> {
    Some(match name {
        "W1" => {
            let (length, runs) = (p.integer("K", 10), p.integer("runs", 1));
            measure(p, Report::new("super-step", length * runs), make_chain(length), length, runs, "n")
        }
        "W3" => {
            let (steps, runs) = (p.integer("S", 1000), p.integer("runs", 1));
            measure(p, Report::new("super-step", steps * runs), make_loop(steps), steps, runs, "n")
        }
        "chain3" => {
            let runs = p.integer("runs", 20000);
            measure(p, Report::new("run", runs), make_chain(3), 3, runs, "n")
        }
        "fan5" => {
            let runs = p.integer("runs", 20000);
            measure(p, Report::new("run", runs), make_fan5(), 5, runs, "total")
        }
        "W12" => {
            let loaded = cpu_seconds();
            p.given.insert("reps".to_string(), "1".to_string());
            let mut out = measure(p, Report::new("process", 1), make_chain(1), 1, 1, "n");
            out.extra.insert("import_s".to_string(), json!(loaded));
            out.extra.insert("rss_kb".to_string(), json!(memory_kb("VmRSS")));
            out
        }
        _ => return None,
    })
}

fn main() {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let mut p = Parameters::new(words);
    let Some(r) = run(&name, &mut p) else { std::process::exit(3) };
    let mut line = json!({
        "workload": name, "params": p.effective, "peer": "graph-flow", "version": "0.8.1", "seconds": r.seconds,
        "unit": r.unit, "units": r.units, "per_unit": r.seconds / r.units as f64, "peak_rss_kb": memory_kb("VmHWM"),
        "cpu_seconds": r.cpu, "cpu_seconds_min": r.cpu_min, "checks": r.checks,
    });
    line.as_object_mut().into_iter().for_each(|all| all.extend(r.extra.clone()));
    println!("{line}");
}
