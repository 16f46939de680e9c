// SPDX-License-Identifier: Apache-2.0
// Parses the text between the tags of one hermes call as relaxed JSON. If that fails, tries to
// repair the JSON. Then coerces the arguments and checks them against the schema.
#include "protocols/hermes/hermes_call.hpp"

#include "base/hex.hpp"
#include "models/json_schema.hpp"
#include "protocols/answer_parts.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/text.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::hermes {

namespace {

constexpr auto body_max = std::size_t{102'400}; // bytes; a longer text is not repaired
constexpr auto keys_max = std::size_t{256};     // the repair searches the text once per key

/// Returns the position after the closing quote of the string at `at`; npos if it has none.
std::size_t string_end(std::string_view s, std::size_t at) {
  for (++at; at < s.size(); ++at) {
    if (s[at] == '\\')
      ++at;
    else if (s[at] == '"')
      return at + 1;
  }
  return s.npos;
}

std::size_t skip_space(std::string_view s, std::size_t at) {
  while (const auto length = text::space_at(s, at))
    at += length;
  return at;
}

/// Whether a comma follows the object at the beginning of the text.
bool is_followed_by_member(std::string_view s) {
  auto depth = 0;
  for (auto i = std::size_t{0}; i < s.size(); ++i) {
    if (s[i] == '"') {
      const auto end = string_end(s, i);
      if (end == s.npos)
        return false;
      i = end - 1;
    } else if (s[i] == '{' || s[i] == '[') {
      ++depth;
    } else if ((s[i] == '}' || s[i] == ']') && --depth == 0) {
      const auto next = skip_space(s, i + 1);
      return next < s.size() && s[next] == ',';
    }
  }
  return false;
}

/// Returns the position of the value of a member of the outermost object. Tolerates errors after
/// that member.
std::optional<std::size_t> member_value_at(std::string_view body, std::string_view key) {
  auto depth = 0;
  for (auto i = std::size_t{0}; i < body.size(); ++i) {
    const auto c = body[i];
    if (c == '"') {
      const auto end = string_end(body, i);
      if (end == body.npos)
        return {};
      const auto colon = skip_space(body, end);
      if (depth == 1 && colon < body.size() && body[colon] == ':' &&
          body.substr(i + 1, end - i - 2) == key)
        return skip_space(body, colon + 1);
      i = end - 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return {};
}

/// Returns the text of the object `arguments`. It must be the last member, so it ends at the second
/// last brace of the text.
std::optional<std::string_view> arguments_text(std::string_view body) {
  body = text::trim(body);
  const auto begin = member_value_at(body, "arguments");
  if (!begin || *begin >= body.size() || body[*begin] != '{' || !body.ends_with('}'))
    return {};
  auto s = body.substr(*begin);
  s.remove_suffix(1);
  s = text::trim(s);
  if (!s.ends_with('}') || s.size() < 2 || is_followed_by_member(s))
    return {};
  return s;
}

/// The position of a member in broken JSON.
struct place {
  std::size_t key;   // position of the quoted key
  std::size_t value; // position after the colon
  std::string_view name;
};

enum class pick { first, last };

/// Finds the first or last `"key":` that follows a brace or a comma.
std::optional<place> find_key(std::string_view s, std::string_view name, pick which) {
  auto quoted = std::string{};
  append_quoted(quoted, name);
  auto found = std::optional<place>{};
  for (auto at = s.find(quoted); at != s.npos; at = s.find(quoted, at + 1)) {
    const auto colon = skip_space(s, at + quoted.size());
    const auto before = text::trim(s.substr(0, at));
    if (colon >= s.size() || s[colon] != ':' || before.empty() ||
        (before.size() != 1 && before.back() != ','))
      continue;
    found = place{at, colon + 1, name};
    if (which == pick::first)
      break;
  }
  return found;
}

/// Parses a string whose inner quotes, tabs and line ends the model did not escape.
std::optional<json::value> broken_string(std::string_view s) {
  const auto last = s.rfind('"');
  if (!s.starts_with('"') || last == 0 || last == s.npos)
    return {};
  const auto inner = s.substr(1, last - 1);
  auto escaped = std::string{'"'};
  for (auto i = std::size_t{0}; i < inner.size(); ++i) {
    const auto c = inner[i];
    if (c == '\\' && i + 1 < inner.size()) {
      escaped += c;
      escaped += inner[++i];
    } else if (c == '"') {
      escaped += "\\\"";
    } else if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\r') {
      escaped += "\\r";
    } else if (c == '\t') {
      escaped += "\\t";
    } else {
      escaped += c;
    }
  }
  escaped += '"';
  if (auto parsed = parse_lenient_json(escaped))
    return std::move(*parsed);
  return {};
}

/// Arguments that were found by searching for the keys of the schema.
struct cut_arguments {
  json::object members;
  std::size_t strict = 0; // number of values that needed no repair
};

/// Splits broken JSON at the keys of the schema and parses each value. Nullopt if a value cannot be
/// parsed.
std::optional<cut_arguments> cut(std::string_view s, const json::object& properties, pick which) {
  auto places = std::vector<place>{};
  for (const auto& property : properties)
    if (places.size() < keys_max)
      if (const auto found = find_key(s, text::view(property.key()), which))
        places.push_back(*found);
  std::ranges::sort(places, {}, &place::key);
  if (places.empty() || !text::is_blank(s.substr(1, places.front().key - 1)))
    return {};
  auto out = cut_arguments{};
  for (auto i = std::size_t{0}; i < places.size(); ++i) {
    const auto end = i + 1 < places.size() ? places[i + 1].key : s.size() - 1;
    if (places[i].value > end)
      return {};
    auto value = text::trim(s.substr(places[i].value, end - places[i].value));
    if (value.ends_with(','))
      value = text::trim(value.substr(0, value.size() - 1));
    auto strict = parse_lenient_json(value);
    out.strict += strict ? 1U : 0U;
    auto parsed = strict ? std::optional{std::move(*strict)} : broken_string(value);
    if (!parsed)
      return {};
    out.members[places[i].name] = std::move(*parsed);
  }
  return out;
}

/// Returns the arguments of a call with broken JSON: unescaped quotes and line ends in strings, or
/// a superfluous brace. Only members that are properties of `schema` are found.
std::optional<json::object> repair_arguments(std::string_view body, const json::value& schema) {
  if (body.size() > body_max)
    return {};
  const auto s = arguments_text(body);
  if (!s)
    return {};
  if (auto whole = parse_lenient_json(*s); whole && whole->is_object())
    return std::move(whole->get_object());
  const auto* properties = schema::properties(schema::unwrap(schema));
  if (properties == nullptr)
    return {};
  auto first = cut(*s, *properties, pick::first);
  auto last = cut(*s, *properties, pick::last);
  if (last && (!first || last->strict > first->strict))
    return std::move(last->members);
  if (first)
    return std::move(first->members);
  return {};
}

/// Escapes control characters inside strings as JSON requires.
std::string escape_controls(std::string_view s) {
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
      append_hex(out, static_cast<unsigned char>(c));
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

/// Whether a member at any level has a name that changes the prototype of a JavaScript object. Such
/// a name is harmless in C++, but the call may be passed to a JavaScript program.
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
    return tool == nullptr && arguments.is_null()
               ? std::nullopt
               : std::optional{parsed_call{std::string{name}, to_text(arguments)}};
  // Arguments that are not an object, for example JSON in a string, are not converted to one.
  if (members == nullptr && !matches_schema(arguments, tool->schema))
    return {};
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
  // The text is not a call if ordinary text or a code fence precedes the object.
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
