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

/// The address of a group of items in the long-term store: labels from general to specific, for
/// example {"users", "u-17", "memories"}. Labels must not be empty or contain a period or a NUL
/// byte.
using store_namespace = std::vector<std::string>;

/// An item of a search result.
struct store_item {
  store_namespace ns;            ///< namespace of the item
  std::string key;               ///< key of the item, unique in its namespace
  json::object value;            ///< value of the item
  std::optional<double> score{}; ///< cosine similarity to the query's text, -1 to 1, if compared
};

/// The parameters of a search: selects the items in and below a namespace that match a filter, and
/// optionally orders them by similarity to a text.
struct store_query {
  store_namespace prefix{}; ///< selects all namespaces that start with these labels
  /// Conditions on top-level fields; all must match.
  ///
  /// A plain value must be equal to the field. A missing field reads as null, and 1, 1.0 and true
  /// are equal, as in LangGraph. Lists must have the same length and match item by item. Of an
  /// object, only the members that the filter names are compared. An object with the keys $eq, $ne,
  /// $gt, $gte, $lt and $lte compares with these operators.
  ///
  /// The ordered operators compare numbers. A memory_store also accepts booleans and texts that are
  /// numbers, and throws store_filter_error for other values, like LangGraph's InMemoryStore
  /// (1.2.22). The stores in databases also compare a text with a text, byte by byte, like
  /// LangGraph's SqliteStore, and skip items whose value has another type than the operand.
  json::object filter{};
  std::size_t limit = 10; ///< maximum number of items
  std::size_t offset = 0; ///< number of matching items to skip
  /// Orders items by similarity to this text, nearest first, if the store has an embedding. Empty:
  /// the store's own order.
  std::string text{};
};

/// The parameters of a listing of namespaces. In prefix and suffix, the label `*` matches every
/// label.
struct namespace_query {
  store_namespace prefix{}; ///< selects namespaces that start with these labels
  store_namespace suffix{}; ///< selects namespaces that end with these labels
  /// Longer namespaces are cut to this number of labels, at least 1, and listed once. Unset: they
  /// are not cut.
  std::optional<std::size_t> depth_max{};
  std::size_t limit = 100; ///< maximum number of namespaces
  std::size_t offset = 0;  ///< number of selected namespaces to skip
};

/// Options of a single put(). A store that does not support an option throws.
struct store_put_options {
  /// Fields to index for similarity search, instead of the store's `fields`; an empty list indexes
  /// none.
  std::optional<std::vector<std::string>> index{};
  /// Lifetime of the item, instead of the store's `ttl`; 0 means forever. Must not be negative.
  std::optional<std::chrono::milliseconds> ttl{};
};

/// Thrown by an ordered comparison ($gt, $gte, $lt, $lte) with a value that is not a number.
class store_filter_error : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// The interface of long-term memory: values that outlive a thread and are shared by all threads.
///
/// A put() takes effect at once, also for other tasks of the same super-step. It is not part of the
/// state: it remains if the task fails, and tasks that are run again repeat it.
///
/// All functions throw std::invalid_argument for an invalid namespace or filter, and stores on disk
/// throw checkpoint_error if the file cannot be read or written. put() also throws
/// std::invalid_argument for an empty namespace, for the first label "langgraph", for a negative
/// lifetime, and for a value that could not be read back: text that is not UTF-8, or more than
/// 1,000 nested lists and objects.
/// @par Threads
/// All members may be called from any thread. A call blocks its thread until it has finished.
///
/// Source: `BaseStore` in LangGraph 1.2.22, store/base.
class store {
public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;

  /// Returns the value of the item with this namespace and key; nullopt if there is none or it has
  /// expired. May restart the item's lifetime; see memory_store_options::renew_on_read.
  [[nodiscard]] virtual std::optional<json::object> get(const store_namespace&,
                                                        std::string_view key) = 0;
  /// Adds the item with this namespace and key, or replaces its value, index and lifetime. Throws
  /// what the embedding throws.
  virtual void put(const store_namespace&, std::string_view key, json::object value,
                   const store_put_options& = {}) = 0;
  /// Deletes the item with this namespace and key; does nothing if there is none.
  virtual void erase(const store_namespace&, std::string_view key) = 0;
  /// Returns the selected items. Their order stays the same as long as the store does not change.
  /// With a text in the query, the most similar items come first, and items without an index last.
  /// Throws what the embedding throws.
  [[nodiscard]] virtual std::vector<store_item> search(const store_query&) = 0;
  /// Returns the selected namespaces with items, sorted by labels. A memory_store also returns
  /// those whose items were all erased. Throws std::invalid_argument if depth_max is 0.
  [[nodiscard]] virtual std::vector<store_namespace> list(const namespace_query& = {}) = 0;
};

/// A function that maps texts to vectors, one per text and all of the same length, so that similar
/// texts have similar vectors. Called by the thread that calls put() or search(), and by several
/// threads at once. Stores call it without holding a lock. put() and search() throw what it throws,
/// and std::invalid_argument if it does not return one vector per text.
using embedding = std::function<std::vector<std::vector<float>>(std::span<const std::string>)>;

/// Options of a memory_store.
struct memory_store_options {
  embedding embed{}; ///< if empty, items are not indexed for similarity search
  /// Paths of the fields to index: `title`, `author.name`, `parts[0]`, `parts[-1]`,
  /// `parts[*].text`, `{title,text}`, `*` for all members, `$` for the whole value. The syntax is
  /// that of `IndexConfig.fields` in LangGraph 1.2.22, store/base.
  std::vector<std::string> fields{"$"};
  /// Default lifetime of an item; unset: items do not expire.
  std::optional<std::chrono::milliseconds> ttl{};
  bool renew_on_read = true; ///< whether get() and search() restart an item's lifetime
  const superstep::clock* time = &system_clock(); ///< must outlive the store; for tests
};

/// A long-term store in memory; items live as long as the object. search() returns items in the
/// order in which their namespaces were first used, and within a namespace in the order in which
/// they were added. A namespace remains listed after its last item was erased.
/// @par Threads
/// All members may be called from any thread.
class memory_store final : public store {
public:
  /// Makes an empty store. An invalid path in `fields` is an error of put().
  /// @param options see memory_store_options
  explicit memory_store(memory_store_options options = {});
  /// Destroys the store with its items; no run may use it.
  ~memory_store() override;

  std::optional<json::object> get(const store_namespace&, std::string_view key) override;
  void put(const store_namespace&, std::string_view key, json::object value,
           const store_put_options& = {}) override;
  void erase(const store_namespace&, std::string_view key) override;
  std::vector<store_item> search(const store_query&) override;
  std::vector<store_namespace> list(const namespace_query& = {}) override;
  /// Deletes expired items to free memory; get() and search() never return them. Returns their
  /// number.
  std::size_t sweep();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// The treatment of a value that is not a number by an ordered comparison ($gt, $gte, $lt, $lte);
/// see store_query::filter.
enum class non_number {
  fail, ///< throws store_filter_error
  skip, ///< does not match, except a text that is compared with a text
};

/// Whether a value matches a filter. For implementations of store. May be called from any thread.
/// @param filter see store_query::filter
/// @param value value of an item
/// @param held treatment of values that are not numbers by ordered comparisons
/// @throws std::invalid_argument for an unknown operator or a filter nested deeper than 32 objects
/// @throws store_filter_error for a comparison with a value that is not a number, if `held` is fail
[[nodiscard]] bool matches(const json::object& filter, const json::object& value,
                           non_number held = non_number::fail);

} // namespace superstep
