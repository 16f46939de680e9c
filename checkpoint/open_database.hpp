// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Opens the threads in a PostgreSQL database, given by its URL, or in an SQLite file. Reads the
/// key from the environment.
/// @param owner see sqlite_checkpointer_options::owner; not for PostgreSQL
/// @throws checkpoint_error
[[nodiscard]] std::shared_ptr<checkpointer> open_threads(const std::string& database,
                                                         std::optional<std::string> owner = {});

/// Exports a thread up to a checkpoint of the outermost graph. In a database, later checkpoints may
/// be damaged.
/// @param at id of the checkpoint; empty for the complete thread
[[nodiscard]] std::string export_until(checkpointer& from, std::string_view thread_id,
                                       std::string_view at);

/// Opens the long-term memory in a PostgreSQL database or in an SQLite file, like open_threads().
[[nodiscard]] std::unique_ptr<store> open_store(const std::string& database);

} // namespace superstep::detail
