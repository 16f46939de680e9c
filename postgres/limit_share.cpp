// SPDX-License-Identifier: Apache-2.0
// The thread that asks the database for grants of shared limits.
#include "limit_share.hpp"

#include "granted_limits.hpp"
#include "limit_functions.hpp"
#include "pg_connection.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

namespace superstep::detail {

namespace {

using steady = std::chrono::steady_clock;
constexpr auto statement_timeout = std::chrono::seconds{5};
/// A process that ends waits so long for the database.
constexpr auto leave_timeout = std::chrono::milliseconds{500};
constexpr auto reconnect_pause = std::chrono::milliseconds{500};
constexpr auto absence_to_report = std::chrono::seconds{3};

std::string new_member() {
  auto device = std::random_device{};
  return fmt::format("{}-{:08x}{:08x}", ::getpid(), device(), device());
}

double seconds(steady::duration length) {
  return std::chrono::duration<double>{length}.count();
}

void add(pg_parameters& to, const limit_amounts& amounts) {
  to.add(std::span<const std::int64_t>{amounts});
}

/// The source and its thread.
class limit_share final : public limit_source {
public:
  limit_share(const shared_limits& limits, pg_address address);
  ~limit_share() override;
  limit_share(const limit_share&) = delete;
  limit_share& operator=(const limit_share&) = delete;

  /// Prepares the database and starts the thread.
  [[nodiscard]] result<void> start();

  [[nodiscard]] time_point take(std::int64_t tokens, time_point now) override;
  void give_back(std::int64_t requests, std::int64_t tokens) override;
  void on_grant(std::function<void()> call) override;

private:
  void run();
  [[nodiscard]] result<limit_amounts> send(const limit_request& request);
  void report_absence(const std::string& why, time_point now);
  void call_back();

  const std::string key_;
  const std::string member_; ///< identifies this process among those with the key
  const std::chrono::milliseconds window_;
  const std::chrono::milliseconds valid_for_; ///< how long a grant is valid: a 60th of the window
  pg_connection connection_;                  ///< used by the thread only
  std::optional<time_point> lost_;   ///< used by the thread only: since when nothing can be used
  bool is_absence_reported_ = false; ///< used by the thread only

  std::mutex call_mutex_; ///< held while on_grant_ runs
  std::function<void()> on_grant_;

  std::mutex mutex_; ///< protects the members below
  std::condition_variable changed_;
  granted_limits granted_;
  bool is_stopping_ = false;
  std::thread thread_;
};

limit_share::limit_share(const shared_limits& limits, pg_address address)
    : key_{limits.key}, member_{new_member()}, window_{limits.window},
      valid_for_{limits.window / 60}, connection_{std::move(address)},
      granted_{{limits.requests_per_minute, limits.tokens_per_minute}, limits.window} {
  connection_.set_timeout(statement_timeout);
}

result<void> limit_share::start() {
  if (auto prepared = prepare_limits(connection_); !prepared)
    return prepared;
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& e) {
    return error{e.code(), "cannot start the thread of the shared limits (check the process limit, "
                           "ulimit -u): " +
                               e.code().message()};
  }
  return {};
}

limit_share::~limit_share() {
  if (!thread_.joinable())
    return;
  {
    const auto lock = std::scoped_lock{mutex_};
    is_stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

limit_share::time_point limit_share::take(std::int64_t tokens, time_point now) {
  {
    const auto lock = std::scoped_lock{mutex_};
    if (granted_.take(tokens, now))
      return now;
  }
  changed_.notify_one();
  return now + valid_for_;
}

void limit_share::give_back(std::int64_t requests, std::int64_t tokens) {
  const auto lock = std::scoped_lock{mutex_};
  granted_.give_back({requests, tokens});
}

void limit_share::on_grant(std::function<void()> call) {
  const auto lock = std::scoped_lock{call_mutex_};
  on_grant_ = std::move(call);
}

void limit_share::call_back() {
  const auto lock = std::scoped_lock{call_mutex_};
  if (on_grant_)
    on_grant_();
}

void limit_share::run() {
  auto held = std::unique_lock{mutex_};
  while (!is_stopping_) {
    const auto due = granted_.next_ask();
    if (due > steady::now()) {
      if (due == time_point::max())
        changed_.wait(held);
      else
        changed_.wait_until(held, due);
      continue;
    }
    const auto asked = steady::now();
    const auto request = granted_.ask(asked);
    held.unlock();
    const auto answer = send(request);
    const auto now = steady::now();
    if (!answer) {
      report_absence(answer.error().text, now);
    } else if (now - asked >= valid_for_) {
      report_absence("the database " + connection_.name() + " is too slow: a grant took " +
                         fmt::format("{:.1f} s, and is valid for {:.1f} s", seconds(now - asked),
                                     seconds(valid_for_)),
                     now);
    } else {
      lost_.reset();
      is_absence_reported_ = false;
    }
    held.lock();
    if (!answer) {
      granted_.failed(now);
      changed_.wait_for(held, reconnect_pause, [this] { return is_stopping_; });
      continue;
    }
    granted_.granted(*answer, now);
    if (*answer == limit_amounts{})
      continue;
    held.unlock();
    call_back();
    held.lock();
  }
  const auto last = granted_.leave();
  held.unlock();
  connection_.set_timeout(leave_timeout);
  if (connection_.is_open()) // without an answer, the database forgets the process after 3 s
    static_cast<void>(send(last));
}

result<limit_amounts> limit_share::send(const limit_request& request) {
  auto given = pg_parameters{};
  given.add(std::string_view{key_});
  given.add(std::string_view{member_});
  given.add(std::int64_t{window_.count()});
  add(given, granted_.quota());
  add(given, request.want);
  add(given, request.need);
  add(given, request.back);
  const auto rows =
      connection_.run("select superstep.grant_limits($1, $2, $3, $4, $5, $6, $7)", given);
  if (!rows)
    return rows.error();
  const auto numbers = rows->numbers(0, 0);
  if (numbers.size() != 2)
    return error{errc::parse_failed, "the database " + connection_.name() +
                                         " has another version of superstep.grant_limits()"};
  return limit_amounts{numbers[0], numbers[1]};
}

/// Warns once when the database has been away or too slow for a while: model calls wait for it.
void limit_share::report_absence(const std::string& why, time_point now) {
  if (!lost_)
    lost_ = now;
  if (is_absence_reported_ || now - *lost_ < absence_to_report)
    return;
  is_absence_reported_ = true;
  std::cerr << "superstep: warning: limits.share: " + why + "; model calls wait\n";
}

} // namespace

result<std::shared_ptr<limit_source>> open_shared_limits(const shared_limits& limits) {
  auto address = check_address(limits.url, false);
  if (!address)
    return address.error();
  const auto out = std::make_shared<limit_share>(limits, *std::move(address));
  if (auto started = out->start(); !started)
    return started.error();
  return std::shared_ptr<limit_source>{out};
}

} // namespace superstep::detail
