// SPDX-License-Identifier: Apache-2.0
// Appends JSON text to a string. Output lines contain whole conversations, so building intermediate
// JSON values for them would cost too much.
#include "json_text.hpp"

#include "base/utf8.hpp"

#include <superstep/base/json.hpp>

#include <cstdlib>

namespace superstep::detail {

void append_quoted(std::string& out, std::string_view text) {
  if (is_utf8(text))
    superstep::append_quoted(out, text);
  else
    superstep::append_quoted(out, valid_utf8(std::string{text}));
}

void append_long_member(std::string& out, std::string_view name) {
  if (out.back() != '{')
    out += ',';
  out += '"';
  out += name;
  out += "\":";
}

void append_usd(std::string& out, std::int64_t billionths) {
  constexpr auto digits_max = std::size_t{9};
  constexpr auto dollar = std::int64_t{1'000'000'000};
  if (billionths < 0)
    out += '-';
  append_number(out, std::abs(billionths / dollar));
  auto rest = std::to_string(std::abs(billionths % dollar));
  rest.insert(0, digits_max - rest.size(), '0');
  rest.resize(rest.find_last_not_of('0') + 1);
  if (!rest.empty())
    out += '.' + rest;
}

} // namespace superstep::detail
