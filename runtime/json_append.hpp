// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/shared_list.hpp>
#include <superstep/base/json.hpp>
#include <superstep/channels/detail/slots.hpp>
#include <superstep/channels/kinds.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace superstep {

namespace detail {

/// The value of a JSON channel with the rule `append`: a list whose copies share the items, so that
/// a copy costs O(1) and appending costs O(1) amortised. An overwrite, or a checkpoint of an older
/// graph, may replace the list by any other JSON value.
class appended_json {
public:
  appended_json() = default;
  /// Returns the number of items, or 1 if the value is not a list.
  [[nodiscard]] std::size_t size() const noexcept { return other_ ? 1 : items_.size(); }
  /// Appends the items of a list. Throws std::invalid_argument if one of the values is not a list.
  /// If it throws, some of the items may have been appended.
  void append(json::value&& more);
  /// Replaces the value.
  void assign(json::value&& v);
  /// Returns the value as JSON: a copy of all items.
  [[nodiscard]] json::value to_json() const;
  /// Appends the text of the items from index `first` on to `out`, as a list. A value that is not a
  /// list is written as a whole.
  void write(std::string& out, std::size_t first) const;
  /// Returns the number of leading items that both lists have in common. For values that are not
  /// lists: 1 if they are equal, else 0.
  [[nodiscard]] static std::size_t common_prefix(const appended_json&, const appended_json&);

private:
  shared_list<std::shared_ptr<const json::value>> items_;
  std::shared_ptr<const json::value> other_; // the value if it is not a list, else null
};

} // namespace detail

/// Stored form of a list in a JSON state: the same as that of a json::value.
template <>
struct stored_form<detail::appended_json> {
  static std::string type() { return stored_type<json::value>(); }
  static void write(std::string& out, const detail::appended_json& from, std::size_t first = 0) {
    from.write(out, first);
  }
  static result<void> read(const json::value& from, detail::appended_json& into);
};

namespace detail {

/// A JSON channel with the rule `append`. It combines writes like a binary_operator_aggregate with
/// json_reducer::append, but changes only the new part of the list.
class json_append_channel final : public placed_channel<slot_place<appended_json>, json::value> {
public:
  json_append_channel(std::string name, std::size_t slot)
      : placed_channel{std::move(name), {slot}, true} {}

  std::string value_type_name() const override { return type_name(typeid(json::value)); }
  result<changed> update(state_block&, std::span<write* const>, id_source&) const override;
  bool is_available(const state_block&) const noexcept override { return true; }
};

} // namespace detail
} // namespace superstep
