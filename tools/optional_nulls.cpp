// SPDX-License-Identifier: Apache-2.0
// Removes the nulls that models write for optional arguments which they omit.
#include "optional_nulls.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace superstep::detail {

namespace {

bool has_null(const json::value& value) {
  if (const auto* object = value.if_object())
    return std::ranges::any_of(*object, [](const auto& m) { return has_null(m.value()); });
  if (const auto* list = value.if_array())
    return std::ranges::any_of(*list, has_null);
  return value.is_null();
}

/// Whether a name, or a list of names, contains a name.
bool contains_name(const json::value& names, std::string_view name) {
  if (const auto* one = names.if_string())
    return std::string_view{*one} == name;
  const auto* list = names.if_array();
  return list != nullptr && std::ranges::any_of(*list, [&](const auto& one) {
           return one.is_string() && std::string_view{one.get_string()} == name;
         });
}

class null_remover {
public:
  explicit null_remover(const json::value& schema) : root_{schema} {}

  void remove(json::value& from) { apply(root_, from, 0); }

  [[nodiscard]] bool has_removed() const noexcept { return has_removed_; }

private:
  /// Schemas that are applied to one call. The rest of a larger value keeps its nulls.
  static constexpr auto steps_max = std::size_t{100'000};
  /// Schemas that are applied inside each other, as for an item of an object of a list.
  static constexpr auto levels_max = std::size_t{100};

  /// Follows references. Returns null if the result is not an object.
  [[nodiscard]] const json::object* resolved(const json::value& schema) const {
    constexpr auto references_max = 16;
    const auto* here = &schema;
    for (auto i = 0; i < references_max; ++i) {
      const auto* object = here->if_object();
      const auto* reference = object != nullptr ? object->if_contains("$ref") : nullptr;
      if (reference == nullptr)
        return object;
      const auto* text = reference->if_string();
      if (text == nullptr || !text->starts_with('#'))
        return nullptr;
      auto failed = boost::system::error_code{};
      here = root_.find_pointer(std::string_view{*text}.substr(1), failed);
      if (here == nullptr)
        return nullptr;
    }
    return nullptr;
  }

  /// Whether null certainly does not match the schema.
  [[nodiscard]] bool forbids_null(const json::value& schema, std::size_t level) {
    const auto is_over = level >= levels_max || ++steps_ > steps_max;
    const auto* object = is_over ? nullptr : resolved(schema);
    if (object == nullptr)
      return false;
    if (const auto* type = object->if_contains("type"); type && !contains_name(*type, "null"))
      return true;
    if (const auto* values = object->if_contains("enum"); values && values->is_array())
      if (std::ranges::none_of(values->get_array(), [](const auto& v) { return v.is_null(); }))
        return true;
    if (const auto* value = object->if_contains("const"); value && !value->is_null())
      return true;
    const auto forbids = [&](const auto& one) { return forbids_null(one, level + 1); };
    for (const auto* key : {"anyOf", "oneOf"})
      if (const auto* all = object->if_contains(key); all && all->is_array())
        if (std::ranges::all_of(all->get_array(), forbids))
          return true;
    const auto* all = object->if_contains("allOf");
    return all != nullptr && all->is_array() && std::ranges::any_of(all->get_array(), forbids);
  }

  /// Removes the nulls from a value that the schema describes.
  void apply(const json::value& schema, json::value& value, std::size_t level) {
    if (!value.is_structured() || level >= levels_max || ++steps_ > steps_max)
      return;
    const auto* object = resolved(schema);
    if (object == nullptr)
      return;
    if (auto* members = value.if_object())
      apply_to_members(*object, *members, level);
    else
      apply_to_items(*object, value.get_array(), level);
    if (const auto* all = object->if_contains("allOf"); all && all->is_array())
      for (const auto& one : all->get_array())
        apply(one, value, level + 1);
    for (const auto* key : {"anyOf", "oneOf"})
      if (const auto* only = only_alternative(*object, key))
        apply(*only, value, level + 1);
  }

  /// Returns the only alternative that is not the type null; null if there are more.
  [[nodiscard]] const json::value* only_alternative(const json::object& schema,
                                                    std::string_view key) const {
    const auto* all = schema.if_contains(key);
    const auto* only = static_cast<const json::value*>(nullptr);
    if (all == nullptr || !all->is_array())
      return nullptr;
    for (const auto& one : all->get_array()) {
      const auto* object = one.if_object();
      const auto* type = object != nullptr ? object->if_contains("type") : nullptr;
      if (type != nullptr && type->is_string() && type->get_string() == "null")
        continue;
      if (only != nullptr)
        return nullptr;
      only = &one;
    }
    return only;
  }

  void apply_to_members(const json::object& schema, json::object& members, std::size_t level) {
    const auto* known = schema.if_contains("properties");
    const auto* properties = known != nullptr ? known->if_object() : nullptr;
    const auto* required = schema.if_contains("required");
    const auto* others = schema.if_contains("additionalProperties");
    for (auto at = members.begin(); at != members.end();) {
      const auto* property = properties != nullptr ? properties->if_contains(at->key()) : nullptr;
      if (property != nullptr && at->value().is_null() &&
          !(required != nullptr && contains_name(*required, at->key())) &&
          forbids_null(*property, 0)) {
        at = members.stable_erase(at);
        has_removed_ = true;
        continue;
      }
      if (property != nullptr)
        apply(*property, at->value(), level + 1);
      else if (others != nullptr)
        apply(*others, at->value(), level + 1);
      ++at;
    }
  }

  void apply_to_items(const json::object& schema, json::array& list, std::size_t level) {
    const auto* items = schema.if_contains("items");
    if (items == nullptr)
      return;
    const auto* each = items->if_array(); // a schema for each of the first items
    for (auto i = std::size_t{0}; i < list.size(); ++i)
      if (each == nullptr)
        apply(*items, list[i], level + 1);
      else if (i < each->size())
        apply((*each)[i], list[i], level + 1);
  }

  const json::value& root_;
  std::size_t steps_ = 0;
  bool has_removed_ = false;
};

} // namespace

std::optional<json::object> without_optional_nulls(const json::value& schema,
                                                   const json::object& arguments) {
  if (std::ranges::none_of(arguments, [](const auto& m) { return has_null(m.value()); }))
    return std::nullopt;
  auto out = json::value(arguments);
  auto remover = null_remover{schema};
  remover.remove(out);
  if (!remover.has_removed())
    return std::nullopt;
  return std::move(out.get_object());
}

} // namespace superstep::detail
