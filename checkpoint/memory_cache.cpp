// SPDX-License-Identifier: Apache-2.0
// The in-memory cache of task outputs. An entry is found by its scope and key. Every put() gives
// its entry the next number, and a full cache drops the entry with the lowest number.
// row_cache.cpp implements the same interface in a database.
#include "checkpoint_codec.hpp"
#include "store_labels.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <stdexcept>
#include <utility>

namespace superstep {

memory_cache::memory_cache(std::size_t entries_max, clock now)
    : entries_max_{entries_max},
      now_{now ? std::move(now) : [] { return std::chrono::steady_clock::now(); }} {
  if (entries_max_ == 0)
    throw std::invalid_argument{"memory_cache: entries_max must be at least 1"};
}

std::optional<task_output> memory_cache::find(std::string_view scope, std::string_view key,
                                              const layout_ptr& as) {
  const auto lock = std::scoped_lock{mutex_};
  const auto found = entries_.find(place{scope, key});
  if (found == entries_.end())
    return std::nullopt;
  if (found->second.until && *found->second.until <= now_()) {
    by_age_.erase(found->second.number);
    entries_.erase(found);
    return std::nullopt;
  }
  // A graph that was compiled twice has two layout objects. If their texts are equal, channels and
  // nodes have the same indices in both, so the output can be used.
  const auto& of = found->second.layout;
  const auto fits =
      of == as || (of && as && detail::write_layout(*of) == detail::write_layout(*as));
  return fits ? std::optional{found->second.output} : std::nullopt;
}

void memory_cache::put(std::string_view scope, std::string_view key, task_output output,
                       std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) {
  const auto lock = std::scoped_lock{mutex_};
  auto until = std::optional<std::chrono::steady_clock::time_point>{};
  if (ttl)
    until = detail::add_saturated(now_(), *ttl);
  const auto [at, is_new] = entries_.try_emplace(place{scope, key});
  if (!is_new)
    by_age_.erase(at->second.number);
  at->second = {std::move(output), of, until, ++last_};
  by_age_.emplace(last_, at->first);
  if (entries_.size() > entries_max_) {
    entries_.erase(by_age_.begin()->second);
    by_age_.erase(by_age_.begin());
  }
}

void memory_cache::clear(std::string_view scope) {
  const auto lock = std::scoped_lock{mutex_};
  std::erase_if(entries_, [&](const auto& e) {
    const auto goes = scope.empty() || e.first.first == scope;
    if (goes)
      by_age_.erase(e.second.number);
    return goes;
  });
}

} // namespace superstep
