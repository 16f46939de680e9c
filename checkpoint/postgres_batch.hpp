// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres_db.hpp"
#include "postgres_leases.hpp"
#include "write_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Converts a batch of writes to the parameters of the function save() of the database, and its
// answer back; see postgres_functions.cpp.
namespace superstep::detail {

/// Calls save().
extern const char* const save_sql;
inline constexpr auto save_parameters = std::size_t{32};

/// The namespaces of a batch, numbered from 1 in the order of their first entry. Entries of threads
/// that have failed before are not part of the batch.
class batch_spaces {
public:
  explicit batch_spaces(std::span<const pending_write> batch);
  /// Returns the number of an entry's namespace; 0 if the entry is not part of the batch.
  [[nodiscard]] std::int32_t of(const pending_write&) const;
  /// Returns the first entry of a namespace that compares its head, or else its first entry. Null
  /// if there is no such namespace.
  [[nodiscard]] const pending_write* first_write(std::int64_t space) const;
  [[nodiscard]] const std::vector<const pending_write*>& all() const noexcept { return all_; }

private:
  std::map<const namespace_head*, std::int32_t> numbers_;
  std::vector<const pending_write*> all_;
};

/// A conflict that save() has found for a namespace, and so for its thread.
struct batch_conflict {
  enum class kind : std::uint8_t { head, lease, base, effect };
  std::int64_t space = 0;
  kind what = kind::head;
  std::string found; ///< the newest checkpoint, or the deleted base
};
[[nodiscard]] std::vector<batch_conflict> read_conflicts(const std::string& answer);

/// Collects the columns of a batch.
class batch_columns {
public:
  batch_columns(std::span<const pending_write> batch, const database& db, postgres_leases& leases);
  /// Adds the parameters of save() from the sixth on.
  void add_to(pg_parameters& parameters) const;

private:
  void add_checkpoint(const pending_write&, std::int32_t space);
  void add_tasks(const pending_write&, std::int32_t space);
  void add_effect(const pending_write&, std::int32_t space);
  [[nodiscard]] std::int32_t layout_of(const pending_write&);

  using numbers = std::vector<std::int64_t>;
  using places = std::vector<std::int32_t>;
  using texts = std::vector<std::string_view>;
  using optional_texts = std::vector<std::optional<std::string_view>>;

  const database& db_;
  struct {
    texts thread;
    texts ns;
    numbers fence;
    optional_texts before;
  } spaces_;
  texts layouts_;
  std::map<std::string_view, std::int32_t> layout_numbers_; ///< from 1
  struct {
    places space;
    texts id;
    optional_texts parent;
    optional_texts base;
    places is_old; ///< whether the base may be missing
    numbers step;
    numbers source;
    places layout;
    numbers chain;
    numbers whole;
    numbers sum;
    std::vector<std::string> row;
  } points_;
  struct {
    places space;
    texts point;
    places layout;
    numbers sum;
    std::vector<std::string> row;
  } tasks_;
  struct {
    places space;
    texts key;
    places what;
    numbers sum;
    std::vector<std::string> row;
  } effects_;
};

} // namespace superstep::detail
