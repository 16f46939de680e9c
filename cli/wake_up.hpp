// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::cli {

/// Lets the thread of a conversation sleep until Ctrl-C or an event of another thread. Handles
/// SIGINT during its lifetime. Only one may exist in a process.
class wake_up {
public:
  wake_up();
  wake_up(const wake_up&) = delete;
  wake_up& operator=(const wake_up&) = delete;
  ~wake_up();

  /// Ends the current sleep, or the next one. May be called by any thread.
  void call() const noexcept;
  /// Sleeps until call(), Ctrl-C, or `input` is readable; negative: no input. May return without
  /// reason.
  void sleep(int input) const;
  /// Whether Ctrl-C was pressed since the last call of this function.
  [[nodiscard]] bool take_interrupt() const noexcept;

private:
  int event_;
};

} // namespace superstep::cli
