// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::detail {

/// The version of the tables and functions. A database with another version is rejected.
inline constexpr auto ledger_format = 4;

/// SQL that creates the schema `superstep` with the tables of a ledger. It must run in a
/// transaction.
[[nodiscard]] const char* ledger_tables() noexcept;
/// SQL that creates or replaces the functions that workers call.
[[nodiscard]] const char* ledger_functions() noexcept;
/// SQL that creates or replaces the functions for `superstep submit` and `superstep jobs`.
[[nodiscard]] const char* admin_functions() noexcept;
/// SQL that allows the roles `superstep_worker` and `superstep_admin`, if they exist, to call their
/// functions. Runs after the SQL that creates all of them.
[[nodiscard]] const char* ledger_grants() noexcept;

} // namespace superstep::detail
