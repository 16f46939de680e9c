// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::detail {

/// Returns the statements that create the functions of the current version of the schema. They
/// replace those of an older version.
[[nodiscard]] const char* postgres_functions() noexcept;

} // namespace superstep::detail
