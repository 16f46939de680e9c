// SPDX-License-Identifier: Apache-2.0
// A discrete-event simulation: the state machines of many workers and the ledger in memory, with
// virtual time, a network and failures.
#include "simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <variant>
#include <vector>

namespace superstep::testing {

namespace {

using namespace detail;
using std::chrono::nanoseconds;

nanoseconds in_time(double seconds) {
  return nanoseconds{static_cast<std::int64_t>(seconds * 1e9)};
}

using any_answer = std::variant<std::monostate, lease_answer, std::vector<std::uint64_t>,
                                commit_answer, resolve_answer, beat_answer>;

/// One simulation.
class fleet {
public:
  explicit fleet(const simulation_options& options)
      : options_{options}, random_{options.seed},
        ledger_{options.rows, options.chunk_rows, in_time(60)}, workers_(options.workers),
        cores_(options.cores) {}

  simulation_result run();

private:
  /// A process. `life` counts its starts, so that events of an earlier one are ignored.
  struct process {
    std::unique_ptr<ledger_worker> machine;
    std::uint32_t life = 0;
    std::string name;
    bool is_busy = false;
    std::uint32_t statement = 0; ///< number of its statement, to ignore answers after a lost one
    std::size_t running = 0;
    double slowness = 1;
    double skew = 0;     ///< of the worker's clock
    double woken_at = 0; ///< when the next wake-up is due; 0: none
    double paused_until = 0;
    std::int64_t spent = 0;        ///< cost of its rows that have ended
    std::int64_t spent_others = 0; ///< according to the last answer
    bool is_over = false;
    bool is_computing = false;        ///< whether the processor has some of `rows`
    std::deque<std::uint64_t> rows{}; ///< rows that need a processor
    std::size_t committing = 0;       ///< rows of the commit that runs
  };
  using event_function = std::function<void()>;
  struct event {
    double at;
    std::uint64_t order;
    event_function act;

    bool operator<(const event& other) const noexcept {
      return std::pair{at, order} > std::pair{other.at, other.order};
    }
  };
  struct row_end_event {
    std::uint64_t row;
    std::uint32_t worker;
    std::uint32_t life;
  };

  void at(double when, event_function act) { events_.push({when, order_++, std::move(act)}); }
  [[nodiscard]] double uniform() { return std::uniform_real_distribution<double>{0, 1}(random_); }
  [[nodiscard]] double after(double mean) {
    return std::exponential_distribution<double>{1 / mean}(random_);
  }
  [[nodiscard]] ledger_time clock_of(const process& of) const { return in_time(now_ + of.skew); }

  void plan_faults();
  void start(std::uint32_t index);
  void stop(std::uint32_t index);
  void pump(std::uint32_t index);
  void start_rows(std::uint32_t index);
  void compute_rows(std::uint32_t index);
  double compute(double cost);
  [[nodiscard]] bool has_room(const process& of) const;
  void end_rows();
  void wake_at(std::uint32_t index, double when);
  void send(std::uint32_t index, const ledger_action& action);
  any_answer execute(const std::string& worker, const ledger_action& action);
  void deliver(std::uint32_t index, const any_answer& answer);
  void crash_server();
  void check_leases(const std::string& worker, const std::vector<leased_chunk>& chunks);
  double serve(std::size_t stored, std::size_t read);
  [[nodiscard]] bool is_spent(const process& by) const {
    return options_.budget > 0 && by.spent + by.spent_others >= options_.budget;
  }
  /// Whether all workers have ended; for jobs with a budget.
  [[nodiscard]] bool are_over() const {
    return options_.budget > 0 && std::ranges::all_of(workers_, &process::is_over);
  }
  [[nodiscard]] bool is_done() const { return ledger_.stored() == options_.rows || are_over(); }
  void check_end();

  const simulation_options& options_;
  std::mt19937_64 random_;
  model_ledger ledger_;
  std::vector<process> workers_;
  std::priority_queue<event> events_;
  std::uint64_t order_ = 0;
  // Ends of rows by their tick, because most events are of this kind.
  static constexpr auto tick = 0.01;
  std::vector<std::vector<row_end_event>> ring_ =
      std::vector<std::vector<row_end_event>>(1U << 17U);
  std::uint64_t tick_now_ = 0;
  double now_ = 0;
  std::vector<double> cores_; ///< when each processor is free
  double server_free_ = 0;
  double server_back_ = 0; ///< when the server is available again
  std::uint32_t server_life_ = 0;
  double busy_ = 0;
  double at_99_ = 0;
  std::uint64_t started_ = 0;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::string> holders_;
  simulation_result result_;
};

/// Fails if two workers ever hold a chunk under the same fence.
void fleet::check_leases(const std::string& worker, const std::vector<leased_chunk>& chunks) {
  for (const auto& each : chunks) {
    const auto [at, is_new] = holders_.try_emplace({each.first, each.fence}, worker);
    if (!is_new && at->second != worker)
      result_.fault = fmt::format("chunk {} has two holders under the fence {}: {} and {}",
                                  each.first, each.fence, at->second, worker);
  }
}

/// Returns when a processor has worked for `cost`. Processors work in the order of the calls.
double fleet::compute(double cost) {
  auto& core = *std::ranges::min_element(cores_);
  core = std::max(core, now_) + cost;
  return core;
}

/// Returns when the server has executed a statement that arrives now.
double fleet::serve(std::size_t stored, std::size_t read) {
  const auto cost = options_.statement_cost + options_.row_cost * static_cast<double>(stored) +
                    options_.read_cost * static_cast<double>(read);
  if (options_.cores > 0) {
    busy_ += cost;
    return compute(cost);
  }
  server_free_ = std::max(now_ + options_.network, server_free_) + cost;
  busy_ += cost;
  return server_free_;
}

any_answer fleet::execute(const std::string& worker, const ledger_action& action) {
  const auto time = in_time(now_);
  if (const auto* lease = std::get_if<lease_action>(&action)) {
    ++result_.leases;
    auto answer = ledger_.lease(worker, lease->count, lease->may_split, lease->starting, time);
    check_leases(worker, answer.chunks);
    return answer;
  }
  if (const auto* read = std::get_if<read_action>(&action)) {
    ++result_.reads;
    return ledger_.read(read->chunks);
  }
  if (const auto* commit = std::get_if<commit_action>(&action)) {
    auto request = commit_request{commit->parts, {}};
    for (auto i = std::size_t{0}; i < request.parts.size(); ++i) {
      request.parts[i].sums[0] = static_cast<std::int64_t>(commit->rows[i].size());
      request.parts[i].sums[9] = request.parts[i].sums[0];
      for (const auto row : commit->rows[i])
        request.rows.push_back({.row = row, .part = i});
    }
    ++result_.commits;
    auto answer = ledger_.commit(worker, request, time);
    if (at_99_ == 0 && ledger_.stored() * 100 >= options_.rows * 99)
      at_99_ = now_;
    return answer;
  }
  if (const auto* resolve = std::get_if<resolve_action>(&action)) {
    auto answer = ledger_.resolve(worker, resolve->chunks, time);
    auto held = std::vector<leased_chunk>{};
    for (const auto& each : answer.chunks)
      held.push_back(each.chunk);
    check_leases(worker, held);
    return answer;
  }
  if (const auto* release = std::get_if<release_action>(&action)) {
    ledger_.release(worker, release->chunks);
    return std::monostate{};
  }
  return ledger_.beat(worker, false, time);
}

void fleet::deliver(std::uint32_t index, const any_answer& answer) {
  auto& to = *workers_[index].machine;
  workers_[index].committing = 0;
  const auto time = clock_of(workers_[index]);
  std::visit(
      [&]<class Answer>(const Answer& of) {
        if constexpr (requires { of.spent; })
          workers_[index].spent_others = of.spent->cost;
      },
      answer);
  if (const auto* lease = std::get_if<lease_answer>(&answer))
    to.leased(*lease, time);
  else if (const auto* rows = std::get_if<std::vector<std::uint64_t>>(&answer))
    to.read(*rows, time);
  else if (const auto* commit = std::get_if<commit_answer>(&answer))
    to.committed(*commit, time);
  else if (const auto* resolve = std::get_if<resolve_answer>(&answer))
    to.resolved(*resolve, time);
  else if (const auto* beat = std::get_if<beat_answer>(&answer))
    to.beaten(*beat, time);
  else
    to.released();
}

/// Sends a statement. It may be lost, executed without an answer, or executed late.
void fleet::send(std::uint32_t index, const ledger_action& action) {
  auto& from = workers_[index];
  from.is_busy = true;
  const auto life = from.life;
  const auto number = ++from.statement;
  ++result_.statements;
  const auto fail_at = [this, index, life, number](double when) {
    at(when, [this, index, life, number] {
      auto& to = workers_[index];
      if (to.life != life || to.statement != number || !to.is_busy)
        return;
      to.is_busy = false;
      to.committing = 0;
      to.machine->failed(clock_of(to));
      pump(index);
    });
  };
  if (now_ < server_back_)
    return fail_at(now_ + options_.network);
  from.committing = 0;
  if (const auto* commit = std::get_if<commit_action>(&action))
    for (const auto& part : commit->rows)
      from.committing += part.size();
  auto read_rows = std::size_t{0};
  if (const auto* read = std::get_if<read_action>(&action))
    for (const auto& chunk : read->chunks)
      read_rows += chunk.bound - chunk.first;
  const auto done = serve(from.committing, read_rows);
  const auto is_cut = uniform() < options_.cut_share;
  const auto is_late = is_cut && uniform() < options_.late_share;
  const auto is_executed = !is_cut || is_late || uniform() < 0.5;
  result_.worst_wait = std::max(result_.worst_wait, done - now_);
  const auto server_life = server_life_;
  if (is_executed)
    at(is_late ? done + 20 * uniform() : done,
       [this, index, life, number, server_life, action, name = from.name, is_cut] {
         if (server_life != server_life_) // the server has crashed before
           return;
         auto answer = execute(name, action);
         if (is_cut)
           return;
         at(now_ + options_.network, [this, index, life, number, answer = std::move(answer)] {
           auto& to = workers_[index];
           if (to.life != life || to.statement != number || !to.is_busy)
             return;
           to.is_busy = false;
           deliver(index, answer);
           pump(index);
         });
       });
  if (is_cut)
    fail_at(done + options_.network);
  else
    // A crash of the server cuts the connection.
    at(done + 2 * options_.network, [this, index, life, number, server_life] {
      auto& to = workers_[index];
      if (server_life == server_life_ || to.life != life || to.statement != number || !to.is_busy)
        return;
      to.is_busy = false;
      to.committing = 0;
      to.machine->failed(clock_of(to));
      pump(index);
    });
}

void fleet::wake_at(std::uint32_t index, double when) {
  auto& of = workers_[index];
  if (of.woken_at > now_ && of.woken_at <= when)
    return;
  of.woken_at = when;
  at(when, [this, index, life = of.life, when] {
    auto& woken = workers_[index];
    if (woken.life != life || woken.woken_at != when)
      return;
    woken.woken_at = 0;
    pump(index);
  });
}

/// Whether a worker may start a row, as row_table and shared_ledger decide: while a commit runs, a
/// worker keeps at most 1,024 other rows that have ended, and otherwise those of one commit.
bool fleet::has_room(const process& of) const {
  constexpr auto queue_max = std::size_t{1'024};
  const auto waiting = of.machine->rows().unsettled() - of.committing;
  const auto waiting_max = of.committing > 0 ? queue_max : ledger_worker_options{}.rows_max;
  return of.running < options_.concurrency && (options_.cores == 0 || waiting < waiting_max);
}

/// Lets a processor work for some of a worker's rows, unless it does so already.
void fleet::compute_rows(std::uint32_t index) {
  constexpr auto slice = 0.001; // until another process has its turn
  auto& of = workers_[index];
  if (of.is_computing || of.rows.empty())
    return;
  of.is_computing = true;
  const auto count = std::clamp<std::size_t>(
      static_cast<std::size_t>(slice / std::max(options_.row_processor, 1e-9)), 1, of.rows.size());
  at(compute(options_.row_processor * static_cast<double>(count)),
     [this, index, count, life = of.life] {
       auto& by = workers_[index];
       if (by.life != life)
         return;
       by.is_computing = false;
       for (auto i = std::size_t{0}; i < count; ++i) {
         --by.running;
         ++by.spent;
         by.machine->ended(by.rows.front());
         by.rows.pop_front();
       }
       pump(index);
     });
}

void fleet::start_rows(std::uint32_t index) {
  auto& of = workers_[index];
  if (is_spent(of))
    of.machine->drain();
  while (has_room(of)) {
    const auto row = of.machine->take(clock_of(of));
    if (!row)
      break;
    ++of.running;
    ++started_;
    if (options_.cores > 0) {
      of.rows.push_back(*row);
      continue;
    }
    auto length = std::lognormal_distribution<double>{std::log(options_.row_median),
                                                      options_.row_sigma}(random_);
    // The same rows are poisoned whenever they run.
    const auto digest = (*row * 0x9E3779B97F4A7C15U) >> 40U;
    if (options_.poisoned_share > 0 &&
        static_cast<double>(digest) < options_.poisoned_share * static_cast<double>(1U << 24U))
      length = options_.row_longest;
    length = std::min(length * of.slowness, options_.row_longest);
    result_.longest_row = std::max(result_.longest_row, length);
    const auto slot = static_cast<std::uint64_t>((now_ + length) / tick) + 1;
    ring_[slot % ring_.size()].push_back({*row, index, of.life});
  }
  compute_rows(index);
}

/// Lets a worker start rows and send its next statement.
void fleet::pump(std::uint32_t index) {
  auto& of = workers_[index];
  if (!of.machine || of.is_over)
    return;
  if (now_ < of.paused_until)
    return wake_at(index, of.paused_until);
  start_rows(index);
  while (!of.is_busy) {
    const auto action = of.machine->next(clock_of(of));
    static_cast<void>(of.machine->take_settled());
    if (std::holds_alternative<stop_action>(action)) {
      of.is_over = true;
      if (of.machine->has_given_up())
        result_.fault = "worker " + of.name + " gave up";
      return;
    }
    if (const auto* pause = std::get_if<pause_action>(&action)) {
      const auto until = std::chrono::duration<double>(pause->until).count() - of.skew;
      return wake_at(index, std::max(until, now_ + 1e-6));
    }
    send(index, action);
  }
}

/// Ends the rows of the present tick.
void fleet::end_rows() {
  auto ended = std::exchange(ring_[tick_now_ % ring_.size()], {});
  for (const auto& each : ended) {
    auto& of = workers_[each.worker];
    if (of.life != each.life)
      continue;
    if (now_ < of.paused_until) { // a process that does not run reports its rows later
      const auto slot = static_cast<std::uint64_t>(of.paused_until / tick) + 1;
      ring_[slot % ring_.size()].push_back(each);
      continue;
    }
    --of.running;
    ++of.spent;
    of.machine->ended(each.row);
    pump(each.worker);
  }
}

void fleet::start(std::uint32_t index) {
  auto& of = workers_[index];
  ++of.life;
  of.is_over = of.is_busy = false;
  of.running = of.committing = 0;
  of.is_computing = false;
  of.rows.clear();
  of.woken_at = of.paused_until = 0;
  of.spent = 0;
  of.spent_others = ledger_.spent().cost;
  of.name = fmt::format("w{}-{}", index, of.life);
  of.slowness = uniform() < options_.slow_share ? 10 : 1;
  of.skew = 1'000 + 1'200 * uniform(); // clocks differ by up to 20 minutes
  auto wanted = ledger_worker_options{};
  wanted.seed = random_();
  wanted.concurrency = options_.concurrency;
  of.machine = std::make_unique<ledger_worker>(wanted);
  if (options_.crash_every > 0)
    at(now_ + after(options_.crash_every), [this, index, life = of.life] {
      if (workers_[index].life != life)
        return;
      stop(index);
      at(now_ + options_.restart_after, [this, index] { start(index); });
    });
  if (options_.pause_every > 0)
    at(now_ + after(options_.pause_every), [this, index, life = of.life] {
      if (workers_[index].life == life)
        workers_[index].paused_until = now_ + 61 + 60 * uniform();
    });
  pump(index);
}

/// Ends a process without a word.
void fleet::stop(std::uint32_t index) {
  auto& of = workers_[index];
  ++of.life;
  ++result_.crashes;
  of.machine.reset();
  of.running = 0;
}

/// Crashes the server: statements that run are lost, and some of those that were not synced.
void fleet::crash_server() {
  ++server_life_;
  server_back_ = now_ + options_.server_away;
  server_free_ = server_back_;
  const auto kept = static_cast<double>(ledger_.unsynced()) * uniform();
  ledger_.crash(static_cast<std::size_t>(kept));
  // A lease that was lost never existed, so its fence is given again.
  std::erase_if(holders_, [this](const auto& each) {
    const auto found = ledger_.chunks().find(each.first.first);
    return found == ledger_.chunks().end() || found->second.fence < each.first.second;
  });
  at(now_ + options_.server_away + after(options_.server_crash_every), [this] { crash_server(); });
}

void fleet::plan_faults() {
  const auto early = options_.elastic_from > 0 ? options_.elastic_from : options_.workers;
  for (auto i = std::uint32_t{0}; i < options_.workers; ++i)
    at((i < early ? 0 : 60) + options_.start_within * uniform(), [this, i] {
      if (options_.cores == 0)
        return start(i);
      at(compute(options_.start_processor), [this, i] { start(i); });
    });
  if (options_.server_crash_every > 0)
    at(after(options_.server_crash_every), [this] { crash_server(); });
  if (options_.rack_loss_at > 0)
    at(options_.rack_loss_at, [this] {
      constexpr auto rack = std::uint32_t{50};
      for (auto i = std::uint32_t{0}; i < std::min(rack, options_.workers); ++i)
        stop(i);
    });
}

/// Fails if the tables of the ledger do not agree with each other.
void fleet::check_end() {
  if (!result_.fault.empty())
    return;
  if (ledger_.stored() == options_.rows && !ledger_.is_finished())
    result_.fault = "all rows are stored, but a chunk is not done";
  auto rows = std::int64_t{0};
  for (const auto& [first, each] : ledger_.chunks())
    rows += each.sums[0];
  result_.spent = ledger_.spent().cost;
  if (static_cast<std::uint64_t>(rows) != ledger_.stored() || result_.spent != rows)
    result_.fault = fmt::format("{} rows are stored, the chunks count {}, and they cost {}",
                                ledger_.stored(), rows, result_.spent);
}

simulation_result fleet::run() {
  plan_faults();
  while (!is_done() && result_.fault.empty()) {
    const auto next_tick = static_cast<double>(tick_now_) * tick;
    if (!events_.empty() && events_.top().at <= next_tick) {
      now_ = std::max(now_, events_.top().at);
      auto act = std::move(const_cast<event&>(events_.top()).act);
      events_.pop();
      act();
      continue;
    }
    now_ = next_tick;
    end_rows();
    ++tick_now_;
    if (now_ > options_.time_max)
      result_.fault =
          fmt::format("{} of {} rows are stored after {} s", ledger_.stored(), options_.rows, now_);
  }
  check_end();
  const auto mean = options_.row_median * std::exp(options_.row_sigma * options_.row_sigma / 2);
  result_.makespan = now_;
  const auto slots =
      static_cast<double>(options_.workers) * static_cast<double>(options_.concurrency);
  result_.ideal = options_.cores > 0
                      ? static_cast<double>(options_.rows) *
                            (options_.row_processor + options_.row_cost + options_.read_cost) /
                            options_.cores
                      : static_cast<double>(options_.rows) * mean / slots;
  result_.last_percent = now_ - at_99_;
  result_.server_busy = busy_ / now_;
  result_.rows_again = static_cast<double>(started_ - std::min(started_, options_.rows)) /
                       static_cast<double>(options_.rows);
  return result_;
}

} // namespace

simulation_result simulate(const simulation_options& options) {
  return fleet{options}.run();
}

std::string to_text(const simulation_options& options, const simulation_result& result) {
  return fmt::format(
      "seed {}: {} rows, {} workers, chunks of {}: makespan {:.0f} s (ideal {:.0f} s, {:.1f} % "
      "over), last 1 % {:.0f} s, longest row {:.0f} s, server busy {:.0f} %, longest statement "
      "{:.2f} s, rows again {:.3f} %, {:.0f} statements/s ({} commits, {} leases, {} reads), "
      "{} crashes, cost {}{}{}",
      options.seed, options.rows, options.workers, options.chunk_rows, result.makespan,
      result.ideal, 100 * result.over(), result.last_percent, result.longest_row,
      100 * result.server_busy, result.worst_wait, 100 * result.rows_again,
      static_cast<double>(result.statements) / result.makespan, result.commits, result.leases,
      result.reads, result.crashes, result.spent,
      result.fault.empty() ? "" : "; FAULT: ", result.fault);
}

} // namespace superstep::testing
