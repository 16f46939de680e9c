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

/// The connections to one host: the idle ones, and the number of leased ones.
///
/// Idle connections are used before new ones are opened, so leased and idle ones together never
/// exceed the limit. Used on the I/O thread only, except try_take_idle().
class host_connections : public std::enable_shared_from_this<host_connections> {
public:
  /// The right to use one connection; passes to the first waiter when it is destroyed.
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

  /// A coroutine that waits for a lease. In the host's queue during its lifetime.
  class waiter {
  public:
    waiter(asio::io_context& io, std::shared_ptr<host_connections> of);
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter();
    /// True if a lease is available; false after give_up().
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

  /// Whether a lease is available; take it with lease{host} immediately.
  [[nodiscard]] bool try_take() noexcept;
  [[nodiscard]] std::unique_ptr<connection> take_idle(std::chrono::milliseconds keep_alive);
  /// Returns a usable idle connection and its lease if both are available. May be called by any
  /// thread.
  [[nodiscard]] std::unique_ptr<connection> try_take_idle(std::chrono::milliseconds keep_alive);
  void put_idle(std::unique_ptr<connection> c);
  /// Closes all idle connections to release their descriptors.
  void close_idle();
  [[nodiscard]] bool is_unused() const noexcept;

private:
  mutable std::mutex mutex_; // guards all members
  std::size_t leases_max_;
  std::size_t leased_ = 0;
  std::vector<std::unique_ptr<connection>> idle_; // the most recently used is taken first
  std::list<waiter*> line_;                       // bounded by the number of waiting coroutines
};

/// The hosts of one client. May be used by any thread.
class connection_pool {
public:
  connection_pool(std::size_t per_host_max, std::size_t hosts_max) noexcept
      : per_host_max_{per_host_max}, hosts_max_{hosts_max} {}
  /// Returns the connections to a host; nullptr if hosts_max other hosts have requests in flight.
  [[nodiscard]] std::shared_ptr<host_connections> host(const url& address);
  /// Like host(), but also nullptr if the host has had no request yet.
  [[nodiscard]] std::shared_ptr<host_connections> find(const url& address) const;
  /// Closes all idle connections. I/O thread only.
  void close_idle();

private:
  std::size_t per_host_max_;
  std::size_t hosts_max_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<host_connections>, std::less<>> hosts_;
};

} // namespace superstep
