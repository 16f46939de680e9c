// SPDX-License-Identifier: Apache-2.0
#include "protocols/string_progress.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"

#include <algorithm>

namespace superstep {

std::size_t whole_text(std::string_view raw) noexcept {
  constexpr auto entity_max = std::size_t{6}; // &quot;
  auto end = raw.size();
  const auto tail = end - std::min(end, entity_max - 1);
  if (const auto entity = raw.rfind('&');
      entity != raw.npos && entity >= tail && raw.find(';', entity) == raw.npos)
    end = entity;
  auto begin = end;
  while (begin > 0 && end - begin < 3 && (raw[begin - 1] & '\xc0') == '\x80')
    --begin;
  if (begin == 0)
    return end;
  const auto lead = static_cast<unsigned char>(raw[begin - 1]);
  const auto length = std::size_t{lead < 0xc0 ? 1U : lead < 0xe0 ? 2U : lead < 0xf0 ? 3U : 4U};
  return begin - 1 + length > end ? begin - 1 : end;
}

bool lists_are_lists(const json::value& arguments, const json::value& schema) {
  const auto* members = arguments.if_object();
  const auto* properties = schema::properties(schema::unwrap(schema));
  if (members == nullptr || properties == nullptr)
    return members != nullptr;
  return std::ranges::all_of(*members, [&](const auto& member) {
    const auto* property = properties->if_contains(member.key());
    return property == nullptr || schema::kind_of(*property) != schema::kind::array ||
           member.value().is_array();
  });
}

} // namespace superstep
