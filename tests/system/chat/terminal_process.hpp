// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace superstep::testing {

/// A program on its own pseudo-terminal. Killed by the destructor.
class terminal_process {
public:
  explicit terminal_process(const std::vector<std::string>& arguments);
  terminal_process(const terminal_process&) = delete;
  terminal_process& operator=(const terminal_process&) = delete;
  ~terminal_process();

  /// Returns the terminal output since the last call up to the end of `text`. Throws with the
  /// output if the program ends, or a minute passes, before `text` appears.
  std::string read_until(std::string_view text);
  /// Returns the remaining output until the program ends.
  std::string read_rest();
  void type(std::string_view keys) const;
  void kill() const;
  /// Waits for the end of the program. Returns -1 if a signal ended it.
  [[nodiscard]] int exit_code();

  static constexpr auto ctrl_c = std::string_view{"\x03"};
  static constexpr auto ctrl_d = std::string_view{"\x04"};

private:
  /// Returns false if there is nothing more to read.
  bool read_more();

  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string shown_; ///< not returned yet
  bool has_ended_ = false;
};

} // namespace superstep::testing
