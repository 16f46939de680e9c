// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/line_reader.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace superstep::cli {

/// Lines of a terminal with editing keys and a history, by libedit. A paste is one line, whatever
/// line ends it has (bracketed paste); these are shown as ⏎ until the line is sent.
class line_editor {
public:
  /// Whether a terminal has what editing needs.
  [[nodiscard]] static bool is_possible();

  /// @pre standard input and output are a terminal, and nothing else reads from it
  explicit line_editor(const wake_up& bell);
  line_editor(const line_editor&) = delete;
  line_editor& operator=(const line_editor&) = delete;
  ~line_editor();

  [[nodiscard]] line_reader::read next(std::string_view prompt);
  /// Adds a line that the user may want again.
  void remember(const std::string& line);
  /// Drops what was read of the terminal but not used yet.
  void discard() noexcept;

  static constexpr std::size_t history_max = 1'000; ///< lines

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep::cli
