// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/run.hpp>
#include <superstep/agents/agent_options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

/// The outcome of one row of a row_block.
class row_result {
public:
  /// Stores the result of a run. Any thread may call it.
  /// @param stores_messages whether the column `messages` will be read
  void set(run_result<chat_state> result, bool stores_messages);
  /// Stores the failure of a row whose run could not be started. Any thread may call it.
  void fail(run_error why) { failure_ = std::move(why); }
  /// Stores the text of such a failure.
  void fail(std::string why) { error_ = std::move(why); }
  /// Converts the failure to a text, which may need code of Python. Needs the GIL.
  void describe_failure();

private:
  friend class row_block;

  std::string answer_;
  std::string messages_ = "[]";
  std::string error_;
  std::optional<run_error> failure_;
  run_status status_ = run_status::failed;
  std::array<std::int64_t, 5> counts_{}; // in the order of the columns
};

/// The outcomes of rows that run together, as columns: the class superstep.RowBlock. The texts are
/// `answer`, `status`, `error` and `messages` (JSON); the numbers are `usage_input_tokens`,
/// `usage_output_tokens`, `steps`, `model_calls` and `tool_calls`. Different threads may store
/// different rows at the same time. Reading needs the GIL, and that all rows have ended.
class row_block {
public:
  explicit row_block(std::size_t size) : rows_(size) {}

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  /// Returns the place for the outcome of a row. @pre i < size()
  [[nodiscard]] row_result& row(std::size_t i) { return rows_[i]; }

  /// Returns a column as a list of str or int. Throws nb::key_error for an unknown name.
  [[nodiscard]] nb::list column(std::string_view name);
  /// Returns a column as the buffers of an Arrow array, two objects of type bytes: the offsets and
  /// the characters of texts, or None and 64-bit integers. The offsets have 32 bits, or 64 if the
  /// characters need that. Throws nb::key_error for an unknown name.
  [[nodiscard]] nb::tuple buffers(std::string_view name);

private:
  [[nodiscard]] std::string_view text_of(const row_result& row, std::size_t column) const noexcept;
  template <class Offset>
  [[nodiscard]] nb::tuple text_buffers(std::size_t column, std::size_t bytes) const;
  void describe_failures();

  std::vector<row_result> rows_;
  bool are_failures_texts_ = false;
};

/// The class RowBlock of the module.
struct block_reference {
  std::shared_ptr<row_block> block;
};

} // namespace superstep::python
