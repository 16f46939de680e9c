// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Checkpoints and task records as JSON; docs/checkpoint-format.md describes the format.
// Writing: checkpoint_writer.cpp. Reading has two stages, both in checkpoint_reader.cpp. First
// deltas are applied to each other, which needs no types; the result is a folded_checkpoint, still
// JSON. Then a checkpoint_reader converts that JSON for a layout, matching names and types.
namespace superstep::detail {

/// Maximum nesting of a written row. The JSON parser refuses deeper texts.
inline constexpr auto row_depth_max = std::size_t{1'000};
/// Maximum nesting when reading: a task record may be nested in the row of the next checkpoint, and
/// that row in a line of an exported thread.
inline constexpr auto read_depth_max = row_depth_max + 8;
/// Maximum size of a row's text in bytes.
inline constexpr auto row_bytes_max = std::size_t{512} << 20U;

/// A layout as it was stored: rows refer to its channels, nodes and joins by index.
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
/// Returns a layout as JSON text. Equal layouts have equal texts.
/// @throws checkpoint_error{not_storable} if a name is not UTF-8
[[nodiscard]] std::string write_layout(const graph_layout&);
/// Parses the text of write_layout(). @throws checkpoint_error{corrupt}
[[nodiscard]] stored_layout read_layout(std::string_view text);

/// Appends the row of a checkpoint: the difference from `base`, or everything if `base` is null.
/// @param base a checkpoint of the same layout
/// @param whose the thread to name in errors
/// @throws checkpoint_error{not_storable} for a type without a stored form, or text that is not
///   UTF-8
void write_checkpoint(std::string& out, const checkpoint& now, const checkpoint* base,
                      const thread_key* whose = nullptr);
/// Appends a task record. In error texts, bytes that are not UTF-8 are replaced.
/// @throws checkpoint_error{not_storable} as write_checkpoint() does
void write_task(std::string& out, const task_record&, const graph_layout&,
                const thread_key* whose = nullptr);
/// Checks a row against row_bytes_max and row_depth_max. Rows beyond them could not be read back.
/// @param key the thread to name in errors
/// @throws checkpoint_error{not_storable}
void check_row_limits(const std::string& row, const thread_key& key);

/// A checkpoint as JSON, with all deltas applied.
struct folded_checkpoint {
  std::map<std::string, std::optional<json::value>, std::less<>> channels;
  json::object where;
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> branch_seen;
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> join_seen;

  /// Applies one row. Rows must be applied oldest first. @throws checkpoint_error{corrupt}
  void fold(json::object&& row);
  /// Returns a row without a base that has the same content.
  [[nodiscard]] json::object whole_row() const;
};

/// The attributes of a checkpoint that are stored beside its row.
struct checkpoint_header {
  std::string id;
  std::string parent;
  checkpoint_source source = checkpoint_source::input;
  std::int64_t step = 0;
};

/// Converts checkpoints of one stored layout to the layout of a compiled graph. Keeps references to
/// the constructor's arguments.
class checkpoint_reader {
public:
  /// @param from layout that the rows refer to
  /// @param as layout of the current graph
  /// @param whose the thread to name in errors
  /// @throws checkpoint_error{type_changed} if a channel's type differs and `as` has no converter
  checkpoint_reader(const stored_layout& from, const layout_ptr& as, const thread_key& whose);

  /// Converts a checkpoint or a task record. @throws checkpoint_error @{
  [[nodiscard]] checkpoint_ptr read(const checkpoint_header&, const folded_checkpoint&) const;
  [[nodiscard]] task_record read_task(const json::value& row) const;
  /// @}
  /// Returns an error whose text names the thread.
  [[nodiscard]] checkpoint_error wrong(checkpoint_errc code, const std::string& what) const;

private:
  static constexpr std::uint32_t gone = ~std::uint32_t{0}; // no counterpart in the current layout
  struct place {
    std::uint32_t number = gone; ///< index in the current layout
    bool is_converted = false;   ///< whether the type has changed, so the converter is applied
  };

  [[nodiscard]] std::optional<json::value> value_of(const place&, std::size_t from,
                                                    const json::value& held) const;
  void read_channel(state_block&, std::size_t from, const std::optional<json::value>& held) const;
  void read_where(const folded_checkpoint&, checkpoint& into) const;
  void read_versions(const folded_checkpoint&, seen_versions& into) const;
  [[nodiscard]] std::vector<trigger> read_triggers(const json::object& where, const char* key,
                                                   std::vector<std::string>& lost) const;
  [[nodiscard]] std::vector<write> read_writes(const json::value& from) const;
  [[nodiscard]] std::vector<send> read_sends(const json::value& from,
                                             std::vector<std::string>& lost) const;
  [[nodiscard]] std::uint32_t node_of(std::int64_t number, std::vector<std::string>& lost) const;

  const stored_layout& from_;
  const layout_ptr& as_;
  const thread_key& whose_;
  // Current index by stored index.
  std::vector<place> channels_;
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> joins_;
};

/// Converts a checkpoint in memory to another layout, through its JSON form. Returns it unchanged
/// if it already has that layout.
/// @throws checkpoint_error, also if a channel's value has no stored form
[[nodiscard]] saved_checkpoint for_layout(const saved_checkpoint&, const layout_ptr& as,
                                          const thread_key&);

} // namespace superstep::detail
