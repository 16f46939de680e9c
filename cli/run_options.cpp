// SPDX-License-Identifier: Apache-2.0
// The options of `superstep run`: one function per group adds them to the verb, and options_of()
// converts them to the options of the job.
#include "cli/run_options.hpp"

#include "cli/metrics.hpp"
#include "cli/usage.hpp"

#include <superstep/models/chat_model.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace superstep::cli {

namespace {

constexpr auto seed_max = std::uint64_t{2'147'483'647} - 1'000'000; // servers read 32 bits
constexpr auto rows_max = std::uint64_t{1'000'000'000'000};
constexpr auto line_bytes_max = std::uint64_t{4'000'000'000}; // simdjson parses less than 4 GiB

/// Accepts `I/N`: two numbers, of which the first is at least 1 and at most the second.
CLI::Validator part_of_parts() {
  constexpr auto shards_max = std::uint64_t{1'000'000};
  return {[](std::string& text) {
            auto wrong = "'" + text +
                         "' is not I/N, such as 1/4: a part from 1 to N, and the number N of "
                         "parts, at most " +
                         std::to_string(shards_max);
            const auto slash = text.find('/');
            if (slash == std::string::npos)
              return wrong;
            auto part = text.substr(0, slash);
            auto parts = text.substr(slash + 1);
            const auto number = whole_number(1, shards_max);
            if (!number(part).empty() || !number(parts).empty() ||
                std::stoull(part) > std::stoull(parts))
              return wrong;
            text = part + "/" + parts;
            return std::string{};
          },
          "", "part"};
}

input_format input_format_of(const std::string& word) {
  if (word == "jsonl")
    return input_format::jsonl;
  if (word == "csv")
    return input_format::csv;
  return word == "tsv" ? input_format::tsv : input_format::by_name;
}

} // namespace

void add_row_options(CLI::App& verb, run_arguments& into) {
  verb.add_option("AGENT", into.agent, "The agent file")->required()->check(named_file());
  verb.add_option(
          "-i,--input", into.batch.input,
          "File with the rows: JSONL, CSV or TSV, also compressed with gzip; - for standard "
          "input")
      ->required()
      ->check(not_empty());
  verb.add_option("--set", into.overrides, "key.path=value: overrides a key of the agent file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_input_options(verb, into);
}

void add_selection_options(CLI::App& verb, selection_arguments& into, batch_options& batch) {
  add_number(verb, "--limit", into.limit, "Run only the first N rows of the job; 0 = all", 0,
             rows_max);
  verb.add_option("--shard", into.shard,
                  "I/N: run part I of N parts of the rows, for example on N machines")
      ->type_name("I/N")
      ->check(part_of_parts());
  verb.add_option("--sample", batch.sample, "Run N rows that are chosen at random by --seed")
      ->transform(whole_number(1, rows_max))
      ->type_name("N");
  add_number(verb, "--repeat", batch.repeat,
             "Run each row N times, with the ids ID#1 to ID#N and different seeds", 1, 1'000'000);
  add_number(verb, "--seed", batch.seed,
             "Selects the rows of --sample; seed that the model gets for ID#1 of --repeat", 0,
             seed_max);
}

void select_rows(const selection_arguments& given, batch_options& into) {
  if (given.limit > 0)
    into.limit = given.limit;
  if (const auto slash = given.shard.find('/'); slash != std::string::npos) {
    into.shard = std::stoull(given.shard.substr(0, slash));
    into.shards = std::stoull(given.shard.substr(slash + 1));
  }
}

void add_input_options(CLI::App& verb, run_arguments& into) {
  add_number(verb, "--group-prefix", into.batch.prefix_bytes,
             "Run rows whose messages share their first N bytes together, after one of them has "
             "run alone, for the provider's prompt cache; 0 = the order of the input",
             0, line_bytes_max);
  verb.add_option("--input-format", into.input_format,
                  "Format of the input; auto: csv or tsv if the name ends so, else jsonl")
      ->check(one_of({"auto", "jsonl", "csv", "tsv"}))
      ->capture_default_str();
  add_delimiter(verb, into.batch.delimiter);
  verb.add_option("--id-field", into.batch.id_field,
                  "Member or column with the row's id; default: id or custom_id")
      ->check(not_empty());
  add_selection_options(verb, into.rows, into.batch);
  verb.add_option("--on-bad-line", into.bad_lines,
                  "What to do if the input has invalid lines. fail: report them and run nothing; "
                  "dead-letter: write them to the dead letters and run the other rows")
      ->check(one_of({"fail", "dead-letter"}))
      ->capture_default_str();
  add_number(verb, "--max-line-bytes", into.batch.line_bytes_max, "Maximum bytes of an input line",
             1, line_bytes_max);
}

void add_output_options(CLI::App& verb, run_arguments& into) {
  verb.add_option(
          "-o,--output", into.batch.output,
          "File for the results; the job's other files are created in the same folder. - for "
          "standard output: the job has no other files and cannot be resumed")
      ->required()
      ->check(not_empty());
  // CLI11 would read the values of a list until the next option, and accept a second list.
  verb.add_option_function<std::string>(
          "--fields",
          [&into](const std::string& names) { into.batch.fields = CLI::detail::split(names, ','); },
          "Fields of the output after the row's id, separated by commas, such as "
          "answer,usage,response; default: the whole row")
      ->check([](const std::string& names) {
        return std::ranges::count(CLI::detail::split(names, ','), "") > 0 ? "contains an empty name"
                                                                          : std::string{};
      })
      ->type_name("NAMES");
  verb.add_option("--output-format", into.output_format,
                  "Format of the output; auto: csv if the name ends with .csv, else jsonl")
      ->check(one_of({"auto", "jsonl", "csv"}))
      ->capture_default_str();
  verb.add_option("--order", into.order,
                  "Order of the rows in the output: as they end, or as in the input")
      ->check(one_of({"completion", "input"}))
      ->capture_default_str();
  verb.add_flag("--fresh", into.batch.fresh,
                "Move the files of an earlier job aside and start again");
  verb.add_flag("--force", into.batch.force,
                "Resume although agent, tools, model or input changed, or lines of the output are "
                "missing");
  verb.add_flag("--retry-dead", into.batch.retry_dead,
                "Run failed rows again, except rows with invalid input and rows that reached the "
                "recursion limit");
  verb.add_flag(
      "--checkpoints", into.checkpoints,
      "Save the state of each row after every super-step, so that interrupted rows resume at their "
      "last super-step; the database is beside the output, or that of --ledger, and the "
      "checkpoints are deleted "
      "when all rows are ok");
}

void add_limit_options(CLI::App& verb, run_arguments& into) {
  add_number(verb, "--concurrency", into.batch.concurrency,
             "Maximum number of rows that run at a time", 1, 1'000'000);
  add_number(verb, "--row-deadline-ms", into.row_deadline_ms,
             "Timeout of one row; 0 = none; default: limits.row_deadline_ms of the agent file", 0,
             duration_ms_max);
  add_number(verb, "--shortage-wait-ms", into.shortage_wait_ms,
             "How long the job waits for file descriptors, processes or memory before it stops", 0,
             duration_ms_max);
  add_stop_options(verb, into.stop);
  add_number(verb, "--workers", into.workers, "Number of threads that run rows; 0 = one per core",
             0, 4'096);
  add_number(verb, "--cores", into.cores,
             "Maximum number of cores that these threads use at a time; 0 = all", 0, 4'096);
}

void add_cache_option(CLI::App& verb, run_arguments& into) {
  verb.add_option("--cache", into.cache,
                  "SQLite file with answers of the model: equal requests at temperature 0 are "
                  "answered from it; sets cache.path of the agent file")
      ->check(named_file());
}

std::vector<std::string> overrides_of(const run_arguments& given) {
  auto out = given.overrides;
  out.insert(out.end(), given.combination.begin(), given.combination.end());
  if (given.cache.empty())
    return out;
  // Relative paths in overrides start at the folder of the agent file.
  const auto path = std::filesystem::absolute(given.cache).lexically_normal().string();
  out.push_back("cache.path=" + to_text(json::value(path)));
  return out;
}

void add_report_options(CLI::App& verb, run_arguments& into) {
  verb.add_option("--progress", into.progress,
                  "How progress is reported on standard error; auto: bar at a terminal, else plain")
      ->check(one_of({"auto", "bar", "plain", "json", "none"}))
      ->capture_default_str();
  verb.add_option_function<std::string>(
          "--metrics", [&into](const std::string& text) { into.metrics = *metrics_port(text); },
          "Serve metrics in the format of Prometheus at http://127.0.0.1:PORT/metrics; 0 = a free "
          "port, which is reported")
      ->type_name("PORT")
      ->check([](const std::string& text) {
        const auto port = metrics_port(text);
        return port ? std::string{} : port.error().text;
      });
  verb.add_option(
          "--events", into.events,
          "Write the start and end of every model and tool call to this file, as JSON lines")
      ->check(named_file());
  verb.add_option(
          "--trace", into.trace,
          "Write super-steps, calls and barrier waits to this file, in Chrome's trace format "
          "for ui.perfetto.dev")
      ->check(named_file());
  verb.add_option("--matrix", into.matrix,
                  "KEY=VALUE,VALUE: runs a job for each combination of values of these keys of the "
                  "agent file, and compares the outputs")
      ->type_name("KEY=VALUES")
      ->check(not_empty());
  add_gold_options(verb, into.gold);
  add_number(verb, "--trace-mb", into.trace_mb, "Maximum size of the trace in MB", 1, 10'000);
  verb.get_option("--trace-mb")->needs(verb.get_option("--trace"));
}

std::vector<std::string> response_fields_of(const agent& a) {
  auto out = std::vector<std::string>{};
  const auto& schema = a.spec().response;
  const auto* properties = schema ? schema->if_contains("properties") : nullptr;
  if (const auto* members = properties ? properties->if_object() : nullptr)
    for (const auto& [name, member] : *members)
      out.emplace_back(name);
  return out;
}

batch_options options_of(const run_arguments& given, const agent& a) {
  auto out = given.batch;
  const auto is_csv = given.output_format == "csv" ||
                      (given.output_format == "auto" && out.output.ends_with(".csv"));
  out.format = is_csv ? output_format::csv : output_format::jsonl;
  out.order = given.order == "input" ? row_order::input : row_order::completion;
  out.response_fields = response_fields_of(a);
  out.rules = given.stop.rules;
  out.bad_lines = given.bad_lines == "fail" ? on_bad_line::fail : on_bad_line::dead_letter;
  select_rows(given.rows, out);
  out.input_as = input_format_of(given.input_format);
  out.input_template = a.spec().input;
  out.shortage_wait = std::chrono::milliseconds{given.shortage_wait_ms};
  out.row_deadline = a.spec().limits.row_deadline;
  if (given.row_deadline_ms == 0)
    out.row_deadline.reset();
  else if (given.row_deadline_ms)
    out.row_deadline = std::chrono::milliseconds{*given.row_deadline_ms};
  out.recursion_limit = a.spec().recursion_limit;
  out.fingerprint.agent = a.fingerprint();
  out.fingerprint.keys = a.spec().keys;
  out.fingerprint.tools = a.tools_fingerprint();
  out.fingerprint.model = a.model()->fingerprint();
  const auto deadline_ms = out.row_deadline.value_or(std::chrono::milliseconds{0}).count();
  out.fingerprint.parameters = "row_deadline_ms=" + std::to_string(deadline_ms);
  return out;
}

} // namespace superstep::cli
