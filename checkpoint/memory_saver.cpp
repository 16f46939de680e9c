// SPDX-License-Identifier: Apache-2.0
#include <superstep/base/assert.hpp>
#include <superstep/checkpoint/memory_saver.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

std::optional<saved_checkpoint> memory_saver::load(const thread_key& key, std::string_view id) {
  const auto lock = std::scoped_lock{mutex_};
  const auto thread = threads_.find(key);
  if (thread == threads_.end() || thread->second.empty())
    return std::nullopt;
  const auto& points = thread->second;
  const auto found = id.empty() ? std::prev(points.end()) : points.find(id);
  if (found == points.end())
    return std::nullopt;
  return found->second;
}

std::vector<saved_checkpoint> memory_saver::list(const thread_key& key,
                                                 const checkpoint_query& query) {
  auto out = std::vector<saved_checkpoint>{};
  const auto lock = std::scoped_lock{mutex_};
  const auto thread = threads_.find(key);
  if (thread == threads_.end())
    return out;
  for (auto i = thread->second.rbegin(); i != thread->second.rend(); ++i) {
    const auto& point = *i->second.point;
    if ((!query.before.empty() && point.id >= query.before) ||
        (query.source && point.source != *query.source) ||
        (query.step && point.step != *query.step))
      continue;
    out.push_back(i->second);
    if (out.size() == query.limit)
      break;
  }
  return out;
}

std::string memory_saver::head(const thread_key& key) {
  const auto lock = std::scoped_lock{mutex_};
  const auto thread = threads_.find(key);
  if (thread == threads_.end() || thread->second.empty())
    return {};
  return thread->second.rbegin()->first;
}

void memory_saver::put(const thread_key& key, checkpoint_ptr point) {
  SUPERSTEP_ASSERT(point != nullptr && !point->id.empty());
  const auto lock = std::scoped_lock{mutex_};
  auto id = point->id;
  threads_[key].insert_or_assign(std::move(id), saved_checkpoint{std::move(point), {}});
}

void memory_saver::put_task(const thread_key& key, std::string_view checkpoint_id,
                            task_record record) {
  const auto lock = std::scoped_lock{mutex_};
  const auto thread = threads_.find(key);
  if (thread == threads_.end())
    return;
  const auto found = thread->second.find(checkpoint_id);
  if (found == thread->second.end())
    return;
  auto& tasks = found->second.tasks;
  const auto old = std::ranges::find(tasks, record.task, &task_record::task);
  if (old == tasks.end())
    tasks.push_back(std::move(record));
  else
    merge_into(*old, record);
}

void memory_saver::delete_thread(std::string_view thread_id) {
  const auto lock = std::scoped_lock{mutex_};
  std::erase_if(threads_, [&](const auto& t) { return t.first.thread_id == thread_id; });
}

} // namespace superstep
