// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process.hpp"

#include <superstep/checkpoint/store.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <memory>
#include <string>

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

/// A long-term store that Python code may keep: it finds its owner from the pointer that the engine
/// passes to nodes and tools.
class shared_store final : public store, public std::enable_shared_from_this<shared_store> {
public:
  /// @param inner does the work
  explicit shared_store(std::unique_ptr<store> inner) : inner_{std::move(inner)} {}

  std::optional<json::object> get(const store_namespace& ns, std::string_view key) override {
    return inner_->get(ns, key);
  }
  void put(const store_namespace& ns, std::string_view key, json::object value,
           const store_put_options& options) override {
    inner_->put(ns, key, std::move(value), options);
  }
  void erase(const store_namespace& ns, std::string_view key) override { inner_->erase(ns, key); }
  std::vector<store_item> search(const store_query& query) override {
    return inner_->search(query);
  }
  std::vector<store_namespace> list(const namespace_query& query) override {
    return inner_->list(query);
  }

private:
  std::unique_ptr<store> inner_;
};

/// The class StoreHandle of the module.
struct store_handle {
  std::shared_ptr<shared_store> store;
  kept_in_child<std::shared_ptr<shared_store>> kept{store};
};
/// The class CacheHandle of the module.
struct cache_handle {
  std::shared_ptr<write_cache> cache;
  kept_in_child<std::shared_ptr<write_cache>> kept{cache};
};

/// Returns the key in the environment with which databases are encrypted; empty if there is none.
/// The caller holds the GIL, without which Python code may change the environment meanwhile.
[[nodiscard]] std::string encryption_key();

/// Returns a store that the engine passes to a node or tool as an object of the package; None if
/// there is none. Needs the GIL.
[[nodiscard]] nb::object store_object(store* from);

/// Adds the classes and functions to the module.
void add_stores(nb::module_& m);

} // namespace superstep::python
