// SPDX-License-Identifier: Apache-2.0
// Parses the conditions under which a job stops early.
#include <superstep/batch/detail/stop_rules.hpp>

#include <charconv>
#include <cmath>

namespace superstep {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, into);
  return !text.empty() && stop == end && code == std::errc{};
}

error wrong_condition(std::string_view text, std::string_view why) {
  constexpr auto shown_bytes_max = std::size_t{60};
  return {errc::invalid_argument,
          "'" + std::string{text.substr(0, shown_bytes_max)} + "' " + std::string{why}};
}

result<void> read_condition(std::string_view text, bool is_first, stop_rules& into) {
  constexpr auto rate = std::string_view{"error-rate>"};
  constexpr auto dead = std::string_view{"dead>"};
  if (text == "none") {
    if (!is_first)
      return wrong_condition(text, "must be the first condition");
    into.without_success = false;
    return {};
  }
  if (text == "no-success") {
    into.without_success = true;
    return {};
  }
  if (text.starts_with(rate)) {
    auto share = 0.0;
    if (!read_number(text.substr(rate.size()), share) || !(share >= 0 && share < 1))
      return wrong_condition(text, "must be error-rate> and a number from 0 to below 1, such as "
                                   "error-rate>0.2");
    into.error_rate_max = share;
    return {};
  }
  if (text.starts_with(dead)) {
    auto number = std::uint64_t{0};
    if (!read_number(text.substr(dead.size()), number))
      return wrong_condition(text, "must be dead> and a whole number, such as dead>100");
    into.dead_max = number;
    return {};
  }
  return wrong_condition(text, "is not a condition; use no-success, error-rate>SHARE, dead>NUMBER "
                               "or none");
}

} // namespace

std::string_view to_text(stop_cause cause) noexcept {
  switch (cause) {
  case stop_cause::none:
    break;
  case stop_cause::request:
    return "request";
  case stop_cause::failing:
    return "fail_if";
  case stop_cause::budget:
    return "budget";
  case stop_cause::quota:
    return "quota";
  case stop_cause::ledger:
    return "ledger";
  }
  return {};
}

result<void> parse_fail_if(std::string_view text, stop_rules& into) {
  auto is_first = true;
  while (true) {
    const auto comma = text.find(',');
    auto one = text.substr(0, comma);
    while (one.starts_with(' '))
      one.remove_prefix(1);
    while (one.ends_with(' '))
      one.remove_suffix(1);
    if (auto read = read_condition(one, is_first, into); !read)
      return read;
    if (comma == std::string_view::npos)
      return {};
    text.remove_prefix(comma + 1);
    is_first = false;
  }
}

} // namespace superstep
