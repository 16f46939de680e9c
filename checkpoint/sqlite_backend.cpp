// SPDX-License-Identifier: Apache-2.0
// A row_checkpointer on a file of SQLite.
#include "checkpoint_backend.hpp"
#include "sqlite_lease_manager.hpp"
#include "sqlite_reader.hpp"
#include "sqlite_sink.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <string>
#include <utility>

namespace superstep {

namespace detail {

namespace {

class sqlite_backend final : public checkpoint_backend {
public:
  sqlite_backend(std::string path, sqlite_checkpointer_options options)
      : path_{std::move(path)}, options_{std::move(options)} {}

  std::unique_ptr<row_sink> make_sink() override {
    return std::make_unique<sqlite_sink>(path_, options_);
  }
  std::unique_ptr<row_reader> make_reader() override {
    return std::make_unique<sqlite_reader>(path_, options_.busy_timeout,
                                           row_cipher{options_.encryption_key});
  }
  std::unique_ptr<lease_manager> make_leases(const std::shared_ptr<write_queue>& queue) override {
    return std::make_unique<sqlite_lease_manager>(path_, queue);
  }

private:
  const std::string path_;
  const sqlite_checkpointer_options options_;
};

} // namespace

} // namespace detail

std::shared_ptr<checkpointer> sqlite_checkpointer(std::string path,
                                                  sqlite_checkpointer_options options) {
  const auto shared = row_checkpointer_options{options.task_flush_delay, options.queue_bytes_max,
                                               options.batch_rows_max, options.threads_max};
  auto on =
      std::make_unique<detail::sqlite_backend>(detail::checked_file_path(path), std::move(options));
  return std::make_shared<row_checkpointer>(std::move(on), shared);
}

} // namespace superstep
