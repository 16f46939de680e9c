// SPDX-License-Identifier: Apache-2.0
// Detects personal data: regular expressions find candidates, and checks reject false matches.
#include <superstep/agents/prebuilt_middleware.hpp>

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

namespace superstep {

namespace {

using check = bool (*)(std::string_view);

bool takes_all(std::string_view) {
  return true;
}

/// Whether the check digit of a card number is valid (Luhn algorithm, ISO/IEC 7812).
bool passes_luhn(std::string_view number) {
  auto sum = 0;
  auto place = 0;
  for (auto i = number.size(); i > 0; --i) {
    if (number[i - 1] < '0' || number[i - 1] > '9')
      continue;
    auto digit = number[i - 1] - '0';
    if (place++ % 2 == 1)
      digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 == 0;
}

/// Whether a candidate consists of four numbers up to 255 without leading zeros.
bool is_address(std::string_view text) {
  while (!text.empty()) {
    const auto part = text.substr(0, text.find('.'));
    auto n = 0;
    std::from_chars(part.data(), part.data() + part.size(), n);
    if (n > 255 || (part.size() > 1 && part.front() == '0'))
      return false;
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return true;
}

/// Whether a candidate is a link. A bare host name like example.com may be ordinary text, so a link
/// needs a scheme, `www.` or a path.
bool is_link(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://") || text.starts_with("www.") ||
         text.find('/') != std::string_view::npos;
}

std::vector<pii_match> find_all(const RE2& pattern, check is_one, std::string_view text) {
  auto out = std::vector<pii_match>{};
  const auto whole = re2::StringPiece{text.data(), text.size()};
  auto from = std::size_t{0};
  auto found = re2::StringPiece{};
  while (from <= text.size() &&
         pattern.Match(whole, from, text.size(), RE2::UNANCHORED, &found, 1)) {
    const auto begin = static_cast<std::size_t>(found.data() - text.data());
    const auto end = begin + found.size();
    if (!found.empty() && is_one(text.substr(begin, found.size())))
      out.push_back({begin, end});
    from = found.empty() ? end + 1 : end;
  }
  return out;
}

pii_detector found_by(const std::string& pattern, check is_one) {
  auto compiled = std::make_shared<const RE2>(pattern, RE2::Quiet);
  if (!compiled->ok())
    throw std::invalid_argument{"'" + pattern +
                                "' is not a valid RE2 pattern: " + compiled->error()};
  return [compiled = std::move(compiled), is_one](std::string_view text) {
    return find_all(*compiled, is_one, text);
  };
}

struct kind_of_pii {
  std::string_view name;
  const char* pattern;
  check is_one;
};
constexpr auto kinds = std::array{
    kind_of_pii{"email", R"([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b)", takes_all},
    // \p{Z}: spaces outside of ASCII, such as the no-break space of web pages
    kind_of_pii{"credit_card", R"(\b\d{4}[\s\p{Z}-]?\d{4}[\s\p{Z}-]?\d{4}[\s\p{Z}-]?\d{4}\b)",
                passes_luhn},
    kind_of_pii{"ip", R"(\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b)", is_address},
    kind_of_pii{"mac_address", R"(\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b)", takes_all},
    kind_of_pii{"url",
                R"re(https?://[^\s<>"{}|\\^`\[\]]+|\b(?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?:/\S*)?)re",
                is_link},
};

} // namespace

pii_detector detector_of(std::string_view kind) {
  const auto* found = std::ranges::find(kinds, kind, &kind_of_pii::name);
  if (found == kinds.end())
    throw std::invalid_argument{"Unknown PII type: " + std::string{kind} +
                                ". Must be one of email, credit_card, ip, mac_address, url, or "
                                "bring a detector"};
  return found_by(found->pattern, found->is_one);
}

pii_detector detector_by_pattern(const std::string& pattern) {
  return found_by(pattern, takes_all);
}

} // namespace superstep
