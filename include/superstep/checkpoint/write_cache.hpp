// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// The interface of a cache of task outputs. If the output for a node and an input is cached, the
/// engine applies it and does not run the node again.
///
/// A `scope` names one node of one graph, and a `key` is derived from the node's input. Channel and
/// node numbers in an output refer to the layout that was passed to put().
///
/// Functions of a cache should not throw for failures of its storage, because the engine can run
/// the node instead.
/// @par Threads
/// All members may be called from any thread. The engine calls find() and put() on its lane
/// threads. Source: `BaseCache` in LangGraph 1.2.22, cache/base.
class write_cache {
public:
  write_cache() = default;
  write_cache(const write_cache&) = delete;
  write_cache& operator=(const write_cache&) = delete;
  virtual ~write_cache() = default;

  /// Looks up a cached output.
  /// @param scope the node
  /// @param key identifies the input of the node
  /// @param as layout of the graph that will apply the output
  /// @return the output; nullopt if there is none, it has expired, or it does not match the layout
  [[nodiscard]] virtual std::optional<task_output>
  find(std::string_view scope, std::string_view key, const layout_ptr& as) = 0;
  /// Stores an output, replacing an earlier one.
  /// @param scope the node
  /// @param key identifies the input of the node
  /// @param ttl lifetime of the output; nullopt means forever
  /// @param of layout that the output's numbers refer to; shared by the cache
  virtual void put(std::string_view scope, std::string_view key, task_output,
                   std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) = 0;
  /// Deletes the outputs of a scope; all outputs if `scope` is empty.
  virtual void clear(std::string_view scope) = 0;
};

/// A cache in memory. Outputs live as long as the object; beyond `entries_max` the oldest are
/// dropped.
/// @par Threads
/// All members may be called from any thread.
class memory_cache final : public write_cache {
public:
  /// Returns the current time; called by any thread.
  using clock = std::function<std::chrono::steady_clock::time_point()>;
  /// Makes an empty cache.
  /// @param entries_max maximum number of outputs; 0 throws std::invalid_argument
  /// @param now replaces std::chrono::steady_clock in tests
  explicit memory_cache(std::size_t entries_max = 100'000, clock now = {});

  std::optional<task_output> find(std::string_view scope, std::string_view key,
                                  const layout_ptr& as) override;
  void put(std::string_view scope, std::string_view key, task_output,
           std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) override;
  void clear(std::string_view scope) override;

private:
  /// A cached output, with its position in the order of puts and its expiry time.
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
