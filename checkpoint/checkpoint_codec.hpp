// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Converts checkpoints and task records to JSON and back. docs/checkpoint-format.md describes the
// format.
//
// A stored checkpoint is usually a delta: a row with the differences from an earlier checkpoint,
// its base. checkpoint_writer.cpp writes rows. Reading has two stages, both in
// checkpoint_reader.cpp. First the rows are applied in order; this needs no C++ types, and the
// result is a folded_checkpoint, still JSON. Then a checkpoint_reader converts the JSON to the
// layout of a compiled graph, that is, to its channels, nodes and joins.
namespace superstep::detail {

/// Maximum nesting of lists and objects in a row that is written.
inline constexpr auto row_depth_max = std::size_t{1'000};
/// Maximum nesting of a text that is read. It is larger, because a task record may be nested in the
/// row of the next checkpoint, and that row in a line of an exported thread.
inline constexpr auto read_depth_max = row_depth_max + 8;
/// Maximum size of a row's text in bytes.
inline constexpr auto row_bytes_max = std::size_t{512} << 20U;

/// The layout of the graph that wrote a row. Rows contain the values of channels by name. They
/// refer to nodes, joins and the channels of writes by their index in the layout, and the layout
/// gives their names.
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

/// Appends the row of a checkpoint: the differences from `base`, or everything if `base` is null.
/// @param base an earlier checkpoint with the same layout
/// @param whose the thread to name in error texts; may be null
/// @throws checkpoint_error{not_storable} for a value whose type has no stored form, and for text
///   that is not UTF-8
void write_checkpoint(std::string& out, const checkpoint& now, const checkpoint* base,
                      const thread_key* whose = nullptr);
/// Appends a task record. Invalid UTF-8 in the texts of a task's errors is replaced.
/// @throws checkpoint_error{not_storable} as write_checkpoint() does
void write_task(std::string& out, const task_record&, const graph_layout&,
                const thread_key* whose = nullptr);
/// Checks a row against row_bytes_max and row_depth_max. A row beyond these limits could not be
/// read back.
/// @param key the thread to name in error texts
/// @throws checkpoint_error{not_storable}
void check_row_limits(const std::string& row, const thread_key& key);

/// A checkpoint as JSON. It is the result of applying the rows of a chain in order.
struct folded_checkpoint {
  /// Values by channel name; nullopt for a channel without a value.
  std::map<std::string, std::optional<json::value>, std::less<>> channels;
  json::object where; ///< the newest row: triggers, Sends, metadata, …
  // The written and the seen version by the stored index of the node or the join.
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> branch_seen;
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> join_seen;

  /// Applies one row. The caller applies the rows oldest first. @throws checkpoint_error{corrupt}
  void fold(json::object&& row);
  /// Returns the checkpoint as a whole row, which needs no base.
  [[nodiscard]] json::object whole_row() const;
};

/// The attributes of a checkpoint that have table columns of their own, outside the JSON row.
struct checkpoint_header {
  std::string id;
  std::string parent;
  checkpoint_source source = checkpoint_source::input;
  std::int64_t step = 0;
};

/// Converts checkpoints with a stored layout to the layout of a compiled graph. The arguments of
/// the constructor must outlive the object.
class checkpoint_reader {
public:
  /// @param from layout that the rows refer to
  /// @param as layout of the current graph
  /// @param whose the thread to name in error texts
  /// @throws checkpoint_error{type_changed} if the type of a channel differs and `as` has no
  /// converter
  checkpoint_reader(const stored_layout& from, const layout_ptr& as, const thread_key& whose);

  /// Converts a checkpoint or a task record. @throws checkpoint_error @{
  [[nodiscard]] checkpoint_ptr read(const checkpoint_header&, const folded_checkpoint&) const;
  [[nodiscard]] task_record read_task(const json::value& row) const;
  /// @}
  /// Returns an error whose text names the thread.
  [[nodiscard]] checkpoint_error wrong(checkpoint_errc code, const std::string& what) const;

private:
  /// The index of a channel, node or join that the current graph no longer has.
  static constexpr std::uint32_t gone = ~std::uint32_t{0};
  /// The current position of a stored channel.
  struct place {
    std::uint32_t number = gone; ///< index in the current layout
    bool is_converted = false;   ///< whether the type has changed, so that the converter is applied
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
  // The current indices, each at the position of the stored index.
  std::vector<place> channels_;
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> joins_;
};

/// Converts a checkpoint in memory to the layout `as`. Returns it unchanged if it has that layout
/// already. Otherwise it is converted to JSON and back, so that all conversions share one
/// implementation.
/// @throws checkpoint_error, for example if the type of a channel's value has no stored form
[[nodiscard]] saved_checkpoint for_layout(const saved_checkpoint&, const layout_ptr& as,
                                          const thread_key&);

} // namespace superstep::detail
