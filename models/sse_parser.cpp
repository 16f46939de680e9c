// SPDX-License-Identifier: Apache-2.0
// An incremental parser of server-sent events (WHATWG HTML, section 9.2).
#include "models/sse_parser.hpp"

#include <algorithm>
#include <utility>

namespace superstep::models {

result<void> sse_parser::feed(std::string_view bytes, std::vector<std::string>& events) {
  // CR LF is one line end, even if the two bytes are in different calls.
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    // The limit includes the incomplete event, which could otherwise grow without bound.
    if (line_.size() + end + data_.size() > bytes_max_)
      return error{errc::too_large, "an event of the stream is larger than " +
                                        std::to_string(bytes_max_) +
                                        " bytes; raise answer_bytes_max"};
    line_.append(bytes.substr(0, end));
    if (end < bytes.size()) {
      after_cr_ = bytes[end] == '\r';
      end_line(events);
    }
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return {};
}

void sse_parser::end_line(std::vector<std::string>& events) {
  auto line = std::string_view{line_};
  // A byte order mark is allowed only at the start of the stream.
  if (std::exchange(is_first_line_, false) && line.starts_with("\xEF\xBB\xBF"))
    line.remove_prefix(3);
  // An empty line ends an event. An event without data is ignored.
  if (line.empty()) {
    if (std::exchange(has_data_, false))
      events.push_back(std::exchange(data_, {}));
  } else if (line == "data" || line.starts_with("data:")) {
    auto value = line.substr(std::min(line.size(), std::size_t{5}));
    if (value.starts_with(' '))
      value.remove_prefix(1);
    if (std::exchange(has_data_, true))
      data_ += '\n';
    data_ += value;
  } else if (constexpr auto error_field = std::string_view{"error:"};
             line.starts_with(error_field)) {
    // llama.cpp's server then sends [DONE], as if the answer were complete.
    events.push_back("{\"error\":" + std::string{line.substr(error_field.size())} + '}');
  }
  line_.clear();
}

} // namespace superstep::models
