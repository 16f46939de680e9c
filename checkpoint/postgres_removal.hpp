// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/postgres.hpp>

#include <string>

namespace superstep::detail {

/// Deletes all threads of a database whose ids begin with a prefix, with many threads in each
/// transaction. As with checkpointer::delete_thread(), a run that uses such a thread fails with
/// checkpoint_errc::conflict at its next write.
/// @param prefix ends with an ASCII character
/// @throws checkpoint_error
void delete_threads_with_prefix(const std::string& url,
                                const postgres_checkpointer_options& options,
                                const std::string& prefix);

} // namespace superstep::detail
