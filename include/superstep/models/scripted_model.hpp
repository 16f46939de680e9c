// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Options of make_scripted_model(). A scripted model follows rules, for load tests, fault
/// injection and demonstrations without a server.
///
/// @par The file (YAML)
///
///     seed: 7                       # seed of all random choices; default 0
///     latency_ms: 20                # latency of an answer: a number,
///     # latency_ms: {uniform: [10, 40]}                               # uniform,
///     # latency_ms: {lognormal: {median: 20, sigma: 0.5, max: 1000}}  # or lognormal
///     tokens_per_second: 0          # speed; a token has four bytes; 0 = all at once
///     faults: {rate_limited: 0.01, server_error: 0.02}    # probability of a failing call, by kind
///     rules:                        # the first matching rule answers
///       - type: human               # type of the last message: human, ai, system, tool
///         turn: 0                   # model_request::turn: AI messages before the call
///         tool: calculator          # name of a last message of type tool
///         match: 'add (\d+) and (\d+)'                    # RE2, matches anywhere in its text
///         text: Let me add \1 and \2.
///         calls:
///           - {name: calculator, args: {expression: '\1 + \2'}}
///           - {name: lookup, for_each: '[A-Z]\w+', args: {word: '\0'}}   # a call per match
///         usage: {input_tokens: 20, output_tokens: 12}
///     default: {text: I do not know.}   # if no rule matches; without it: bad_answer
///
/// Every key is optional, but there must be a rule or a default, and each needs `text`,
/// `calls` or both. An omitted condition always holds. In `text` and in all texts within `args`,
/// `\0` is replaced by the match (without a pattern: the whole text of the message), `\1` to `\9`
/// by its groups, and `\\` by a backslash. A call with `for_each` uses the match of its own
/// pattern. An unquoted value in `args` that is a number, true, false or null *after* this
/// substitution is converted: `\1` gives the number 12, `'\1'` the text "12". Ids of calls are
/// `call_<turn>_<n>`. Kinds of faults are the names of model_errc. Unknown keys and invalid values
/// are errors; all of them are reported, each with its line.
///
/// @par Streams
/// For a streaming caller the text is split into pieces of about four bytes, delivered at the pace
/// of tokens_per_second, followed by the pieces of each call. The answer and its duration are the
/// same as without streaming.
///
/// @par Determinism
/// An answer, its duration and its faults depend only on the file, model_request::run_key, the turn
/// and the last message.
struct scripted_model_options {
  std::string path{};                           ///< path of the script; empty: `text` is the script
  std::string text{};                           ///< content of the script, if `path` is empty
  std::size_t file_bytes_max = 4 * 1024 * 1024; ///< size limit of the script, in bytes
  std::size_t calls_max = 1'000; ///< tool calls per answer; with more the call is a bad_answer
};

/// Makes a model that follows a script. Waiting for the latency of an answer blocks no thread. May
/// be called from any thread.
/// @param options see scripted_model_options, which describes the script
/// @return the model; model_errc::bad_configuration with all errors of the script, one per line;
/// errc::shortage if the machine lacks descriptors or memory to read the file
[[nodiscard]] result<chat_model_ptr> make_scripted_model(scripted_model_options options);

} // namespace superstep
