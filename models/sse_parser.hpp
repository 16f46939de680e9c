// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::models {

/// Splits a stream of server-sent events. The bytes may be split anywhere, even between CR and LF.
/// Event names, ids, comments and an incomplete event at the end are ignored.
///
/// llama.cpp's server reports errors in a field `error`, which is not part of the standard. Its
/// value becomes the event `{"error":value}`.
///
/// Source: WHATWG HTML Living Standard, section 9.2
/// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
class sse_parser {
public:
  explicit sse_parser(std::size_t event_bytes_max) noexcept : bytes_max_{event_bytes_max} {}

  /// Appends the data of each event that is complete after these bytes. Returns errc::too_large if
  /// an event exceeds the limit; no member may be called after that.
  [[nodiscard]] result<void> feed(std::string_view bytes, std::vector<std::string>& events);

private:
  void end_line(std::vector<std::string>& events);

  std::size_t bytes_max_;
  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false; // the last byte was a CR, so a following LF belongs to the same line end
  bool is_first_line_ = true;
};

} // namespace superstep::models
