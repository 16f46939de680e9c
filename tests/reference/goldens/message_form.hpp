// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases.hpp"

#include <superstep/messages/messages.hpp>

#include <utility>

namespace superstep::conformance {

/// Returns the value of a result. Throws std::runtime_error with its error text otherwise; the
/// output of the case is then an error.
template <class T>
T value_of(result<T> r) {
  return std::move(r).value();
}

/// Return messages and blocks in the form of the recorded cases: without empty members. @{
[[nodiscard]] json::value form_of(const message&);
[[nodiscard]] json::value form_of(const message_chunk&);
[[nodiscard]] json::value form_of_blocks(json::array blocks);
/// @}

[[nodiscard]] message message_in(const json::value&);
[[nodiscard]] message_list messages_in(const json::object& input);

} // namespace superstep::conformance
