// SPDX-License-Identifier: Apache-2.0
// The long-term store in a file of SQLite: a row_store on this database.
#include "row_store.hpp"
#include "sqlite_db.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <utility>

namespace superstep {

class sqlite_store::impl : public detail::row_store {
  using row_store::row_store;
};

sqlite_store::sqlite_store(std::string path, sqlite_store_options options)
    : impl_{std::make_unique<impl>(
          detail::open_for_writing(path, options.busy_timeout, options.survives_power_loss,
                                   options.encryption_key),
          detail::row_store_options{std::move(options.embed), std::move(options.fields),
                                    options.ttl, options.renew_on_read, options.time})} {}

sqlite_store::~sqlite_store() = default;

std::optional<json::object> sqlite_store::get(const store_namespace& ns, std::string_view key) {
  return impl_->get(ns, key);
}

void sqlite_store::put(const store_namespace& ns, std::string_view key, json::object value,
                       const store_put_options& options) {
  impl_->put(ns, key, std::move(value), options);
}

void sqlite_store::erase(const store_namespace& ns, std::string_view key) {
  impl_->erase(ns, key);
}

std::vector<store_item> sqlite_store::search(const store_query& query) {
  return impl_->search(query);
}

std::vector<store_namespace> sqlite_store::list(const namespace_query& query) {
  return impl_->list(query);
}

std::size_t sqlite_store::sweep() {
  return impl_->sweep();
}

} // namespace superstep
