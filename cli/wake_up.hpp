// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::cli {

/// Lets the thread of a conversation sleep until the user presses Ctrl-C or another thread has an
/// event. It handles SIGINT during its lifetime, so only one object may exist in a process.
class wake_up {
public:
  wake_up();
  wake_up(const wake_up&) = delete;
  wake_up& operator=(const wake_up&) = delete;
  ~wake_up();

  /// Ends the current call of sleep(), or else the next one. May be called by any thread.
  void call() const noexcept;
  /// Sleeps until another thread calls call(), Ctrl-C is pressed, or the descriptor `input` is
  /// readable. May also return earlier.
  /// @param input file descriptor; a negative number is ignored
  void sleep(int input) const;
  /// Whether Ctrl-C was pressed since the last call of this function.
  [[nodiscard]] bool take_interrupt() const noexcept;

private:
  int event_;
};

} // namespace superstep::cli
