// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sql_database.hpp"

namespace superstep::detail {

/// Checks the key of this connection, or records it if no other connection has done so. Either all
/// rows of a database are encrypted with the same key, or no row is encrypted.
/// @throws checkpoint_error{wrong_key}
void check_key(database& db, bool is_read_only);

} // namespace superstep::detail
