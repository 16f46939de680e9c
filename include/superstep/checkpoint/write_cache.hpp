// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpoint.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// What tasks wrote, by node and input: an activation whose input is known is not run again.
/// Numbers in an output are those of the layout that it is put with; a scope is of one graph.
/// @par Threads
/// All members may be called from any thread.
class write_cache {
public:
  write_cache() = default;
  write_cache(const write_cache&) = delete;
  write_cache& operator=(const write_cache&) = delete;
  virtual ~write_cache() = default;

  /// Nothing also when what is there does not fit the layout.
  [[nodiscard]] virtual std::optional<task_output>
  find(std::string_view scope, std::string_view key, const layout_ptr& as) = 0;
  /// @param ttl how long it may be used; nothing: for ever
  virtual void put(std::string_view scope, std::string_view key, task_output,
                   std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) = 0;
  /// Forgets a node's outputs; all of them without a scope.
  virtual void clear(std::string_view scope) = 0;
};

/// Keeps outputs for as long as it lives, up to a number of them; the oldest go first.
class memory_cache final : public write_cache {
public:
  using clock = std::function<std::chrono::steady_clock::time_point()>;
  explicit memory_cache(std::size_t entries_max = 100'000, clock now = {});

  std::optional<task_output> find(std::string_view scope, std::string_view key,
                                  const layout_ptr& as) override;
  void put(std::string_view scope, std::string_view key, task_output,
           std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) override;
  void clear(std::string_view scope) override;

private:
  struct entry {
    task_output output;
    layout_ptr layout;
    std::optional<std::chrono::steady_clock::time_point> until;
    std::uint64_t number;
  };
  using place = std::pair<std::string, std::string>;

  const std::size_t entries_max_;
  const clock now_;
  std::mutex mutex_;
  std::map<place, entry> entries_;
  std::map<std::uint64_t, place> by_age_;
  std::uint64_t last_ = 0;
};

} // namespace superstep
