// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_rename.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"

#include <string>
#include <utility>

namespace superstep {

namespace {

bool is_snake(std::string_view name) {
  return name.find('_') != name.npos;
}

bool is_camel(std::string_view name) {
  auto upper = false;
  for (const auto c : name)
    upper = upper || (c >= 'A' && c <= 'Z');
  return upper && !is_snake(name);
}

std::string plain(std::string_view name) {
  auto out = std::string{};
  for (const auto c : name)
    if (c != '_')
      out += text::lower(c);
  return out;
}

bool differ_by_case_style(std::string_view from, std::string_view to) {
  return ((is_snake(from) && is_camel(to)) || (is_camel(from) && is_snake(to))) &&
         plain(from) == plain(to);
}

bool differ_by_s(std::string_view a, std::string_view b) {
  return (a.size() == b.size() + 1 && a.ends_with('s') && a.starts_with(b)) ||
         (b.size() == a.size() + 1 && b.ends_with('s') && b.starts_with(a));
}

} // namespace

void rename_member(json::object& o, const json::value& schema) {
  const auto* properties = schema::properties(schema);
  const auto* required = schema::member(schema, "required");
  if (properties == nullptr || !schema::is_closed(schema) || !required || !required->is_array())
    return;
  auto missing = std::string{};
  auto missing_count = 0;
  for (const auto& name : required->get_array())
    if (name.is_string() && !o.contains(name.get_string())) {
      missing = text::view(name.get_string());
      ++missing_count;
    }
  const json::key_value_pair* stray = nullptr;
  auto stray_count = 0;
  for (const auto& member : o)
    if (!properties->contains(member.key()) &&
        schema::pattern_schemas(schema, text::view(member.key())).empty()) {
      stray = &member;
      ++stray_count;
    }
  if (missing_count != 1 || stray_count != 1)
    return;
  const auto* target = properties->if_contains(missing);
  const auto from = text::view(stray->key());
  const auto list = target && schema::kind_of(schema::unwrap(*target)) == schema::kind::array &&
                    stray->value().is_array();
  if (target == nullptr ||
      !(differ_by_case_style(from, missing) || (list && differ_by_s(from, missing))))
    return;
  // Members keep their places.
  auto renamed = json::object{};
  renamed.reserve(o.size());
  for (auto& member : o)
    renamed.emplace(&member == stray ? json::string_view{missing} : member.key(),
                    std::move(member.value()));
  o = std::move(renamed);
}

} // namespace superstep
