// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/json.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
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
  std::optional<double> score{}; ///< how near it is to the text of a search, from -1 to 1
};

/// What a search wants: items below a namespace whose top-level fields fit.
struct store_query {
  store_namespace prefix;
  /// Every field must fit: a plain value by equality (a missing field reads as null; 1, 1.0 and
  /// true are one number, as in Python), a list item by item, an object member by member, or, with
  /// keys $eq $ne $gt $gte $lt $lte, by comparison. The ordered ones compare numbers; items that
  /// hold none are an error of a memory_store and left out by an sqlite_store, as in the reference.
  json::object filter;
  std::size_t limit = 10;
  std::size_t offset = 0;
  /// A text whose meaning is searched, in stores that index values: nearest first.
  std::string text{};
};

/// Which namespaces a listing is of. A label `*` fits every label.
struct namespace_query {
  store_namespace prefix{};
  store_namespace suffix{};
  std::size_t depth_max = 0; ///< longer ones are cut to so many labels, once each; 0: none is
  std::size_t limit = 100;
  std::size_t offset = 0;
};

/// What may be said about one put. Stores that cannot do it refuse it.
struct store_put_options {
  /// Which places of the value are searched by meaning, instead of those of the store; an empty
  /// list: none.
  std::optional<std::vector<std::string>> index{};
  /// How long the item is there, instead of the store's own; 0: for ever. Not below it.
  std::optional<std::chrono::milliseconds> ttl{};
};

/// A value in a filter that cannot be compared.
class store_filter_error : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Long-term memory: values that outlive a thread and are shared by all threads.
///
/// What a body puts is there at once, also for its siblings of the same super-step, and stays when
/// the body fails: it is no part of the state. Errors: std::invalid_argument for a bad namespace
/// or filter, saying which, and for a value that could not be read again: of text that is not
/// UTF-8, or deeper than 1,000 lists and objects.
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
  virtual void put(const store_namespace&, std::string_view key, json::object value,
                   const store_put_options& = {}) = 0;
  /// Forgetting what is not there is fine.
  virtual void erase(const store_namespace&, std::string_view key) = 0;
  /// In an order that stays the same while nothing is put or erased; of a text: nearest first,
  /// items without an index last.
  [[nodiscard]] virtual std::vector<store_item> search(const store_query&) = 0;
  /// The namespaces with items, in the order of their labels.
  [[nodiscard]] virtual std::vector<store_namespace> list(const namespace_query& = {}) = 0;
};

/// Texts as vectors of one length: similar ones for texts of similar meaning. Called by any thread,
/// outside the locks of stores.
using embedding = std::function<std::vector<std::vector<float>>(std::span<const std::string>)>;

struct memory_store_options {
  embedding embed{}; ///< empty: values are not searched by meaning
  /// Places of a value that are searched by meaning: `title`, `author.name`, `parts[0]`,
  /// `parts[-1]`, `parts[*].text`, `{title,text}`, `*` for all members, `$` for all of it.
  std::vector<std::string> fields{"$"};
  std::chrono::milliseconds ttl{0}; ///< how long an item is there; 0: for ever
  bool reading_renews = true;       ///< get and search begin an item's time anew
  const superstep::clock* time = &system_clock();
};

/// Keeps items for as long as it lives. A search goes by namespaces in the order of their first
/// use, then by keys in theirs. A namespace stays listed when its last item is erased.
class memory_store final : public store {
public:
  explicit memory_store(memory_store_options options = {});
  ~memory_store() override;

  std::optional<json::object> get(const store_namespace&, std::string_view key) override;
  void put(const store_namespace&, std::string_view key, json::object value,
           const store_put_options& = {}) override;
  void erase(const store_namespace&, std::string_view key) override;
  std::vector<store_item> search(const store_query&) override;
  std::vector<store_namespace> list(const namespace_query& = {}) override;
  /// Drops what has expired, which nobody sees anyway; returns how many items that were.
  std::size_t sweep();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// What an ordered comparison makes of a value that is no number.
enum class no_number { is_error, is_left_out };

/// Whether a value fits a filter of a search; throws std::invalid_argument for an operator that
/// there is not, store_filter_error for what cannot be compared.
[[nodiscard]] bool fits(const json::object& filter, const json::object& value,
                        no_number held = no_number::is_error);

} // namespace superstep
