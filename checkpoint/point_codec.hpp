// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpoint.hpp>
#include <superstep/checkpoint/saver_error.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Checkpoints and task records as JSON: docs/checkpoint-format.md. What is read goes through two
// stages. First deltas are folded, which needs no types: a held_point is JSON. Then the JSON is
// read for a layout, which matches names and types.
namespace superstep::detail {

/// Nesting of a written row: more could be written, but not be read back.
inline constexpr auto row_depth_max = std::size_t{1'000};
/// A record stands in the row of a checkpoint as well, and both in a line of an exported thread.
inline constexpr auto read_depth_max = row_depth_max + 8;
inline constexpr auto row_bytes_max = std::size_t{512} << 20U;

/// The names and types of a layout, as a row refers to them by number.
struct stored_layout {
  struct channel {
    std::string name;
    std::string type;
  };
  struct node {
    std::string name;
    std::string input;
  };
  std::string graph;
  std::vector<channel> channels;
  std::vector<node> nodes;
  std::vector<graph_layout::join> joins;

  [[nodiscard]] const channel* find(std::string_view name) const noexcept;
};
[[nodiscard]] std::string write_layout(const graph_layout&);
/// Throws saver_error{corrupt}.
[[nodiscard]] stored_layout read_layout(std::string_view text);

/// Appends a checkpoint: what differs from `base`, which has the same layout, or all of it.
/// Throws saver_error{not_storable}: a type without a form, or text that is not UTF-8.
/// @param whose names the thread in errors
void write_point(std::string& out, const checkpoint& now, const checkpoint* base,
                 const thread_key* whose = nullptr);
/// Throws saver_error{not_storable}. The texts of errors are written whatever their bytes.
void write_task(std::string& out, const task_record&, const graph_layout&,
                const thread_key* whose = nullptr);

/// A checkpoint as JSON, with all deltas applied.
struct held_point {
  std::map<std::string, std::optional<json::value>, std::less<>> channels;
  json::object where;
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> branch_seen;
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> join_seen;

  /// Applies one row, oldest first. Throws saver_error{corrupt}.
  void fold(json::object&& row);
  /// The row of a checkpoint that is based on no other.
  [[nodiscard]] json::object whole_row() const;
};

/// What a checkpoint is besides its row.
struct point_head {
  std::string id;
  std::string parent;
  checkpoint_source source = checkpoint_source::input;
  std::int64_t step = 0;
};

/// Reads checkpoints of one stored layout for a layout of today.
class point_reader {
public:
  /// @param whose names the thread in errors
  point_reader(const stored_layout& from, const layout_ptr& as, const thread_key& whose);

  /// Throws saver_error.
  [[nodiscard]] checkpoint_ptr read(const point_head&, const held_point&) const;
  [[nodiscard]] task_record read_task(const json::value& row) const;
  /// An error that names the thread.
  [[nodiscard]] saver_error wrong(saver_errc code, const std::string& what) const;

private:
  static constexpr std::uint32_t gone = ~std::uint32_t{0};
  struct place {
    std::uint32_t number = gone;
    bool is_converted = false; ///< its type has changed, and there is a converter
  };

  [[nodiscard]] std::optional<json::value> value_of(const place&, std::size_t from,
                                                    const json::value& held) const;
  void read_channel(state_block&, std::size_t from, const std::optional<json::value>& held) const;
  void read_where(const held_point&, checkpoint& into) const;
  void read_versions(const held_point&, seen_versions& into) const;
  [[nodiscard]] std::vector<trigger> read_triggers(const json::object& where, const char* key,
                                                   std::vector<std::string>& lost) const;
  [[nodiscard]] std::vector<write> read_writes(const json::value& from) const;
  [[nodiscard]] std::vector<send> read_sends(const json::value& from,
                                             std::vector<std::string>& lost) const;
  [[nodiscard]] std::uint32_t node_of(std::int64_t number, std::vector<std::string>& lost) const;

  const stored_layout& from_;
  const layout_ptr& as_;
  const thread_key& whose_;
  std::vector<place> channels_;      // by stored number
  std::vector<std::uint32_t> nodes_; // by stored number
  std::vector<std::uint32_t> joins_; // by stored number
};

/// The same checkpoint for another layout, by way of JSON. Throws saver_error, also when the value
/// of a channel cannot be written.
[[nodiscard]] saved_checkpoint for_layout(const saved_checkpoint&, const layout_ptr& as,
                                          const thread_key&);

} // namespace superstep::detail
