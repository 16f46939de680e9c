// SPDX-License-Identifier: Apache-2.0
// The reducer of message channels. Ids are assigned by message_list::complete() and looked up in
// message_index.hpp; this file applies additions, replacements and deletions in order.
#include "message_memory.hpp"

#include <superstep/messages/messages.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

namespace {

bool removes_all(const message& m) {
  return m.type == message_type::remove && m.id == remove_all_messages;
}

/// Returns for each message of `more` whether it has no id yet.
std::vector<bool> without_id(const message_list& more) {
  auto fresh = std::vector<bool>{};
  fresh.reserve(more.size());
  for (const auto& m : more)
    fresh.push_back(m.id.empty());
  return fresh;
}

/// Returns the messages whose ids are not in `removed`.
message_list kept(const message_list& all, const std::set<std::string, std::less<>>& removed) {
  auto rest = message_list{};
  for (auto i = std::size_t{0}; i < all.size(); ++i)
    if (!removed.contains(all[i].id))
      rest.push_back(all.at_ptr(i));
  return rest;
}

/// Returns a copy with another id. The ids that were made for its tool calls change with it.
std::shared_ptr<message> with_id(const message& m, std::string id) {
  auto out = detail::make_message(m);
  for (auto j = std::size_t{0}; j < out->tool_calls.size(); ++j) {
    const auto ending = "-call-" + std::to_string(j);
    if (out->tool_calls[j].id == m.id + ending)
      out->tool_calls[j].id = id + ending;
  }
  out->id = std::move(id);
  return out;
}

/// Returns a message whose new id is unique. If the ids of a run are built from the same key as
/// those of an earlier run, and the messages of the earlier run are part of the list, they may have
/// the new id.
/// @param is_used whether another message has an id
template <class Used>
message_ptr with_unique_id(message_ptr fresh, id_source& ids, const Used& is_used) {
  if (!is_used(fresh->id))
    return fresh;
  auto id = ids.next();
  while (is_used(id))
    id = ids.next();
  return with_id(*fresh, std::move(id));
}

} // namespace

void add_messages::operator()(message_list& into, message_list&& more, id_source& ids) const {
  if (std::all_of(more.begin(), more.end(), [](const message& m) {
        return m.id.empty() && m.type != message_type::remove;
      })) { // the usual case
    into.complete(ids);
    more.complete(ids);
    // Without an index, all ids of the list were made by this run, so new ones differ from them,
    // unless the run may make an id twice.
    const auto has_others = into.index_ != nullptr || ids.may_repeat();
    for (auto i = std::size_t{0}; i < more.size(); ++i)
      into.push_back(has_others ? with_unique_id(more.at_ptr(i), ids,
                                                 [&](const std::string& id) {
                                                   return into.position_of(id).has_value();
                                                 })
                                : more.at_ptr(i));
    into.completed_ = static_cast<std::uint32_t>(into.size());
    return;
  }
  const auto fresh = without_id(more);
  auto given = std::set<std::string, std::less<>>{};
  for (const auto& m : more)
    if (!m.id.empty())
      given.insert(m.id);
  const auto removing = std::any_of(
      more.begin(), more.end(), [](const message& m) { return m.type == message_type::remove; });
  // Only a deletion can fail. The backup then restores `into`; it shares the chunks and costs O(1).
  auto backup = removing ? into : message_list{};
  into.complete(ids);
  more.complete(ids);

  // A `remove_all_messages` message discards everything before it, so the last such message is
  // searched. The messages after it are appended without looking up ids, as in LangGraph.
  for (auto i = removing ? more.size() : std::size_t{0}; i-- > 0;) {
    if (!removes_all(more[i]))
      continue;
    into = message_list{};
    for (auto j = i + 1; j < more.size(); ++j)
      into.push_back(more.at_ptr(j));
    static_cast<void>(into.position_of({})); // creates the index, as below
    return;
  }

  auto removed = std::set<std::string, std::less<>>{};
  for (auto i = std::size_t{0}; i < more.size(); ++i) {
    if (fresh[i] && more[i].type != message_type::remove) {
      into.push_back(with_unique_id(more.at_ptr(i), ids, [&](const std::string& id) {
        return given.contains(id) || into.position_of(id).has_value();
      }));
      continue;
    }
    const auto& m = more[i];
    const auto at = into.position_of(m.id);
    if (m.type == message_type::remove) {
      if (!at) {
        into = std::move(backup);
        throw std::invalid_argument{
            "Attempting to delete a message with an ID that doesn't exist ('" + m.id + "')"};
      }
      removed.insert(m.id);
    } else if (at) {
      removed.erase(m.id);
      into.replace(*at, more.at_ptr(i));
    } else {
      into.push_back(more.at_ptr(i));
    }
  }
  // Deletions take effect last, so that a later message with the same id can cancel them.
  if (!removed.empty())
    into = kept(into, removed);
  static_cast<void>(into.position_of({})); // creates the index: later ids must be looked up
  into.completed_ = static_cast<std::uint32_t>(into.size());
}

} // namespace superstep
