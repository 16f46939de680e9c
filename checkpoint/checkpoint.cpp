// SPDX-License-Identifier: Apache-2.0
// Code that all checkpointers share: the default implementations of class checkpointer, the merging
// of task records, and record_index, which finds a record by its task.
#include <superstep/checkpoint/checkpointer.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace superstep {

std::string_view to_text(checkpoint_source s) noexcept {
  switch (s) {
  case checkpoint_source::input:
    return "input";
  case checkpoint_source::loop:
    return "loop";
  case checkpoint_source::update:
    return "update";
  case checkpoint_source::fork:
    return "fork";
  }
  return "";
}

bool has_entries(const json::object* metadata, const json::object& wanted) noexcept {
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    const auto* found = metadata != nullptr ? metadata->if_contains(entry.key()) : nullptr;
    return found != nullptr && *found == entry.value();
  });
}

namespace {

checkpoint_error not_supported(const std::string& what) {
  return {make_error_code(checkpoint_errc::failed),
          "this checkpointer cannot " + what + "; sqlite_checkpointer() can"};
}

} // namespace

std::optional<effect_record> checkpointer::find_effect(std::string_view /*thread_id*/,
                                                       std::string_view /*key*/) {
  return std::nullopt;
}

std::vector<thread_summary> checkpointer::threads(std::string_view /*after*/,
                                                  std::size_t /*limit*/) {
  throw not_supported("list threads");
}

std::optional<json::object> checkpointer::show(const thread_key&, std::string_view /*id*/) {
  throw not_supported("show a checkpoint without its graph");
}

std::vector<json::object> checkpointer::history(const thread_key&, const checkpoint_query&) {
  throw not_supported("list checkpoints without their graph");
}

std::size_t checkpointer::prune(const prune_options&) {
  throw not_supported("prune threads");
}

void checkpointer::put_effect(std::string_view thread_id, std::string_view /*key*/,
                              std::optional<effect_record> /*record*/) {
  throw checkpoint_error{
      make_error_code(checkpoint_errc::failed),
      "thread '" + std::string{thread_id} +
          "': this checkpointer does not store effect records; use one that does, or "
          "tools without journaled() and idempotent()"};
}

// Values of untracked channels are never stored, so writes to them are left out.
task_record storable_part(const task_record& of, const graph_layout& layout) {
  auto out = of;
  if (out.output)
    std::erase_if(out.output->writes,
                  [&](const write& w) { return !layout.channels[w.channel]->is_kept(); });
  return out;
}

checkpoint_ptr storable_part(checkpoint_ptr of) {
  const auto is_left_out = [&](const auto& channel) {
    return !channel->is_kept() && channel->is_available(*of->state);
  };
  if (std::ranges::none_of(of->layout->channels, is_left_out))
    return of;
  auto out = std::make_shared<checkpoint>(*of);
  const auto state = of->state->clone();
  for (const auto& channel : of->layout->channels)
    channel->drop_unkept(*state);
  out->state = state;
  return out;
}

namespace {

/// Adds a later record of the same task to an earlier one. Each record contains only what became
/// known since the last one.
void merge_into(task_record& old, const task_record& more) {
  if (more.output && !old.output) {
    old.output = more.output;
    old.lost_nodes = more.lost_nodes;
  } else if (more.output && old.task.empty()) {
    // A record without a task contains a command of the caller. There may be several: add them up.
    const auto add = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    add(old.output->writes, more.output->writes);
    add(old.output->targets, more.output->targets);
    add(old.output->sends, more.output->sends);
    add(old.lost_nodes, more.lost_nodes);
  }
  if (more.interrupts)
    old.interrupts = more.interrupts;
  if (!more.answers.empty())
    old.answers = more.answers;
  if (!more.error.empty()) {
    old.error = more.error;
    old.cause = more.cause;
  }
  if (more.resume)
    old.resume = more.resume;
}

} // namespace

const task_record* record_index::find(const std::vector<task_record>& known,
                                      std::string_view task) const {
  if (known.size() <= unindexed_max) {
    const auto found = std::ranges::find(known, task, &task_record::task);
    return found == known.end() ? nullptr : &*found;
  }
  // A linear search is slow for many records, so the index is used. First add the records to it
  // that were appended since the last call.
  SUPERSTEP_ASSERT(indexed_ <= known.size());
  for (; indexed_ < known.size(); ++indexed_)
    by_task_.try_emplace(known[indexed_].task, indexed_);
  const auto found = by_task_.find(task);
  return found == by_task_.end() ? nullptr : &known[found->second];
}

void record_index::add(std::vector<task_record>& known, task_record more) {
  if (const auto* const old = find(known, more.task))
    merge_into(known[static_cast<std::size_t>(old - known.data())], more);
  else
    known.push_back(std::move(more));
}

void record_index::clear() noexcept {
  if (indexed_ > 0)
    by_task_.clear();
  indexed_ = 0;
}

} // namespace superstep
