// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::models {

/// Takes a stream of server-sent events apart, in pieces of any size: any split of the bytes,
/// between CR and LF too, gives the same events as the whole. Event names, ids and comments are
/// passed over; an event that the end of the stream cuts off is none.
class sse_parser {
public:
  explicit sse_parser(std::size_t event_bytes_max) noexcept : bytes_max_{event_bytes_max} {}

  /// Appends the data of each event that the bytes complete. errc::too_large ends the stream.
  [[nodiscard]] result<void> feed(std::string_view bytes, std::vector<std::string>& events);

private:
  void end_line(std::vector<std::string>& events);

  std::size_t bytes_max_;
  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false; // a LF that follows belongs to the line that has ended
  bool is_first_line_ = true;
};

} // namespace superstep::models
