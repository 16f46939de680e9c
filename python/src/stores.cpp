// SPDX-License-Identifier: Apache-2.0
// Long-term stores and caches of Python programs.
#include "stores.hpp"

#include "convert.hpp"
#include "failure.hpp"
#include "objects.hpp"
#include "types.hpp"

#include <superstep/checkpoint/postgres.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <cmath>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace superstep::python {

namespace {

std::optional<std::chrono::milliseconds> read_ttl(std::optional<double> seconds) {
  if (!seconds)
    return std::nullopt;
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(*seconds * 1000))};
}

/// Makes an embedding of a Python function of a list of texts.
embedding embedding_of(nb::handle function) {
  if (function.is_none())
    return {};
  return [f = shared_object{function}](std::span<const std::string> texts) {
    const auto locked = nb::gil_scoped_acquire{};
    try {
      auto list = nb::list();
      for (const auto& text : texts)
        list.append(to_python(std::string_view{text}));
      return nb::cast<std::vector<std::vector<float>>>(nb::borrow(f.get())(list));
    } catch (nb::python_error& e) {
      throw python_failure{e.value()};
    } catch (const nb::cast_error&) {
      throw std::invalid_argument{"the function `embed` must return a list of lists of floats"};
    }
  };
}

/// Sets the options that stores in memory and in a database have in common.
template <class Options>
Options read_options(nb::handle embed, std::vector<std::string> fields, std::optional<double> ttl) {
  auto out = Options{};
  out.embed = embedding_of(embed);
  out.fields = std::move(fields);
  out.ttl = read_ttl(ttl);
  return out;
}

nb::object item_object(const store_namespace& ns, std::string_view key, const json::object& value,
                       const std::optional<double>& score) {
  auto labels = nb::list();
  for (const auto& label : ns)
    labels.append(to_python(std::string_view{label}));
  return nb::borrow(types().item)(nb::tuple(labels), to_python(key), to_python(value), score);
}

using names = std::vector<std::string>;

void add_functions(nb::class_<store_handle>& of) {
  of.def("get",
         [](const store_handle& h, const names& ns, const std::string& key) {
           const auto found = unlocked([&] { return h.store->get(ns, key); });
           return found ? item_object(ns, key, *found, {}) : nb::object(nb::none());
         })
      .def(
          "put",
          [](const store_handle& h, const names& ns, const std::string& key, nb::handle value,
             std::optional<names> index, std::optional<double> ttl) {
            auto converted = to_json_object(value, "the value of '" + key + "'");
            const auto options = store_put_options{std::move(index), read_ttl(ttl)};
            unlocked([&] { h.store->put(ns, key, std::move(converted), options); });
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none())
      .def("delete", [](const store_handle& h, const names& ns,
                        const std::string& key) { unlocked([&] { h.store->erase(ns, key); }); })
      .def(
          "search",
          [](const store_handle& h, const names& prefix, const std::string& query,
             nb::handle filter, std::size_t limit, std::size_t offset) {
            auto asked = store_query{prefix, {}, limit, offset, query};
            if (!filter.is_none())
              asked.filter = to_json_object(filter, "filter");
            const auto found = unlocked([&] { return h.store->search(asked); });
            auto out = nb::list();
            for (const auto& item : found)
              out.append(item_object(item.ns, item.key, item.value, item.score));
            return out;
          },
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg())
      .def(
          "list_namespaces",
          [](const store_handle& h, const names& prefix, const names& suffix,
             std::optional<std::size_t> depth_max, std::size_t limit, std::size_t offset) {
            const auto asked = namespace_query{prefix, suffix, depth_max, limit, offset};
            return unlocked([&] { return h.store->list(asked); });
          },
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}

} // namespace

std::string encryption_key() {
  return translated([] { return encryption_key_from_environment(); });
}

nb::object store_object(store* from) {
  auto* const shared = dynamic_cast<shared_store*>(from);
  if (shared == nullptr)
    return nb::none();
  return nb::borrow(types().store)(nb::cast(store_handle{shared->shared_from_this()}));
}

void add_stores(nb::module_& m) {
  auto handle = nb::class_<store_handle>(m, "StoreHandle");
  add_functions(handle);
  m.def(
      "memory_store",
      [](nb::handle embed, names fields, std::optional<double> ttl) {
        auto options = read_options<memory_store_options>(embed, std::move(fields), ttl);
        return store_handle{
            std::make_shared<shared_store>(std::make_unique<memory_store>(std::move(options)))};
      },
      nb::arg().none(), nb::arg(), nb::arg().none());
  m.def(
      "sqlite_store",
      [](const std::string& path, nb::handle embed, names fields, std::optional<double> ttl) {
        auto options = read_options<sqlite_store_options>(embed, std::move(fields), ttl);
        options.encryption_key = encryption_key();
        return unlocked([&] {
          return store_handle{std::make_shared<shared_store>(
              std::make_unique<sqlite_store>(path, std::move(options)))};
        });
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none());
  m.def(
      "postgres_store",
      [](const std::string& url, nb::handle embed, names fields, std::optional<double> ttl) {
        auto options = read_options<postgres_store_options>(embed, std::move(fields), ttl);
        options.encryption_key = encryption_key();
        return unlocked([&] {
          return store_handle{std::make_shared<shared_store>(
              std::make_unique<postgres_store>(url, std::move(options)))};
        });
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none());
  nb::class_<cache_handle>(m, "CacheHandle").def("clear", [](const cache_handle& h) {
    unlocked([&] { h.cache->clear({}); });
  });
  m.def("memory_cache", [](std::size_t entries_max) {
    return translated([&] { return cache_handle{std::make_shared<memory_cache>(entries_max)}; });
  });
  m.def("sqlite_cache", [](const std::string& path, std::size_t entries_max) {
    auto options = sqlite_cache_options{};
    options.entries_max = entries_max;
    options.encryption_key = encryption_key();
    return unlocked(
        [&] { return cache_handle{std::make_shared<sqlite_cache>(path, std::move(options))}; });
  });
  m.def("postgres_cache", [](const std::string& url, std::size_t entries_max) {
    auto options = postgres_cache_options{};
    options.entries_max = entries_max;
    options.encryption_key = encryption_key();
    return unlocked(
        [&] { return cache_handle{std::make_shared<postgres_cache>(url, std::move(options))}; });
  });
}

} // namespace superstep::python
