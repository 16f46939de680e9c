// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres/pg_connection.hpp"

#include <string_view>

namespace superstep::detail {

/// Whether an error of pg_connection contains this SQLSTATE.
[[nodiscard]] bool has_sqlstate(const error& e, std::string_view state);
/// Whether the server has rolled a statement back because of other ones: a deadlock or a
/// serialization failure. It may succeed when it is run again.
[[nodiscard]] bool is_rolled_back(const error& e);

/// Runs a statement. Runs it again, a few times at most, if is_rolled_back() is true for its error.
[[nodiscard]] result<pg_rows> run_again(pg_connection& connection, const char* statement,
                                        const pg_parameters& parameters = {});

} // namespace superstep::detail
