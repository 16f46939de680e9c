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

struct calculator_options {
  std::size_t length_max = 2'000; ///< bytes of one expression
  std::size_t depth_max = 100;    ///< parentheses and powers inside one another
};

/// The value of an arithmetic expression, as people and models type them: + - * / ^ (also x × · ÷ −
/// and **), signs, ( ) and [ ], decimals with a leading or trailing dot, exponents (1e6), `50%` for
/// 0.5, `//` (floor division) and `mod`, sqrt, abs, min, max, round (halves away from zero), floor,
/// ceil, log (base 10), ln, exp, sin, cos and tan (radians), pi and e, thousands separators and currency signs, which are dropped, `2(3+4)` for 2*(3+4), and one =
/// at the end. An error says what is wrong and at which character.
[[nodiscard]] result<double> calculate(std::string_view expression, calculator_options = {});

/// The shortest decimal that reads back as the same number; no exponent between 1e-7 and 1e21, and
/// no `.0`.
[[nodiscard]] std::string number_text(double);

/// `calculator`, with the argument `expression`.
[[nodiscard]] tool_ptr make_calculator(calculator_options options = {});

struct current_time_options {
  std::string default_zone = "UTC"; ///< when the call names none
  /// Where the system keeps its time zones, in TZif files.
  std::string zone_folder = "/usr/share/zoneinfo";
};

/// Offset from UTC that a zone has at a moment. A zone is `UTC`, `Z`, an offset as `+05:30`, or the
/// name of a file in `zone_folder`, as `Europe/Berlin`.
[[nodiscard]] result<std::chrono::seconds> utc_offset(std::string_view zone,
                                                      std::chrono::system_clock::time_point at,
                                                      const std::string& zone_folder);

/// `current_time`, with the optional argument `timezone`: the time of the call's clock as
/// `2026-11-21T04:12:50+01:00`.
[[nodiscard]] tool_ptr make_current_time(current_time_options options = {});

struct http_get_options {
  /// What may be asked: `example.org`, `*.example.org` (hosts below it), or either with `:port`
  /// (else the port of the scheme alone). Nothing else is, redirects included.
  std::vector<std::string> allow_hosts;
  std::size_t max_bytes = 1024 * 1024; ///< of one answer; a longer one is an error result
  std::chrono::milliseconds timeout{10'000}; ///< of one call, its redirects included
  std::uint32_t redirects_max = 5;
};

/// `http_get`, with the argument `url` (http or https): the body of the answer. A status other than
/// 2xx is an error result with the status and the start of the body. The client may be shared.
/// Errors: an empty or malformed list of hosts, a bound of 0.
[[nodiscard]] result<tool_ptr> make_http_get(std::shared_ptr<const http_client> client,
                                             http_get_options options);

// Long-term memory for a model: what it keeps in one conversation it finds in all others. The store
// is that of the graph or run; without one the node of tools refuses all its calls.

/// Where the memories lie that two tools of one namespace share.
struct remember_options {
  store_namespace ns{"memories"};
};
struct recall_options {
  store_namespace ns{"memories"};
  std::size_t items_max = 1'000; ///< that one call looks at
};

/// `remember`: keeps `text` under `key`, in the place of what was there.
[[nodiscard]] tool_ptr make_remember(remember_options options = {});

/// `recall`: all that is kept, a line `key: text` each, or, with `about`, what has that in its key
/// or text, in letters of either case.
[[nodiscard]] tool_ptr make_recall(recall_options options = {});

struct read_file_options {
  std::string root;                    ///< folder whose files may be read, and nothing outside it
  std::size_t max_bytes = 1024 * 1024; ///< of one file; a longer one is an error result
};

/// `read_file`, with the argument `path`, relative to the root: the content of a regular file. No
/// `..` and no symbolic link leads out of the root, also when the tree changes meanwhile.
/// Errors: the root is no folder, a bound of 0.
[[nodiscard]] result<tool_ptr> make_read_file(read_file_options options);

/// A tool that does nothing, slowly: for load tests.
struct simulated_options {
  std::string name;
  std::string description = "A simulated tool.";
  json::object args_schema;          ///< empty: takes any arguments
  std::optional<json::value> result; ///< text, or JSON; unset: answers its arguments as JSON
  std::chrono::milliseconds delay{0}; ///< the call is suspended that long, no thread waits
  double error_rate = 0;             ///< 0 to 1: how many of the calls fail
  std::uint64_t seed = 0;
};

/// Which calls fail depends on seed, run key and tool-call id alone, so that a repeated run fails
/// in the same places. Errors: no name, a rate outside 0 to 1, a schema that is none.
[[nodiscard]] result<tool_ptr> make_simulated(simulated_options options);

struct sqlite_query_options {
  std::string path;
  std::size_t max_rows = 100;          ///< further rows are left out, which the result says
  std::size_t max_bytes = 1024 * 1024; ///< of the result; a longer one is an error result
  std::chrono::milliseconds timeout{5'000}; ///< of one query
  std::size_t value_bytes_max = 512 * 1024;         ///< of one value or row, also of those in between
  /// The bound on the memory that SQLite takes in this process while queries of the tool run. Queries
  /// that run at the same time share it. What checkpoints take through SQLite meanwhile counts, too.
  std::size_t memory_bytes_max = 64 * 1024 * 1024;
};

/// `sqlite_query`, with the arguments `query` (one SELECT) and, optionally, `parameters` (a list of
/// values for its question marks): the rows as a JSON array of objects. Nothing can be written, and
/// no other file be opened. The database may be written by others meanwhile.
/// Errors: the file is no database that can be read, a bound of 0.
[[nodiscard]] result<tool_ptr> make_sqlite_query(sqlite_query_options options);

} // namespace superstep
