// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace superstep::testing {

/// A program that sits at a terminal of its own. Killed when the object goes away.
class terminal_process {
public:
  explicit terminal_process(const std::vector<std::string>& arguments);
  terminal_process(const terminal_process&) = delete;
  terminal_process& operator=(const terminal_process&) = delete;
  ~terminal_process();

  /// What the terminal shows from where the last look ended to the end of `text`. Throws what was
  /// shown instead when the program ends, or a minute has gone by, without it.
  std::string read_until(std::string_view text);
  /// The same to the end of the program.
  std::string read_rest();
  void type(std::string_view keys) const;
  void kill() const;
  /// Waits for its end. -1: it was ended by a signal.
  [[nodiscard]] int exit_code();

  static constexpr auto ctrl_c = std::string_view{"\x03"};
  static constexpr auto ctrl_d = std::string_view{"\x04"};

private:
  /// False: there is nothing more to read.
  bool read_more();

  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string shown_; ///< not looked at yet
  bool has_ended_ = false;
};

} // namespace superstep::testing
