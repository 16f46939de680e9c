// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "row_reader.hpp"

#include <chrono>
#include <string>

namespace superstep::detail {

/// Reads checkpoints from a file of SQLite. SQLite's index pages have no checksum, so a damaged
/// index may hide rows. This reader finds that before it reports that a thread does not exist.
class sqlite_reader final : public row_reader {
public:
  sqlite_reader(const std::string& path, std::chrono::milliseconds busy_timeout, row_cipher cipher);

private:
  void check_threads() override;
  void check_has_no_checkpoints(std::int64_t thread) override;
  void check_indexes(std::string_view thread_id) override;

  bool are_threads_checked_ = false;
};

} // namespace superstep::detail
