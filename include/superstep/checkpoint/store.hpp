// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Where an item of the long-term store lies: labels from general to special, for example
/// {"users", "u-17", "memories"}. Labels are not empty and hold no period.
using store_namespace = std::vector<std::string>;

struct store_item {
  store_namespace ns;
  std::string key;
  json::object value;
};

/// What a search wants: items below a namespace whose top-level fields fit.
struct store_query {
  store_namespace prefix;
  /// Every field must fit: a plain value by equality (a missing field reads as null), a list item
  /// by item, an object member by member, or, with keys $eq $ne $gt $gte $lt $lte, by comparison;
  /// the ordered ones exclude what is missing or no number.
  json::object filter;
  std::size_t limit = 10;
  std::size_t offset = 0;
};

/// Long-term memory: values that outlive a thread and are shared by all threads.
///
/// What a body puts is there at once, also for its siblings of the same super-step, and stays when
/// the body fails: it is no part of the state. Errors: std::invalid_argument for a bad namespace
/// or filter, saying which.
/// @par Threads
/// All members may be called from any thread.
class store {
public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;

  [[nodiscard]] virtual std::optional<json::object> get(const store_namespace&,
                                                        std::string_view key) = 0;
  virtual void put(const store_namespace&, std::string_view key, json::object value) = 0;
  /// Forgetting what is not there is fine.
  virtual void erase(const store_namespace&, std::string_view key) = 0;
  /// In the order of namespaces, then of keys.
  [[nodiscard]] virtual std::vector<store_item> search(const store_query&) = 0;
};

/// Keeps items for as long as it lives.
class memory_store final : public store {
public:
  std::optional<json::object> get(const store_namespace&, std::string_view key) override;
  void put(const store_namespace&, std::string_view key, json::object value) override;
  void erase(const store_namespace&, std::string_view key) override;
  std::vector<store_item> search(const store_query&) override;

private:
  std::mutex mutex_;
  std::map<store_namespace, std::map<std::string, json::object, std::less<>>> items_;
};

/// Whether a value fits a filter of a search; throws std::invalid_argument for an operator that
/// there is not.
[[nodiscard]] bool fits(const json::object& filter, const json::object& value);

} // namespace superstep
