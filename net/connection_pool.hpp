// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/connection.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace superstep {

/// The connections to one host: those that wait for a request, and a count of those that have one.
///
/// Idle ones are taken before new ones are opened, so that leased and idle together never exceed
/// the limit. I/O thread only, but for try_take_idle().
class host_connections : public std::enable_shared_from_this<host_connections> {
public:
  /// The right to one connection; gives way to the first in line when it ends.
  class [[nodiscard]] lease {
  public:
    lease() noexcept = default;
    explicit lease(std::shared_ptr<host_connections> of) noexcept : of_{std::move(of)} {}
    lease(lease&&) noexcept = default;
    lease& operator=(lease&& other) noexcept;
    ~lease() { end(); }
    void end() noexcept;
    [[nodiscard]] host_connections& host() const noexcept { return *of_; }

  private:
    std::shared_ptr<host_connections> of_;
  };

  /// One that waits for a lease, in a list of the host from its making to its end.
  class waiter {
  public:
    waiter(asio::io_context& io, std::shared_ptr<host_connections> of);
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter();
    /// True with a lease to take, false when give_up() came first.
    asio::awaitable<bool> wait();
    void give_up() noexcept { timer_.cancel(); }

  private:
    friend class host_connections;
    std::shared_ptr<host_connections> of_;
    asio::steady_timer timer_;
    std::list<waiter*>::iterator place_;
    bool is_granted_ = false;
  };

  explicit host_connections(std::size_t leases_max) noexcept : leases_max_{leases_max} {}

  /// Whether a lease is free now; take it with lease{host} right after.
  [[nodiscard]] bool try_take() noexcept;
  [[nodiscard]] std::unique_ptr<connection> take_idle(std::chrono::milliseconds keep_alive);
  /// Any thread. A usable connection together with its lease, if both are there now.
  [[nodiscard]] std::unique_ptr<connection> try_take_idle(std::chrono::milliseconds keep_alive);
  void put_idle(std::unique_ptr<connection> c);
  /// Gives the descriptors of all idle connections back to the system.
  void close_idle();
  [[nodiscard]] bool is_unused() const noexcept;

private:
  mutable std::mutex mutex_; // guards all of it
  std::size_t leases_max_;
  std::size_t leased_ = 0;
  std::vector<std::unique_ptr<connection>> idle_; // the one used last is taken first
  std::list<waiter*> line_;                       // bounded by the coroutines that wait
};

/// The hosts of one client. Any thread.
class connection_pool {
public:
  connection_pool(std::size_t per_host_max, std::size_t hosts_max) noexcept
      : per_host_max_{per_host_max}, hosts_max_{hosts_max} {}
  /// nullptr when there are hosts_max hosts with requests under way.
  [[nodiscard]] std::shared_ptr<host_connections> host(const url& address);
  /// nullptr when it has had no request yet, too.
  [[nodiscard]] std::shared_ptr<host_connections> find(const url& address) const;
  /// I/O thread only.
  void close_idle();

private:
  std::size_t per_host_max_;
  std::size_t hosts_max_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<host_connections>, std::less<>> hosts_;
};

} // namespace superstep
