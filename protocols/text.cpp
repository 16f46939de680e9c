// SPDX-License-Identifier: Apache-2.0
// Recognises white space, numbers and booleans as JavaScript does. Used by all parsers of this
// component.
#include "protocols/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace superstep::text {

std::size_t space_at(std::string_view s, std::size_t at) noexcept {
  if (at >= s.size())
    return 0;
  const auto c = static_cast<unsigned char>(s[at]);
  if (c == ' ' || (c >= 9 && c <= 13))
    return 1;
  if (c < 0xc2)
    return 0;
  const auto rest = s.substr(at);
  if (rest.starts_with("\xc2\xa0"))
    return 2;
  if (rest.size() < 3)
    return 0;
  if (rest.starts_with("\xe2\x80")) {
    const auto last = static_cast<unsigned char>(rest[2]);
    return (last >= 0x80 && last <= 0x8a) || last == 0xa8 || last == 0xa9 || last == 0xaf ? 3 : 0;
  }
  for (const auto* space : {"\xe1\x9a\x80", "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf"})
    if (rest.starts_with(space))
      return 3;
  return 0;
}

std::string_view trim_start(std::string_view s) noexcept {
  if (!s.empty() && s.front() > ' ')
    return s;
  auto at = std::size_t{0};
  while (const auto length = space_at(s, at))
    at += length;
  return s.substr(at);
}

std::string_view trim(std::string_view s) noexcept {
  s = trim_start(s);
  for (;;) {
    if (!s.empty() && s.back() > ' ') // ASCII, so not the last byte of a Unicode space
      return s;
    auto cut = std::size_t{0};
    // A white-space character has one, two or three bytes in UTF-8.
    for (auto length = std::size_t{1}; length <= 3 && length <= s.size() && cut == 0; ++length)
      if (space_at(s, s.size() - length) == length)
        cut = length;
    if (cut == 0)
      return s;
    s.remove_suffix(cut);
  }
}

std::string without_spaces(std::string_view s) {
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < s.size();) {
    if (const auto length = space_at(s, i))
      i += length;
    else
      out += s[i++];
  }
  return out;
}

namespace {

template <class Integer>
std::optional<json::value> integer_as(std::string_view s) noexcept {
  auto value = Integer{};
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), value);
  return ec == std::errc{} && end == s.data() + s.size() ? std::optional<json::value>{value}
                                                         : std::nullopt;
}

} // namespace

std::optional<json::value> integer_of(std::string_view s) noexcept {
  const auto value = integer_as<std::int64_t>(s);
  return value ? value : integer_as<std::uint64_t>(s);
}

std::optional<json::value> number_of(std::string_view s) noexcept {
  if (auto integer = integer_of(s))
    return integer;
  auto i = std::size_t{0};
  const auto digits = [&] {
    const auto from = i;
    while (i < s.size() && is_digit(s[i]))
      ++i;
    return i > from;
  };
  if (i < s.size() && s[i] == '-')
    ++i;
  if (!digits())
    return {};
  if (i < s.size() && s[i] == '.') {
    ++i;
    if (!digits())
      return {};
  }
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-'))
      ++i;
    if (!digits())
      return {};
  }
  if (i != s.size())
    return {};
  auto d = 0.0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), d);
  if (ec == std::errc::result_out_of_range && s.find("e-") == s.npos && s.find("E-") == s.npos)
    return {};
  return std::isfinite(d) ? std::optional{number_value(d)} : std::nullopt;
}

std::optional<bool> boolean_of(std::string_view s) noexcept {
  if (equal_any_case(s, "true"))
    return true;
  if (equal_any_case(s, "false"))
    return false;
  return {};
}

json::value number_value(double d) {
  constexpr auto whole_max = 9.0e18; // below 2^63, so the conversion is exact
  if (std::trunc(d) == d && std::abs(d) < whole_max)
    return static_cast<std::int64_t>(d);
  return d;
}

std::string number_text(const json::value& number) {
  if (!number.is_double())
    return to_text(number);
  const auto d = number.get_double();
  if (d == 0)
    return "0";
  auto buffer = std::array<char, 32>{}; // a number has at most 17 digits
  const auto size = std::abs(d);
  // Above this limit, the form `fixed` has more digits than are needed to distinguish the number.
  // JavaScript writes zeros in their place.
  constexpr auto exact_max = 9007199254740992.0;
  const auto is_large = size > exact_max && size < 1e21;
  const auto plain = size >= 1e-6 && size <= exact_max;
  const auto [end, ec] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), d,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  auto out = std::string{buffer.data(), end};
  if (is_large) {
    const auto e = out.find('e');
    auto zeros = std::stoul(out.substr(e + 1));
    out.resize(e);
    if (const auto point = out.find('.'); point != out.npos) {
      zeros -= out.size() - point - 1;
      out.erase(point, 1);
    }
    return out.append(zeros, '0');
  }
  // JavaScript writes exponents without a leading zero: 1e-7, not 1e-07.
  if (const auto e = out.find('e'); e != out.npos && out.size() > e + 2 && out[e + 2] == '0')
    out.erase(e + 2, 1);
  return out;
}

// Recurses into the value. Its depth is bounded because it was parsed with a limit.
void append_javascript(std::string& out, const json::value& v) {
  auto separator = std::string_view{};
  const auto separate = [&] {
    out += separator;
    separator = ",";
  };
  if (const auto* list = v.if_array()) {
    out += '[';
    for (const auto& item : *list) {
      separate();
      append_javascript(out, item);
    }
    out += ']';
  } else if (const auto* members = v.if_object()) {
    out += '{';
    for (const auto& member : *members) {
      separate();
      append_quoted(out, view(member.key()));
      out += ':';
      append_javascript(out, member.value());
    }
    out += '}';
  } else if (v.is_double()) {
    out += number_text(v);
  } else {
    append_text(out, v);
  }
}

std::string javascript_text(const json::value& v) {
  if (const auto* s = v.if_string())
    return std::string{view(*s)};
  auto out = std::string{};
  append_javascript(out, v);
  return out;
}

} // namespace superstep::text
