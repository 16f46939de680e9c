// SPDX-License-Identifier: Apache-2.0
// Combines the parts of a request body to its JSON text.
#include "models/providers/request_parts.hpp"

#include <string_view>
#include <utility>

namespace superstep::providers {

namespace {

/// Returns the text that replaces a null member; "" for members that are written as they are.
std::string_view text_for(const request_parts& parts, const json::key_value_pair& member) {
  if (!member.value().is_null())
    return {};
  if (member.key() == "messages")
    return parts.messages;
  return member.key() == "tools" ? std::string_view{parts.tools} : std::string_view{};
}

} // namespace

std::string body_text(const request_parts& parts) {
  constexpr auto other_members = std::size_t{256};
  auto out = std::string{};
  out.reserve(parts.messages.size() + parts.tools.size() + other_members);
  for (const auto& member : parts.body) {
    out += out.empty() ? '{' : ',';
    append_quoted(out, {member.key().data(), member.key().size()});
    out += ':';
    if (const auto text = text_for(parts, member); !text.empty())
      out += text;
    else
      append_text(out, member.value());
  }
  return out.empty() ? "{}" : std::move(out) + '}';
}

} // namespace superstep::providers
