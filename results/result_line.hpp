// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/file.hpp"
#include "batch/written_line.hpp"

#include <superstep/base/error.hpp>

#include <simdjson.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::results {

/// The kind of a row's end.
enum class result_status : std::uint8_t { ok, error, cancelled };

/// Returns `ok`, `error` or `cancelled`.
[[nodiscard]] std::string_view to_string(result_status) noexcept;

/// A tool call in a row's conversation.
struct tool_use {
  std::string tool;       ///< name of the tool
  bool is_failed = false; ///< whether the result is an error
  bool has_result = true; ///< false: the step of the call failed, and its results were discarded
};

/// The parts of an output line that reports and comparisons use. Reads native lines, lines of
/// batch requests (also in vLLM's form), and lines with selected fields.
struct result_line {
  std::string key; ///< the row's id; empty if the line has none
  result_status status = result_status::ok;
  /// Whether the line shows how the row ended. A line with selected fields may have neither the
  /// status nor an answer, or messages that end without one; its `status` is then `ok`.
  bool is_status_known = false;
  /// Returns `ok`, `error` or `cancelled`; `unknown` unless is_status_known.
  [[nodiscard]] std::string_view status_text() const noexcept {
    return is_status_known ? to_string(status) : "unknown";
  }
  std::string error_kind;
  std::string error_message;
  std::string question;    ///< text of the last human message; empty if the line has no messages
  std::string answer;      ///< text of the last AI message
  std::string structured;  ///< canonical JSON of the structured response; empty if there is none
  bool has_answer = false; ///< whether the line contains the answer, which may be empty
  /// Whether the line has numbers of tokens. A row with model calls and without tokens has none:
  /// the model's server has not reported them.
  bool has_usage = false;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::uint64_t cached_answers = 0; ///< answers of the model that came from the answer cache
  std::optional<double> cost;
  std::optional<double> wall_ms;
  std::optional<double> barrier_wait_ms;
  std::optional<std::uint64_t> steps;
  std::optional<std::uint64_t> model_calls;
  std::optional<std::uint64_t> tool_calls;
  std::uint64_t attempt = 0; ///< 0 if the line has none
  std::vector<tool_use> tools;
  std::optional<double> score;
  std::string scored_by; ///< how the score was made, see scored_by(); empty if it is not known
};

/// Returns how a score was made, such as `exact, column label`. Scores with different texts cannot
/// be compared.
/// @param method name of the method, such as `exact`
/// @param gold name of the column with the expected answers
/// @param judge agent file of the judge; empty if there is none
[[nodiscard]] std::string scored_by(std::string_view method, std::string_view gold,
                                    std::string_view judge = {});

/// Converts an output line.
/// @param answer member of the structured response, with or without the prefix `response.`, or
/// member of the line, that is the row's answer. Dots lead to nested members. Empty: the structured
/// response, or the text of the last AI message
[[nodiscard]] result_line read_result_line(simdjson::dom::object line,
                                           std::string_view answer = {});

/// Returns the names of the members of the structured response of a line; if it has none, those of
/// the line.
[[nodiscard]] std::vector<std::string> field_names(simdjson::dom::object line);

/// Returns the text that two rows are compared by: the structured response, else the answer.
[[nodiscard]] const std::string& compared_text(const result_line&) noexcept;

/// Reads the lines of an output file in order, in constant memory.
class result_reader {
public:
  /// Opens a regular file.
  /// @param advice end of the error for another file: a constant
  [[nodiscard]] static result<result_reader> open(const std::string& path,
                                                  std::string_view advice = advice_for_outputs);

  /// Reads the next line that is a JSON object. Returns false at the end of the file. An incomplete
  /// last line is skipped; errc::parse_failed for any other line that is not a JSON object.
  [[nodiscard]] result<bool> next();
  /// Reads the remaining lines.
  /// @param see called after each line, which object() returns: `result<void>()`. An error that it
  /// returns ends the loop
  /// @return the first error of next() or of `see`
  template <class F>
  [[nodiscard]] result<void> for_each(F see) {
    while (true) {
      const auto more = next();
      if (!more)
        return more.error();
      if (!*more)
        return {};
      if (result<void> seen = see(); !seen)
        return seen;
    }
  }
  /// The object of the last line read; valid until the next call of next().
  [[nodiscard]] simdjson::dom::object object() const noexcept {
    return is_unended_ ? unended_ : lines_->object();
  }
  /// The last line read, without its line break; valid until the next call of next().
  [[nodiscard]] std::string_view text() const noexcept { return lines_->text(); }
  /// Position of the last line read in the file, for read_result_at().
  [[nodiscard]] std::uint64_t offset() const noexcept { return lines_->begin(); }
  /// Length of the last line read, without its line break.
  [[nodiscard]] std::size_t size() const noexcept { return text().size(); }
  /// Whether the file ends with an incomplete line.
  [[nodiscard]] bool is_torn() const noexcept { return is_torn_; }
  [[nodiscard]] const detail::file& file() const noexcept { return *file_; }

private:
  static constexpr auto advice_for_outputs =
      std::string_view{"specify an output file of superstep run with JSON lines, for a CSV output "
                       "the .rows.jsonl file "
                       "beside it"};
  result_reader(detail::file from, std::string_view advice);

  std::string_view advice_;
  std::unique_ptr<detail::file> file_; // at an address that the reader can refer to
  std::unique_ptr<detail::written_lines> lines_;
  std::uint64_t number_ = 0;
  bool is_torn_ = false;
  bool is_unended_ = false; // whether the last line is an object without a line break
  std::unique_ptr<simdjson::dom::parser> parser_ = std::make_unique<simdjson::dom::parser>();
  simdjson::dom::object unended_;
};

/// Reads the line at a position of result_reader::offset(). `answer` as for read_result_line().
[[nodiscard]] result<result_line> read_result_at(const detail::file& from, std::uint64_t offset,
                                                 std::size_t size, simdjson::dom::parser& parser,
                                                 std::string_view answer = {});

/// Fails if a file exists whose first line does not have the members that this program writes, so
/// that it is not an earlier version of a file that will be replaced. An empty file may be
/// replaced.
[[nodiscard]] result<void> check_replaced(const std::string& path,
                                          std::initializer_list<std::string_view> members);

} // namespace superstep::results
