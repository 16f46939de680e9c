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
  /// Waits for the next line.
  [[nodiscard]] line_reader::read next(std::string_view prompt);
  /// Adds a line to the history of the line editor.
  void remember(const std::string& line);
  /// Discards everything that was typed or pasted so far. No effect for a pipe: all its lines are
  /// used.
  void discard();

  /// Turns off the echo of typed keys during its lifetime. The keys become part of the next line.
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

  std::optional<termios> before_; ///< the terminal's settings to restore; nullopt for a pipe
  bool echoes_ = true;
  bool shows_keys_itself_ = false; ///< whether the editor displays keys, so that the echo stays off
  line_reader lines_;
  std::optional<line_editor> editor_;
};

} // namespace superstep::cli
