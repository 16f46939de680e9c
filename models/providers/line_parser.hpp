// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::providers {

/// Splits a stream of JSON lines. The bytes may be split anywhere. Lines end in LF or CR LF, and
/// blank lines are skipped.
class line_parser {
public:
  explicit line_parser(std::size_t line_bytes_max) noexcept : bytes_max_{line_bytes_max} {}

  /// Appends each line that is complete after these bytes. Returns errc::too_large if a line
  /// exceeds the limit; no member may be called after that.
  [[nodiscard]] result<> feed(std::string_view bytes, std::vector<std::string>& lines);
  /// Returns the text after the last line end. To be called at the end of the stream, because some
  /// servers omit the last line end.
  [[nodiscard]] std::string finish() { return take(); }

private:
  std::string take();

  std::size_t bytes_max_;
  std::string line_;
};

} // namespace superstep::providers
