// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pg_connection.hpp"

#include <superstep/base/error.hpp>

namespace superstep::detail {

/// Creates the tables and the function of the shared limits in the schema `superstep`, unless they
/// exist. Needs a role that may create them; if they exist, EXECUTE on the function is enough.
[[nodiscard]] result<void> prepare_limits(pg_connection& connection);

} // namespace superstep::detail
