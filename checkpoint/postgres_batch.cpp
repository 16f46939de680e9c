// SPDX-License-Identifier: Apache-2.0
// Collects the columns of a batch for PostgreSQL. Rows have the same bytes as in SQLite.
#include "postgres_batch.hpp"

#include "exported_thread.hpp"
#include "row_bytes.hpp"

#include <utility>

namespace superstep::detail {

namespace {

/// Values of e_what in the function save().
enum class effect_change : std::int32_t { begin, end, forget, forget_all };

template <class Value>
void add_column(pg_parameters& to, const std::vector<Value>& column) {
  to.add(std::span<const Value>{column});
}

} // namespace

const char* const save_sql =
    "select superstep_threads.save($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
    "$15::int[]::boolean[], $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, "
    "$30, $31, $32)";

batch_spaces::batch_spaces(std::span<const pending_write> batch) {
  for (const auto& j : batch) {
    if (j.thread->failed) // this write depends on one that was not saved
      continue;
    const auto [found, is_new] =
        numbers_.emplace(j.head.get(), static_cast<std::int32_t>(all_.size() + 1));
    if (is_new)
      all_.push_back(&j);
    else if (auto& first = all_[static_cast<std::size_t>(found->second) - 1];
             j.before && !first->before)
      first = &j;
  }
}

std::int32_t batch_spaces::of(const pending_write& j) const {
  const auto found = numbers_.find(j.head.get());
  return found == numbers_.end() ? 0 : found->second;
}

const pending_write* batch_spaces::first_write(std::int64_t space) const {
  const auto index = static_cast<std::size_t>(space) - 1;
  return index < all_.size() ? all_[index] : nullptr;
}

std::vector<batch_conflict> read_conflicts(const std::string& answer) {
  auto out = std::vector<batch_conflict>{};
  if (answer == "[]") // the usual answer
    return out;
  const auto parsed = parse_row(answer);
  for (const auto& each : parsed.as_array()) {
    const auto& conflict = each.as_array();
    out.push_back({conflict.at(0).to_number<std::int64_t>(),
                   static_cast<batch_conflict::kind>(conflict.at(1).to_number<std::uint8_t>()),
                   std::string{conflict.at(2).as_string()}});
  }
  return out;
}

batch_columns::batch_columns(std::span<const pending_write> batch, const database& db,
                             postgres_leases& leases)
    : db_{db} {
  const auto spaces = batch_spaces{batch};
  for (const auto* first : spaces.all()) {
    spaces_.thread.emplace_back(first->head->key.thread_id);
    spaces_.ns.emplace_back(first->head->key.ns);
    spaces_.fence.push_back(leases.fence_of(first->head->key.thread_id));
    spaces_.before.emplace_back(first->before);
  }
  for (const auto& j : batch) {
    const auto space = spaces.of(j);
    if (space == 0)
      continue;
    if (j.effect)
      add_effect(j, space);
    else if (j.is_checkpoint)
      add_checkpoint(j, space);
    else
      add_tasks(j, space);
  }
}

std::int32_t batch_columns::layout_of(const pending_write& j) {
  const auto [found, is_new] =
      layout_numbers_.emplace(*j.layout, static_cast<std::int32_t>(layouts_.size() + 1));
  if (is_new)
    layouts_.emplace_back(*j.layout);
  return found->second;
}

void batch_columns::add_checkpoint(const pending_write& j, std::int32_t space) {
  auto row = db_.to_row(complete_row(j), checkpoint_place(j.head->key, j.header.id));
  const auto is_after_base = !j.base.empty() && j.base == j.header.parent;
  points_.space.push_back(space);
  points_.id.emplace_back(j.header.id);
  // In the usual case the parent is the base, and the id is stored only once.
  points_.parent.push_back(is_after_base ? std::nullopt
                                         : std::optional<std::string_view>{j.header.parent});
  points_.base.push_back(j.base.empty() ? std::nullopt : std::optional<std::string_view>{j.base});
  points_.is_old.push_back(!j.base.empty() && j.base != j.before ? 1 : 0);
  points_.step.push_back(j.header.step);
  points_.source.push_back(static_cast<std::int64_t>(j.header.source));
  points_.layout.push_back(layout_of(j));
  points_.chain.push_back(j.chain);
  points_.whole.push_back(j.whole);
  points_.sum.push_back(
      checksum_of({j.header.id, j.header.parent, j.base, std::to_string(j.header.step), row}));
  points_.row.push_back(std::move(row));
  if (!j.ends_effects)
    return;
  effects_.space.push_back(space);
  effects_.key.emplace_back();
  effects_.what.push_back(static_cast<std::int32_t>(effect_change::forget_all));
  effects_.sum.push_back(0);
  effects_.row.emplace_back();
}

void batch_columns::add_tasks(const pending_write& j, std::int32_t space) {
  for (const auto& task : j.tasks) {
    auto row = db_.to_row(task, task_place(j.head->key, j.header.id));
    tasks_.space.push_back(space);
    tasks_.point.emplace_back(j.header.id);
    tasks_.layout.push_back(layout_of(j));
    tasks_.sum.push_back(checksum_of({j.header.id, row}));
    tasks_.row.push_back(std::move(row));
  }
}

void batch_columns::add_effect(const pending_write& j, std::int32_t space) {
  const auto& [key, record] = *j.effect;
  auto row =
      record ? db_.to_row(record->result, effect_place(j.thread->thread_id, key)) : std::string{};
  effects_.space.push_back(space);
  effects_.key.emplace_back(key);
  effects_.what.push_back(static_cast<std::int32_t>(!record             ? effect_change::forget
                                                    : record->has_ended ? effect_change::end
                                                                        : effect_change::begin));
  effects_.sum.push_back(record ? checksum_of({j.thread->thread_id, key, row}) : 0);
  effects_.row.push_back(std::move(row));
}

void batch_columns::add_to(pg_parameters& parameters) const {
  add_column(parameters, spaces_.thread);
  add_column(parameters, spaces_.ns);
  add_column(parameters, spaces_.fence);
  add_column(parameters, spaces_.before);
  add_column(parameters, layouts_);
  add_column(parameters, points_.space);
  add_column(parameters, points_.id);
  add_column(parameters, points_.parent);
  add_column(parameters, points_.base);
  add_column(parameters, points_.is_old);
  add_column(parameters, points_.step);
  add_column(parameters, points_.source);
  add_column(parameters, points_.layout);
  add_column(parameters, points_.chain);
  add_column(parameters, points_.whole);
  add_column(parameters, points_.sum);
  parameters.add_bytes(points_.row);
  add_column(parameters, tasks_.space);
  add_column(parameters, tasks_.point);
  add_column(parameters, tasks_.layout);
  add_column(parameters, tasks_.sum);
  parameters.add_bytes(tasks_.row);
  add_column(parameters, effects_.space);
  add_column(parameters, effects_.key);
  add_column(parameters, effects_.what);
  add_column(parameters, effects_.sum);
  parameters.add_bytes(effects_.row);
}

} // namespace superstep::detail
