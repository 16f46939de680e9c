// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace superstep::detail {

/// The type name of values that were imported from another program. Such a value is read as the
/// type that its channel has in the graph that loads it; see thread_of_values().
inline constexpr auto untyped = std::string_view{"?"};

} // namespace superstep::detail
