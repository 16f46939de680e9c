// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace simdjson::dom {
class element;
class object;
} // namespace simdjson::dom

namespace superstep::detail {

/// Converts a value that simdjson has parsed to a JSON value of the project.
[[nodiscard]] json::value to_json_value(simdjson::dom::element element);
[[nodiscard]] json::object to_json_object(simdjson::dom::object object);

/// Returns the value at a path of names with dots between them; nullopt if there is none. A member
/// whose own name contains the dots comes first.
[[nodiscard]] std::optional<simdjson::dom::element> value_at(simdjson::dom::object from,
                                                             std::string_view path) noexcept;

/// Reads a message in any form that message_from_json() accepts. Error texts begin with
/// `list[index]`. The most frequent form, a role and a text, is read without intermediate JSON
/// values.
[[nodiscard]] result<message_ptr> read_message(simdjson::dom::element element,
                                               std::string_view list, std::size_t index);

/// Returns an error such as `"body.n" must be …`.
[[nodiscard]] error bad_member(std::string_view name, std::string_view must_be);
/// Returns the beginning of a text, at most 80 bytes, in quotes. Never cuts within a UTF-8
/// character; `…` after the quotes marks a cut.
[[nodiscard]] std::string quoted_excerpt(std::string_view text);

} // namespace superstep::detail
