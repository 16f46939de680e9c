// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases.hpp"

#include <superstep/messages/messages.hpp>

#include <utility>

namespace superstep::conformance {

/// The value, or std::runtime_error with the text of the error, which makes the case an error.
template <class T>
T value_of(result<T> r) {
  return std::move(r).value();
}

/// Messages and blocks as the recorded cases write them: without members that hold nothing. @{
[[nodiscard]] json::value form_of(const message&);
[[nodiscard]] json::value form_of(const message_chunk&);
[[nodiscard]] json::value form_of_blocks(json::array blocks);
/// @}

[[nodiscard]] message message_in(const json::value&);
[[nodiscard]] message_list messages_in(const json::object& input);

} // namespace superstep::conformance
