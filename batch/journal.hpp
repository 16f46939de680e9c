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
//             "input":…}]                      one line, as all of them
//     ["start",KEY]                            the row was given to the runner
//     ["ok",KEY,OUT,[…counts]]                 its output line ends at byte OUT of out.jsonl
//     ["dead",KEY,OUT,DEAD,[…counts]]          the same, and its dead letter ends at byte DEAD of
//                                              out.dead.jsonl
//     ["bad",LINE,DEAD]                        input line LINE is no row; its dead letter ends
//                                              at byte DEAD
//     ["rebuild"]                              what was recorded of rows does not count any more: the
//                                              output and the dead letters are being read again
//     ["rebuilt",OUT,DEAD]                     the records since then are complete
//     counts: steps, model calls, tool calls, input tokens, output tokens, total tokens, failed tool
//             calls
//
// The first record is a job; --force adds another, and the last one counts. `ok`, `dead` and `bad`
// are written only after the bytes they speak of were synced, so a record never lies. What follows
// the last line whose checksum holds was never promised: it is what a crash leaves. A line that
// fails its checksum before that is damage, and the journal is rebuilt (rebuild.hpp).

namespace superstep::detail {

/// Digests of what must stay the same between the runs of a job.
struct job_header {
  std::string job_id;
  std::int64_t created = 0; ///< seconds since 1970
  std::string agent;
  std::string tools;
  std::string model;
  std::string parameters;
  std::string input;
};

struct row_counts {
  std::uint64_t steps = 0;
  std::uint64_t model_calls = 0;
  std::uint64_t tool_calls = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t total_tokens = 0;
  std::uint64_t failed_tool_calls = 0;

  row_counts& operator+=(const row_counts& more) noexcept;
};

/// What a journal says of its job.
struct journal_content {
  std::optional<job_header> header;
  boost::unordered_flat_set<key_digest> done;
  boost::unordered_flat_map<key_digest, std::uint32_t> starts; ///< of rows that are not done
  boost::unordered_flat_set<std::uint64_t> bad_lines;
  std::uint64_t ok = 0;
  std::uint64_t dead = 0;
  std::uint64_t output_end = 0; ///< bytes of out.jsonl that are promised
  std::uint64_t dead_end = 0;
  std::uint64_t valid_bytes = 0; ///< of the journal itself
  row_counts counts;
  std::uint64_t rows_with_failed_calls = 0; ///< rows of which a tool call failed
  std::uint64_t damaged_lines = 0;          ///< that later records follow
  std::uint64_t first_damaged_line = 0;
  bool has_records = false;   ///< it is a journal, although its header may be damaged
  bool needs_rebuild = false; ///< a rebuild was started and did not finish

  void mark_done(key_digest key);
  void add(const row_counts& of_row) noexcept;
  /// Forgets everything but the header and how often rows were started.
  void forget_rows();
};

[[nodiscard]] result<journal_content> read_journal(const file& journal);

void append_job(std::string& out, const job_header& header);
void append_start(std::string& out, std::string_view key);
void append_ok(std::string& out, std::string_view key, std::uint64_t output_end,
               const row_counts& counts);
void append_dead(std::string& out, std::string_view key, std::uint64_t output_end,
                 std::uint64_t dead_end, const row_counts& counts);
void append_bad(std::string& out, std::uint64_t line, std::uint64_t dead_end);
void append_rebuild(std::string& out);
void append_rebuilt(std::string& out, std::uint64_t output_end, std::uint64_t dead_end);

} // namespace superstep::detail
