// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace superstep::blocks {

/// The member, or nullptr when it is absent or null.
[[nodiscard]] const json::value* member(const json::object& o, std::string_view key);
/// The text of a member; "" when it is absent or no text.
[[nodiscard]] std::string_view text_in(const json::object& o, std::string_view key);
/// The object a member holds, or nullptr.
[[nodiscard]] const json::object* object_in(const json::object& o, std::string_view key);
[[nodiscard]] std::string_view type_of(const json::object& block);

[[nodiscard]] bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);
/// Block types of the standard form.
[[nodiscard]] bool is_standard_type(std::string_view type);

/// Copies the members of `from` that are there, under the same names.
void copy_members(json::object& into, const json::object& from,
                  std::initializer_list<std::string_view> keys);
/// Puts one member under `extras`.
void add_extra(json::object& block, std::string_view key, json::value value);
/// Puts the members of `from` that are not among `known` under `extras`.
void add_extras(json::object& block, const json::object& from,
                std::initializer_list<std::string_view> known);

/// `{type: "non_standard", value}`
[[nodiscard]] json::object non_standard(json::value value);

/// What a data URL of base64 text holds; both empty when it is none.
struct data_url {
  std::string_view mime_type;
  std::string_view base64;
};
[[nodiscard]] data_url read_data_url(std::string_view url);

/// A JSON text that is an object, or an empty one and false.
[[nodiscard]] bool read_object(std::string_view text, json::object& into);

} // namespace superstep::blocks
