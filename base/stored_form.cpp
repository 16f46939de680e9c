// SPDX-License-Identifier: Apache-2.0
// The parts of stored_form.hpp that are not templates: errors, and numbers that JSON cannot express
// (infinities and NaN).
#include "base/visible_text.hpp"

#include <superstep/base/stored_form.hpp>

namespace superstep::detail {

error unfit_stored(const std::string& path, std::string_view wanted, const json::value& got) {
  constexpr auto shown_max = std::size_t{80};
  return {errc::parse_failed, path + ": expected " + std::string{wanted} + ", found " +
                                  one_line(to_text(got), shown_max)};
}

// Infinities and NaN are written as texts, because JSON has no such numbers and null would not
// restore them.
void append_stored_number(std::string& out, double n) {
  if (std::isnan(n))
    out += "\"nan\"";
  else if (std::isinf(n))
    out += n > 0 ? "\"inf\"" : "\"-inf\"";
  else
    append_text(out, json::value(n));
}

result<double> read_stored_number(const json::value& from, const std::string& path) {
  if (from.is_number())
    return from.to_number<double>();
  constexpr auto infinite = std::numeric_limits<double>::infinity();
  if (from == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  if (from == "inf")
    return infinite;
  if (from == "-inf")
    return -infinite;
  return unfit_stored(path, "a number", from);
}

} // namespace superstep::detail
