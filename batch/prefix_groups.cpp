// SPDX-License-Identifier: Apache-2.0
// Groups rows by the start of their messages, for the prompt caches of providers.
#include "prefix_groups.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <string>

namespace superstep::detail {

std::optional<key_digest> prefix_digest(const message_list& messages, std::size_t bytes) {
  auto text = std::string{};
  for (const auto& m : messages) {
    text += static_cast<char>(m.type);
    text += m.blocks ? to_text(json::value(*m.blocks)) : m.content;
    text += '\0';
    if (text.size() >= bytes)
      return digest_of(std::string_view{text}.substr(0, bytes));
  }
  return std::nullopt;
}

void prefix_groups::add(const text_line& line, const message_list& messages) {
  auto group = ungrouped;
  if (const auto digest = prefix_digest(messages, bytes_)) {
    const auto number = static_cast<std::uint32_t>(numbers_.size() + 1);
    group = numbers_.try_emplace(*digest, number).first->second;
  }
  rows_.push_back({line.number, line.offset, line.size, group});
}

void prefix_groups::close() {
  auto sizes = std::vector<std::size_t>(numbers_.size() + 1);
  numbers_ = {};
  for (const auto& one : rows_)
    ++sizes[one.group];
  for (auto& one : rows_)
    if (sizes[one.group] == 1)
      one.group = ungrouped;
  std::ranges::stable_sort(rows_, {}, &row::group);
  // The groups are numbered again without those that had one row.
  auto last = ungrouped;
  groups_.assign(1, {0, 0, phase::warm});
  for (auto i = std::size_t{0}; i < rows_.size(); ++i) {
    if (rows_[i].group != last) {
      last = rows_[i].group;
      groups_.push_back({i, i, phase::cold});
    }
    rows_[i].group = static_cast<std::uint32_t>(groups_.size() - 1);
    groups_.back().end = i + 1;
  }
}

/// Returns the group of the next row: the first one that is warm or may be opened. If no row is
/// left, returns the number of groups; nullopt if the end of a warm-up must come first.
std::optional<std::size_t> prefix_groups::find_next() const {
  const auto lock = std::scoped_lock{mutex_};
  auto waiting = std::size_t{0}; // rows that wait for a warm-up
  for (auto i = first_; i < groups_.size(); ++i) {
    const auto& one = groups_[i];
    if (one.next == one.end)
      continue;
    if (one.now != phase::warming)
      return i;
    waiting += one.end - one.next;
    if (waiting >= concurrency_)
      return std::nullopt;
  }
  return waiting == 0 ? std::optional{groups_.size()} : std::nullopt;
}

std::optional<prefix_groups::row> prefix_groups::next() {
  while (first_ < groups_.size() && groups_[first_].next == groups_[first_].end)
    ++first_;
  const auto found = find_next();
  return found && *found < groups_.size() ? std::optional{rows_[groups_[*found].next++]}
                                          : std::nullopt;
}

bool prefix_groups::is_ready() const {
  return find_next().has_value();
}

bool prefix_groups::is_warming(std::uint32_t group) const {
  const auto lock = std::scoped_lock{mutex_};
  return groups_[group].now == phase::warming;
}

void prefix_groups::started(std::uint32_t group) {
  const auto lock = std::scoped_lock{mutex_};
  if (groups_[group].now == phase::cold)
    groups_[group].now = phase::warming;
}

void prefix_groups::ended(std::uint32_t group) noexcept {
  const auto lock = std::scoped_lock{mutex_};
  groups_[group].now = phase::warm;
}

} // namespace superstep::detail
