// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace superstep::detail {

/// The type of a value that came from another program: it is read as what its channel is today.
inline constexpr auto foreign_type = std::string_view{"?"};

} // namespace superstep::detail
