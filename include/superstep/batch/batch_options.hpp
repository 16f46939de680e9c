// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/batch/detail/stop_rules.hpp>
#include <superstep/messages/message_template.hpp>
#include <superstep/runtime/run_config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The handling of invalid input lines.
enum class on_bad_line : std::uint8_t {
  fail,        ///< nothing runs; every invalid line is reported with its number
  dead_letter, ///< invalid lines are written to the dead letters, and the other rows run
};

/// The order of the rows in the output.
enum class row_order : std::uint8_t {
  completion, ///< a row is written when it has ended
  input,      ///< a row waits until all rows before it in the input are written
};

/// The format of the output.
enum class output_format : std::uint8_t {
  jsonl, ///< one JSON object per line
  csv,   ///< CSV as in RFC 4180, in UTF-8, with a header and with quotes around all texts
};

/// The format of an input's text.
enum class input_format : std::uint8_t {
  by_name, ///< selected by the name: `.csv`, `.tsv`, also before `.gz`; any other name means jsonl
  jsonl,   ///< one JSON object per line
  csv,     ///< records of RFC 4180, separated by commas; the first record names the columns
  tsv,     ///< as csv, separated by tabs
};

/// Texts that identify what a job runs. A job is resumed only if they have not changed since its
/// first run. They may have any form and length, because only their digests are stored. run_batch()
/// adds a digest of the input.
struct job_fingerprint {
  std::string agent{};      ///< agent::fingerprint(): name, prompt, version, recursion limit, …
  std::string tools{};      ///< agent::tools_fingerprint(): definitions and options of the tools
  std::string model{};      ///< chat_model::fingerprint()
  std::string parameters{}; ///< overrides and limits that change results
  /// Keys of the agent file and their texts. If the agent, the tools or the model have changed, the
  /// error names the keys that have changed. May be empty. A key below `price` has the prices of a
  /// model, which may change; the user then gets a note.
  std::vector<std::pair<std::string, std::string>> keys{};
};

/// Options of a batch job. A comment that starts with `--` names the flag of `superstep run` that
/// sets the member.
struct batch_options {
  // --- rows ---
  std::string input{}; ///< --input: path, or "-" for standard input; gzip is decompressed
  /// --output: path, or "-" for standard output. The job's other files are beside the output. A job
  /// that writes to standard output has no other files and cannot be resumed.
  std::string output{};
  on_bad_line bad_lines = on_bad_line::fail;          ///< --on-bad-line fail|dead-letter
  std::size_t line_bytes_max = std::size_t{16} << 20; ///< --max-line-bytes: limit of an input line
  input_format input_as = input_format::by_name;      ///< --input-format
  char delimiter = '\0'; ///< --delimiter: separator of the fields of CSV; '\0': a comma
  /// Messages of rows that have columns of their own; the key `input` of the agent file. If it is
  /// not set, each row must contain its messages.
  std::optional<message_template> input_template{};
  /// --id-field: member or column with the row's id; empty: `id` or `custom_id`
  std::string id_field{};
  /// --shard I/N: of N disjoint parts of the rows, the job has part `shard`, counted from 1. The
  /// row's id selects its part.
  std::uint64_t shard = 1;
  std::uint64_t shards = 1; ///< number of parts; 1: the job has all rows
  std::optional<std::uint64_t>
      sample{};             ///< --sample: number of rows chosen at random; not set: all
  std::uint64_t seed = 1;   ///< --seed: selects the sample, and is the seed of sample 1
  std::uint32_t repeat = 1; ///< --repeat: runs of each row, with different ids
  /// --limit: the job stops after this number of rows of the input, counted from its first row;
  /// not set: no limit
  std::optional<std::uint64_t> limit{};
  /// --group-prefix: rows whose messages share their first bytes run together, for the prompt cache
  /// of the provider. The first row of a group runs alone. 0: the order of the input. Needs 32
  /// bytes of memory per row.
  std::size_t prefix_bytes = 0;

  // --- the output ---
  /// --fields: fields of the output. If empty, JSON lines contain the whole row, and CSV has the
  /// columns id, status, answer, error.code, error.message and those of the structured response.
  std::vector<std::string> fields{};
  /// Members of the agent's structured response, for the field `response`.
  std::vector<std::string> response_fields{};
  output_format format = output_format::jsonl; ///< --output-format
  row_order order = row_order::completion;     ///< --order

  // --- the files of the job ---
  bool fresh = false; ///< --fresh: move an earlier job's files aside and start again
  bool force = false; ///< --force: resume although the fingerprint differs
  /// Resumes the job although its input has changed, and starts it again, as with `fresh`, if
  /// anything else has changed. For jobs whose input another program writes.
  bool follows_input = false;
  /// --retry-dead: run rows in the dead letters again, except invalid input lines
  bool retry_dead = false;
  std::size_t ready_rows_max = 64;             ///< rows that are read ahead of their start
  std::size_t write_queue_max = 1024;          ///< finished rows that wait to be written
  std::chrono::milliseconds sync_interval{20}; ///< minimum time between two syncs of the output
  stop_rules rules{};                          ///< when the job stops early
  job_fingerprint fingerprint{};               ///< identifies what the job runs

  // --- limits ---
  std::size_t concurrency = 64; ///< --concurrency: rows in flight, at least 1
  /// --row-deadline-ms: timeout of a row; not set: none.
  std::optional<std::chrono::milliseconds> row_deadline{};
  /// Recursion limit of rows that do not specify one.
  std::uint32_t recursion_limit = default_recursion_limit;
  /// --shortage-wait-ms: maximum time that a job waits for resources while every row ends with a
  /// shortage of the machine. Then the job stops.
  std::chrono::milliseconds shortage_wait{30'000};
  /// Time that rows in flight have to finish after a write error before they are cancelled.
  std::chrono::milliseconds failure_drain{10'000};

  // --- hooks ---
  const clock* time =
      &system_clock(); ///< gives the time `created` in the journal; not used for waiting
  /// A hook for tests that inspect the files as a crash would leave them. Called by the writer
  /// thread after every write, sync and rename, with the name of the step. May be empty.
  std::function<void(std::string_view)> on_disk_step{};
};

} // namespace superstep
