// SPDX-License-Identifier: Apache-2.0
// The rule `append` of JSON channels: a list that shares its items with its copies, so that neither
// the state of a router nor a checkpoint in memory copies the items.
#include "json_append.hpp"

#include "channels/same_json.hpp"
#include "json_layout.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace detail {

void appended_json::append(json::value&& more) {
  if (other_)
    throw_unfit_json("append", "lists", *other_);
  if (!more.is_array())
    throw_unfit_json("append", "lists", more);
  for (auto& item : more.get_array())
    items_.push_back(std::make_shared<const json::value>(std::move(item), json::storage_ptr{}));
}

void appended_json::assign(json::value&& v) {
  auto made = appended_json{};
  if (v.is_array())
    made.append(std::move(v));
  else
    made.other_ = std::make_shared<const json::value>(std::move(v), json::storage_ptr{});
  *this = std::move(made);
}

json::value appended_json::to_json() const {
  if (other_)
    return *other_;
  auto list = json::array{};
  list.reserve(items_.size());
  for (const auto& item : items_)
    list.push_back(*item);
  return list;
}

void appended_json::write(std::string& out, std::size_t first) const {
  if (other_)
    return append_text(out, *other_);
  SUPERSTEP_ASSERT(first <= items_.size());
  out += '[';
  for (auto i = first; i < items_.size(); ++i) {
    if (i != first)
      out += ',';
    append_text(out, *items_[i]);
  }
  out += ']';
}

std::size_t appended_json::common_prefix(const appended_json& a, const appended_json& b) {
  if (a.other_ && b.other_)
    return is_same_json(*a.other_, *b.other_) ? 1 : 0;
  if (a.other_ || b.other_)
    return 0;
  return decltype(items_)::common_prefix(a.items_, b.items_, [](const auto& x, const auto& y) {
    return x == y || is_same_json(*x, *y);
  });
}

} // namespace detail

result<void> stored_form<detail::appended_json>::read(const json::value& from,
                                                      detail::appended_json& into) {
  into.assign(json::value(from));
  return {};
}

result<changed> detail::json_append_channel::update(state_block& state,
                                                    std::span<write* const> writes,
                                                    id_source&) const {
  if (writes.empty())
    return changed::no;
  if (std::ranges::count(writes, true, &write::overwrite) > 1)
    return one_overwrite_only();
  const auto overwrite = std::ranges::find(writes, true, &write::overwrite);
  // a copy, which shares the items, so that a failed update leaves the value unchanged
  auto value = place_.of(std::as_const(state));
  try {
    if (overwrite != writes.end()) {
      value.assign((*overwrite)->content.take<json::value>());
    } else {
      for (auto* w : writes)
        value.append(w->content.take<json::value>());
    }
  } catch (const std::exception& e) { // a value of the wrong type, or a lack of memory
    return error{failure_code(std::current_exception(), channel_errc::reducer_failed),
                 "the reducer of channel '" + name() + "' failed: " + e.what()};
  }
  place_.of(state) = std::move(value);
  return changed::yes;
}

} // namespace superstep
