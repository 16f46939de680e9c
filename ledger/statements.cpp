// SPDX-License-Identifier: Apache-2.0
// Statements of `superstep submit` and `superstep jobs`, which need locks on tables that the
// workers of other jobs use.
#include "statements.hpp"

#include <string>

namespace superstep::detail {

bool has_sqlstate(const error& e, std::string_view state) {
  return e.text.find("(SQLSTATE " + std::string{state} + ")") != std::string::npos;
}

bool is_rolled_back(const error& e) {
  return has_sqlstate(e, "40001") || has_sqlstate(e, "40P01");
}

result<pg_rows> run_again(pg_connection& connection, const char* statement,
                          const pg_parameters& parameters) {
  constexpr auto attempts_max = 10; // the server detects a deadlock after a second
  auto rows = connection.run(statement, parameters);
  for (auto attempt = 1; attempt < attempts_max && !rows && is_rolled_back(rows.error()); ++attempt)
    rows = connection.run(statement, parameters);
  return rows;
}

} // namespace superstep::detail
