// SPDX-License-Identifier: Apache-2.0
#include "models/protocols/input_progress.hpp"

#include <algorithm>

namespace superstep {
namespace {
constexpr std::size_t delta_bytes_max = 512;
}

bool input_progress::extend(std::string_view text) {
  if (!text.starts_with(sent_))
    return false;
  text.remove_prefix(sent_.size());
  sent_ += text;
  while (!text.empty()) {
    auto length = std::min(delta_bytes_max, text.size());
    // A piece never ends inside a UTF-8 character: it would be no text on its own.
    while (length < text.size() && length > 1 && (text[length] & '\xc0') == '\x80')
      --length;
    (*on_event_)(tool_input_delta{call_, std::string{text.substr(0, length)}});
    text.remove_prefix(length);
  }
  return true;
}

void input_progress::show(const json::value& so_far) {
  const auto text = to_text(so_far);
  auto open = std::string_view{text};
  // The ends may still move: brackets get more members, a string gets longer.
  while (!open.empty() && (open.back() == '}' || open.back() == ']'))
    open.remove_suffix(1);
  if (!open.empty() && open.back() == '"')
    open.remove_suffix(1);
  if (open.size() > sent_.size())
    extend(open);
}

bool input_progress::complete(std::string_view arguments) {
  return extend(arguments);
}

} // namespace superstep
