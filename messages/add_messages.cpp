// SPDX-License-Identifier: Apache-2.0
#include <superstep/messages/message_list.hpp>

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

/// Which messages of `more` came without an id: theirs are new, so nobody needs to look for them.
std::vector<bool> without_id(const message_list& more) {
  auto fresh = std::vector<bool>{};
  fresh.reserve(more.size());
  for (const auto& m : more)
    fresh.push_back(m.id.empty());
  return fresh;
}

message_list kept(const message_list& all, const std::set<std::string, std::less<>>& removed) {
  auto rest = message_list{};
  for (auto i = std::size_t{0}; i < all.size(); ++i)
    if (!removed.contains(all[i].id))
      rest.push_back(all.at_ptr(i));
  return rest;
}

} // namespace

void add_messages::operator()(message_list& into, message_list&& more, id_source& ids) const {
  const auto fresh = without_id(more);
  const auto removing = std::any_of(
      more.begin(), more.end(), [](const message& m) { return m.type == message_type::remove; });
  // Only a deletion can fail; then it must leave `into` as it was.
  auto backup = removing ? into : message_list{};
  into.complete(ids);
  more.complete(ids);

  for (auto i = removing ? more.size() : std::size_t{0}; i-- > 0;) {
    if (!removes_all(more[i]))
      continue;
    into = message_list{};
    for (auto j = i + 1; j < more.size(); ++j) // as they are: what is left has nothing to remove
      into.push_back(more.at_ptr(j));
    return;
  }

  auto removed = std::set<std::string, std::less<>>{};
  for (auto i = std::size_t{0}; i < more.size(); ++i) {
    const auto& m = more[i];
    const auto at = fresh[i] ? std::nullopt : into.position_of(m.id);
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
  if (!removed.empty())
    into = kept(into, removed);
  into.completed_ = into.size();
}

} // namespace superstep
