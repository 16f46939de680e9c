// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::detail {

/// False for all types. A static_assert with it fails only when its template is instantiated.
template <class...>
inline constexpr bool never = false;

} // namespace superstep::detail
