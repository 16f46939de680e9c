// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <string>
#include <string_view>

namespace simdjson::dom {
class element;
class object;
} // namespace simdjson::dom

namespace superstep::detail {

/// Converts parsed text to JSON values.
[[nodiscard]] json::value to_json_value(simdjson::dom::element element);
[[nodiscard]] json::object to_json_object(simdjson::dom::object object);

/// Reads a message in any form that message_from_json() accepts; errors begin with `where`. The
/// common form, a role with a text, is read without intermediate JSON values.
[[nodiscard]] result<message> read_message(simdjson::dom::element element, std::string_view where);

/// Returns an error such as `"body.n" must be …`.
[[nodiscard]] error bad_member(std::string_view name, std::string_view must_be);
/// Returns at most 80 bytes of a text in quotes, cut between characters.
[[nodiscard]] std::string quoted_excerpt(std::string_view text);

} // namespace superstep::detail
