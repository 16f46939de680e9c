// SPDX-License-Identifier: Apache-2.0
// superstep run AGENT --input in.jsonl --output out.jsonl: runs a batch job. This file checks the
// arguments, builds the agent, and passes both to run_batch() (batch/batch.cpp).
#include "base/malloc_arenas.hpp"
#include "cli/agent_files.hpp"
#include "cli/agent_runner.hpp"
#include "cli/commands.hpp"
#include "cli/inspect.hpp"
#include "cli/job_checkpoints.hpp"
#include "cli/usage.hpp"

#include <superstep/batch/batch.hpp>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace superstep::cli {

namespace {

struct run_arguments {
  std::string agent;
  std::vector<std::string> overrides;
  std::string bad_lines = "fail";
  std::string progress = "auto";
  std::optional<std::uint64_t> row_deadline_ms; // unset: the value of the agent file
  std::uint64_t limit = 0;                      // 0: all rows
  std::uint64_t shortage_wait_ms = 30'000;
  std::size_t workers = 0;
  std::string events; // empty: no event log
  bool checkpoints = false;
  batch_options batch;
};

// Global, because a signal handler has no other way to reach an object.
stop_request& interrupted() {
  static auto request = stop_request{};
  return request;
}
extern "C" void on_signal(int) {
  interrupted().request();
}

void install_signal_handlers() {
  static_cast<void>(interrupted()); // construct it now: a signal handler must not construct objects
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is reported as a write error
}

batch_options options_of(const run_arguments& given, const agent& a) {
  auto out = given.batch;
  out.bad_lines = given.bad_lines == "fail" ? on_bad_line::fail : on_bad_line::dead_letter;
  if (given.limit > 0)
    out.limit = given.limit;
  out.shortage_wait = std::chrono::milliseconds{given.shortage_wait_ms};
  out.row_deadline = a.spec().limits.row_deadline;
  if (given.row_deadline_ms == 0)
    out.row_deadline.reset();
  else if (given.row_deadline_ms)
    out.row_deadline = std::chrono::milliseconds{*given.row_deadline_ms};
  out.recursion_limit = a.spec().recursion_limit;
  out.fingerprint.agent = a.fingerprint();
  out.fingerprint.tools = a.tools_fingerprint();
  out.fingerprint.model = a.model()->fingerprint();
  const auto deadline_ms = out.row_deadline.value_or(std::chrono::milliseconds{0}).count();
  out.fingerprint.parameters = "row_deadline_ms=" + std::to_string(deadline_ms);
  return out;
}

/// Adds an error for each sub-agent whose agent file has the key `review`.
void add_reviews_below(const agent& above, std::set<const agent*>& seen,
                       std::vector<agent_fault>& into) {
  for (const auto& below : above.sub_agents()) {
    if (!seen.insert(below.agent.get()).second)
      continue;
    if (const auto& spec = below.agent->spec(); !spec.reviews.empty())
      into.push_back({spec.file, spec.reviews.front().line, spec.reviews.front().key,
                      "a batch cannot ask a person; use superstep chat"});
    add_reviews_below(*below.agent, seen, into);
  }
}

/// Returns errors for keys of the agent file that a batch does not support. If they were ignored,
/// the agent would behave differently without a message.
std::vector<agent_fault> only_for_chat(const std::string& file, const agent& asked) {
  const auto& spec = asked.spec();
  auto out = std::vector<agent_fault>{};
  if (!spec.reviews.empty())
    out.push_back({file, spec.reviews.front().line, spec.reviews.front().key,
                   "a batch cannot ask a person; use superstep chat, or run the calls without "
                   "review with --set review="});
  if (spec.summarise)
    out.push_back({file, spec.hooks_line, "hooks.summarise",
                   "not supported by superstep run: it would remove messages from the row's "
                   "output; disable it with --set hooks="});
  if (!spec.store.empty())
    out.push_back(
        {file, spec.store_line, "store",
         "not supported by superstep run: the rows of a batch share no memory; disable it with "
         "--set store="});
  std::ranges::stable_sort(out, {}, &agent_fault::line);
  auto seen = std::set<const agent*>{};
  add_reviews_below(asked, seen, out);
  return out;
}

/// Fails if two files of the job are the same file, so that one would overwrite the other. It is
/// called before any file is written.
result<void> check_files(const run_arguments& given, const agent& a) {
  using use = used_file::use;
  auto files = files_of(a);
  const auto is_piped = given.batch.input == "-";
  files.push_back({is_piped ? "standard input" : "--input",
                   is_piped ? "/dev/stdin" : given.batch.input, use::read});
  for (auto& written : paths_written_by(given.batch.output))
    files.push_back(std::move(written));
  if (given.checkpoints)
    add_database(files, "the checkpoints beside --output", checkpoints_path_of(given.batch.output),
                 use::written);
  files.push_back({"--events", given.events, use::written});
  add_standard_outputs(files);
  return check_distinct_files(files);
}

int fail_with(const std::string& text, exit_code code = exit_code::failed) {
  std::cerr << "superstep run: " << text << '\n';
  return static_cast<int>(code);
}

exit_code code_of(std::error_code failed) {
  return is_shortage(failed) ? exit_code::shortage : exit_code::failed;
}

int run(const run_arguments& given) {
  install_signal_handlers();
  limit_malloc_arenas(given.workers);
  const auto io = std::make_shared<io_runtime>();
  auto built = build_agent(read_agent_file(given.agent, given.overrides), io);
  for (const auto& note : built.notes)
    std::cerr << note << '\n';
  warn(built.warnings);
  if (!built.agent) {
    std::cerr << to_text(built.faults) << '\n';
    return failure_code(built);
  }
  if (const auto faults = only_for_chat(given.agent, *built.agent); !faults.empty()) {
    std::cerr << to_text(faults) << '\n';
    return static_cast<int>(exit_code::failed);
  }
  if (!is_set_up(*built.agent, *io))
    return static_cast<int>(exit_code::failed);
  if (const auto checked = check_files(given, *built.agent); !checked)
    return fail_with(checked.error().text);
  auto events = event_log{}; // declared before the engine, because the engine's actors write to it
  auto options = engine_options{};
  options.workers = given.workers;
  auto lanes = std::make_unique<engine>(options);
  if (!given.events.empty()) {
    if (const auto set = events.set_path(given.events); !set)
      return fail_with(set.error().text);
  }
  auto runner = std::make_optional<agent_runner>(
      *built.agent, *lanes, given.events.empty() ? nullptr : &events,
      given.checkpoints ? opener_of_checkpoints(given.batch) : agent_runner::open_checkpointer{});
  const auto mode = parse_progress_mode(given.progress, isatty(STDERR_FILENO) != 0);
  const auto progress = make_progress_sink(*mode, std::cerr);
  const auto ended = run_batch(options_of(given, *built.agent), *runner, *progress, interrupted());
  lanes.reset();
  runner.reset(); // closes the checkpoint database, which may be deleted now
  // Keep the database if rows have failed: --retry-dead resumes them from their checkpoints.
  if (given.checkpoints && ended && ended->left() == 0 && ended->failed == ended->bad_lines)
    remove_checkpoints_of(given.batch.output, ended->job_id);
  if (!ended)
    return fail_with(ended.error().text, code_of(ended.error().code));
  if (ended->rows == 0)
    std::cerr << "superstep run: warning: the input has no rows: "
              << (given.batch.input == "-" ? "standard input" : given.batch.input) << '\n';
  std::cout << to_text(*ended) << std::endl;
  if (!std::cout)
    return fail_with("the summary could not be written to standard output; the rows are in " +
                     ended->output);
  if (const auto closed = events.close(); !closed)
    return fail_with(closed.error().text);
  return static_cast<int>(ended->code);
}

/// Runs the job. If an exception means that the machine lacks memory, threads or another resource,
/// returns exit_code::shortage.
int run_or_report(const run_arguments& given) {
  constexpr auto resume = "; finished rows are safe, rerun to resume";
  try {
    return run(given);
  } catch (const std::bad_alloc&) {
    return fail_with(std::string{"the machine is out of memory"} + resume, exit_code::shortage);
  } catch (const std::system_error& e) {
    if (!is_shortage(e.code()))
      throw;
    return fail_with(e.what() + std::string{resume}, exit_code::shortage);
  } catch (const boost::system::system_error& e) { // thrown by Asio
    if (!is_shortage(e.code()))
      throw;
    return fail_with(e.what() + std::string{resume}, exit_code::shortage);
  }
}

constexpr auto rows_max = std::uint64_t{1'000'000'000'000};
constexpr auto line_bytes_max = std::uint64_t{4'000'000'000}; // simdjson parses less than 4 GiB

constexpr auto run_examples = R"(Examples:
  superstep run agent.yaml --input rows.jsonl --output out.jsonl
  superstep run agent.yaml -i rows.jsonl -o out.jsonl --concurrency 256 --set limits.rpm=500
  superstep run agent.yaml -i rows.jsonl -o try.jsonl --limit 10 --fresh

Rerun the same command to resume a job. After the first Ctrl-C, no further row starts, and running
rows may finish. The second Ctrl-C cancels them; they run again when the job is resumed.

Exit code: 0 all rows are ok, 1 usage or internal error, 2 finished with failed rows, 3 stopped
early, 4 stopped because the machine lacks resources or disk space. After 3 and 4, rerun to resume.)";

} // namespace

void add_run(CLI::App& program, action& chosen) {
  auto given = std::make_shared<run_arguments>();
  auto& verb = *program.add_subcommand("run", "Run every row of a JSONL file through an agent");
  verb.add_option("AGENT", given->agent, "The agent file")->required()->check(not_empty());
  verb.add_option("-i,--input", given->batch.input,
                  "JSONL file with the rows; - for standard input")
      ->required()
      ->check(not_empty());
  verb.add_option("-o,--output", given->batch.output,
                  "File for the results; the job's other files are created in the same folder")
      ->required()
      ->check(named_file());
  verb.add_option("--set", given->overrides, "key.path=value: overrides a key of the agent file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_number(verb, "--concurrency", given->batch.concurrency,
             "Maximum number of rows that run at a time", 1, 1'000'000);
  add_number(verb, "--limit", given->limit, "Maximum number of rows to start; 0 = all", 0,
             rows_max);
  verb.add_flag("--fresh", given->batch.fresh,
                "Move the files of an earlier job aside and start again");
  verb.add_flag("--force", given->batch.force,
                "Resume although agent, tools, model or input changed, or lines of the output are "
                "missing");
  verb.add_flag("--retry-dead", given->batch.retry_dead,
                "Run failed rows again, except rows with invalid input and rows that reached the "
                "recursion limit");
  verb.add_option("--on-bad-line", given->bad_lines,
                  "What to do if the input has invalid lines. fail: report them and run nothing; "
                  "dead-letter: write them to the dead letters and run the other rows")
      ->check(one_of({"fail", "dead-letter"}))
      ->capture_default_str();
  add_number(verb, "--row-deadline-ms", given->row_deadline_ms,
             "Timeout of one row; 0 = none; default: limits.row_deadline_ms of the agent file", 0,
             duration_ms_max);
  add_number(verb, "--shortage-wait-ms", given->shortage_wait_ms,
             "How long the job waits for file descriptors, processes or memory before it stops", 0,
             duration_ms_max);
  add_number(verb, "--max-line-bytes", given->batch.line_bytes_max,
             "Maximum bytes of an input line", 1, line_bytes_max);
  verb.add_option("--progress", given->progress,
                  "How progress is reported on standard error; auto: bar at a terminal, else plain")
      ->check(one_of({"auto", "bar", "plain", "json", "none"}))
      ->capture_default_str();
  verb.add_option(
          "--events", given->events,
          "Write the start and end of every model and tool call to this file, as JSON lines")
      ->check(named_file());
  verb.add_flag(
      "--checkpoints", given->checkpoints,
      "Save the state of each row after every super-step, so that interrupted rows resume at their "
      "last super-step; the database is beside the output and is deleted when all rows are ok");
  add_number(verb, "--workers", given->workers, "Number of threads that run rows; 0 = one per core",
             0, 4'096);
  verb.footer(run_examples);
  verb.callback([given, &chosen] { chosen = [given] { return run_or_report(*given); }; });
}

} // namespace superstep::cli
