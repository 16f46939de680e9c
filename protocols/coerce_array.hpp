// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <optional>

namespace superstep {

/// The items that an object stands for where a list was asked for: `{item: …}`, `{0: …, 1: …}`,
/// columns for rows, or one wrapper around the list. Nothing: it is no such object.
/// @param each what an item must be; null: not known
[[nodiscard]] std::optional<json::array> items_of(const json::object& o, const json::value& each);

} // namespace superstep
