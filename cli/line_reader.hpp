// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/wake_up.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace superstep::cli {

/// Reads lines from a plain terminal, a pipe or a file.
class line_reader {
public:
  /// @param input a file descriptor; it must stay open, and nothing else may read from it
  line_reader(int input, const wake_up& bell) : input_{input}, bell_{bell} {}

  /// The event that ended a read: a line break, the end of the input, or Ctrl-C.
  enum class end : std::uint8_t { line, input, interrupt };
  struct read {
    end why = end::input;
    std::string line{}; ///< the line without its line break
  };
  /// Returns the next line. Throws std::runtime_error if it is longer than `line_bytes_max`, and
  /// std::system_error if the input cannot be read.
  [[nodiscard]] read next();
  /// Discards bytes that were read and not returned yet.
  void discard() noexcept {
    held_.clear();
    searched_ = 0;
  }

  static constexpr std::size_t line_bytes_max = 1024 * 1024;

private:
  int input_;
  const wake_up& bell_;
  std::string held_;         ///< bytes that were read but not returned yet
  std::size_t searched_ = 0; ///< number of bytes in `held_` that are known to contain no line break
  bool has_ended_ = false;
};

} // namespace superstep::cli
