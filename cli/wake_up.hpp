// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::cli {

/// What the thread of a conversation sleeps on: Ctrl-C, and whatever another thread has for it.
/// From its making to its end SIGINT comes here. One at a time in a process.
class wake_up {
public:
  wake_up();
  wake_up(const wake_up&) = delete;
  wake_up& operator=(const wake_up&) = delete;
  ~wake_up();

  /// Ends the sleep, or the next one. Any thread.
  void call() const noexcept;
  /// Sleeps until somebody calls, Ctrl-C is pressed, or `input` can be read; below 0: no input.
  /// May return for no reason.
  void sleep(int input) const;
  /// Whether Ctrl-C was pressed since it was last asked.
  [[nodiscard]] bool take_interrupt() const noexcept;

private:
  int event_;
};

} // namespace superstep::cli
