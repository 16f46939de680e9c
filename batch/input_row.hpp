// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/row_format.hpp"

#include <superstep/base/error.hpp>
#include <superstep/batch/row_runner.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The formats of input lines. All lines of a file must have the format of its first valid line.
enum class row_shape : std::uint8_t {
  openai,  ///< {"custom_id","method","url","body"}: a line of OpenAI's or vLLM's Batch API
  native,  ///< {"id","input":{state},"thread_id"?,"config"?,"tags"?}
  chat,    ///< {"custom_id" or "id","messages":[…]}
  columns, ///< any members: the agent file has a template of messages
};

/// Returns the name of a format, for error texts.
[[nodiscard]] std::string_view name_of(row_shape) noexcept;

/// Maximum length of a key in bytes. The limit is low because the key is part of every message id
/// of its row and of several journal records.
inline constexpr std::size_t row_key_bytes_max = 1024;

/// A valid line of the input.
struct input_row {
  row_shape shape = row_shape::chat; ///< the format of the line
  std::string key_name;              ///< name of the key in the output: "custom_id" or "id"
  std::string id_member;             ///< name of the key in the line
  row_request request;               ///< the row to run
  std::uint64_t line = 0;            ///< line number; 0 if the caller of parse() passed none
  bool is_numbered = false; ///< whether the line has no key, so the line number is used as the key
  bool has_error = false;   ///< whether the line has an `error` member: a dead letter, or a column
  /// The members that are not used otherwise, as the text of a JSON object; empty if there are
  /// none. They are copied to the output line.
  std::string columns;
};

/// Returns the key of a row as row_parser finds it, without checks of the row: `custom_id` or `id`,
/// or the line number.
/// @param id_field batch_options::id_field; ignored if the row has no such member
[[nodiscard]] std::string find_row_key(const json::object& row, const std::string& id_field,
                                       std::uint64_t line);

/// Parses and checks the lines of one file. It rejects lines that are not JSON, lines in another
/// format than the first valid line, and members that are duplicate, missing or of the wrong type.
/// Unknown members are columns, which are copied to the output. A dead letter is read as the line
/// that it was made of, so that a file of dead letters can be used as input.
///
/// One thread at a time may use a parser, because it reuses its buffers. docs/batch-files.md
/// describes the formats.
/// Source of the openai format: https://platform.openai.com/docs/api-reference/batch
class row_parser {
public:
  explicit row_parser(detail::row_format format = {});
  row_parser(row_parser&&) noexcept;
  ~row_parser();

  /// Parses one line. The row's recursion_limit is 0 unless the line specifies one.
  /// @param number line number, used as the key of a row that has no key; if 0, such a row is an
  ///   error
  /// @return the row, or an error that names the invalid member
  [[nodiscard]] result<input_row> parse(std::string_view line, std::uint64_t number = 0);
  /// The format of the file; nullopt before the first valid line.
  [[nodiscard]] std::optional<row_shape> shape() const noexcept;
  /// Returns the names in input_row::columns of all valid lines, in the order of their first use.
  /// Of more than 1,000 names, only the first are returned.
  [[nodiscard]] std::vector<std::string> columns() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep
