// SPDX-License-Identifier: Apache-2.0
// Parses complete answers. The protocol finds the calls. If it finds none, a call in plain JSON is
// searched. Then the arguments are coerced. Follows wrapGenerate of @ai-sdk-tool/parser 4.1.26.
// Declared in protocol_parts.hpp.
#include "models/json_schema.hpp"
#include "protocols/answer_parts.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace superstep {

namespace {

/// A part of an answer that may be a call in JSON.
struct candidate {
  std::size_t from;
  std::size_t to;
  std::string_view body;
};
using candidates = std::vector<candidate>;

// Maximum number of examined candidates of each kind.
constexpr auto candidates_max = std::size_t{1'000};

bool starts_any_case(std::string_view s, std::string_view with) {
  return equal_any_case(s.substr(0, with.size()), with);
}

std::size_t find_any_case(std::string_view s, std::string_view tag, std::size_t at) {
  for (at = s.find('<', at); at != s.npos; at = s.find('<', at + 1))
    if (starts_any_case(s.substr(at), tag))
      return at;
  return s.npos;
}

void add_tagged(candidates& out, std::string_view s) {
  constexpr auto open = std::string_view{"<tool_call>"};
  constexpr auto close = std::string_view{"</tool_call>"};
  for (auto from = find_any_case(s, open, 0); from != s.npos && out.size() < candidates_max;) {
    const auto begin = from + open.size();
    const auto end = find_any_case(s, close, begin);
    if (end == s.npos)
      return;
    out.push_back({from, end + close.size(), s.substr(begin, end - begin)});
    from = find_any_case(s, open, end + close.size());
  }
}

void add_fenced(candidates& out, std::string_view s) {
  constexpr auto fence = std::string_view{"```"};
  const auto most = out.size() + candidates_max;
  for (auto from = s.find(fence); from != s.npos && out.size() < most;) {
    auto begin = from + fence.size();
    for (const auto* language : {"json", "yaml", "xml"})
      if (starts_any_case(s.substr(begin), language)) {
        begin += std::string_view{language}.size();
        break;
      }
    const auto end = s.find(fence, begin);
    if (end == s.npos)
      return;
    out.push_back({from, end + fence.size(), s.substr(begin, end - begin)});
    from = s.find(fence, end + fence.size());
  }
}

/// Returns the length of a text in UTF-16 code units, in which the AI SDK middleware counts.
std::size_t units_of(std::string_view s) {
  return static_cast<std::size_t>(
      std::ranges::count_if(
          s, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }) +
      std::ranges::count_if(s, [](char c) { return static_cast<unsigned char>(c) >= 0xF0U; }));
}

/// Adds the balanced `{…}`. Quotation marks outside of them begin no string. In the AI SDK
/// middleware they do, so a single one in the text before hides a call.
void add_braced(candidates& out, std::string_view s) {
  constexpr auto length_max = std::size_t{10'000}; // in UTF-16 code units
  auto depth = std::size_t{0};
  auto from = std::size_t{0};
  auto quoted = false;
  const auto most = out.size() + candidates_max;
  for (auto i = std::size_t{0}; i < s.size() && out.size() < most; ++i) {
    const auto c = s[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"' && depth > 0) {
      quoted = true;
    } else if (c == '{') {
      if (depth++ == 0)
        from = i;
    } else if (c == '}' && depth > 0 && --depth == 0 &&
               units_of(s.substr(from, i + 1 - from)) <= length_max) {
      out.push_back({from, i + 1, s.substr(from, i + 1 - from)});
    }
  }
}

/// Returns a call of `tool` if the object has no tool name but looks like the tool's arguments: at
/// least one member is a property of the schema, or all members are if the schema allows no others.
/// Used only if the model has a single tool.
std::optional<parsed_call> arguments_only(const json::object& o, const protocol_tool& tool) {
  const auto* name = o.if_contains("name");
  const auto* arguments = o.if_contains("arguments");
  if ((name && name->is_string() && !text::is_blank(text::view(name->get_string()))) ||
      (arguments && (arguments->is_object() || arguments->is_string())))
    return {};
  const auto& schema = schema::unwrap(tool.schema);
  if (schema::kind_of(schema) != schema::kind::object)
    return {};
  const auto* properties = schema::properties(schema);
  auto known = std::size_t{0};
  for (const auto& member : o)
    if (properties && properties->contains(member.key()))
      ++known;
  if (known == 0 || (schema::is_closed(schema) && known < o.size()))
    return {};
  return parsed_call{tool.name, to_text(o)};
}

/// Returns the call in the text of a candidate: a JSON object that names a known tool or, if there
/// is a single tool, has only its arguments. Nullopt for other texts.
std::optional<parsed_call> call_in(std::string_view body, const std::vector<protocol_tool>& tools) {
  const auto parsed = parse_relaxed_json(text::trim(body));
  if (!parsed || !parsed->is_object())
    return {};
  const auto& o = parsed->get_object();
  if (const auto* name = o.if_contains("name"); name && name->is_string()) {
    const auto trimmed = text::trim(text::view(name->get_string()));
    const auto* arguments = o.if_contains("arguments");
    if (find_tool(tools, trimmed) && !trimmed.empty() && (!arguments || arguments->is_object()))
      return parsed_call{std::string{trimmed}, arguments ? to_text(*arguments) : std::string{"{}"}};
  }
  return tools.size() == 1 ? arguments_only(o, tools.front()) : std::nullopt;
}

} // namespace

std::optional<std::vector<parsed_part>> recover_json_call(std::string_view text,
                                                          const std::vector<protocol_tool>& tools) {
  if (tools.empty())
    return {};
  auto found = candidates{};
  add_tagged(found, text);
  add_fenced(found, text);
  add_braced(found, text);
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
    return a.from != b.from ? a.from < b.from : a.to > b.to;
  });
  for (const auto& each : found)
    if (auto call = call_in(each.body, tools)) {
      auto parts = part_list{};
      parts.add_text(text.substr(0, each.from));
      parts.add_call(std::move(*call));
      parts.add_text(text.substr(each.to));
      return std::move(parts).take();
    }
  return {};
}

namespace {

bool is_call(const parsed_part& part) {
  return std::holds_alternative<parsed_call>(part);
}

void coerce_call(parsed_call& call, const std::vector<protocol_tool>& tools) {
  const auto* tool = find_tool(tools, call.name);
  if (tool == nullptr)
    return;
  auto parsed = parse_lenient_json(call.arguments);
  if (!parsed)
    return;
  const auto coerced = coerce(std::move(*parsed), tool->schema);
  if (!coerced.is_null() || schema::allows_null(schema::unwrap(tool->schema)))
    call.arguments = to_text(coerced);
}

} // namespace

std::vector<parsed_part> parse_answer(const tool_protocol& protocol, std::string_view text,
                                      const std::vector<protocol_tool>& tools,
                                      const protocol_error_handler& on_error) {
  auto parts = protocol.parse(text, tools, on_error);
  if (std::ranges::none_of(parts, is_call))
    if (auto recovered = recover_json_call(text, tools))
      parts = std::move(*recovered);
  for (auto& part : parts)
    if (auto* call = std::get_if<parsed_call>(&part))
      coerce_call(*call, tools);
  return parts;
}

} // namespace superstep
