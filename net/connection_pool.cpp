// SPDX-License-Identifier: Apache-2.0
// The connections of one HTTP client, by host: leases, the queue of waiting requests, and idle
// connections. exchange.cpp uses it.
#include "net/connection_pool.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace superstep {

host_connections::lease& host_connections::lease::operator=(lease&& other) noexcept {
  if (this != &other) {
    end();
    of_ = std::move(other.of_);
  }
  return *this;
}

void host_connections::lease::end() noexcept {
  const auto of = std::exchange(of_, nullptr);
  if (!of)
    return;
  const auto lock = std::scoped_lock{of->mutex_};
  if (of->line_.empty()) {
    --of->leased_;
    return;
  }
  // The lease passes directly to the first waiter, so that no later request can overtake it.
  auto& first = *of->line_.front();
  of->line_.pop_front();
  first.is_granted_ = true;
  first.timer_.cancel();
}

host_connections::waiter::waiter(asio::io_context& io, std::shared_ptr<host_connections> of)
    : of_{std::move(of)}, timer_{io, asio::steady_timer::time_point::max()} {
  const auto lock = std::scoped_lock{of_->mutex_};
  place_ = of_->line_.insert(of_->line_.end(), this);
}

host_connections::waiter::~waiter() {
  const auto lock = std::scoped_lock{of_->mutex_};
  if (!is_granted_)
    of_->line_.erase(place_);
}

asio::awaitable<bool> host_connections::waiter::wait() {
  auto cancelled = net_error{};
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  co_return is_granted_;
}

bool host_connections::try_take() noexcept {
  const auto lock = std::scoped_lock{mutex_};
  if (leased_ >= leases_max_ || !line_.empty())
    return false;
  ++leased_;
  return true;
}

std::unique_ptr<connection> host_connections::take_idle(std::chrono::milliseconds keep_alive) {
  const auto oldest = std::chrono::steady_clock::now() - keep_alive;
  const auto lock = std::scoped_lock{mutex_};
  while (!idle_.empty()) {
    auto last = std::move(idle_.back());
    idle_.pop_back();
    if (last->idle_since >= oldest && last->is_usable())
      return last;
  }
  return nullptr;
}

/// Does not remove unusable connections, because only the I/O thread may close them.
std::unique_ptr<connection> host_connections::try_take_idle(std::chrono::milliseconds keep_alive) {
  const auto oldest = std::chrono::steady_clock::now() - keep_alive;
  const auto lock = std::scoped_lock{mutex_};
  if (idle_.empty() || leased_ >= leases_max_ || !line_.empty() ||
      idle_.back()->idle_since < oldest || !idle_.back()->is_usable())
    return nullptr;
  ++leased_;
  auto last = std::move(idle_.back());
  idle_.pop_back();
  return last;
}

void host_connections::close_idle() {
  auto closed = std::vector<std::unique_ptr<connection>>{};
  const auto lock = std::scoped_lock{mutex_};
  closed.swap(idle_);
}

bool host_connections::is_unused() const noexcept {
  const auto lock = std::scoped_lock{mutex_};
  return leased_ == 0 && line_.empty();
}

void host_connections::put_idle(std::unique_ptr<connection> c,
                                std::chrono::milliseconds keep_alive) {
  c->is_reused = true;
  c->idle_since = std::chrono::steady_clock::now();
  const auto oldest = c->idle_since - keep_alive;
  auto expired = std::vector<std::unique_ptr<connection>>{}; // closed after the lock is released
  const auto lock = std::scoped_lock{mutex_};
  auto kept = idle_.begin();
  while (kept != idle_.end() && (*kept)->idle_since < oldest)
    expired.push_back(std::move(*kept++));
  idle_.erase(idle_.begin(), kept);
  idle_.push_back(std::move(c));
}

namespace {

std::string key_of(const url& address) {
  return std::string{address.is_tls ? "https://" : "http://"} + address.host + '|' +
         std::to_string(address.port);
}

} // namespace

std::shared_ptr<host_connections> connection_pool::find(const url& address) const {
  const auto key = key_of(address);
  const auto lock = std::scoped_lock{mutex_};
  const auto known = hosts_.find(key);
  return known != hosts_.end() ? known->second : nullptr;
}

std::shared_ptr<host_connections> connection_pool::host(const url& address) {
  auto key = key_of(address);
  const auto lock = std::scoped_lock{mutex_};
  if (const auto known = hosts_.find(key); known != hosts_.end())
    return known->second;
  if (hosts_.size() >= hosts_max_)
    std::erase_if(hosts_, [](const auto& host) { return host.second->is_unused(); });
  if (hosts_.size() >= hosts_max_)
    return nullptr;
  auto fresh = std::make_shared<host_connections>(per_host_max_);
  hosts_.emplace(std::move(key), fresh);
  return fresh;
}

void connection_pool::close_idle() {
  const auto lock = std::scoped_lock{mutex_};
  for (const auto& [key, host] : hosts_)
    host->close_idle();
}

} // namespace superstep
