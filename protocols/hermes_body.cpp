// SPDX-License-Identifier: Apache-2.0
#include "protocols/hermes_body.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"
#include "protocols/hermes_repair.hpp"
#include "protocols/parse_answer_tools.hpp"
#include "protocols/relaxed_json_impl.hpp"
#include "protocols/schema_check.hpp"

#include <superstep/protocols/coerce.hpp>

#include <utility>

namespace superstep::hermes {

namespace {

/// Control characters inside strings as JSON wants them.
std::string escape_controls(std::string_view s) {
  static constexpr auto hex = std::string_view{"0123456789abcdef"};
  auto out = std::string{};
  out.reserve(s.size());
  auto quote = '\0';
  for (auto i = std::size_t{0}; i < s.size(); ++i) {
    const auto c = s[i];
    if (quote == '\0') {
      if (c == '"' || c == '\'')
        quote = c;
    } else if (c == '\\' && i + 1 < s.size()) {
      out += c;
      out += s[++i];
      continue;
    } else if (c == quote) {
      quote = '\0';
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += hex[static_cast<unsigned char>(c) >> 4U];
      out += hex[static_cast<unsigned char>(c) & 15U];
      continue;
    }
    out += c;
  }
  return out;
}

bool has_control(std::string_view s) {
  for (const auto c : s)
    if (static_cast<unsigned char>(c) < 0x20)
      return true;
  return false;
}

/// Names that would reach into the prototype of a JavaScript object. They are harmless here, but
/// what reads the call next may not be written in C++.
bool has_unsafe_key(const json::value& v) {
  if (const auto* items = v.if_array()) {
    for (const auto& item : *items)
      if (has_unsafe_key(item))
        return true;
  } else if (const auto* members = v.if_object()) {
    for (const auto& member : *members)
      if (member.key() == "__proto__" || member.key() == "constructor" ||
          member.key() == "prototype" || has_unsafe_key(member.value()))
        return true;
  }
  return false;
}

std::optional<parsed_call> accept(std::string_view name, json::value arguments,
                                  const std::vector<protocol_tool>& tools,
                                  argument_shapes& shapes) {
  const auto* tool = find_tool(tools, name);
  const auto* members = arguments.if_object();
  if (tool == nullptr || (members != nullptr && shapes.of(*tool).fits(*members)))
    return parsed_call{std::string{name}, to_text(arguments)};
  auto coerced = coerce(std::move(arguments), tool->schema);
  if (coerced.is_null() && !schema::allows_null(schema::unwrap(tool->schema)))
    return {};
  if (!matches_schema(coerced, tool->schema))
    return {};
  return parsed_call{std::string{name}, to_text(coerced)};
}

std::optional<parsed_call> read_plain(std::string_view body,
                                      const std::vector<protocol_tool>& tools,
                                      argument_shapes& shapes) {
  const auto escaped = has_control(body) ? escape_controls(body) : std::string{};
  auto parsed = read_json(escaped.empty() ? body : escaped, {.relaxed = true, .keep_proto = true});
  if (!parsed || !parsed->is_object() || has_unsafe_key(*parsed))
    return {};
  auto& members = parsed->get_object();
  const auto* name = members.if_contains("name");
  if (name == nullptr || !name->is_string())
    return {};
  auto* arguments = members.if_contains("arguments");
  return accept(text::view(name->get_string()),
                arguments ? std::move(*arguments) : json::value(json::object{}), tools, shapes);
}

} // namespace

std::string name_in(std::string_view body) {
  // Prose or a code fence before the object makes it something else than a call.
  if (!text::trim_start(body).starts_with('{'))
    return {};
  const auto at = member_value_at(body, "name");
  if (!at || *at >= body.size() || body[*at] != '"')
    return {};
  for (auto end = *at + 1; end < body.size(); ++end) {
    if (body[end] == '\\') {
      ++end;
    } else if (body[end] == '"') {
      const auto parsed = read_json(body.substr(*at, end + 1 - *at), {});
      return parsed && parsed->is_string() ? std::string{text::view(parsed->get_string())} : "";
    }
  }
  return {};
}

std::optional<parsed_call> read_body(std::string_view body, const std::vector<protocol_tool>& tools,
                                     argument_shapes& shapes, repair mode) {
  if (auto call = read_plain(body, tools, shapes))
    return call;
  if (mode == repair::no)
    return {};
  const auto name = name_in(body);
  if (name.empty())
    return {};
  const auto* tool = find_tool(tools, name);
  auto arguments = repair_arguments(body, tool ? tool->schema : json::value{});
  if (!arguments)
    return {};
  auto repaired = json::value(std::move(*arguments));
  if (has_unsafe_key(repaired))
    return {};
  return accept(name, std::move(repaired), tools, shapes);
}

} // namespace superstep::hermes
