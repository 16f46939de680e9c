// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json_members.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

namespace superstep::blocks {

/// Whether this is a block type of the standard form.
[[nodiscard]] bool is_standard_type(std::string_view type);

/// Copies the members of `from` with these names; absent ones are skipped.
void copy_members(json::object& into, const json::object& from,
                  std::initializer_list<std::string_view> keys);
/// Adds one member to `extras`.
void add_extra(json::object& block, std::string_view key, json::value value);
/// Adds to `extras` the members of `from` that are not among `known`.
void add_extras(json::object& block, const json::object& from,
                std::initializer_list<std::string_view> known);

/// Returns `{type: "non_standard", value}`.
[[nodiscard]] json::object non_standard(json::value value);

/// The parts of a base64 data URL; both empty if the URL is not one.
struct data_url {
  std::string_view mime_type;
  std::string_view base64;
};
[[nodiscard]] data_url read_data_url(std::string_view url);

/// Parses a JSON object. Returns false and leaves `into` unchanged if the text is not one.
[[nodiscard]] bool read_object(std::string_view text, json::object& into);

} // namespace superstep::blocks
