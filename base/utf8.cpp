// SPDX-License-Identifier: Apache-2.0
// Validates and repairs UTF-8. Valid text, the usual case, is recognised by simdjson; the slower
// scan runs only for invalid text.
#include "base/utf8.hpp"

#include <simdjson.h>

#include <cstddef>
#include <utility>

namespace superstep {

namespace {

/// Returns the length of the UTF-8 sequence at the start of `text`; 0 if it is invalid.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  if (first < 0x80)
    return 1;
  const auto length = first >= 0xf0   ? std::size_t{4}
                      : first >= 0xe0 ? std::size_t{3}
                                      : std::size_t{2};
  if (first < 0xc2 || first > 0xf4 || text.size() < length)
    return 0;
  for (auto i = std::size_t{1}; i < length; ++i)
    if ((byte(i) & 0xc0U) != 0x80)
      return 0;
  // Rejects overlong encodings, surrogates, and code points above U+10FFFF.
  const auto second = byte(1);
  const auto bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                   (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
  return text.empty() || simdjson::validate_utf8(text.data(), text.size());
}

std::string valid_utf8(std::string text) {
  if (is_utf8(text))
    return text;
  auto at = std::size_t{0};
  auto fixed = std::string{};
  auto copied = std::size_t{0};
  while (at < text.size()) {
    const auto length = sequence_length(std::string_view{text}.substr(at));
    // each invalid byte is replaced by one U+FFFD
    if (length == 0) {
      fixed.append(text, copied, at - copied);
      fixed += "\xef\xbf\xbd";
      copied = at + 1;
    }
    at += length == 0 ? 1 : length;
  }
  fixed.append(text, copied);
  return fixed;
}

} // namespace superstep
