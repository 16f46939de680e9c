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

/// Parsed text as dynamic JSON.
[[nodiscard]] json::value to_json_value(simdjson::dom::element element);
[[nodiscard]] json::object to_json_object(simdjson::dom::object object);

/// A message in any form that message_from_json() reads; an error begins with `where`. The common
/// form, a role with a text, is read without a tree between.
[[nodiscard]] result<message> read_message(simdjson::dom::element element, std::string_view where);

/// `"body.n" must be …`
[[nodiscard]] error bad_member(std::string_view name, std::string_view must_be);
/// At most 80 bytes of the text in quotes, cut between characters.
[[nodiscard]] std::string quoted_excerpt(std::string_view text);

} // namespace superstep::detail
