// SPDX-License-Identifier: Apache-2.0
// A row_checkpointer on a PostgreSQL database.
#include "postgres_backend.hpp"

#include "checkpoint_backend.hpp"
#include "postgres_leases.hpp"
#include "postgres_sink.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace superstep {

namespace detail {

namespace {

class postgres_backend final : public checkpoint_backend {
public:
  postgres_backend(const std::string& url, postgres_checkpointer_options options,
                   std::function<bool()> is_cancelled)
      : address_{checked_postgres_address(url, options.accepts_unverified_server)},
        options_{std::move(options)}, is_cancelled_{std::move(is_cancelled)},
        leases_{std::make_shared<postgres_leases>(address_, options_.lease_time,
                                                  options_.reconnect_timeout, is_cancelled_)} {}

  std::unique_ptr<row_sink> make_sink() override {
    return std::make_unique<postgres_sink>(address_, options_, leases_, is_cancelled_);
  }
  std::unique_ptr<row_reader> make_reader() override {
    return std::make_unique<row_reader>(std::make_unique<postgres_database>(
        address_, row_cipher{options_.encryption_key}, options_.reconnect_timeout, is_cancelled_));
  }
  std::unique_ptr<lease_manager> make_leases(const std::shared_ptr<write_queue>&) override {
    leases_->start();
    return std::make_unique<postgres_lease_manager>(leases_);
  }

private:
  const pg_address address_;
  const postgres_checkpointer_options options_;
  const std::function<bool()> is_cancelled_;
  const std::shared_ptr<postgres_leases> leases_;
};

} // namespace

std::shared_ptr<checkpointer> cancellable_checkpointer(const std::string& url,
                                                       postgres_checkpointer_options options,
                                                       std::function<bool()> is_cancelled) {
  constexpr auto shortest_lease = std::chrono::milliseconds{300};
  if (options.reconnect_timeout.count() < 0 || options.lease_time < shortest_lease)
    throw std::invalid_argument{"postgres_checkpointer_options: reconnect_timeout must not be "
                                "negative, and lease_time must be at least 300 ms"};
  const auto shared = row_checkpointer_options{options.task_flush_delay, options.queue_bytes_max,
                                               options.batch_rows_max, options.threads_max};
  auto on = std::make_unique<postgres_backend>(url, std::move(options), std::move(is_cancelled));
  return std::make_shared<row_checkpointer>(std::move(on), shared);
}

} // namespace detail

bool is_postgres_url(std::string_view text) noexcept {
  return detail::is_postgres_url(text);
}

std::shared_ptr<checkpointer> postgres_checkpointer(const std::string& url,
                                                    postgres_checkpointer_options options) {
  return detail::cancellable_checkpointer(url, std::move(options), {});
}

} // namespace superstep
