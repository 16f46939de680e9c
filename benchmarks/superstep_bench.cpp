// SPDX-License-Identifier: Apache-2.0
// The program superstep-bench: runs one workload and prints its report as a line of JSON.
#include "workloads.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::bench {

namespace {

enum class exit_code : int { ok = 0, failed = 1, unsupported = 3 };

struct workload {
  std::string_view name;
  std::string_view about;
  report (*run)(parameters&);
};

constexpr auto workloads = std::array{
    workload{"floor", "dir=.: cost of calls, messages, allocations, disk, loopback and programs",
             floor_figures},
    workload{"W1", "K=10 runs=1: a chain of K nodes", sequential},
    workload{"W1m", "K=10: W1 over messages, without writes", sequential_messages},
    workload{"W2", "N=1000 runs=1: N Sends", fan_out},
    workload{"W3", "S=1000 runs=1: two nodes in a loop", loop},
    workload{"W4", "C=1 T=3 version=v2|v1 agent=plain|react new=0 pay=0 runs=1: the ReAct agent",
             react},
    workload{"W5", "size=25x300|15x600|9x1200: a state of fifteen keys with growing lists",
             wide_lists},
    workload{"W5k", "M=300 S=100: M keys written in each of S steps", wide_state},
    workload{"W6", "N=100 runs=1: N Sends that each run a subgraph of twelve steps", subgraphs},
    workload{"W7", "R=1000 lat=0 conc=0: R agents at once", batch},
    workload{"W10", "R=1000: tokens of 100 models at a time, streamed through a graph", streaming},
    workload{"W13", "conc=1 R=20*conc url= stream=0: agents with a model over HTTP", model_http},
    workload{"W8loop",
             "S=1000 saver=sqlite|mem|postgres|none dur=async|sync|exit dir=. url=postgresql://… "
             "keep=0 runs=1: W3 "
             "with checkpoints",
             kept_loop},
    workload{"W8chat",
             "H=100 saver=sqlite|mem|postgres dur=… dir=. url=… keep=0: one thread of H turns",
             kept_chat},
    workload{"W8resume", "file=w8.db: opens the database that W8chat keep=1 left", resumed_chat},
    workload{"W9", "iters=2500000: 16 tool calls that compute", cpu_tools},
    workload{"W11", "N=100000 vec=0: items of the long-term store in memory", long_term_store},
    workload{"W12", "one small run, for timing the process from outside", start_up},
    workload{"chain3", "fresh=0 runs=20000: whole runs of W1 with K=3", chain3},
    workload{"fan5", "fresh=0 runs=20000: whole runs of five nodes and a join", fan5},
    workload{"append", "S=1000 runs=1: one message per step", append},
    workload{"send-state", "N=100 M=2000 runs=1: W2 with M messages in the state", send_state},
    workload{"wide-step", "N=1|10|…|100000|all: W2 and, for all, the fit a + b·N", wide_step},
    workload{"runs", "ms=2000 agent=0: chain3 or, with agent=1, an agent, by 64 concurrent clients",
             concurrent_runs},
    workload{
        "mixed",
        "R=64 every=4 heavy_bodies=5 heavy_us=10000 light_bodies=5 light_us=100: R runs at once",
        mixed_runs},
    workload{"batch", "R=2000 conc=64 dir=.: a batch job with files, three tool calls per row",
             batch_rows},
    workload{"http", "conc=1 R= url=: requests of the HTTP client", http_requests},
    workload{"early", "C=8 gap=50 lat=300 limit=0 early=1: a model that streams calls one by one",
             early_dispatch},
    workload{"idle", "N=1000 reads=0: N agents that wait in their tools", idle},
    workload{"actor-nodes",
             "N=1000 how=place|message shape=loop|sends: a node as a function or as a CAF actor",
             actor_nodes},
    workload{"cancel", "N=10000: N waiting agents that are cancelled", cancel},
};

constexpr auto footer = R"(
Every workload accepts workers= (lanes; 0, the default: one per core) and, where repetitions make
sense, reps= (3). runs= is the number of whole runs, one after the other, in one repetition.

Members besides the common ones:
  cpu_seconds_min   minimum CPU time of all repetitions (cpu_seconds is that of the fastest)
  floor             call_ns, hop_ns, alloc_ns, share_ns (shared pointer), copy_ns (1 kB),
                    loopback_us, sync_cpu_us and process_us in CPU time; fdatasync_us in wall time
  W7                cpu_per_1000 (CPU s), rss_per_run_kb (conc=0)
  W10               cpu_per_token_us
  W13               runs_per_s, cpu_per_run_ms
  W8loop            transactions and rows written; runs= are concurrent, one thread each
  W8chat            bytes on disk after closing, bytes_per_turn; json_bytes of the messages; file
                    with keep=1;
                    first_ms, last_ms and first_cpu_ms, last_cpu_ms: means of ten turns
  W9                speedup: time with one worker / with workers=; threads_speedup: the same calls
                    with one / with two bare std::threads, alternating in the same process;
                    seconds_1_worker, seconds_1_thread, seconds_2_threads
  W8resume          read_ms, turn_ms
  W11               put_us, get_us, search_us: CPU per operation
  batch             rows_per_s, cpu_us_per_row
  http              requests_per_s, cpu_us_per_request
  W12               import_s: CPU time of loading; rss_kb: resident memory after the run
  append            last_us: CPU per step over the last tenth
  send-state        send_cpu_us: CPU per Send after the first, without copying the input
  wide-step N=all   a_us, b_ns (CPU), worst_deviation from the fit, cpu_us by N
  runs              runs_per_s, runs_per_cpu_s
  mixed             of_ideal: the CPU time of the bodies / cores or workers / time; of_threads: the
                    time of bare threads that take one run after the other / time
  idle              bytes_per_run (resident), allocated_per_run (malloc). reads=1: the tools may
                    read the state
  cancel            marked_us: until every cancellation was requested; unwound_us: until every run
                    has ended and every frame is destroyed

Exit code: 0 measured, 1 invalid parameter or result, 3 unknown workload.)";

std::string list_of_workloads() {
  auto out = std::string{"Workloads:\n"};
  for (const auto& w : workloads) {
    auto line = "  " + std::string{w.name};
    line.resize(std::max(line.size() + 1, std::size_t{14}), ' ');
    out += line + std::string{w.about} + '\n';
  }
  return out + footer;
}

void print(std::string_view name, const parameters& p, report r) {
  auto line = json::object{{"workload", name},
                           {"params", p.effective()},
                           {"peer", "superstep"},
                           {"version", SUPERSTEP_VERSION},
                           {"seconds", r.time.seconds},
                           {"unit", r.unit},
                           {"units", static_cast<std::int64_t>(r.units)},
                           {"per_unit", r.time.seconds / r.units},
                           {"peak_rss_kb", peak_resident_bytes() / 1'024},
                           {"cpu_seconds", r.time.cpu},
                           {"cpu_seconds_min", r.time.cpu_min}};
  for (auto& [key, value] : r.extra)
    line[key] = std::move(value);
  line["checks"] = std::move(r.checks);
  std::cout << to_text(line) << std::endl;
}

exit_code run(const std::string& name, const std::vector<std::string>& words) {
  const auto* const found = std::find_if(workloads.begin(), workloads.end(),
                                         [&](const workload& w) { return w.name == name; });
  if (found == workloads.end()) {
    std::cerr << "superstep-bench: unknown workload '" << name << "'; see --help\n";
    return exit_code::unsupported;
  }
  try {
    auto p = parameters{words};
    auto result = found->run(p);
    print(name, p, std::move(result));
    return exit_code::ok;
  } catch (const std::exception& e) {
    std::cerr << "superstep-bench " << name << ": " << e.what() << '\n';
    return exit_code::failed;
  }
}

} // namespace

} // namespace superstep::bench

int main(int argc, char** argv) {
  auto program = CLI::App{"Runs one workload and prints one JSON line.", "superstep-bench"};
  auto name = std::string{};
  auto words = std::vector<std::string>{};
  program.add_option("WORKLOAD", name, "What to run")->required();
  program.add_option("PARAMETERS", words, "key=value …");
  program.footer(superstep::bench::list_of_workloads());
  CLI11_PARSE(program, argc, argv);
  return static_cast<int>(superstep::bench::run(name, words));
}
