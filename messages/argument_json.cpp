// SPDX-License-Identifier: Apache-2.0
#include "argument_json.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace superstep {

namespace {

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

/// A number too large for a double is read as infinite, which JSON cannot say.
bool holds_infinity(const json::value& v) {
  if (const auto* number = v.if_double())
    return std::isinf(*number);
  if (const auto* list = v.if_array())
    return std::any_of(list->begin(), list->end(), holds_infinity);
  const auto* object = v.if_object();
  return object && std::any_of(object->begin(), object->end(),
                               [](const auto& member) { return holds_infinity(member.value()); });
}

} // namespace

result<json::value> parse_argument_json(std::string_view text) {
  auto parsed = parse_json(text);
  if (parsed)
    return parsed;
  // A model that says a thing twice means the last; parse_json() would refuse that.
  auto options = json::parse_options{};
  options.max_depth = json_limits{}.depth_max - 1; // this parser counts one more
  auto ec = boost::system::error_code{};
  auto again = json::parse(with_breaks_escaped(text), ec, {}, options);
  if (ec || holds_infinity(again))
    return parsed; // the error about what the model really wrote
  return again;
}

} // namespace superstep
