// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"
#include "key_digest.hpp"

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The journal of a job, out.journal
// =================================
// Text, append-only, one record per line:
//
//     <crc32 of what follows the space, 8 hex digits> <JSON array>\n
//
//     ["job",{"format":1,"job_id":…,"created":…,"agent":…,"tools":…,"model":…,"parameters":…,
//             "input":…,"keys":…,"input_format":…,"id_field":…,"shard":…,"sample":…,"repeat":…}]
//                                              written on one line
//     ["start",KEY]                            the row was submitted
//     ["ok",KEY,OUT,[…counts]]                 its output line ends at byte OUT of out.jsonl
//     ["dead",KEY,OUT,DEAD,[…counts]]          the row failed; its output line ends at byte OUT
//                                              and its dead letter at byte DEAD of out.dead.jsonl
//     ["bad",LINE,DEAD]                        input line LINE is invalid; its dead letter ends
//                                              at byte DEAD
//     ["spent",[…counts]]                      a row ended, but its end does not count and it runs
//                                              again
//     ["view",INODE,SIZE,FORM]                 the output is derived from the rows file; it is
//                                              complete, or FORM is empty and a write starts, after
//                                              which it has SIZE bytes
//     (row_view.hpp)
//                                              and is the file INODE; FORM is empty while rows are
//                                              written, then it has SIZE bytes
//     ["rebuild"]                              earlier records of rows are void, because the output
//                                              and the dead letters are being read again
//     ["rebuilt",OUT,DEAD]                     the records since then are complete; counts before
//                                              the rebuild that they lack are those of removed
//                                              lines
//     counts: steps, model calls, tool calls, input tokens, output tokens, total tokens,
//             failed tool calls, cost in billionths of a US dollar (null if it is not known),
//             cached answers (absent if there are none)
//
// The first record is a `job`. --force adds another `job` record, which replaces the first. `ok`,
// `dead` and `bad` are written only after their bytes in the other files were synced. An invalid
// end of the file is the result of a crash and is cut off. A line with a wrong checksum before the
// last valid line is damage, and the journal is rebuilt (rebuild.hpp).

namespace superstep::detail {

/// Identifies a job. All members but the first two must be the same in all runs of the job without
/// --force. Those up to `input` are digests. The others are texts, empty for the default.
struct job_header {
  std::string job_id;
  std::int64_t created = 0; ///< seconds since 1970-01-01 UTC
  std::string agent;
  std::string tools;
  std::string model;
  std::string parameters;
  std::string input;
  std::string format{};   ///< of the input: `csv` or `tsv`
  std::string id_field{}; ///< member with the ids of the rows
  std::string shard{};    ///< part of the rows, e.g. `1/4`
  std::string sample{};   ///< number and seed of a random sample, e.g. `100 seed 1`
  std::string repeat{};   ///< number and seed of the runs of each row, e.g. `5 seed 1`
  std::string layout{};   ///< empty, or rows_layout
  std::string keys{};     ///< digests of the keys of the agent file; see keys_text()

  /// Whether two jobs may have different rows. Line numbers of the input then differ only if
  /// `input` or `format` differs.
  [[nodiscard]] bool has_same_rows(const job_header& other) const noexcept {
    return input == other.input && format == other.format && id_field == other.id_field &&
           shard == other.shard && sample == other.sample && repeat == other.repeat;
  }
};
/// The layout of a job whose whole lines are in the rows file. Those of other jobs are in the
/// output.
inline constexpr std::string_view rows_layout = "rows";

/// Describes an output that is derived from the rows file.
struct view_record {
  std::uint64_t inode = 0;
  /// Its size when the last run ended; if it is not complete, the size after the last write that
  /// has started.
  std::uint64_t size = 0;
  std::string form;              ///< its columns, format and order; empty if it is not complete
  std::uint64_t size_before = 0; ///< size in the record before, which may still be the size
};

/// Counts of one row, or their sums over several rows.
struct row_counts {
  std::uint64_t steps = 0;
  std::uint64_t model_calls = 0;
  std::uint64_t tool_calls = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t total_tokens = 0;
  std::uint64_t failed_tool_calls = 0;
  std::int64_t cost = 0;            ///< in billionths of a US dollar
  std::uint64_t rows_unpriced = 0;  ///< rows whose cost is not known
  std::uint64_t cached_answers = 0; ///< answers of the model that came from the answer cache

  row_counts& operator+=(const row_counts& more) noexcept;
  /// Sets each member that is lower than that of `bound` to it.
  void raise_to(const row_counts& bound) noexcept;
};

/// Returns by how much each member of `counts` exceeds that of `part`; 0 if it does not.
[[nodiscard]] row_counts excess(const row_counts& counts, const row_counts& part) noexcept;

/// The content of a journal.
struct journal_content {
  std::optional<job_header> header;
  std::optional<view_record> view;
  boost::unordered_flat_set<key_digest> done;   ///< rows that succeeded or failed
  boost::unordered_flat_set<key_digest> failed; ///< those of `done` that failed
  /// The number of starts of each row that is unfinished, or that --retry-dead may start again.
  boost::unordered_flat_map<key_digest, std::uint32_t> starts;
  boost::unordered_flat_set<std::uint64_t> bad_lines; ///< numbers of invalid input lines
  std::uint64_t ok = 0;
  std::uint64_t dead = 0;
  std::uint64_t output_end = 0;  ///< size of out.jsonl according to the journal
  std::uint64_t dead_end = 0;    ///< size of out.dead.jsonl according to the journal
  std::uint64_t valid_bytes = 0; ///< size of the journal up to its last valid record
  row_counts counts;             ///< of the finished rows and of `unlisted`
  /// Counts of runs of rows that have no line in the output, because the row runs again: those of
  /// lines that rebuilds have removed, and of `spent` records. Their model calls were paid for, so
  /// budgets and the summary include them.
  row_counts unlisted;
  std::uint64_t rows_with_failed_calls = 0; ///< rows with a failed tool call
  std::uint64_t damaged_lines = 0; ///< number of damaged lines before the last valid record
  std::uint64_t first_damaged_line = 0;
  /// Whether the job was resumed with other rows, e.g. a changed input or shard, so that finished
  /// rows may not belong to the rows of this run.
  bool has_other_input = false;
  bool has_records = false;   ///< whether the file has a valid record, so that it is a journal
  bool needs_rebuild = false; ///< whether an earlier run started a rebuild but did not finish it

  /// Sets the header that a record contains.
  void set_header(job_header next);
  /// Marks a row as finished. The number of starts of a failed row is kept for --retry-dead.
  void mark_done(key_digest key, bool has_failed);
  void add(const row_counts& of_row) noexcept;
  /// Clears the data about finished rows, invalid lines and damage, for a rebuild. Keeps the
  /// header, the numbers of starts, `unlisted` and the size of the journal. An interrupted
  /// rebuild may begin again.
  void begin_rebuild();
  /// Adds the counts that the rebuild has not found again to `unlisted`.
  void end_rebuild();

private:
  row_counts before_rebuild_; ///< `counts` when the rebuild began
};

[[nodiscard]] result<journal_content> read_journal(const file& journal);

/// Append one record each to `out`; the table above describes them. @{
void append_job(std::string& out, const job_header& header);
void append_start(std::string& out, std::string_view key);
void append_ok(std::string& out, std::string_view key, std::uint64_t output_end,
               const row_counts& counts);
void append_dead(std::string& out, std::string_view key, std::uint64_t output_end,
                 std::uint64_t dead_end, const row_counts& counts);
void append_bad(std::string& out, std::uint64_t line, std::uint64_t dead_end);
void append_spent(std::string& out, const row_counts& counts);
void append_view(std::string& out, std::uint64_t inode, std::uint64_t size, std::string_view form);
void append_rebuild(std::string& out);
void append_rebuilt(std::string& out, std::uint64_t output_end, std::uint64_t dead_end);
/// @}

} // namespace superstep::detail
