// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/line_reader.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace superstep::cli {

/// Reads lines from a terminal with editing keys and a history, using libedit. A paste is a single
/// line, whatever line breaks it contains (bracketed paste); they are displayed as ⏎ until the line
/// is submitted.
class line_editor {
public:
  /// Whether the terminal supports line editing.
  [[nodiscard]] static bool is_possible();

  /// @pre standard input and output are terminals, and nothing else reads standard input
  explicit line_editor(const wake_up& bell);
  line_editor(const line_editor&) = delete;
  line_editor& operator=(const line_editor&) = delete;
  ~line_editor();

  [[nodiscard]] line_reader::read next(std::string_view prompt);
  /// Adds a line to the history.
  void remember(const std::string& line);
  /// Discards bytes that were read from the terminal and not used yet.
  void discard() noexcept;

  static constexpr std::size_t history_max = 1'000; ///< lines

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep::cli
