// SPDX-License-Identifier: Apache-2.0
// Input lines of a conversation. line_editor.cpp reads them from a terminal that supports line
// editing. line_reader.cpp reads them from a plain terminal or a pipe.
#include "cli/keyboard.hpp"

#include <array>
#include <csignal>

#include <poll.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

constexpr auto ending_signals = std::array{SIGHUP, SIGQUIT, SIGTERM};

// Global, because a signal handler has no other way to reach an object.
auto terminal_before = termios{};

/// Restores the terminal and ends the process by the signal. Otherwise the shell would not show
/// what the user types.
extern "C" void restore_terminal(int signal) {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
  line_editor::restore_terminal();
  std::signal(signal, SIG_DFL);
  std::raise(signal); // handled when this function has returned
}

} // namespace

keyboard::keyboard(const wake_up& bell, bool is_terminal) : lines_{STDIN_FILENO, bell} {
  auto now = termios{};
  if (::tcgetattr(STDIN_FILENO, &now) != 0)
    return;
  before_ = now;
  terminal_before = now;
  for (const auto signal : ending_signals)
    if (std::signal(signal, restore_terminal) == SIG_IGN) // for example by nohup
      std::signal(signal, SIG_IGN);
  if (!is_terminal || !line_editor::is_possible())
    return;
  shows_keys_itself_ = true;
  set_echo(false);
  editor_.emplace(bell);
}

keyboard::~keyboard() {
  editor_.reset();
  if (!before_)
    return;
  for (const auto signal : ending_signals)
    if (std::signal(signal, SIG_DFL) == SIG_IGN)
      std::signal(signal, SIG_IGN);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
}

line_reader::read keyboard::next(std::string_view prompt) {
  return editor_ ? editor_->next(prompt) : lines_.next();
}

void keyboard::remember(const std::string& line) {
  if (editor_)
    editor_->remember(line);
}

void keyboard::set_echo(bool on) noexcept {
  echoes_ = on;
  if (!before_)
    return;
  auto wanted = *before_;
  if (!on || shows_keys_itself_)
    wanted.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  if (shows_keys_itself_) // the editor reads single keys, so the terminal must not buffer lines
    wanted.c_lflag &= ~static_cast<tcflag_t>(ICANON);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &wanted);
}

void keyboard::discard() {
  constexpr auto pause_ms = 30;   // a pasted text arrives in pieces: wait for the next one
  constexpr auto pieces_max = 50; // a bound, in case input arrives without end
  if (!before_)
    return;
  const auto silent = silence{*this};
  auto piece = pollfd{STDIN_FILENO, POLLIN, 0};
  for (auto i = 0; i < pieces_max; ++i) {
    ::tcflush(STDIN_FILENO, TCIFLUSH);
    if (::poll(&piece, 1, pause_ms) <= 0)
      break;
  }
  lines_.discard();
  if (editor_)
    editor_->discard();
}

} // namespace superstep::cli
