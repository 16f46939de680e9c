// SPDX-License-Identifier: Apache-2.0
// Writes the change between two values of a channel, and applies such a change. If a list, text or
// object has grown, the change contains only the new part. checkpoint_writer.cpp and
// checkpoint_reader.cpp call these functions through the channels; docs/checkpoint-format.md
// describes the format.
#include "same_json.hpp"

#include <superstep/channels/detail/stored_value.hpp>

#include <algorithm>
#include <iterator>

namespace superstep {

namespace detail {

template struct stored_functions<bool>;
template struct stored_functions<int>;
template struct stored_functions<std::int64_t>;
template struct stored_functions<double>;
template struct stored_functions<std::string>;
template struct stored_functions<std::vector<std::string>>;

void append_count(std::string& out, std::size_t n) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, n);
  out.append(digits, end.ptr);
}

std::size_t common_text(std::string_view a, std::string_view b) noexcept {
  auto n = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                    a.begin());
  // whether a cut at `at` would split a UTF-8 character
  const auto is_inside = [](std::string_view s, std::size_t at) {
    return at < s.size() && (static_cast<unsigned char>(s[at]) & 0xC0U) == 0x80U;
  };
  while (n > 0 && (is_inside(a, n) || is_inside(b, n)))
    --n;
  return n;
}

bool write_text_change(std::string& out, std::string_view before, std::string_view now) {
  if (before == now)
    return false;
  const auto same = before.size() < shared_text_min ? 0 : common_text(before, now);
  out += '[';
  if (same >= shared_text_min) {
    append_count(out, same);
    out += ',';
    append_quoted(out, now.substr(same));
  } else {
    append_quoted(out, now);
  }
  out += ']';
  return true;
}

bool is_same_json(const json::value& a, const json::value& b) {
  if (a.is_array() && b.is_array())
    return std::ranges::equal(a.get_array(), b.get_array(), is_same_json);
  if (a.is_object() && b.is_object())
    return std::ranges::equal(a.get_object(), b.get_object(), [](const auto& x, const auto& y) {
      return x.key() == y.key() && is_same_json(x.value(), y.value());
    });
  return a.is_double() == b.is_double() && a == b;
}

namespace {

bool write_list_change(std::string& out, const json::array& before, const json::array& now) {
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(before, now, is_same_json).in1 -
                                             before.begin());
  if (same == before.size() && same == now.size())
    return false;
  out += '[';
  if (same > 0) {
    append_count(out, same);
    out += ',';
  }
  out += '[';
  for (auto i = same; i < now.size(); ++i) {
    if (i != same)
      out += ',';
    append_text(out, now[i]);
  }
  out += "]]";
  return true;
}

/// Whether `now` starts with the keys of `before`. Objects keep the order of their members, so this
/// is true for an object that has only grown.
bool has_members_of(const json::object& now, const json::object& before) {
  if (before.empty() || now.size() < before.size())
    return false;
  return std::equal(before.begin(), before.end(), now.begin(),
                    [](const auto& a, const auto& b) { return a.key() == b.key(); });
}

/// Writes the members that are new or have changed.
/// @pre has_members_of(now, before)
bool write_object_change(std::string& out, const json::object& before, const json::object& now) {
  auto changed = std::string{};
  auto n = std::size_t{0};
  for (auto i = now.begin(); i != now.end(); ++i, ++n) {
    if (n < before.size() &&
        is_same_json(std::next(before.begin(), static_cast<std::ptrdiff_t>(n))->value(),
                     i->value()))
      continue;
    changed += changed.empty() ? '{' : ',';
    append_quoted(changed, i->key());
    changed += ':';
    append_text(changed, i->value());
  }
  if (changed.empty() && now.size() == before.size())
    return false;
  out += '[';
  append_count(out, before.size());
  out += ',' + changed + "}]";
  return true;
}

} // namespace

bool write_json_change(std::string& out, const json::value& before, const json::value& now) {
  if (before.is_string() && now.is_string())
    return write_text_change(out, before.get_string(), now.get_string());
  if (before.is_array() && now.is_array())
    return write_list_change(out, before.get_array(), now.get_array());
  if (before.is_object() && now.is_object() &&
      has_members_of(now.get_object(), before.get_object()))
    return write_object_change(out, before.get_object(), now.get_object());
  if (is_same_json(before, now))
    return false;
  out += '[';
  append_text(out, now);
  out += ']';
  return true;
}

} // namespace detail

namespace {

error no_change(const json::value& change) {
  return detail::unfit_stored("change", "[value], [kept, more] or []", change);
}

/// Applies a change of the form [kept, more].
result<void> extend(json::value& held, std::size_t kept, json::value&& more,
                    const json::value& change) {
  if (held.is_array() && more.is_array() && kept <= held.get_array().size()) {
    auto& list = held.get_array();
    list.resize(kept);
    list.insert(list.end(), std::make_move_iterator(more.get_array().begin()),
                std::make_move_iterator(more.get_array().end()));
  } else if (held.is_string() && more.is_string() && kept <= held.get_string().size()) {
    held.get_string().resize(kept);
    held.get_string() += more.get_string();
  } else if (held.is_object() && more.is_object() && kept == held.get_object().size()) {
    for (auto& [key, v] : more.get_object())
      held.get_object().insert_or_assign(key, std::move(v));
  } else {
    return no_change(change);
  }
  return {};
}

} // namespace

result<void> apply_change(std::optional<json::value>& held, json::value&& change) {
  auto* const parts = change.if_array();
  if (parts == nullptr || parts->size() > 2)
    return no_change(change);
  if (parts->empty()) {
    held.reset();
    return {};
  }
  if (parts->size() == 1) {
    held = std::move((*parts)[0]);
    return {};
  }
  if (!held || !(*parts)[0].is_int64() || (*parts)[0].get_int64() < 0)
    return no_change(change);
  const auto kept = static_cast<std::size_t>((*parts)[0].get_int64());
  auto more = std::move((*parts)[1]);
  return extend(*held, kept, std::move(more), change);
}

} // namespace superstep
