// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>
#include <unordered_set>

namespace superstep {

/// The names whose elements are taken verbatim.
using raw_names = std::unordered_set<std::string>;

/// The elements of `xml` as members; text around them is ignored.
/// @param names_once elements that may stand once at the top; in others repetition makes a list
[[nodiscard]] result<json::object> read_xml(std::string_view xml, const raw_names& raw,
                                            const raw_names& names_once);
/// The same text with the closing tags that are missing, without those that close nothing.
[[nodiscard]] std::string balance_xml(std::string_view xml);

} // namespace superstep
