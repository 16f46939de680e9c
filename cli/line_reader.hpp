// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/wake_up.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace superstep::cli {

/// Lines of a plain terminal, a pipe or a file, as they come.
class line_reader {
public:
  /// @param input stays open, and nobody else reads from it
  line_reader(int input, const wake_up& bell) : input_{input}, bell_{bell} {}

  enum class end : std::uint8_t { line, input, interrupt };
  struct read {
    end why = end::input;
    std::string line{}; ///< without its end; the last one may have none
  };
  /// The next line. Throws std::runtime_error when it is longer than `line_bytes_max`, and
  /// std::system_error when the input cannot be read.
  [[nodiscard]] read next();
  /// Drops what was read but not returned yet.
  void discard() noexcept {
    held_.clear();
    searched_ = 0;
  }

  static constexpr std::size_t line_bytes_max = 1024 * 1024;

private:
  int input_;
  const wake_up& bell_;
  std::string held_;         ///< was read, but stands behind the line
  std::size_t searched_ = 0; ///< of it: has no line end
  bool has_ended_ = false;
};

} // namespace superstep::cli
