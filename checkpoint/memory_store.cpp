// SPDX-License-Identifier: Apache-2.0
// The long-term store in memory. It shares three files with row_store.cpp: store_filter.cpp
// evaluates filters, store_index.cpp finds the texts to index, and store_labels.cpp checks
// namespaces.
#include "store_index.hpp"
#include "store_labels.hpp"

#include <superstep/checkpoint/store.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace superstep {

namespace {

using detail::vectors;
using time_point = std::chrono::system_clock::time_point;

struct stored_item {
  std::string key;
  json::object value;
  vectors meaning{};                ///< embedding vectors; empty if the item is not indexed
  std::chrono::milliseconds ttl{0}; ///< lifetime; 0 means forever
  time_point end{};                 ///< expiry time, if ttl is not 0

  /// Whether the item has not expired.
  [[nodiscard]] bool is_there(time_point now) const { return ttl.count() == 0 || now < end; }
};

/// The items of one namespace, in the order in which their keys were first put. Searches return
/// items in this order, as LangGraph's InMemoryStore does.
struct stored_namespace {
  std::uint64_t number = 0; ///< order of the namespaces in searches: the first one used comes first
  std::map<std::uint64_t, stored_item> items{};
  std::map<std::string, std::uint64_t, std::less<>> numbers{};

  stored_item* find(std::string_view key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? nullptr : &items.at(found->second);
  }
  void erase(std::string_view key) {
    const auto found = numbers.find(key);
    if (found == numbers.end())
      return;
    items.erase(found->second);
    numbers.erase(found);
  }
};

using stored_namespaces = std::map<store_namespace, stored_namespace>;

} // namespace

struct memory_store::impl {
  explicit impl(memory_store_options o) : options{std::move(o)} {}

  const memory_store_options options;
  std::mutex mutex{};
  stored_namespaces spaces{};
  std::uint64_t last_number = 0;

  /// Restarts the lifetime of an item that was read, if the options say so.
  void renew(stored_item& item, time_point now) const {
    if (options.renew_on_read && item.ttl.count() > 0)
      item.end = detail::add_saturated(now, item.ttl);
  }

  struct found_item {
    const store_namespace* ns;
    stored_item* item;
    std::optional<double> score{};
  };

  /// Returns the matching items in the order in which they were first put. @pre the lock is held
  std::vector<found_item> matching(const store_query& query, time_point now) {
    // Namespaces with the same prefix are neighbours in the sorted map.
    auto below = std::vector<stored_namespaces::value_type*>{};
    for (auto space = spaces.lower_bound(query.prefix); space != spaces.end(); ++space) {
      const auto& ns = space->first;
      if (ns.size() < query.prefix.size() ||
          !std::equal(query.prefix.begin(), query.prefix.end(), ns.begin()))
        break;
      below.push_back(&*space);
    }
    std::ranges::sort(below, {}, [](const auto* space) { return space->second.number; });
    auto out = std::vector<found_item>{};
    for (auto* space : below)
      for (auto& [number, item] : space->second.items)
        if (item.is_there(now) && matches(query.filter, item.value))
          out.push_back({&space->first, &item, {}});
    return out;
  }
};

memory_store::memory_store(memory_store_options options)
    : impl_{std::make_unique<impl>(std::move(options))} {}

memory_store::~memory_store() = default;

std::optional<json::object> memory_store::get(const store_namespace& ns, std::string_view key) {
  detail::check_labels(ns);
  const auto now = impl_->options.time->now();
  const auto lock = std::scoped_lock{impl_->mutex};
  const auto space = impl_->spaces.find(ns);
  auto* item = space == impl_->spaces.end() ? nullptr : space->second.find(key);
  if (item == nullptr || !item->is_there(now))
    return std::nullopt;
  impl_->renew(*item, now);
  return item->value;
}

void memory_store::put(const store_namespace& ns, std::string_view key, json::object value,
                       const store_put_options& options) {
  detail::check_writable(ns);
  const auto ttl = options.ttl.value_or(impl_->options.ttl.value_or(std::chrono::milliseconds{0}));
  detail::check_item(ns, key, value, ttl);
  auto item = stored_item{std::string{key}, std::move(value)};
  item.meaning =
      detail::embed_item(impl_->options.embed, impl_->options.fields, item.value, options);
  item.ttl = ttl;
  item.end = detail::add_saturated(impl_->options.time->now(), ttl);
  const auto lock = std::scoped_lock{impl_->mutex};
  auto& space = impl_->spaces[ns];
  if (space.number == 0)
    space.number = ++impl_->last_number;
  if (auto* known = space.find(key)) {
    *known = std::move(item);
    return;
  }
  const auto number = ++impl_->last_number;
  space.numbers.emplace(key, number);
  space.items.emplace(number, std::move(item));
}

void memory_store::erase(const store_namespace& ns, std::string_view key) {
  detail::check_labels(ns);
  const auto lock = std::scoped_lock{impl_->mutex};
  if (const auto space = impl_->spaces.find(ns); space != impl_->spaces.end())
    space->second.erase(key);
}

std::vector<store_item> memory_store::search(const store_query& query) {
  detail::check_labels(query.prefix);
  // The embedding may be slow, for example a call of a server. So it is called without the lock.
  const auto is_semantic = impl_->options.embed && !query.text.empty();
  auto wanted = vectors{};
  if (is_semantic)
    wanted = detail::embedded(impl_->options.embed, {query.text});
  const auto now = impl_->options.time->now();
  const auto lock = std::scoped_lock{impl_->mutex};
  auto found = impl_->matching(query, now);
  if (is_semantic) {
    for (auto& f : found)
      f.score = detail::score_of(wanted.front(), f.item->meaning);
    found = detail::nearest(std::move(found), query);
  } else {
    const auto from = std::min(query.offset, found.size());
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(from));
    found.resize(std::min(query.limit, found.size()), {nullptr, nullptr, {}});
  }
  auto out = std::vector<store_item>{};
  for (const auto& f : found) {
    impl_->renew(*f.item, now);
    out.push_back({*f.ns, f.item->key, f.item->value, f.score});
  }
  return out;
}

std::vector<store_namespace> memory_store::list(const namespace_query& query) {
  auto all = std::vector<store_namespace>{};
  {
    const auto lock = std::scoped_lock{impl_->mutex};
    for (const auto& space : impl_->spaces)
      all.push_back(space.first);
  }
  return detail::select_namespaces(std::move(all), query);
}

std::size_t memory_store::sweep() {
  const auto now = impl_->options.time->now();
  auto dropped = std::size_t{0};
  const auto lock = std::scoped_lock{impl_->mutex};
  for (auto& [ns, space] : impl_->spaces)
    dropped += std::erase_if(space.items, [&space = space, now](const auto& entry) {
      const auto is_over = !entry.second.is_there(now);
      if (is_over)
        space.numbers.erase(entry.second.key);
      return is_over;
    });
  return dropped;
}

} // namespace superstep
