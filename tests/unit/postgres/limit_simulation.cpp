// SPDX-License-Identifier: Apache-2.0
// Runs the state machines of processes that share limits against the database in memory. Events
// are handled in the order of their times.
#include "limit_simulation.hpp"

#include "model_grants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace superstep::testing {

namespace {

using detail::granted_limits;
using detail::limit_amounts;
using time_point = granted_limits::time_point;

constexpr auto second = std::chrono::nanoseconds{std::chrono::seconds{1}};
constexpr auto minute = 60.0;
constexpr auto reconnect_pause = 0.5;
constexpr auto statement_timeout = 5.0;
constexpr auto restart_after = 2.0;
constexpr auto retry_after = 0.9; // rate_limiter tries again within a second
constexpr auto answer_after = 3.0;
/// Grants of the time before a crash are used for a second, after a statement of up to a second.
constexpr auto grants_outlive = 2.0;

/// A process with its part of the limits.
struct sender {
  sender(std::string as, const limit_amounts& quota, bool calm)
      : name{std::move(as)}, limits{quota, std::chrono::minutes{1}}, is_calm{calm} {}

  std::string name;
  granted_limits limits;
  bool is_calm;
  bool is_alive = true;
  bool is_asking = false; ///< whether an event that asks is due
  bool is_retrying = false;
  std::int64_t wanted = 0; ///< requests of a calm process so far
  std::int64_t sent = 0;
  std::int64_t next_tokens = 0; ///< of the request that waits; 0: none waits
};

/// A request that has arrived at the server with the limits.
struct arrival {
  double at;
  std::int64_t tokens;
};

class world {
public:
  explicit world(const limit_fleet& fleet) : fleet_{fleet}, random_{fleet.seed} {}

  limit_outcome run() {
    for (auto i = std::uint32_t{0}; i < fleet_.processes; ++i)
      at(uniform(0, 1), [this, i] { start(i < fleet_.calm); });
    if (fleet_.absent_every > 0)
      at(exponential(fleet_.absent_every), [this] { crash(); });
    while (!events_.empty() && events_.begin()->first < fleet_.length) {
      auto event = events_.extract(events_.begin());
      now_ = event.key();
      event.mapped()();
    }
    return outcome();
  }

private:
  void at(double when, std::function<void()> what) { events_.emplace(when, std::move(what)); }
  void after(double delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>{low, high}(random_);
  }
  double exponential(double mean) {
    return std::exponential_distribution<double>{1 / mean}(random_);
  }
  [[nodiscard]] time_point clock() const {
    const auto since = static_cast<double>(second.count()) * (1'000 + now_);
    return time_point{std::chrono::nanoseconds{static_cast<std::int64_t>(since)}};
  }

  [[nodiscard]] model_grants::time database_clock() const {
    return model_grants::time{static_cast<std::int64_t>(1e6 * now_)};
  }

  void start(bool is_calm) {
    auto& s = *senders_.emplace_back(std::make_unique<sender>(
        fmt::format("process-{}", senders_.size()), fleet_.quota, is_calm));
    if (fleet_.kill_every > 0)
      after(exponential(fleet_.kill_every), [this, &s] { kill(s); });
    if (is_calm)
      want_more(s);
    else
      send(s);
  }
  void kill(sender& s) {
    s.is_alive = false;
    after(restart_after, [this, calm = s.is_calm] { start(calm); });
  }
  void want_more(sender& s) {
    if (!s.is_alive)
      return;
    ++s.wanted;
    send(s);
    after(exponential(1 / fleet_.calm_rate), [this, &s] { want_more(s); });
  }

  /// Sends what is granted.
  void send(sender& s) {
    while (s.is_alive && (!s.is_calm || s.sent < s.wanted)) {
      if (s.next_tokens == 0)
        s.next_tokens =
            static_cast<std::int64_t>(uniform(0.5, 1.5) * static_cast<double>(fleet_.tokens)) + 1;
      if (!s.limits.take(s.next_tokens, clock())) {
        retry(s);
        break;
      }
      const auto tokens = std::exchange(s.next_tokens, 0);
      ++s.sent;
      // The request needs fewer tokens than estimated, and gives back the rest.
      const auto used =
          tokens - static_cast<std::int64_t>(uniform(0, 0.2) * static_cast<double>(tokens));
      arrivals_.push_back({now_ + uniform(0, fleet_.travel_max), used});
      if (now_ > away_since_ + grants_outlive && now_ < away_until_)
        ++in_absence_;
      after(answer_after, [&s, rest = tokens - used] {
        if (s.is_alive)
          s.limits.give_back({0, rest});
      });
    }
    ask_when_due(s);
  }
  void retry(sender& s) {
    if (std::exchange(s.is_retrying, true))
      return;
    after(retry_after, [this, &s] {
      s.is_retrying = false;
      send(s);
    });
  }

  void ask_when_due(sender& s) {
    const auto due = s.limits.next_ask();
    if (s.is_asking || !s.is_alive || due == time_point::max())
      return;
    s.is_asking = true;
    const auto wait = std::max(std::chrono::duration<double>{due - clock()}.count(), 0.0);
    after(wait, [this, &s] {
      s.is_asking = false;
      if (s.is_alive)
        ask(s);
    });
  }
  void ask(sender& s) {
    if (s.limits.next_ask() > clock())
      return ask_when_due(s);
    const auto request = s.limits.ask(clock());
    if (now_ < away_until_)
      return fail(s, 0);
    after(exponential(fleet_.network), [this, &s, request] {
      database_free_ = std::max(database_free_, now_) + fleet_.statement_cost;
      at(database_free_, [this, &s, request] { answer(s, request); });
    });
  }
  /// Executes a statement in the database. The process may have been killed meanwhile.
  void answer(sender& s, const detail::limit_request& request) {
    if (now_ < away_until_)
      return fail(s, 0);
    const auto granted = database_.grant(s.name, fleet_.quota, request, database_clock());
    if (uniform(0, 1) < fleet_.lost_share)
      return fail(s, statement_timeout);
    after(exponential(fleet_.network), [this, &s, granted] {
      if (!s.is_alive)
        return;
      s.limits.granted(granted, clock());
      send(s);
    });
  }
  void fail(sender& s, double later) {
    after(later, [this, &s] {
      if (!s.is_alive)
        return;
      s.limits.failed(clock());
      after(reconnect_pause, [this, &s] { send(s); });
    });
  }
  void crash() {
    away_since_ = now_;
    away_until_ = now_ + fleet_.absent_for;
    absent_ += std::max(std::min(away_until_, fleet_.length) - std::max(now_, minute), 0.0);
    after(fleet_.absent_for, [this] {
      database_.restart(database_clock());
      after(exponential(fleet_.absent_every), [this] { crash(); });
    });
  }

  [[nodiscard]] limit_outcome outcome() {
    auto out = limit_outcome{};
    std::ranges::sort(arrivals_, {}, &arrival::at);
    out.fault = first_excess();
    out.used = used();
    out.present = 1 - absent_ / (fleet_.length - minute);
    out.in_absence = in_absence_;
    auto busy = std::vector<double>{};
    auto wanted = std::int64_t{0};
    auto served = std::int64_t{0};
    for (const auto& s : senders_) {
      if (!s->is_alive)
        continue;
      if (!s->is_calm)
        busy.push_back(static_cast<double>(s->sent));
      else {
        wanted += s->wanted;
        served += s->sent;
      }
    }
    if (!busy.empty()) {
      auto sum = 0.0;
      for (const auto each : busy)
        sum += each;
      const auto mean = sum / static_cast<double>(busy.size());
      out.least = *std::ranges::min_element(busy) / mean;
      out.most = *std::ranges::max_element(busy) / mean;
    }
    if (wanted > 0)
      out.calm_served = static_cast<double>(served) / static_cast<double>(wanted);
    return out;
  }
  /// Returns the first minute in which more arrived than the limits allow.
  [[nodiscard]] std::string first_excess() const {
    auto in_minute = std::deque<arrival>{};
    auto sums = limit_amounts{};
    for (const auto& each : arrivals_) {
      in_minute.push_back(each);
      sums[0] += 1;
      sums[1] += each.tokens;
      while (in_minute.front().at <= each.at - minute) {
        sums[0] -= 1;
        sums[1] -= in_minute.front().tokens;
        in_minute.pop_front();
      }
      for (auto d = std::size_t{0}; d < sums.size(); ++d)
        if (fleet_.quota[d] > 0 && sums[d] > fleet_.quota[d])
          return fmt::format("{} {} in the minute before {:.3f} s", sums[d],
                             d == 0 ? "requests" : "tokens", each.at);
    }
    return {};
  }
  [[nodiscard]] double used() const {
    auto sums = std::array<double, 2>{};
    for (const auto& each : arrivals_)
      if (each.at >= minute && each.at < fleet_.length) {
        sums[0] += 1;
        sums[1] += static_cast<double>(each.tokens);
      }
    auto out = 0.0;
    const auto minutes = (fleet_.length - minute) / minute;
    for (auto d = std::size_t{0}; d < sums.size(); ++d)
      if (fleet_.quota[d] > 0)
        out = std::max(out, sums[d] / (minutes * static_cast<double>(fleet_.quota[d])));
    return out;
  }

  const limit_fleet& fleet_;
  std::mt19937_64 random_;
  double now_ = 0;
  std::multimap<double, std::function<void()>> events_;
  model_grants database_;
  double database_free_ = 0; // when it has handled all statements that have arrived
  double away_since_ = -1;
  double away_until_ = -1;
  double absent_ = 0;                            // how long it was away after the first minute
  std::vector<std::unique_ptr<sender>> senders_; // killed ones too, because events refer to them
  std::vector<arrival> arrivals_;
  std::int64_t in_absence_ = 0;
};

} // namespace

limit_outcome simulate(const limit_fleet& fleet) {
  return world{fleet}.run();
}

std::string to_text(const limit_fleet& fleet, const limit_outcome& outcome) {
  return fmt::format(
      "seed {}, {} processes: {:.1f} % of the limit used, processes {:.2f} to {:.2f} "
      "of the mean, {:.1f} % of the calm requests{}{}",
      fleet.seed, fleet.processes, 100 * outcome.used, outcome.least, outcome.most,
      100 * outcome.calm_served, outcome.fault.empty() ? "" : ", fault: ", outcome.fault);
}

} // namespace superstep::testing
