// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::providers {

/// Takes a stream of JSON lines apart, in pieces of any size: any split of the bytes gives the same
/// lines as the whole. Lines end in LF or CR LF; blank ones are passed over.
class line_parser {
public:
  explicit line_parser(std::size_t line_bytes_max) noexcept : bytes_max_{line_bytes_max} {}

  /// Appends each line that the bytes complete. errc::too_large ends the stream.
  [[nodiscard]] result<> feed(std::string_view bytes, std::vector<std::string>& lines);
  /// What came after the last line end, when the stream is over: some servers leave out the last.
  [[nodiscard]] std::string finish() { return take(); }

private:
  std::string take();

  std::size_t bytes_max_;
  std::string line_;
};

} // namespace superstep::providers
