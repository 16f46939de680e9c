// SPDX-License-Identifier: Apache-2.0
// Finds the ends of CSV records without parsing their fields, so that a reader needs only the bytes
// of one record.
#include "record_end.hpp"

#include <utility>

namespace superstep::detail {

std::size_t record_end::find(std::string_view bytes, std::size_t from) noexcept {
  if (separator_ == '\0')
    return bytes.find('\n', from);
  for (auto i = from; i < bytes.size(); ++i) {
    const auto c = bytes[i];
    if (at_ == place::quoted) {
      if (c == '"')
        at_ = place::closed; // the end of the field, or the first of two quotes
      else if (c == '\n')
        ++breaks_;
      continue;
    }
    if (c == '\n') {
      at_ = place::field_start;
      return i;
    }
    if (c == separator_)
      at_ = place::field_start;
    else if (c == '"' && at_ == place::field_start) {
      at_ = place::quoted;
      breaks_before_quote_ = breaks_;
    } else if (c == '"' && at_ == place::closed)
      at_ = place::quoted; // the second of two quotes
    else
      at_ = place::plain;
  }
  return std::string_view::npos;
}

std::uint64_t record_end::take_breaks() noexcept {
  return std::exchange(breaks_, 0);
}

} // namespace superstep::detail
