// SPDX-License-Identifier: Apache-2.0
// Import, deletion and pruning of threads in a row_checkpointer: the transactions, and the cached
// state of threads. row_maintenance.cpp changes the rows.
#include "exported_thread.hpp"
#include "lease_queue.hpp"
#include "partly_pruned.hpp"
#include "row_checkpointer_impl.hpp"
#include "row_maintenance.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace superstep {

using namespace detail;

/// Removes a thread from the cache, after its rows were imported or deleted. The state of a deleted
/// thread stays if a run still uses it: this run would otherwise write the thread again.
void row_checkpointer::impl::forget(std::string_view thread_id) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  const auto found = threads_.find(thread_id);
  if (found != threads_.end() && !(found->second->failed && found->second->leases > 0))
    threads_.erase(found);
}

/// Lets the run that uses a thread fail, because the thread is being deleted. Called on the writer
/// thread, so the writes that the run has queued meanwhile are skipped.
void row_checkpointer::impl::fail_run_of_deleted(std::string_view thread_id) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  const auto found = threads_.find(thread_id);
  if (found != threads_.end() && found->second->leases > 0 && !found->second->failed)
    found->second->failed = thread_deleted(thread_id);
}

/// Updates the cache after a prune. Cached older checkpoints may no longer exist in the database,
/// so they are dropped. Threads that are not in use are removed from the cache. The newest
/// checkpoint of a thread in use stays cached, because a prune keeps it.
void row_checkpointer::impl::forget_branch_bases(const std::set<std::string>& pruned) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  std::erase_if(threads_, [&](const auto& b) {
    if (!pruned.contains(b.first))
      return false;
    for (const auto& [ns, head] : b.second->namespaces)
      head->branch_bases.clear();
    return is_idle(b.second);
  });
}

void row_checkpointer::impl::maintain(const std::function<void(database&, row_reader&)>& what) {
  const auto reader = on_->make_reader();
  writer_->run([&](database& db) { what(db, *reader); });
}

/// Prunes threads in short transactions, because writes of all processes wait for each of them.
/// Between two transactions it pauses: a process that waits for a file of SQLite polls the lock, at
/// least every 100 ms.
std::size_t row_checkpointer::impl::prune(const prune_options& what) {
  using steady = std::chrono::steady_clock;
  constexpr auto transaction_time = std::chrono::milliseconds{20};
  constexpr auto transaction_threads = std::size_t{128};
  constexpr auto pause_max = steady::duration{std::chrono::milliseconds{120}};
  const auto reader = on_->make_reader();
  auto names = std::vector<std::string>{what.thread_id};
  if (what.thread_id.empty())
    names = reader->thread_ids();
  auto gone = std::size_t{0};
  for (auto next = names.begin(); next != names.end();) {
    const auto started = steady::now();
    auto gone_now = std::size_t{0};
    auto after = next;
    try {
      writer_->run([&](database& db) {
        gone_now = 0; // the transaction may be repeated
        after = next;
        const auto until = steady::now() + transaction_time;
        auto pruned = std::set<std::string>{};
        auto deleted = std::vector<std::string>{};
        do {
          const auto done = prune_thread(db, *reader, what, *after);
          gone_now += done.checkpoints;
          if (done.is_whole_thread)
            deleted.push_back(*after);
          pruned.insert(*after++);
        } while (after != names.end() && pruned.size() < transaction_threads &&
                 steady::now() < until);
        forget_branch_bases(pruned);
        for (const auto& thread_id : deleted)
          fail_run_of_deleted(thread_id);
      });
    } catch (const checkpoint_error& e) {
      if (gone == 0)
        throw;
      throw partly_pruned{e, gone};
    }
    gone += gone_now;
    next = after;
    if (next != names.end())
      std::this_thread::sleep_for(std::min(steady::now() - started, pause_max));
  }
  return gone;
}

void row_checkpointer::delete_thread(std::string_view thread_id) {
  impl_->wait_for_writes(thread_id);
  impl_->writer().run([&](database& db) {
    remove_thread(db, thread_id);
    impl_->fail_run_of_deleted(thread_id);
  });
  impl_->forget(thread_id);
}

std::size_t row_checkpointer::delete_runs(const std::vector<std::string>& run_ids) {
  impl_->wait_for_all_writes();
  const auto threads = impl_->reading([&](row_reader& r) { return r.threads_of_runs(run_ids); });
  const auto leases = acquire_all(impl_->leases(), threads);
  auto gone = std::size_t{0};
  impl_->maintain(
      [&](database& db, row_reader& reader) { gone = remove_runs(db, reader, threads, run_ids); });
  for (const auto& thread_id : threads)
    impl_->forget(thread_id);
  return gone;
}

void row_checkpointer::import_thread(std::string_view thread_id, std::string_view bytes) {
  const auto thread = read_thread(bytes);
  impl_->wait_for_writes(thread_id);
  impl_->writer().run([&](database& db) { import_rows(db, thread_id, thread); });
  impl_->forget(thread_id);
}

std::size_t row_checkpointer::prune(const prune_options& what) {
  if (what.thread_id.empty())
    impl_->wait_for_all_writes();
  else
    impl_->wait_for_writes(what.thread_id);
  return impl_->prune(what);
}

} // namespace superstep
