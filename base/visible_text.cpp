// SPDX-License-Identifier: Apache-2.0
// Makes invisible characters visible in text that comes from models, tools and servers;
// visible_text.hpp lists them.
#include "base/visible_text.hpp"

#include "base/utf8.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace superstep {

namespace {

// Ranges of code points: the Unicode categories Cc, Cf, Zl and Zp except tab and line feed, and
// letters without a glyph. Variation selectors 15 and 16 are not listed, because emoji contain
// them.
constexpr auto hidden = std::array<std::pair<std::uint32_t, std::uint32_t>, 28>{{
    {0x0000, 0x0008},   {0x000B, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},
    {0x034F, 0x034F},   {0x0600, 0x0605},   {0x061C, 0x061C},   {0x06DD, 0x06DD},
    {0x070F, 0x070F},   {0x08E2, 0x08E2},   {0x115F, 0x1160},   {0x17B4, 0x17B5},
    {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
    {0x2800, 0x2800},   {0x3164, 0x3164},   {0xFE00, 0xFE0D},   {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0x110BD, 0x110BD}, {0x13430, 0x1343F},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF},
}};

bool is_hidden(std::uint32_t code) {
  const auto* const range =
      std::ranges::lower_bound(hidden, code, {}, [](const auto& r) { return r.second; });
  return range != hidden.end() && range->first <= code;
}

/// Returns the first code point of a valid UTF-8 text and its length in bytes.
std::pair<std::uint32_t, std::size_t> first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const auto size = lead < 0x80 ? 1U : lead < 0xE0 ? 2U : lead < 0xF0 ? 3U : 4U;
  auto code = size == 1 ? std::uint32_t{lead} : lead & (0x7FU >> size);
  for (auto i = 1U; i < size && i < text.size(); ++i)
    code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return {code, std::min<std::size_t>(size, text.size())};
}

} // namespace

std::string visible_text(std::string_view given) {
  const auto text = valid_utf8(std::string{given});
  auto rest = std::string_view{text};
  auto out = std::string{};
  out.reserve(text.size());
  while (!rest.empty()) {
    const auto [code, size] = first_of(rest);
    if (is_hidden(code)) {
      auto name = std::array<char, 16>{};
      std::snprintf(name.data(), name.size(), "<U+%04X>", static_cast<unsigned>(code));
      out += name.data();
    } else {
      out += rest.substr(0, size);
    }
    rest.remove_prefix(size);
  }
  return out;
}

std::string one_line(std::string_view text, std::size_t bytes_max) {
  constexpr auto dots = std::string_view{"..."};
  SUPERSTEP_ASSERT(bytes_max >= dots.size());
  // Only the start is converted, because the text can be a long answer of a server.
  auto line = std::string{text.substr(0, bytes_max + 1)};
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  line = visible_text(line);
  if (line.size() <= bytes_max && text.size() <= bytes_max)
    return line;
  line.resize(utf8_prefix(line, bytes_max - dots.size()).size());
  line.resize(line.find_last_not_of(' ') + 1);
  return line.append(dots);
}

} // namespace superstep
