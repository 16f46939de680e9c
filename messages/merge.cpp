// SPDX-License-Identifier: Apache-2.0
// Merges JSON of stream chunks (metadata, additional_kwargs, content blocks). Used by
// message_chunk.cpp. Follows langchain-core 1.7.2, utils/_merge.py.
#include "messages/merge.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace superstep {

namespace {

/// Nesting limit, equal to that of parse_json(). Parsed JSON never exceeds it, but JSON that a
/// program builds may.
constexpr auto depth_max = 200;

result<> merge_members_at(json::object& into, const json::object& more, int depth);
result<> merge_lists_at(json::array& into, const json::array& more, int depth);

/// Returns an error that names the member, because users do not see the single chunks.
error cannot_add(json::string_view key, std::string_view text) {
  return {errc::invalid_argument, "cannot merge stream chunks: member \"" +
                                      std::string{key.data(), key.size()} + "\" " +
                                      std::string{text}};
}

bool is_integer(const json::value& v) {
  return v.is_int64() || v.is_uint64();
}

/// Whether two values have the same kind. Signed and unsigned integers count as one kind, because
/// the parser chooses between them by the size of the number.
bool is_of_same_kind(const json::value& a, const json::value& b) {
  return a.kind() == b.kind() || (is_integer(a) && is_integer(b));
}

/// Whether chunks repeat this member, so that equal values must not be concatenated.
bool stays_when_equal(json::string_view key) {
  return key == "id" || key == "model_provider" || key == "output_version";
}

void merge_text(json::string_view key, json::string& into, const json::string& more) {
  const auto fixed =
      (key == "index" && into.starts_with("lc_")) || (stays_when_equal(key) && into == more);
  if (!fixed)
    into.append(more.begin(), more.end());
}

/// Adds two integers. For members that are positions or times, the later value replaces the earlier
/// one.
result<> merge_integer(json::string_view key, json::value& into, const json::value& more) {
  if (key == "index" || key == "created" || key == "timestamp") {
    into = more;
    return {};
  }
  auto sum = std::int64_t{};
  if (!into.is_int64() || !more.is_int64() ||
      __builtin_add_overflow(into.get_int64(), more.get_int64(), &sum))
    return cannot_add(key, "has integers whose sum does not fit 64 bits");
  into = sum;
  return {};
}

result<> merge_value(json::string_view key, json::value& into, const json::value& more, int depth) {
  if (more.is_null())
    return {};
  if (into.is_null()) {
    into = more;
    return {};
  }
  if (!is_of_same_kind(into, more))
    return cannot_add(key,
                      "has values of different types: " + to_text(into) + " and " + to_text(more));
  if (into.is_string()) {
    merge_text(key, into.get_string(), more.get_string());
    return {};
  }
  if (into.is_object())
    return merge_members_at(into.get_object(), more.get_object(), depth + 1);
  if (into.is_array())
    return merge_lists_at(into.get_array(), more.get_array(), depth + 1);
  if (into == more)
    return {};
  if (is_integer(into))
    return merge_integer(key, into, more);
  return cannot_add(key, "has two values that cannot be merged: " + to_text(into) + " and " +
                             to_text(more));
}

result<> merge_members_at(json::object& into, const json::object& more, int depth) {
  if (depth > depth_max)
    return error{errc::too_large, "cannot merge stream chunks: they are nested too deeply"};
  for (const auto& [key, value] : more) {
    const auto [place, added] = into.emplace(key, nullptr);
    if (added)
      place->value() = value;
    else if (auto merged = merge_value(key, place->value(), value, depth); !merged)
      return merged;
  }
  return {};
}

/// Returns the index that marks an element as a piece of a block; nullptr if it has none.
const json::value* index_of(const json::value& element) {
  const auto* object = element.if_object();
  const auto* index = object ? object->if_contains("index") : nullptr;
  if (!index)
    return nullptr;
  const auto* text = index->if_string();
  return is_integer(*index) || (text && text->starts_with("lc_")) ? index : nullptr;
}

bool has_text(const json::value* id) {
  return id && !id->is_null() && *id != "";
}

/// Whether two elements are pieces of one block: same index, and no conflicting ids.
bool are_pieces_of_one(const json::value& a, const json::value& b) {
  const auto* left = index_of(a);
  if (!left || *left != *index_of(b))
    return false;
  const auto* id = a.get_object().if_contains("id");
  const auto* other = b.get_object().if_contains("id");
  return !has_text(id) || !has_text(other) || *id == *other;
}

/// Returns the members that a later piece adds to a block. Its `type` is dropped: the first piece
/// determines it. The value of a non_standard piece goes to `extras` if the block is a standard
/// one.
json::object additions(const json::object& into, const json::object& more) {
  const auto type_in = [](const json::object& o) {
    const auto* type = o.if_contains("type");
    return type && type->is_string() ? std::string_view{type->get_string()} : std::string_view{};
  };
  const auto type = type_in(into);
  const auto* value = more.if_contains("value");
  if (type_in(more) == "non_standard" && value && value->is_object()) {
    auto inner = value->get_object();
    inner.erase("type");
    return {{type == "non_standard" ? "value" : "extras", std::move(inner)}};
  }
  auto out = more;
  out.erase("type");
  return out;
}

result<> merge_lists_at(json::array& into, const json::array& more, int depth) {
  for (const auto& element : more) {
    auto found = into.end();
    if (index_of(element))
      found = std::find_if(into.begin(), into.end(), [&](const json::value& other) {
        return are_pieces_of_one(other, element);
      });
    if (found == into.end()) {
      into.push_back(element);
      continue;
    }
    auto& block = found->get_object();
    if (auto merged = merge_members_at(block, additions(block, element.get_object()), depth + 1);
        !merged)
      return merged;
  }
  return {};
}

} // namespace

result<> merge_members(json::object& into, const json::object& more) {
  return merge_members_at(into, more, 0);
}

result<> merge_lists(json::array& into, const json::array& more) {
  return merge_lists_at(into, more, 0);
}

} // namespace superstep
