// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/line_editor.hpp"
#include "cli/line_reader.hpp"

#include <optional>
#include <string_view>

#include <termios.h>

namespace superstep::cli {

/// The source of input lines: a terminal, with line editing if possible, or a pipe.
class keyboard {
public:
  /// @param is_terminal whether standard input and output are both terminals
  keyboard(const wake_up& bell, bool is_terminal);
  keyboard(const keyboard&) = delete;
  keyboard& operator=(const keyboard&) = delete;
  ~keyboard();

  /// Whether next() displays the prompt.
  [[nodiscard]] bool shows_prompt() const noexcept { return editor_.has_value(); }
  [[nodiscard]] line_reader::read next(std::string_view prompt);
  /// Adds a line to the history.
  void remember(const std::string& line);
  /// Discards everything typed or pasted so far. No effect for a pipe, whose lines are all used.
  void discard();

  /// Hides typed keys during its lifetime; they are kept for the next line.
  class silence {
  public:
    explicit silence(keyboard& of) : of_{of}, echoed_{of.echoes_} { of_.set_echo(false); }
    silence(const silence&) = delete;
    silence& operator=(const silence&) = delete;
    ~silence() { of_.set_echo(echoed_); }

  private:
    keyboard& of_;
    bool echoed_; ///< the state to restore
  };

private:
  void set_echo(bool on) noexcept;

  std::optional<termios> before_; ///< original settings of the terminal; nullopt if it is not one
  bool echoes_ = true;
  bool shows_keys_itself_ = false; ///< with the editor: the terminal's echo is off
  line_reader lines_;
  std::optional<line_editor> editor_;
};

} // namespace superstep::cli
