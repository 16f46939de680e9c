// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace superstep::detail {

/// Type name of values imported from another program. Such a value is read as whatever type its
/// channel has in the graph that loads it; see thread_of_values().
inline constexpr auto untyped = std::string_view{"?"};

} // namespace superstep::detail
