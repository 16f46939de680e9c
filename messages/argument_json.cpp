// SPDX-License-Identifier: Apache-2.0
// A lenient JSON parser for tool arguments. parse_json() is tried first. If it fails, the text is
// parsed again with tolerance for common mistakes of models. Used by openai_json.cpp for complete
// calls and by partial_json.cpp for streamed calls.
#include "argument_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace superstep {

namespace {

/// Escapes control characters inside strings. Models write them unescaped, which JSON forbids.
std::string with_breaks_escaped(std::string_view text) {
  auto out = std::string{};
  auto quoted = false;
  for (auto i = std::size_t{0}; i < text.size(); ++i) {
    const auto c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
    } else if (quoted && static_cast<unsigned char>(c) < 0x20) {
      auto escaped = std::string{};
      append_quoted(escaped, {&c, 1});
      out += std::string_view{escaped}.substr(1, escaped.size() - 2);
    } else {
      quoted = quoted != (c == '"');
      out += c;
    }
  }
  return out;
}

bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/// Whether an integer of a JSON text fits neither std::int64_t nor std::uint64_t.
bool is_unfit_integer(std::string_view number) {
  if (number.find_first_of(".eE") != std::string_view::npos)
    return false;
  const auto fits = [&](auto value) {
    return std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc{};
  };
  return !fits(std::int64_t{}) && !fits(std::uint64_t{});
}

} // namespace

bool holds_infinity(const json::value& v) {
  if (const auto* number = v.if_double())
    return std::isinf(*number);
  if (const auto* list = v.if_array())
    return std::any_of(list->begin(), list->end(), holds_infinity);
  const auto* object = v.if_object();
  return object && std::any_of(object->begin(), object->end(),
                               [](const auto& member) { return holds_infinity(member.value()); });
}

std::optional<std::size_t> find_unfit_integer(std::string_view text) {
  auto quoted = false;
  for (auto i = std::size_t{0}; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && is_of_number(text[i])) {
      auto end = i;
      while (end < text.size() && is_of_number(text[end]))
        ++end;
      if (is_unfit_integer(text.substr(i, end - i)))
        return i;
      i = end - 1;
    }
  }
  return std::nullopt;
}

std::string_view without_bom(std::string_view text) {
  constexpr auto bom = std::string_view{"\xEF\xBB\xBF"};
  if (text.starts_with(bom))
    text.remove_prefix(bom.size());
  return text;
}

result<json::value> parse_argument_json(std::string_view text) {
  text = without_bom(text);
  auto parsed = parse_json(text);
  if (parsed)
    return parsed;
  // The second attempt uses Boost.JSON, because parse_json() rejects duplicate keys. Boost.JSON
  // uses the last value of such a key.
  auto options = json::parse_options{};
  options.max_depth = json_limits{}.depth_max - 1; // Boost.JSON counts one level more
  auto ec = boost::system::error_code{};
  const auto escaped = with_breaks_escaped(text);
  auto again = json::parse(escaped, ec, {}, options);
  if (ec || holds_infinity(again))
    return parsed; // report the error in the model's own text
  // Boost.JSON reads an integer beyond 64 bits as a double, which would give the tool a different
  // number.
  if (const auto at = find_unfit_integer(text))
    return error{errc::parse_failed, "not valid JSON: the integer at byte " + std::to_string(*at) +
                                         " does not fit 64 bits"};
  return again;
}

} // namespace superstep
