// SPDX-License-Identifier: Apache-2.0
// The list of messages: a shared_list with an index by id (message_index.hpp) and assignment of
// ids. The reducer is add_messages.cpp.
#include "message_index.hpp"
#include "message_memory.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/messages.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// Whether a message and all its tool calls have ids.
bool is_complete(const message& m) {
  return !m.id.empty() && std::none_of(m.tool_calls.begin(), m.tool_calls.end(),
                                       [](const tool_call& c) { return c.id.empty(); });
}

/// Sets the ids of a message that has none, and of its tool calls.
void set_ids(message& m, id_source& ids) {
  if (m.id.empty())
    m.id = ids.next();
  for (auto j = std::size_t{0}; j < m.tool_calls.size(); ++j)
    if (m.tool_calls[j].id.empty())
      m.tool_calls[j].id = m.id + "-call-" + std::to_string(j);
}

/// Returns a copy with ids.
message_ptr completed(const message& m, id_source& ids) {
  auto fixed = detail::make_message(m);
  set_ids(*fixed, ids);
  return fixed;
}

} // namespace

void detail::intrusive_ptr_add_ref(message_index* index) noexcept {
  index->lists_.fetch_add(1, std::memory_order_relaxed);
}

void detail::intrusive_ptr_release(message_index* index) noexcept {
  if (index->lists_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete index;
}

message_list::message_list(std::initializer_list<message> messages) {
  for (const auto& m : messages)
    push_back(m);
}

message_list::message_list(std::vector<message> messages) {
  for (auto& m : messages)
    push_back(std::move(m));
}

void message_list::push_back(message&& m) {
  push_back(detail::make_message(std::move(m)));
}

void message_list::push_back(const message& m) {
  push_back(detail::make_message(m));
}

void message_list::push_back(message_ptr m) {
  SUPERSTEP_ASSERT(m != nullptr);
  const auto type = m->type;
  // A forked list contains other messages than the copies that share the index.
  if (items_.push_back(std::move(m), type) == list_change::forked)
    index_.reset();
}

void message_list::replace(std::size_t i, message_ptr m) {
  SUPERSTEP_ASSERT(m != nullptr && i < size());
  const auto same_id = items_[i]->id == m->id;
  const auto known = is_complete(*m);
  const auto type = m->type;
  if (items_.replace(i, std::move(m), type) == list_change::forked || !same_id)
    index_.reset();
  if (!known)
    completed_ = std::min(completed_, static_cast<std::uint32_t>(i));
}

std::optional<std::size_t> message_list::position_of(std::string_view id) {
  if (empty())
    return std::nullopt;
  if (!index_)
    index_.reset(new detail::message_index);
  return index_->find(items_, id);
}

void message_list::complete(id_source& ids) {
  for (; completed_ < size(); ++completed_) {
    const auto& m = items_[completed_];
    if (is_complete(*m))
      continue;
    if (m.use_count() == 1 && items_.is_sole_reader(completed_)) {
      // No other list or function has the message. push_back() has created it as a message that is
      // not const.
      index_.reset();
      set_ids(const_cast<message&>(*m), ids);
    } else { // the original is not modified, because others share it
      replace(completed_, completed(*m, ids)); // sets completed_ to at most its current value
    }
  }
}

bool operator==(const message_list& a, const message_list& b) {
  const auto same = [](const message_ptr& x, const message_ptr& y) { return x == y || *x == *y; };
  return a.size() == b.size() &&
         std::equal(a.items_.begin(), a.items_.end(), b.items_.begin(), same);
}

} // namespace superstep
