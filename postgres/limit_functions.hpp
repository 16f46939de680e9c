// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pg_connection.hpp"

#include <superstep/base/error.hpp>

namespace superstep::detail {

/// Creates the tables and the functions of the shared limits in the schema `superstep`, unless they
/// exist, and replaces those of an earlier version. Needs a role that may create them; if they
/// exist, EXECUTE on `grant_limits` is enough.
[[nodiscard]] result<void> prepare_limits(pg_connection& connection);

} // namespace superstep::detail
