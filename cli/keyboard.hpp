// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/line_editor.hpp"
#include "cli/line_reader.hpp"

#include <optional>
#include <string_view>

#include <termios.h>

namespace superstep::cli {

/// The place where a person types: a terminal, with editing if it can, or a pipe.
class keyboard {
public:
  /// @param is_terminal whether standard input and output both are a terminal
  keyboard(const wake_up& bell, bool is_terminal);
  keyboard(const keyboard&) = delete;
  keyboard& operator=(const keyboard&) = delete;
  ~keyboard();

  /// Whether next() shows the prompt itself.
  [[nodiscard]] bool shows_prompt() const noexcept { return editor_.has_value(); }
  [[nodiscard]] line_reader::read next(std::string_view prompt);
  /// Adds a line to the history.
  void remember(const std::string& line);
  /// Drops what was typed or pasted until now. Nothing of a pipe, whose lines are answers in order.
  void discard();

  /// While it lives, keys are not shown; they are kept for the next line.
  class silence {
  public:
    explicit silence(keyboard& of) : of_{of}, echoed_{of.echoes_} { of_.set_echo(false); }
    silence(const silence&) = delete;
    silence& operator=(const silence&) = delete;
    ~silence() { of_.set_echo(echoed_); }

  private:
    keyboard& of_;
    bool echoed_; ///< before
  };

private:
  void set_echo(bool on) noexcept;

  std::optional<termios> before_; ///< settings of the terminal; nullopt if it is not one
  bool echoes_ = true;
  bool shows_keys_itself_ = false; ///< with the editor: the terminal never echoes
  line_reader lines_;
  std::optional<line_editor> editor_;
};

} // namespace superstep::cli
