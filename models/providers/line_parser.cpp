// SPDX-License-Identifier: Apache-2.0
// Splits a stream into lines.
#include "models/providers/line_parser.hpp"

#include <algorithm>
#include <utility>

namespace superstep::providers {

std::string line_parser::take() {
  auto line = std::exchange(line_, {});
  while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
    line.pop_back();
  return line;
}

result<> line_parser::feed(std::string_view bytes, std::vector<std::string>& lines) {
  while (!bytes.empty()) {
    const auto end = std::min(bytes.find('\n'), bytes.size());
    if (line_.size() + end > bytes_max_)
      return error{errc::too_large, "a line of the stream is larger than " +
                                        std::to_string(bytes_max_) +
                                        " bytes; raise answer_bytes_max"};
    line_.append(bytes.substr(0, end));
    if (end == bytes.size())
      break;
    if (auto line = take(); !line.empty())
      lines.push_back(std::move(line));
    bytes.remove_prefix(end + 1);
  }
  return {};
}

} // namespace superstep::providers
