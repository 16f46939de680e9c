// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <initializer_list>
#include <string_view>

namespace superstep {

/// Returns the member; nullptr if it is missing or null.
[[nodiscard]] const json::value* member(const json::object& o, std::string_view key);
/// Returns the text of a member; "" if it is missing or not a string.
[[nodiscard]] std::string_view text_in(const json::object& o, std::string_view key);
/// Returns the object or list in a member; nullptr if there is none. @{
[[nodiscard]] const json::object* object_in(const json::object& o, std::string_view key);
[[nodiscard]] const json::array* array_in(const json::object& o, std::string_view key);
/// @}
/// Returns the text of the member `type`; "" if there is none.
[[nodiscard]] std::string_view type_of(const json::object& block);
/// Whether `text` is one of the words.
[[nodiscard]] bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);

} // namespace superstep
