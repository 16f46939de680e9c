// SPDX-License-Identifier: Apache-2.0
// Validates and repairs UTF-8. Valid text, the usual case, is recognised by simdjson; the slower
// scan runs only for invalid text.
#include "base/utf8.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// Whether all bytes of a text are ASCII. Tests 8 bytes at once.
bool is_ascii(std::string_view text) noexcept {
  constexpr auto highs = std::uint64_t{0x8080808080808080};
  auto bits = std::uint64_t{0};
  auto i = std::size_t{0};
  for (; i + sizeof bits <= text.size(); i += sizeof bits) {
    auto word = std::uint64_t{0};
    std::memcpy(&word, text.data() + i, sizeof word);
    bits |= word;
  }
  for (; i < text.size(); ++i)
    bits |= static_cast<unsigned char>(text[i]);
  return (bits & highs) == 0;
}

/// Whether a text is UTF-16. This is recognised by its byte order mark, or by a zero byte in each
/// of its first two letters.
bool is_utf16(std::string_view text) noexcept {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return true;
  if (text.size() < 4)
    return false;
  const auto is_nul = [&](std::size_t i) { return text[i] == '\0'; };
  return is_nul(0) == is_nul(2) && is_nul(1) == is_nul(3) && is_nul(0) != is_nul(1);
}

struct compression {
  std::string_view magic; ///< first bytes of each file
  std::string_view name;
  std::string_view program; ///< decompresses files
};

constexpr auto compressions = std::array{
    compression{"\x1f\x8b", "gzip", "gunzip"}, compression{"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
    compression{"\xfd\x37zXZ", "xz", "unxz"}, compression{"BZh", "bzip2", "bunzip2"},
    compression{"PK\x03\x04", "zip", "unzip"}};

encoding_fault fault_at(std::string_view text, std::size_t offset, std::string what) {
  const auto before = text.substr(0, offset);
  return {offset, 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          std::move(what), std::string{"convert it, for example with iconv -f latin1 -t utf-8"}};
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
  // simdjson needs longer for a short text than this test does.
  constexpr auto short_max = std::size_t{64};
  return (text.size() <= short_max && is_ascii(text)) ||
         simdjson::validate_utf8(text.data(), text.size());
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

std::optional<encoding_fault> find_encoding_fault(std::string_view text) {
  if (is_utf16(text))
    return encoding_fault{0, 1, "is UTF-16, not UTF-8",
                          "convert it, for example with iconv -f utf-16 -t utf-8", true};
  if (is_utf8(text))
    return std::nullopt;
  for (const auto& one : compressions)
    if (text.starts_with(one.magic))
      return encoding_fault{0, 1, fmt::format("is compressed with {}", one.name),
                            fmt::format("decompress it, for example with {}", one.program), true};
  auto at = std::size_t{0};
  while (const auto length = sequence_length(text.substr(at)))
    at += length;
  return fault_at(text, at,
                  fmt::format("is not UTF-8: byte 0x{:02X} at offset {}",
                              static_cast<unsigned char>(text[at]), at));
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) noexcept {
  if (text.size() <= bytes_max)
    return text;
  auto end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end; // bytes 10xxxxxx continue a character
  return text.substr(0, end);
}

std::string shortened(std::string_view text, std::size_t bytes_max) {
  auto out = std::string{utf8_prefix(text, bytes_max)};
  if (out.size() < text.size())
    out += "…";
  return out;
}

std::optional<encoding_fault> find_yaml_encoding_fault(std::string_view text) {
  if (auto fault = find_encoding_fault(text)) {
    fault->text += "; " + fault->advice;
    return fault;
  }
  const auto at = text.find_first_of(std::string_view{"\0\x04", 2});
  if (at == std::string_view::npos)
    return std::nullopt;
  return fault_at(text, at,
                  fmt::format("is not text: control character 0x{:02X} at offset {}",
                              static_cast<unsigned char>(text[at]), at));
}

} // namespace superstep
