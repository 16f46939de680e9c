// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/net/http_client.hpp>
#include <superstep/tools/tool.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Options of calculate() and make_calculator(): limits of one expression.
struct calculator_options {
  std::size_t length_max = 2'000; ///< bytes of the expression
  std::size_t depth_max = 100;    ///< nested parentheses and powers
};

/// Evaluates an arithmetic expression as people and models type it.
///
/// Supports + - * / ^ (also x × · ÷ − and **), signs, ( ) and [ ], decimals with a leading or
/// trailing dot, exponents (1e6), `50%` for 0.5, `//` (floor division), `mod`, sqrt, abs, min, max,
/// round (halves away from zero), floor, ceil, log (base 10), ln, exp, sin, cos and tan (radians),
/// pi and e. Thousands separators and currency signs are dropped. `2(3+4)` means 2*(3+4), and one =
/// at the end is ignored. May be called from any thread.
///
/// @param expression UTF-8 text of at most calculator_options::length_max bytes
/// @return the value; errc::parse_failed if the expression is invalid, is nested too deeply or has
/// no finite real value (the text contains the problem and its position in characters);
/// errc::too_large for an expression that is too long
[[nodiscard]] result<double> calculate(std::string_view expression, calculator_options = {});

/// Formats a number as the shortest decimal that parses to the same value. Numbers from 1e-7 to
/// 1e21 have no exponent, and whole numbers no `.0`. May be called from any thread.
[[nodiscard]] std::string number_text(double);

/// Makes the tool `calculator` with the argument `expression`. Its result is number_text() of
/// calculate(); an error of calculate() is an error result. May be called from any thread.
/// @param options see calculator_options
/// @return the tool; any number of threads may call it at once
[[nodiscard]] tool_ptr make_calculator(calculator_options options = {});

/// Options of make_current_time().
struct current_time_options {
  std::string default_zone = "UTC"; ///< zone for calls without `timezone`
  /// Folder of the system's time zones, as TZif files (RFC 8536).
  std::string zone_folder = "/usr/share/zoneinfo";
};

/// Returns the offset from UTC of a time zone at a point in time. Reads the file of the zone, and
/// may be called from any thread.
/// @param zone `UTC`, `Z`, an offset such as `+05:30`, or the name of a file in `zone_folder` such
/// as `Europe/Berlin`
/// @param at the point in time
/// @param zone_folder see current_time_options
/// @return the offset in seconds, positive east of Greenwich; errc::not_found for an unknown zone
/// or an unreadable file, errc::shortage if the machine lacks descriptors or memory
///
/// Source: RFC 8536 (TZif).
[[nodiscard]] result<std::chrono::seconds> utc_offset(std::string_view zone,
                                                      std::chrono::system_clock::time_point at,
                                                      const std::string& zone_folder);

/// Makes the tool `current_time` with the optional argument `timezone`. Its result is the time of
/// tool_context::time, such as `2026-11-21T04:12:50+01:00` (RFC 3339). An unknown zone is an error
/// result. May be called from any thread.
/// @param options see current_time_options
/// @return the tool; any number of threads may call it at once
[[nodiscard]] tool_ptr make_current_time(current_time_options options = {});

/// Options of make_http_get().
struct http_get_options {
  /// The allowed hosts: `example.org`, `*.example.org` (hosts below it), or either with `:port`
  /// (without it, only the scheme's default port). Every other host is rejected, also in redirects.
  std::vector<std::string> allow_hosts{};
  std::size_t max_bytes = 1024 * 1024; ///< size limit of a body; a longer one is an error result
  std::chrono::milliseconds timeout{10'000}; ///< maximum duration of one call, including redirects
  std::uint32_t redirects_max = 5;           ///< redirects to follow in one call
};

/// Makes the tool `http_get` with the argument `url` (http or https). Its result is the body of the
/// response. A status other than 2xx is an error result with the status and the start of the body.
/// A call waits without blocking its thread. If the machine lacks descriptors or memory, the call
/// throws tool_unavailable. May be called from any thread.
/// @param client sends the requests; shared by the tool, and may have other users; must not be null
/// @param options see http_get_options
/// @return the tool, which any number of threads may call at once; errc::invalid_argument for an
/// empty or malformed list of hosts, or if max_bytes or timeout is 0
[[nodiscard]] result<tool_ptr> make_http_get(std::shared_ptr<const http_client> client,
                                             http_get_options options);

// Tools that give a model long-term memory: a text that it stores in one conversation can be found
// in all others. They use the store of the graph (compile_options::store).

/// Options of make_remember(). Tools with the same namespace share their memories.
struct remember_options {
  store_namespace ns{"memories"}; ///< where to store the memories
};
/// Options of make_recall().
struct recall_options {
  store_namespace ns{"memories"}; ///< where to search
  std::size_t items_max = 1'000;  ///< maximum number of memories in a result
};

/// Makes the tool `remember` with the arguments `key` and `text`. A call stores the text under the
/// key and replaces an earlier text. A failure of the store is a failure of the call. If the graph
/// has no store, a call throws tool_value_error, which fails the node of the tools; if that node
/// has an interceptor, the model reads the error instead. May be called from any thread.
/// @param options see remember_options
/// @return the tool; any number of threads may call it at once
[[nodiscard]] tool_ptr make_remember(remember_options options = {});

/// Makes the tool `recall` with the optional argument `about`. Its result contains a line `key:
/// text` for each memory. With `about`, only memories are listed whose key or text contains it,
/// ignoring the case of ASCII letters. A failure of the store is a failure of the call. If the
/// graph has no store, a call throws tool_value_error, which fails the node of the tools; if that
/// node has an interceptor, the model reads the error instead. May be called from any thread.
/// @param options see recall_options
/// @return the tool; any number of threads may call it at once
[[nodiscard]] tool_ptr make_recall(recall_options options = {});

/// Options of make_read_file().
struct read_file_options {
  std::string root{};                  ///< folder with the files that may be read
  std::size_t max_bytes = 1024 * 1024; ///< size limit of one file; a longer one is an error result
};

/// Makes the tool `read_file` with the argument `path`, relative to the root. Its result is the
/// content of a regular file. Neither `..` nor symbolic links lead out of the root, even if the
/// folders change during the call. A file that cannot be read is an error result; a shortage of
/// descriptors or memory throws tool_unavailable. May be called from any thread; any number of
/// threads may call the tool at once.
/// @param options see read_file_options; `root` is required
/// @return the tool; errc::not_found if the root is not a folder, errc::invalid_argument if
/// max_bytes is 0, errc::shortage if the machine lacks descriptors or memory
[[nodiscard]] result<tool_ptr> make_read_file(read_file_options options);

/// Options of make_simulated(): a tool without effect, for load tests.
struct simulated_options {
  std::string name{};                            ///< name of the tool; required
  std::string description = "A simulated tool."; ///< text for the model
  json::object args_schema{};                    ///< JSON Schema of the arguments; empty: any
  std::optional<json::value> result{};           ///< text or JSON; unset: the arguments as JSON
  std::chrono::milliseconds delay{0};            ///< duration of a call; blocks no thread
  double error_rate = 0;                         ///< fraction of calls that fail, from 0 to 1
  std::uint64_t seed = 0;                        ///< selects the calls that fail
};

/// Makes a tool that waits and returns a fixed result. Whether a call fails depends only on the
/// seed, the run key and the id of the call, so a repeated run fails at the same calls. May be
/// called from any thread; any number of threads may call the tool at once.
/// @param options `name` is required
/// @return the tool; errc::invalid_argument for a missing name, a rate outside 0 to 1, or an
/// invalid schema
[[nodiscard]] result<tool_ptr> make_simulated(simulated_options options);

/// Options of make_sqlite_query().
struct sqlite_query_options {
  std::string path{};         ///< path of the database
  std::size_t max_rows = 100; ///< further rows are omitted and the result notes that
  std::size_t max_bytes =
      1024 * 1024; ///< size limit of the result; a longer one is an error result
  /// Maximum duration of one query.
  std::chrono::milliseconds timeout{5'000};
  /// Size limit of one value or row, also during the evaluation of the query.
  std::size_t value_bytes_max = 512 * 1024;
  /// Maximum growth of SQLite's memory in this process while queries of the tool run, in bytes.
  /// Concurrent queries share the limit; each of them raises it by 4 MiB. Memory that checkpointers
  /// allocate through SQLite meanwhile counts as well.
  std::size_t memory_bytes_max = 64 * 1024 * 1024;
};

/// Makes the tool `sqlite_query` with the argument `query` (one SELECT) and optionally `parameters`
/// (a list of values for its question marks). Its result is a JSON array with an object per row.
/// Queries cannot write or open other files. Other processes may write to the database at the same
/// time. A call blocks its thread while the query runs. A failed query is an error result; a
/// shortage of descriptors or memory throws tool_unavailable. May be called from any thread; any
/// number of threads may call the tool at once.
/// @param options see sqlite_query_options; `path` is required
/// @return the tool; errc::not_found if the file is not a readable database, errc::shortage if the
/// machine lacks descriptors or memory, errc::invalid_argument if a limit is 0
[[nodiscard]] result<tool_ptr> make_sqlite_query(sqlite_query_options options);

} // namespace superstep
