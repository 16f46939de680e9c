// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/batch/row_runner.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// The three shapes of input lines; the first line of a file decides for all of it.
enum class row_shape : std::uint8_t {
  openai, ///< {"custom_id","method","url","body"}: OpenAI and vLLM batch requests
  native, ///< {"id","input":{state},"thread_id"?,"config"?,"tags"?}
  chat,   ///< {"custom_id" or "id","messages":[…]}
};

[[nodiscard]] std::string_view name_of(row_shape) noexcept;

/// Longest key taken: keys are in every message id of their row and in the journal.
inline constexpr std::size_t row_key_bytes_max = 1024;

/// One line of the input, checked.
struct input_row {
  row_shape shape = row_shape::chat;
  std::string key_name; ///< "custom_id" or "id", as the line has it
  row_request request;
  std::uint64_t line = 0;   ///< its number, when the parser was told
  bool is_numbered = false; ///< the line has no key of its own: its number is the key
  bool has_error = false;   ///< the line is a dead letter's: it carries the error of its last run
};

/// Reads lines of one file. What it refuses: text that is not JSON, another shape than the first
/// line's, members that are unknown, doubled, missing or of the wrong type. An `error` member is
/// accepted and not read: it makes dead letters usable as input.
///
/// Not synchronised: it reuses its buffers from line to line.
class row_parser {
public:
  row_parser();
  row_parser(row_parser&&) noexcept;
  ~row_parser();

  /// The row's recursion_limit is 0 unless the line says one.
  /// @param number of the line, the key of a row that has none; 0: such a row is refused
  [[nodiscard]] result<input_row> parse(std::string_view line, std::uint64_t number = 0);
  /// Known once a line has been read well.
  [[nodiscard]] std::optional<row_shape> shape() const noexcept;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep
