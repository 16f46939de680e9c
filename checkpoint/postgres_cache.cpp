// SPDX-License-Identifier: Apache-2.0
// The cache of task outputs in a PostgreSQL database: a row_cache on this database.
#include "postgres_db.hpp"
#include "row_cache.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace superstep {

namespace {

std::unique_ptr<detail::postgres_database> open_cache(const std::string& url,
                                                      const postgres_cache_options& options) {
  auto db = detail::open_postgres(
      detail::checked_postgres_address(url, options.accepts_unverified_server),
      options.encryption_key, options.reconnect_timeout);
  // A run waits for the cache, so a server that does not answer must not block it for long.
  constexpr auto answer_timeout = std::chrono::seconds{5};
  db->connection().set_timeout(answer_timeout);
  return db;
}

} // namespace

class postgres_cache::impl : public detail::row_cache {
  using row_cache::row_cache;
};

postgres_cache::postgres_cache(const std::string& url, postgres_cache_options options)
    : impl_{std::make_unique<impl>(open_cache(url, options),
                                   detail::row_cache_options{options.entries_max, options.time})} {}

postgres_cache::~postgres_cache() = default;

std::optional<task_output> postgres_cache::find(std::string_view scope, std::string_view key,
                                                const layout_ptr& as) {
  return impl_->find(scope, key, as);
}

void postgres_cache::put(std::string_view scope, std::string_view key, task_output output,
                         std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) {
  impl_->put(scope, key, std::move(output), ttl, of);
}

void postgres_cache::clear(std::string_view scope) {
  impl_->clear(scope);
}

std::size_t postgres_cache::sweep() {
  return impl_->sweep();
}

std::string postgres_cache::last_failure() const {
  return impl_->last_failure();
}

} // namespace superstep
