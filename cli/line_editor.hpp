// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/line_reader.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace superstep::cli {

/// Reads lines from a terminal with libedit, which provides editing keys and a history. A pasted
/// text is a single line, even if it contains line breaks. They are displayed as ⏎ while the line
/// is edited.
class line_editor {
public:
  /// Whether the terminal supports line editing.
  [[nodiscard]] static bool is_possible();
  /// Turns off what a line editor has turned on in the terminal. May be called by a signal handler.
  static void restore_terminal() noexcept;

  /// @pre standard input and output are terminals, and nothing else reads standard input
  explicit line_editor(const wake_up& bell);
  line_editor(const line_editor&) = delete;
  line_editor& operator=(const line_editor&) = delete;
  ~line_editor();

  /// Displays the prompt, and waits for a line.
  [[nodiscard]] line_reader::read next(std::string_view prompt);
  /// Adds a line to the history.
  void remember(const std::string& line);
  /// Discards bytes that were read from the terminal but not used yet.
  void discard() noexcept;

  static constexpr std::size_t history_max = 1'000; ///< maximum number of lines in the history

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep::cli
