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

/// The connections of one client to one host. Keeps the idle connections, and counts the leases of
/// connections in use.
///
/// Idle connections are used before new ones are opened. Therefore leased and idle connections
/// together never exceed the limit. Used on the I/O thread only, except try_take_idle().
class host_connections : public std::enable_shared_from_this<host_connections> {
public:
  /// The right to use one connection. When it is destroyed, the right passes to the first waiter.
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

  /// A coroutine that waits for a lease. It is in the host's queue while this object exists.
  class waiter {
  public:
    waiter(asio::io_context& io, std::shared_ptr<host_connections> of);
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter();
    /// Waits for a lease. Returns true if it was granted, false after give_up().
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

  /// Takes a lease if one is available; returns whether it did. The caller must then create
  /// lease{host} at once.
  [[nodiscard]] bool try_take() noexcept;
  [[nodiscard]] std::unique_ptr<connection> take_idle(std::chrono::milliseconds keep_alive);
  /// Takes a lease and a usable idle connection if both are available; otherwise returns null. May
  /// be called by any thread.
  [[nodiscard]] std::unique_ptr<connection> try_take_idle(std::chrono::milliseconds keep_alive);
  /// Keeps a connection for further requests. Closes the idle ones whose time has passed: requests
  /// take the last one, so that those of a burst would otherwise stay open.
  void put_idle(std::unique_ptr<connection> c, std::chrono::milliseconds keep_alive);
  /// Closes all idle connections to free their descriptors.
  void close_idle();
  [[nodiscard]] bool is_unused() const noexcept;

private:
  mutable std::mutex mutex_; // guards all members
  std::size_t leases_max_;
  std::size_t leased_ = 0;
  // in the order of last use; the last one is taken first
  std::vector<std::unique_ptr<connection>> idle_;
  std::list<waiter*> line_; // waiting coroutines in the order of arrival
};

/// The connections of one client to all hosts. May be used by any thread.
class connection_pool {
public:
  connection_pool(std::size_t per_host_max, std::size_t hosts_max) noexcept
      : per_host_max_{per_host_max}, hosts_max_{hosts_max} {}
  /// Returns the connections to a host; null if requests to hosts_max other hosts are in flight.
  [[nodiscard]] std::shared_ptr<host_connections> host(const url& address);
  /// Like host(), but returns null if there was no request to the host yet.
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
