// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/input_row.hpp"
#include "key_digest.hpp"
#include "line_reader.hpp"

#include <superstep/messages/messages.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace superstep::detail {

/// Returns a digest of the first bytes of a conversation; nullopt if it is shorter.
[[nodiscard]] std::optional<key_digest> prefix_digest(const message_list& messages,
                                                      std::size_t bytes);

/// The order in which rows start if those with the same prefix run together. The first row of a
/// group, its warm-up, runs alone: the others start when it has ended and the provider has stored
/// the prefix. Needs 32 bytes of memory per row.
///
/// While a warm-up runs, the next groups are opened, until the open groups have as many rows as may
/// run at a time.
///
/// @par Threads
/// ended() may be called by any thread, all other members by the feeding thread only.
class prefix_groups {
public:
  /// The group of rows without a warm-up: rows that are shorter than the prefix, and rows whose
  /// prefix no other row has. They run first.
  static constexpr std::uint32_t ungrouped = 0;

  /// The position of a row in the input.
  struct row {
    std::uint64_t number = 0; ///< line number
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t group = ungrouped;
  };

  /// @param bytes length of the prefix
  /// @param concurrency number of rows that may run at a time
  prefix_groups(std::size_t bytes, std::size_t concurrency)
      : bytes_{bytes}, concurrency_{concurrency} {}

  /// Adds a row, in the order of the input.
  void add(const text_line& line, const message_list& messages);
  /// Forms the groups. @pre all rows have been added
  void close();
  /// Returns the next row; nullopt if is_ready() is false or no row is left.
  [[nodiscard]] std::optional<row> next();
  /// Whether next() returns a row, or no row is left. False: it must wait for the end of a warm-up.
  [[nodiscard]] bool is_ready() const;
  /// Whether the warm-up of a group runs.
  [[nodiscard]] bool is_warming(std::uint32_t group) const;
  /// Reports the start of a row. The first row of a group is its warm-up.
  void started(std::uint32_t group);
  /// Reports the end of a row.
  void ended(std::uint32_t group) noexcept;

private:
  enum class phase : std::uint8_t { cold, warming, warm };
  struct group_rows {
    std::size_t next = 0; ///< position of its next row in rows_
    std::size_t end = 0;
    phase now = phase::cold;
  };

  [[nodiscard]] std::optional<std::size_t> find_next() const;

  const std::size_t bytes_;
  const std::size_t concurrency_;
  boost::unordered_flat_map<key_digest, std::uint32_t> numbers_; ///< empty after close()
  std::vector<row> rows_;                                        ///< by group after close()
  std::vector<group_rows> groups_;
  std::size_t first_ = 0;    ///< first group with rows left
  mutable std::mutex mutex_; ///< protects group_rows::now
};

} // namespace superstep::detail
