// SPDX-License-Identifier: Apache-2.0
// The long-term store in a PostgreSQL database: a row_store on this database.
#include "postgres_db.hpp"
#include "row_store.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <utility>

namespace superstep {

class postgres_store::impl : public detail::row_store {
  using row_store::row_store;
};

postgres_store::postgres_store(const std::string& url, postgres_store_options options)
    : impl_{std::make_unique<impl>(
          detail::open_postgres(
              detail::checked_postgres_address(url, options.accepts_unverified_server),
              options.encryption_key, options.reconnect_timeout),
          detail::row_store_options{std::move(options.embed), std::move(options.fields),
                                    options.ttl, options.renew_on_read, options.time})} {}

postgres_store::~postgres_store() = default;

std::optional<json::object> postgres_store::get(const store_namespace& ns, std::string_view key) {
  return impl_->get(ns, key);
}

void postgres_store::put(const store_namespace& ns, std::string_view key, json::object value,
                         const store_put_options& options) {
  impl_->put(ns, key, std::move(value), options);
}

void postgres_store::erase(const store_namespace& ns, std::string_view key) {
  impl_->erase(ns, key);
}

std::vector<store_item> postgres_store::search(const store_query& query) {
  return impl_->search(query);
}

std::vector<store_namespace> postgres_store::list(const namespace_query& query) {
  return impl_->list(query);
}

std::size_t postgres_store::sweep() {
  return impl_->sweep();
}

} // namespace superstep
