// SPDX-License-Identifier: Apache-2.0
// superstep run AGENT --input in.jsonl --output out.jsonl: runs a batch job. This file checks the
// arguments, builds the agent, and passes both to run_batch() (batch/batch.cpp).
#include "cli/run.hpp"

#include "agents/yaml_fields.hpp"
#include "base/error_words.hpp"
#include "base/malloc_arenas.hpp"
#include "batch/file.hpp"
#include "cli/agent_files.hpp"
#include "cli/agent_runner.hpp"
#include "cli/commands.hpp"
#include "cli/inspect.hpp"
#include "cli/interrupts.hpp"
#include "cli/job_checkpoints.hpp"
#include "cli/matrix.hpp"
#include "cli/metrics.hpp"
#include "cli/out_of_resources.hpp"
#include "cli/run_options.hpp"
#include "cli/standard_output.hpp"
#include "cli/stop_options.hpp"
#include "cli/terminal.hpp"
#include "cli/usage.hpp"
#include "cli/written_file.hpp"
#include "ledger/job_at_start.hpp"
#include "ledger/run_shared.hpp"
#include "results/answer_field.hpp"
#include "results/gold.hpp"
#include "results/gold_check.hpp"

#include <superstep/batch/batch.hpp>
#include <superstep/models/detail/call_activity.hpp>

#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep::cli {

namespace {

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
  if (!given.shared.is_set())
    files.push_back({is_piped ? "standard input" : "--input",
                     is_piped ? "/dev/stdin" : given.batch.input, use::read});
  if (!given.shared.is_set())
    for (auto& written : paths_written_by(options_of(given, a)))
      files.push_back(std::move(written));
  if (given.checkpoints && !given.shared.is_set())
    add_database(files, "the checkpoints beside --output", checkpoints_path_of(given.batch.output),
                 use::written);
  files.push_back({"--events", given.events, use::written});
  files.push_back({"--prices", given.stop.prices, use::read});
  files.push_back({"--trace", given.trace, use::written});
  if (!given.gold.field.empty() && given.batch.output != "-")
    add_score_files(files, given.batch.output, given.gold);
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

/// Returns the exit code of a job that has not run. A job of a ledger that was cancelled before
/// this process started has been stopped, as one that is cancelled while the process runs.
exit_code code_of(std::error_code failed, const ledger_arguments& shared) {
  return shared.is_set() && failed == errc::cancelled ? exit_code::drained : code_of(failed);
}

bool is_pipe(const std::string& input) {
  return input == "-" || is_stream(input);
}

/// Returns the options that score the rows of the job.
gold_options gold_of(const run_arguments& given, const batch_options& job) {
  auto out = given.gold;
  out.line_bytes_max = job.line_bytes_max;
  out.progress = given.progress;
  out.id_field = job.id_field;
  out.delimiter = job.delimiter;
  out.input_as = job.input_as;
  if (!is_pipe(job.input)) // a pipe cannot be read again
    out.input = job.input;
  return out;
}

/// Moves the scores of an earlier job aside, as --fresh does with its other files.
result<void> move_scores_aside(const std::string& output) {
  const auto path = results::scores_path_of(output);
  if (output == "-" || !detail::exists(path))
    return {};
  const auto aside = detail::free_name(path, ".old");
  if (std::rename(path.c_str(), aside.c_str()) != 0)
    return detail::disk_error("move aside", path, errno);
  std::cerr << "moved the earlier job's scores aside, to " << aside << '\n';
  return {};
}

/// Scores the rows of a job that has ended, and completes its event log and its trace.
/// @param has_begun whether the job has files
result<void> finish_reports(const run_arguments& given, const batch_options& job, bool has_begun,
                            event_log& events, trace_log& trace) {
  if (trace.rows_skipped() > 0)
    std::cerr << "superstep run: the trace is full; " << trace.rows_skipped()
              << " rows are not in it. Use a larger --trace-mb\n";
  for (auto closed : {events.close(), trace.close()})
    if (!closed)
      return closed;
  if (given.gold.field.empty() || !has_begun)
    return {};
  const auto scored = score_output(job.output, gold_of(given, job));
  if (!scored && scored.error().code == errc::not_found) { // the rows that are written have none
    std::cerr << "superstep run: no scores: " << scored.error().text << '\n';
    return {};
  }
  if (!scored)
    return scored.error();
  std::cout << *scored << std::endl;
  return {};
}

/// Returns the file with the whole lines of the rows of a job with an output in CSV: the rows file
/// or, for a CSV that is derived from out.jsonl, this file.
std::string rows_file_of(const batch_options& job) {
  constexpr auto ending = std::string_view{".rows.jsonl"};
  for (const auto& written : paths_written_by(job)) {
    if (!written.path.ends_with(ending))
      continue;
    const auto whole = written.path.substr(0, written.path.size() - ending.size()) + ".jsonl";
    return !detail::exists(written.path) && detail::exists(whole) ? whole : written.path;
  }
  return job.output;
}

/// Fails if the rows of the job cannot be scored as the options request.
result<void> check_scores(const run_arguments& given, const batch_options& job, const agent& a) {
  if (given.gold.field.empty()) {
    for (const auto& [name, value] : {std::pair{"--gold-file", &given.gold.file},
                                      {"--answer", &given.gold.answer},
                                      {"--judge", &given.gold.judge}})
      if (!value->empty())
        return error{errc::invalid_argument, name + std::string{": needs --gold"}};
    return {};
  }
  if (job.output == "-")
    return error{errc::invalid_argument, "--gold: needs an output file, not standard output"};
  if (job.format != output_format::jsonl)
    return error{errc::invalid_argument,
                 "--gold: needs an output with JSON lines, not CSV; run the job without --gold, "
                 "and then: " +
                     score_command(rows_file_of(job), gold_of(given, job))};
  const auto knows_members = !a.spec().response || !job.response_fields.empty();
  if (!given.gold.answer.empty() && knows_members)
    if (auto checked =
            results::check_answer_field(given.gold.answer, job.response_fields, job.fields);
        !checked)
      return checked;
  if (auto checked = check_replaced_files(job.output, given.gold); !checked)
    return checked;
  // All combinations of --matrix have the same rows and expected answers.
  if (given.is_gold_checked)
    return {};
  auto options = score_options_of(job.output, gold_of(given, job));
  options.is_cancelled = is_stop_requested;
  return results::check_gold(options);
}

/// Checks the agent file of the judge before the rows run. Reports its errors to the user.
bool is_judge_usable(const std::string& file, const std::shared_ptr<io_runtime>& io) {
  if (file.empty())
    return true;
  const auto judge = build_agent(read_agent_file(file, {}), io);
  if (!judge.agent)
    std::cerr << to_text(judge.faults) << '\n';
  else if (!judge.agent->spec().input)
    std::cerr << "superstep run: --judge: " << file
              << " has no key input, whose template contains {{answer}} and {{gold}}\n";
  return judge.agent && judge.agent->spec().input;
}

/// Runs rows of a shared job.
result<batch_summary> run_shared(const run_arguments& given, const batch_options& job,
                                 row_runner& runner, progress_sink& progress) {
  auto address = detail::check_address(given.shared.ledger, given.shared.is_insecure_allowed);
  if (!address)
    return address.error();
  auto key = ledger_key();
  if (!key)
    return key.error();
  auto shared = detail::shared_run_options{
      .parts = given.shared.parts, .force = given.batch.force, .key = *std::move(key)};
  shared.worker.lease = std::chrono::milliseconds{given.shared.lease_ms};
  return detail::run_shared_batch(*address, given.shared.job, job, shared, runner, progress,
                                  interrupts());
}

/// Returns the function that opens the checkpoints of the job; null without --checkpoints.
agent_runner::open_checkpointer checkpoints_of(const run_arguments& given) {
  if (!given.checkpoints)
    return {};
  return given.shared.is_set() ? opener_of_shared_checkpoints(given.shared)
                               : opener_of_checkpoints(given.batch);
}

/// Deletes the checkpoints of a job whose rows are all ok.
void remove_checkpoints(const run_arguments& given, const std::string& job) {
  if (!given.shared.is_set())
    return remove_checkpoints_of(given.batch.output, job);
  if (const auto removed = remove_shared_checkpoints(given.shared, job); !removed)
    std::cerr << "superstep run: warning: the checkpoints of the job were not deleted: "
              << removed.error().text << '\n';
}

/// Returns the arguments with the agent file of the shared job if they name no other.
result<run_arguments> with_agent_of_job(run_arguments given) {
  if (!given.shared.is_set() || !given.agent.empty())
    return given;
  install_interrupts();
  auto address = detail::check_address(given.shared.ledger, given.shared.is_insecure_allowed);
  if (!address)
    return address.error();
  auto connection = detail::pg_connection{*std::move(address), is_stop_requested};
  auto job = detail::find_job_at_start(
      connection, given.shared.job, {}, interrupts(),
      [](const std::string& text) { std::cerr << "superstep run: " << text << std::endl; });
  if (!job)
    return job.error();
  given.agent = std::move(job->agent);
  return given;
}

/// A job whose arguments have been checked.
struct prepared_job {
  std::shared_ptr<io_runtime> io = std::make_shared<io_runtime>();
  agent_building built; ///< `agent` is set
  batch_options options;
  price_table prices;
};

/// Makes errors about keys that --matrix or --cache sets refer to this option.
void refer_to_options(const run_arguments& given, std::vector<agent_fault>& faults) {
  for (auto& fault : faults) {
    if (fault.file != "--set")
      continue;
    const auto is_of_matrix = std::ranges::any_of(given.combination, [&](const auto& word) {
      const auto key = word.substr(0, word.find('='));
      return detail::is_within(fault.key, key) || detail::is_within(key, fault.key);
    });
    if (is_of_matrix) {
      fault.file = "--matrix";
    } else if (!given.cache.empty() && fault.key == "cache.path") {
      fault.file = "--cache";
      fault.key.clear();
    }
  }
}

/// Returns the prices of a model as a text that differs if they do.
std::string price_text(const model_price& price) {
  return fmt::format("{} {} {} {}", price.input, price.output, price.cached_input.value_or(-1),
                     price.cache_write.value_or(-1));
}

/// Builds the agent of a job and checks all arguments, before any file is written. Reports errors
/// to the user.
/// @return the exit code; exit_code::ok if the job can run
int prepare(const run_arguments& given, prepared_job& into) {
  if (given.checkpoints && !given.shared.is_set() && given.batch.output == "-")
    return fail_with("--checkpoints needs a file as --output: a job that writes to standard output "
                     "cannot be resumed");
  if (const auto checked = check_folder_of("--cache", given.cache); !checked)
    return fail_with(checked.error().text);
  into.built = build_agent(read_agent_file(given.agent, overrides_of(given)), into.io);
  refer_to_options(given, into.built.faults);
  if (!into.built.agent) {
    std::cerr << to_text(into.built.faults) << '\n';
    return failure_code(into.built);
  }
  const auto& built = *into.built.agent;
  if (const auto faults = only_for_chat(given.agent, built); !faults.empty()) {
    std::cerr << to_text(faults) << '\n';
    return static_cast<int>(exit_code::failed);
  }
  if (!is_set_up(built, *into.io))
    return static_cast<int>(exit_code::failed);
  if (const auto checked = check_files(given, built); !checked)
    return fail_with(checked.error().text);
  into.options = options_of(given, built);
  if (const auto checked = check_scores(given, into.options, built); !checked)
    return checked.error().code == errc::cancelled
               ? fail_with("stopped on request before the first row", exit_code::drained)
               : fail_with(checked.error().text, code_of(checked.error().code));
  if (!is_judge_usable(given.gold.judge, into.io))
    return static_cast<int>(exit_code::failed);
  auto prices = prices_of(given.stop, built);
  if (!prices)
    return fail_with(prices.error().text);
  into.prices = *std::move(prices);
  if (const auto* const price = into.prices.find(model_name_of(built)))
    into.options.fingerprint.keys.insert(into.options.fingerprint.keys.begin(),
                                         {"price." + model_name_of(built), price_text(*price)});
  return static_cast<int>(exit_code::ok);
}

/// Reports the end of a job to the user, and completes its other files.
job_end report_end(const run_arguments& given, const batch_options& job,
                   const result<batch_summary>& ended, const call_activity& activity,
                   event_log& events, trace_log& trace) {
  if (!ended && ended.error().code == std::errc::broken_pipe) {
    static_cast<void>(fail_with(ended.error().text));
    return {reader_ended_code};
  }
  if (!ended)
    return {fail_with(ended.error().text, code_of(ended.error().code, given.shared))};
  const auto has_begun = !ended->job_id.empty();
  if (given.batch.fresh && has_begun)
    if (const auto moved = move_scores_aside(job.output); !moved)
      return {fail_with(moved.error().text)};
  if (ended->rows == 0 && ended->stop.cause != stop_cause::request)
    std::cerr << "superstep run: warning: the input has no rows: "
              << (given.batch.input == "-" ? "standard input" : given.batch.input) << '\n';
  for (const auto& warning : activity.warnings())
    std::cerr << "superstep run: warning: " << warning << '\n';
  // The rows may be on standard output.
  (given.batch.output == "-" ? std::cerr : std::cout) << to_text(*ended) << std::endl;
  if (!std::cout && has_reader_ended())
    discard_standard_output(); // the job has its usual exit code, because its files are complete
  if (!std::cout)
    return {fail_with("the summary could not be written to standard output; the rows are in " +
                      ended->output)};
  if (const auto reported = finish_reports(given, job, has_begun, events, trace); !reported) {
    const auto may_resume = ended->code == exit_code::drained || ended->code == exit_code::shortage;
    return {fail_with(reported.error().text,
                      may_resume ? ended->code : code_of_scores(reported.error().code))};
  }
  return {static_cast<int>(ended->code), ended->left() == 0};
}

job_end run(const run_arguments& given) {
  install_interrupts();
  limit_malloc_arenas(given.workers != 0 ? given.workers : given.cores); // as many as lanes
  auto prepared = prepared_job{};
  if (const auto code = prepare(given, prepared); code != 0)
    return {code};
  const auto& [io, built, job, prices] = prepared;
  for (const auto& note : built.notes)
    std::cerr << note << '\n';
  warn(built.warnings);
  auto events = event_log{}; // declared before the engine, because the engine's actors write to it
  auto trace = trace_log{};
  auto options = engine_options{};
  options.workers = given.workers;
  options.cores = given.cores;
  auto lanes = std::make_unique<engine>(options);
  if (!given.events.empty()) {
    if (const auto set = events.set_path(given.events); !set)
      return {fail_with(set.error().text)};
  }
  constexpr auto bytes_per_mb = std::uint64_t{1'000'000};
  if (!given.trace.empty())
    if (const auto set = trace.set_path(given.trace, given.trace_mb * bytes_per_mb); !set)
      return {fail_with(set.error().text)};
  auto runner = std::make_optional<agent_runner>(
      *built.agent, *lanes, given.events.empty() ? nullptr : &events,
      given.trace.empty() ? nullptr : &trace, checkpoints_of(given), prices,
      given.stop.rules.budget.has_value(), built.activity);
  const auto mode = parse_progress_mode(given.progress, has_redrawable_terminal());
  auto progress = make_progress_sink(*mode, std::cerr, terminal_of_standard_error());
  if (given.metrics) {
    auto served = std::make_unique<metrics_sink>(std::move(progress));
    if (const auto listening = served->listen(*io, *given.metrics); !listening)
      return {fail_with(listening.error().text)};
    progress = std::move(served);
  }
  if (const auto note = missing_price_note(*built.agent, prices); !note.empty())
    progress->note(note);
  const auto ended = given.shared.is_set() ? run_shared(given, job, *runner, *progress)
                                           : run_batch(job, *runner, *progress, interrupts());
  lanes.reset();
  runner.reset(); // closes the checkpoint database, which may be deleted now
  // Keep the checkpoints if rows have failed: --retry-dead resumes the rows from them.
  if (given.checkpoints && ended && ended->left() == 0 && ended->failed == ended->bad_lines)
    remove_checkpoints(given, ended->job_id);
  return report_end(given, job, ended, *built.activity, events, trace);
}

/// Calls `run`. If it throws because the machine lacks memory, threads or another resource, returns
/// exit_code::shortage.
template <class F>
std::invoke_result_t<F> with_shortage_code(const run_arguments& given, F run) {
  // A job that writes to standard output cannot be resumed.
  const auto is_resumable = given.shared.is_set() || given.batch.output != "-";
  const auto* const resume = is_resumable ? "; finished rows are safe, rerun to resume" : "";
  set_resumable(is_resumable);
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return {fail_with(std::string{"the machine is out of memory"} + resume, exit_code::shortage)};
  } catch (const std::system_error& e) {
    if (!is_shortage(e.code()))
      throw;
    return {fail_with(e.what() + std::string{resume}, exit_code::shortage)};
  } catch (const boost::system::system_error& e) { // thrown by Asio
    if (!is_shortage(e.code()))
      throw;
    return {fail_with(e.what() + std::string{resume}, exit_code::shortage)};
  }
}

/// Whether a job has written to an output before.
bool exists_job_at(const std::string& output) {
  auto job = batch_options{};
  job.output = output;
  return std::ranges::any_of(paths_written_by(job), [](const used_file& file) {
    return std::filesystem::exists(file.path);
  });
}

/// Fails if a combination would write a file of an earlier one. The names of a job's other files do
/// not contain the extension of its output, so these files may be the same although the outputs
/// differ.
/// @param written the files of the earlier combinations; those of this one are added
result<void> check_own_files(const matrix_job& job, const batch_options& options,
                             std::map<std::string, const matrix_job*>& written) {
  for (const auto& file : paths_written_by(options)) {
    if (file.path.empty())
      continue;
    const auto [first, is_new] = written.try_emplace(file.path, &job);
    if (!is_new)
      return error{errc::invalid_argument,
                   "--matrix: the combinations " + first->second->name + " and " + job.name +
                       " would both write " + file.path + ", " + file.what +
                       "; use other values, or an --output that ends with .jsonl"};
  }
  return {};
}

/// Runs a job for each combination of --matrix.
int run_combinations(const run_arguments& given) {
  if (is_pipe(given.batch.input) || given.batch.output == "-")
    return fail_with("--matrix: needs files, because the input is read for each combination");
  if (!given.events.empty() || !given.trace.empty())
    return fail_with("--matrix: cannot be used with --events or --trace; run one combination with "
                     "--set");
  const auto jobs = matrix_of(given.matrix, given.batch.output);
  if (!jobs)
    return fail_with(jobs.error().text);
  const auto has_job = [](const matrix_job& job) { return exists_job_at(job.output); };
  if (given.batch.retry_dead && std::ranges::none_of(*jobs, has_job))
    return fail_with("--retry-dead: there is no earlier job of --matrix at " + given.batch.output +
                     "; correct --output, or run without --retry-dead");
  const auto files = std::make_shared<results::gold_files>();
  const auto arguments_of = [&given, &files](const matrix_job& job) {
    auto out = given;
    out.gold.files = files;
    out.matrix.clear();
    out.batch.output = job.output;
    out.combination = job.overrides;
    out.is_gold_checked = true;
    // Combinations that an earlier run did not reach have no failed rows.
    out.batch.retry_dead = given.batch.retry_dead && exists_job_at(job.output);
    return out;
  };
  auto lines = std::map<std::string, std::string>{}; // files with JSON lines by output
  auto written = std::map<std::string, const matrix_job*>{};
  for (const auto& job : *jobs) {
    auto prepared = prepared_job{};
    auto arguments = arguments_of(job);
    arguments.is_gold_checked = &job != jobs->data();
    if (const auto code = prepare(arguments, prepared); code != 0) {
      std::cerr << "superstep run: --matrix: nothing was run, because of the combination "
                << job.name << '\n';
      return code;
    }
    const auto& options = prepared.options;
    if (const auto checked = check_own_files(job, options, written); !checked)
      return fail_with(checked.error().text);
    lines[job.output] = options.format == output_format::csv ? rows_file_of(options) : job.output;
  }
  if (const auto note = budget_note(jobs->size(), given.stop.rules); !note.empty())
    std::cout << note << std::endl;
  return run_matrix(
      *jobs, [&](const matrix_job& job) { return run_job(arguments_of(job)); },
      [&](const matrix_job& job) { return lines.at(job.output); });
}

constexpr auto run_examples = R"(Examples:
  superstep run agent.yaml --input rows.jsonl --output out.jsonl
  superstep run agent.yaml -i rows.jsonl -o out.jsonl --concurrency 256 --set limits.rpm=500
  superstep run agent.yaml -i rows.jsonl -o try.jsonl --limit 10 --fresh
  superstep run agent.yaml -i rows.jsonl -o answers.csv --fields answer,usage --order input
  superstep run agent.yaml -i rows.jsonl -o - --fields answer | head

Rerun the same command to resume a job. After the first Ctrl-C, no further row starts, and running
rows may finish. The second Ctrl-C cancels them; they run again when the job is resumed.

Exit code: 0 all rows are ok, 1 usage or internal error, 2 finished with failed rows, 3 stopped
early, 4 stopped because the machine lacks resources or disk space. After 3 and 4, rerun to resume.)";

} // namespace

job_end run_job(const run_arguments& given) {
  return with_shortage_code(given, [&]() -> job_end {
    const auto completed = with_agent_of_job(given);
    return completed ? run(*completed)
                     : job_end{fail_with(completed.error().text,
                                         code_of(completed.error().code, given.shared))};
  });
}

bool is_stop_requested() noexcept {
  return interrupts().current() != stop_request::none;
}

void add_run(CLI::App& program, action& chosen) {
  auto given = std::make_shared<run_arguments>();
  auto& verb =
      *program.add_subcommand("run", "Run an agent for each row of a JSONL, CSV or TSV file");
  add_row_options(verb, *given);
  add_output_options(verb, *given);
  add_limit_options(verb, *given);
  add_cache_option(verb, *given);
  add_report_options(verb, *given);
  add_shared_run_options(verb, given->shared);
  verb.footer(run_examples);
  verb.callback([given, &chosen] {
    chosen = [given] {
      share_pipe(given->gold);
      if (given->matrix.empty())
        return run_job(*given).code;
      return with_shortage_code(*given, [given] { return run_combinations(*given); });
    };
  });
}

} // namespace superstep::cli
