// SPDX-License-Identifier: Apache-2.0
// A checkpointer with virtual delays, failures and crashes around the checkpointer in memory.
#include "unit/actors/simulator/disk.hpp"

namespace superstep::simulation {

/// A lease that is counted as long as it exists.
class disk::counted_lease final : public thread_lease {
public:
  counted_lease(lease_ptr inner, std::string thread_id, const disk& of)
      : inner_{std::move(inner)}, thread_id_{std::move(thread_id)}, leases_{of.leases_},
        holders_{of.holders_} {
    ++*leases_;
    auto& holder = (*holders_)[thread_id_];
    if (holder != nullptr && holder->is_held() && of.broken_->empty())
      *of.broken_ = "two runs hold the lease of thread " + thread_id_;
    holder = this;
  }
  ~counted_lease() override {
    --*leases_;
    if (auto& holder = (*holders_)[thread_id_]; holder == this)
      holder = nullptr;
  }
  bool is_held() const noexcept override { return inner_->is_held(); }

private:
  lease_ptr inner_;
  std::string thread_id_;
  std::shared_ptr<std::size_t> leases_;
  std::shared_ptr<std::map<std::string, const thread_lease*>> holders_;
};

disk::disk(disk_faults faults) : faults_{faults} {}
disk::~disk() = default;

std::optional<saved_checkpoint> disk::load(const thread_key& key, std::string_view id,
                                           const layout_ptr& as) {
  yield();
  return inner_->load(key, id, as);
}

std::vector<saved_checkpoint> disk::list(const thread_key& key, const checkpoint_query& query,
                                         const layout_ptr& as) {
  return inner_->list(key, query, as);
}

std::string disk::head(const thread_key& key) {
  return inner_->head(key);
}

void disk::fail_if_due(const thread_key& key) {
  check(key);
  if (++attempts_ != faults_.fails_at)
    return;
  has_failed_ = true;
  failed_[key.thread_id] = "the simulated disk of thread '" + key.thread_id + "' failed";
  if (!faults_.fails_late)
    check(key);
}

void disk::write(const thread_key& key, entry e) {
  yield();
  fail_if_due(key);
  if (failed_.contains(key.thread_id)) // the write fails after its call has returned
    return;
  if (e.point) {
    points_[{key, e.point->id}] = e.point;
    inner_->put(key, e.point);
  } else {
    inner_->put_task(key, *e.parent, e.record);
  }
  journal_.push_back(std::move(e));
}

void disk::put(const thread_key& key, checkpoint_ptr point) {
  write(key, {key, std::move(point), nullptr, {}});
}

void disk::put_task(const thread_key& key, const checkpoint& parent, task_record record) {
  const auto found = points_.find({key, parent.id});
  auto known = found != points_.end() ? found->second : std::make_shared<checkpoint>(parent);
  write(key, {key, nullptr, std::move(known), std::move(record)});
}

void disk::delete_thread(std::string_view thread_id) {
  inner_->delete_thread(thread_id);
}

std::size_t disk::delete_runs(const std::vector<std::string>& run_ids) {
  return inner_->delete_runs(run_ids);
}

std::string disk::export_thread(std::string_view thread_id) {
  return inner_->export_thread(thread_id);
}

void disk::import_thread(std::string_view thread_id, std::string_view bytes) {
  inner_->import_thread(thread_id, bytes);
}

bool disk::when_saved(const thread_key&, std::function<void()> done) {
  auto& w = *world::current();
  if (faults_.save_max.count() == 0 || w.random().one_in(4))
    return false;
  const auto length = w.random().below(static_cast<std::size_t>(faults_.save_max.count())) + 1;
  w.at(w.now() + microseconds{length}, std::move(done));
  return true;
}

void disk::check(const thread_key& key) {
  const auto found = failed_.find(key.thread_id);
  if (found == failed_.end())
    return;
  const auto text = found->second;
  failed_.erase(found);
  throw checkpoint_error{make_error_code(checkpoint_errc::failed), text};
}

void disk::take(const std::string& thread_id, busy_policy policy,
                std::function<void(result<lease_ptr>)> done) {
  auto granted = [this, thread_id, done = std::move(done)](result<lease_ptr> got) {
    if (got && *got)
      got = lease_ptr{std::make_shared<counted_lease>(std::move(*got), thread_id, *this)};
    auto& w = *world::current();
    if (faults_.lease_max.count() == 0 || w.random().one_in(3)) {
      done(std::move(got));
      return;
    }
    const auto length = w.random().below(static_cast<std::size_t>(faults_.lease_max.count())) + 1;
    w.at(w.now() + microseconds{length},
         [done, held = std::make_shared<result<lease_ptr>>(std::move(got))] {
           done(std::exchange(*held, lease_ptr{}));
         });
  };
  inner_->take(thread_id, policy, std::move(granted));
}

std::shared_ptr<disk> disk::after_crash(std::size_t count) const {
  auto copy = std::make_shared<disk>(disk_faults{});
  for (auto i = std::size_t{0}; i < count && i < journal_.size(); ++i)
    copy->write(journal_[i].key, journal_[i]);
  return copy;
}

} // namespace superstep::simulation
