// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <string_view>

namespace superstep {

/// How much of `raw`, a value that grows, will be text of its own: no half entity, no half
/// character at the end.
[[nodiscard]] std::size_t whole_text(std::string_view raw) noexcept;
/// Whether every property that is to be a list is one. While a list has one member only it may
/// still be anything else.
[[nodiscard]] bool lists_are_lists(const json::value& arguments, const json::value& schema);

} // namespace superstep
