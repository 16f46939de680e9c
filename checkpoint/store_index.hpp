// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>
#include <vector>

// What a search by meaning is made of: texts at places of a value, and how near two vectors are.
namespace superstep::detail {

/// The texts at a place; see memory_store_options::fields. Lists, objects and `$` are JSON text,
/// null is none, what does not exist is none.
[[nodiscard]] std::vector<std::string> texts_at(const json::value& value, std::string_view place);

/// 1 for the same direction, 0 when one of them has none.
[[nodiscard]] double cosine(const std::vector<float>& a, const std::vector<float>& b);

} // namespace superstep::detail
