// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace superstep::cli {

/// Reads the newest checkpoint of a thread that LangGraph's `PostgresSaver` or `SqliteSaver` has
/// written, without changing the database.
/// @param database the URL of a PostgreSQL database, or the path of an SQLite file
/// @return a JSON text for from_langgraph_form(): the checkpoint with its `channel_values`, and its
/// `metadata`
/// @throws std::runtime_error if the database has no such thread, or a value cannot be decoded
[[nodiscard]] std::string read_langgraph_thread(const std::string& database,
                                                const std::string& thread);

} // namespace superstep::cli
