// SPDX-License-Identifier: Apache-2.0
// The cache of task outputs in a file of SQLite: a row_cache on this database.
#include "row_cache.hpp"
#include "sqlite_db.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <utility>

namespace superstep {

class sqlite_cache::impl : public detail::row_cache {
  using row_cache::row_cache;
};

sqlite_cache::sqlite_cache(std::string path, sqlite_cache_options options)
    : impl_{std::make_unique<impl>(
          detail::open_for_writing(path, options.busy_timeout, false, options.encryption_key),
          detail::row_cache_options{options.entries_max, options.time})} {}

sqlite_cache::~sqlite_cache() = default;

std::optional<task_output> sqlite_cache::find(std::string_view scope, std::string_view key,
                                              const layout_ptr& as) {
  return impl_->find(scope, key, as);
}

void sqlite_cache::put(std::string_view scope, std::string_view key, task_output output,
                       std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) {
  impl_->put(scope, key, std::move(output), ttl, of);
}

void sqlite_cache::clear(std::string_view scope) {
  impl_->clear(scope);
}

std::size_t sqlite_cache::sweep() {
  return impl_->sweep();
}

std::string sqlite_cache::last_failure() const {
  return impl_->last_failure();
}

} // namespace superstep
