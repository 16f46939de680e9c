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
//     ["job",{"format":1,"run_id":…,"created":…,"agent":…,"tools":…,"model":…,"parameters":…,
//             "input":…}]                      one line, as all of them
//     ["start",KEY]                            the row was given to the runner
//     ["ok",KEY,OUT,[…counts]]                 its output line ends at byte OUT of out.jsonl
//     ["dead",KEY,OUT,DEAD,[…counts]]          the same, and its dead letter ends at byte DEAD of
//                                              out.dead.jsonl
//     ["bad",LINE,DEAD]                        input line LINE is no row; its dead letter ends
//                                              at byte DEAD
//     counts: steps, model calls, tool calls, input tokens, output tokens, total tokens
//
// The first record is a job; --force adds another, and the last one counts. `ok`, `dead` and `bad`
// are written only after the bytes they speak of were synced, so a record never lies. Reading stops
// at the first line that is torn or fails its checksum; what follows was never promised.

namespace superstep::detail {

/// Digests of what must stay the same between the runs of a job.
struct job_header {
  std::string run_id;
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

  void mark_done(key_digest key);
};

[[nodiscard]] result<journal_content> read_journal(const file& journal);

void append_job(std::string& out, const job_header& header);
void append_start(std::string& out, std::string_view key);
void append_ok(std::string& out, std::string_view key, std::uint64_t output_end,
               const row_counts& counts);
void append_dead(std::string& out, std::string_view key, std::uint64_t output_end,
                 std::uint64_t dead_end, const row_counts& counts);
void append_bad(std::string& out, std::uint64_t line, std::uint64_t dead_end);

} // namespace superstep::detail
