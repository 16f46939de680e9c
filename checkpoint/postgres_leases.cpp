// SPDX-License-Identifier: Apache-2.0
// Leases on threads as rows of a PostgreSQL database. One thread renews them, asks for the threads
// that runs wait for, and gives back those that are not in use, each with one statement for all.
#include "postgres_leases.hpp"

#include "base/visible_text.hpp"
#include "postgres_db.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

namespace superstep::detail {

namespace {

using steady = std::chrono::steady_clock;

/// Pauses between two requests for the threads that runs wait for. @{
constexpr auto poll_pause = std::chrono::milliseconds{20};
constexpr auto slow_poll_pause = std::chrono::milliseconds{200};
constexpr auto quick_polling = std::chrono::seconds{2};
/// @}
constexpr auto renewals_per_lease = 3;
constexpr auto failed_renewal_pause = std::chrono::milliseconds{200};

std::int64_t random_number() {
  auto device = std::random_device{};
  return static_cast<std::int64_t>((std::uint64_t{device()} << 31U) ^ device());
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

error used_elsewhere(const std::string& thread_id, const char* advice) {
  return {checkpoint_errc::in_use,
          "thread '" + thread_id + "' is in use by another process" + advice};
}

bool is_lost(const error& e) {
  return e.code == make_error_code(errc::io_failed);
}

/// Whether the server has rejected the id of a thread: SQLSTATE 22… for a NUL byte or a character
/// that the encoding of the database does not have, 54… for an id that is too long.
bool is_about_id(const error& e) {
  return e.text.find("(SQLSTATE 22") != std::string::npos ||
         e.text.find("(SQLSTATE 54") != std::string::npos;
}

error unavailable(const std::string& thread_id, const error& why) {
  if (is_about_id(why)) {
    constexpr auto id_bytes_max = std::size_t{80};
    return {checkpoint_errc::failed,
            "thread '" + one_line(thread_id, id_bytes_max) +
                "': the database cannot store this id: choose one of at most 2,600 bytes without "
                "NUL bytes, in the encoding of the database (" +
                why.text + ')'};
  }
  const auto e = postgres_failed(why);
  return {e.code(), e.what()};
}

} // namespace

class postgres_leases::lease final : public thread_lease {
public:
  lease(std::shared_ptr<postgres_leases> of, std::string thread_id, const held_lease& held,
        lease_ptr own)
      : of_{std::move(of)}, thread_id_{std::move(thread_id)}, fence_{held.fence},
        is_lost_{held.is_lost}, own_{std::move(own)} {}
  ~lease() override { of_->release(thread_id_, fence_); } // before own_ lets the next run proceed
  [[nodiscard]] bool is_held() const noexcept override {
    return own_->is_held() && !is_lost_->load(std::memory_order_acquire);
  }

private:
  const std::shared_ptr<postgres_leases> of_;
  const std::string thread_id_;
  const std::int64_t fence_;
  const std::shared_ptr<std::atomic<bool>> is_lost_;
  const lease_ptr own_;
};

postgres_leases::postgres_leases(pg_address address, std::chrono::milliseconds lease_time,
                                 std::chrono::milliseconds reconnect,
                                 std::function<bool()> is_cancelled)
    : holder_{random_number()}, lease_time_{lease_time}, reconnect_{reconnect},
      connection_{std::move(address), std::move(is_cancelled)}, renewed_{steady::now()} {
  // A request must not take longer than a lease, or the other leases would not be renewed in time.
  connection_.set_timeout(std::max(lease_time / renewals_per_lease, std::chrono::milliseconds{1}));
}

void postgres_leases::start() {
  try {
    thread_ = std::thread{[this] { work(); }};
  } catch (const std::system_error& e) {
    throw checkpoint_error{e.code(), "checkpoints in '" + connection_.name() +
                                         "': cannot start the thread of leases (check the process "
                                         "limit, ulimit -u): " +
                                         e.what()};
  }
}

void postgres_leases::stop() noexcept {
  {
    const auto lock = std::scoped_lock{mutex_};
    if (std::exchange(is_stopping_, true))
      return;
  }
  changed_.notify_all();
  if (!thread_.joinable())
    return;
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach(); // a callback on this thread has released the checkpointer
  else
    thread_.join();
}

lease_ptr postgres_leases::use(const std::string& thread_id, held_lease& held, lease_ptr own) {
  ++held.uses;
  return std::make_shared<lease>(shared_from_this(), thread_id, held, std::move(own));
}

/// Adds a lease that the server has granted. An earlier one of this process on the thread is lost.
postgres_leases::held_lease& postgres_leases::add(const std::string& thread_id,
                                                  std::int64_t fence) {
  auto& held = held_[thread_id];
  if (held.fence == fence)
    return held;
  held.is_lost->store(true, std::memory_order_release);
  held = held_lease{};
  held.fence = fence;
  return held;
}

/// Returns the lease on a thread that this process already has, or null.
lease_ptr postgres_leases::use_if_held(const std::string& thread_id, const lease_ptr& own) {
  const auto lock = std::scoped_lock{mutex_};
  const auto found = held_.find(thread_id);
  if (found == held_.end() || found->second.is_lost->load(std::memory_order_acquire))
    return nullptr;
  return use(thread_id, found->second, own);
}

void postgres_leases::release(const std::string& thread_id, std::int64_t fence) noexcept {
  const auto lock = std::scoped_lock{mutex_};
  const auto found = held_.find(thread_id);
  if (found == held_.end() || found->second.fence != fence)
    return;
  SUPERSTEP_ASSERT(found->second.uses > 0);
  if (--found->second.uses > 0)
    return;
  has_unused_ = true;
  changed_.notify_all();
}

std::int64_t postgres_leases::fence_of(std::string_view thread_id) {
  const auto lock = std::scoped_lock{mutex_};
  const auto found = held_.find(thread_id);
  return found == held_.end() ? 0 : found->second.fence;
}

/// Asks the server for threads. Returns the fences of those that it grants, by thread id. The
/// caller holds the mutex of the connection until it has added the leases, so that they are added
/// in the order of the server's answers.
result<postgres_leases::grants> postgres_leases::ask(const std::vector<std::string>& threads,
                                                     bool takes_over) {
  const auto names = views_of(threads);
  auto given = pg_parameters{};
  given.add(holder_);
  given.add(std::span<const std::string_view>{names});
  given.add(std::int64_t{lease_time_.count()});
  given.add(takes_over);
  const auto rows = connection_.run(
      "select o_thread, o_fence from superstep_threads.take_leases($1, $2, $3, $4)", given);
  if (!rows)
    return rows.error();
  auto out = grants{};
  for (auto i = 0; i < rows->size(); ++i)
    out.emplace(rows->text(i, 0), rows->number(i, 1));
  return out;
}

/// Asks for threads. If the server rejects the id of one of them, asks for each alone, because runs
/// of the other threads must not fail.
/// @param failed receives the reasons of the threads that could not be asked for
postgres_leases::grants postgres_leases::ask_for_each(const std::vector<std::string>& threads,
                                                      failures& failed) {
  if (threads.empty())
    return {};
  auto granted = ask(threads, false);
  if (granted)
    return *std::move(granted);
  auto out = grants{};
  const auto is_divided = threads.size() > 1 && is_about_id(granted.error());
  for (const auto& thread_id : threads) {
    if (is_divided && (granted || !is_lost(granted.error())))
      granted = ask({thread_id}, false);
    if (granted)
      out.merge(*granted);
    else
      failed.emplace(thread_id, granted.error());
  }
  return out;
}

result<lease_ptr> postgres_leases::take_now(const std::string& thread_id, bool takes_over,
                                            lease_ptr own) {
  auto left = reconnect_clock{connection_, reconnect_};
  while (true) {
    auto asking = std::unique_lock{connection_mutex_};
    const auto granted = ask({thread_id}, takes_over);
    if (granted) {
      const auto found = granted->find(thread_id);
      if (found == granted->end())
        return used_elsewhere(thread_id, ": wait for it; a run may also take it over "
                                         "(thread_options::on_busy)");
      const auto lock = std::scoped_lock{mutex_};
      return use(thread_id, add(thread_id, found->second), std::move(own));
    }
    asking.unlock();
    if (!is_lost(granted.error()) || !left.wait())
      return unavailable(thread_id, granted.error());
  }
}

void postgres_leases::take(const std::string& thread_id, busy_policy choice, lease_ptr own,
                           callback done) {
  if (auto held = use_if_held(thread_id, own)) {
    done(std::move(held));
    return;
  }
  if (choice != busy_policy::wait) {
    done(take_now(thread_id, choice == busy_policy::take_over, std::move(own)));
    return;
  }
  {
    const auto lock = std::scoped_lock{mutex_};
    if (!is_stopping_) {
      waiting_.push_back({thread_id, std::move(own), std::move(done), steady::now()});
      changed_.notify_all();
      return;
    }
  }
  own.reset();
  done(used_elsewhere(thread_id, ", and the checkpointer was closed while a run waited for it"));
}

steady::time_point postgres_leases::next_look() const {
  auto out = renewed_ + lease_time_ / renewals_per_lease;
  for (const auto& run : waiting_) {
    const auto waited = steady::now() - run.since;
    out = std::min(out, steady::now() + (waited < quick_polling ? poll_pause : slow_poll_pause));
  }
  return out;
}

void postgres_leases::work() {
  const auto self = shared_from_this(); // a callback may release the checkpointer
  auto lock = lock_type{mutex_};
  while (!is_stopping_) {
    if (has_unused_)
      give_back(lock);
    if (!waiting_.empty())
      poll(lock);
    if (steady::now() >= renewed_ + lease_time_ / renewals_per_lease)
      renew(lock);
    const auto known = waiting_.size();
    changed_.wait_until(lock, next_look(),
                        [&] { return is_stopping_ || has_unused_ || waiting_.size() > known; });
  }
  auto waiting = std::exchange(waiting_, {});
  lock.unlock();
  for (auto& run : waiting) {
    run.own.reset();
    run.done(used_elsewhere(run.thread_id,
                            ", and the checkpointer was closed while a run waited for it"));
  }
  lock.lock();
  give_back(lock);
}

/// Moves the runs that get a lease to `ready`, in order.
template <class Give>
void postgres_leases::move_ready(std::vector<waiting_run>& runs,
                                 std::vector<std::pair<waiting_run, lease_ptr>>& ready, Give give) {
  auto left = std::vector<waiting_run>{};
  for (auto& run : runs) {
    if (auto given = give(run))
      ready.emplace_back(std::move(run), std::move(given));
    else
      left.push_back(std::move(run));
  }
  runs = std::move(left);
}

/// Asks for the threads that runs wait for. Releases the lock while it does.
void postgres_leases::poll(lock_type& lock) {
  auto runs = std::exchange(waiting_, {});
  lock.unlock();
  auto ready = std::vector<std::pair<waiting_run, lease_ptr>>{};
  auto failed = failures{};
  {
    const auto asking = std::scoped_lock{connection_mutex_};
    // A run of this process may have taken a thread over since. The server would grant that thread
    // to this process again, and the run would lose it.
    move_ready(runs, ready, [&](waiting_run& run) { return use_if_held(run.thread_id, run.own); });
    auto threads = std::vector<std::string>{};
    for (const auto& run : runs)
      threads.push_back(run.thread_id);
    std::ranges::sort(threads);
    threads.erase(std::ranges::unique(threads).begin(), threads.end());
    const auto granted = ask_for_each(threads, failed);
    move_ready(runs, ready, [&](waiting_run& run) -> lease_ptr {
      const auto found = granted.find(run.thread_id);
      if (found == granted.end())
        return nullptr;
      const auto adding = std::scoped_lock{mutex_};
      return use(run.thread_id, add(run.thread_id, found->second), run.own);
    });
  }
  for (auto& [run, given] : ready) {
    run.own.reset();
    run.done(std::move(given));
  }
  auto left = std::vector<waiting_run>{};
  for (auto& run : runs) {
    const auto why = failed.find(run.thread_id);
    if (why == failed.end() || (is_lost(why->second) && !connection_.is_cancelled() &&
                                steady::now() - run.since < reconnect_)) {
      left.push_back(std::move(run));
    } else {
      run.own.reset(); // before the callback, so that the next run in the queue can proceed
      run.done(unavailable(run.thread_id, why->second));
    }
  }
  ready.clear();
  runs.clear();
  lock.lock();
  std::ranges::move(left, std::back_inserter(waiting_));
}

/// Renews all leases. Those that the server does not confirm are lost.
void postgres_leases::renew(lock_type& lock) {
  auto threads = std::vector<std::string>{};
  auto fences = std::vector<std::int64_t>{};
  for (const auto& [thread_id, held] : held_)
    if (!held.is_lost->load(std::memory_order_acquire)) {
      threads.push_back(thread_id);
      fences.push_back(held.fence);
    }
  renewed_ = steady::now();
  if (threads.empty())
    return;
  lock.unlock();
  const auto names = views_of(threads);
  auto given = pg_parameters{};
  given.add(holder_);
  given.add(std::span<const std::string_view>{names});
  given.add(std::span<const std::int64_t>{fences});
  given.add(std::int64_t{lease_time_.count()});
  auto renewed = result<pg_rows>{error{errc::io_failed, {}}};
  {
    const auto use = std::scoped_lock{connection_mutex_};
    renewed = connection_.run("select o_thread from superstep_threads.renew_leases($1, $2, $3, $4)",
                              given);
  }
  lock.lock();
  if (!renewed) { // nothing is known about the leases: try again soon
    renewed_ = steady::now() - lease_time_ / renewals_per_lease + failed_renewal_pause;
    return;
  }
  auto valid = std::vector<std::string_view>{};
  for (auto i = 0; i < renewed->size(); ++i)
    valid.push_back(renewed->text(i, 0));
  std::ranges::sort(valid);
  for (auto i = std::size_t{0}; i < threads.size(); ++i) {
    const auto found = held_.find(threads[i]);
    if (found != held_.end() && found->second.fence == fences[i] &&
        !std::ranges::binary_search(valid, threads[i]))
      found->second.is_lost->store(true, std::memory_order_release);
  }
}

/// Deletes the rows of the leases that no run uses.
void postgres_leases::give_back(lock_type& lock) {
  has_unused_ = false;
  auto threads = std::vector<std::string>{};
  auto fences = std::vector<std::int64_t>{};
  for (auto held = held_.begin(); held != held_.end();) {
    if (held->second.uses > 0) {
      ++held;
      continue;
    }
    threads.push_back(held->first);
    fences.push_back(held->second.fence);
    held = held_.erase(held);
  }
  if (threads.empty())
    return;
  lock.unlock();
  const auto names = views_of(threads);
  auto given = pg_parameters{};
  given.add(holder_);
  given.add(std::span<const std::string_view>{names});
  given.add(std::span<const std::int64_t>{fences});
  {
    const auto use = std::scoped_lock{connection_mutex_};
    // If this fails, the leases end after their time.
    (void)connection_.run("select superstep_threads.release_leases($1, $2, $3)", given);
  }
  lock.lock();
}

void postgres_lease_manager::take(const std::string& thread_id, busy_policy choice,
                                  std::function<void(result<lease_ptr>)> done) {
  queue_->take(thread_id, choice,
               [leases = leases_, thread_id, choice, done = std::move(done)](auto own) {
                 if (own)
                   leases->take(thread_id, choice, std::move(*own), done);
                 else
                   done(std::move(own));
               });
}

} // namespace superstep::detail
