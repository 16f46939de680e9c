// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/connection.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace superstep {

/// The look-ups of host names in flight. Requests that need the same host share one look-up,
/// because Asio carries out all look-ups of a program one after the other: with a slow name server,
/// those of a burst would take longer than the connect timeout.
///
/// A finished look-up is forgotten, so later requests see changed addresses. Used on the I/O thread
/// only.
class address_lookups : public std::enable_shared_from_this<address_lookups> {
public:
  explicit address_lookups(asio::io_context& io) noexcept : io_{io} {}

  /// Waits for the addresses of `host` and stores them in `into`. To end the wait early with
  /// operation_aborted, cancel `alarm`, which must outlive the wait; the look-up continues for the
  /// other requests.
  asio::awaitable<net_error> find(const std::string& host, std::uint16_t port,
                                  asio::steady_timer& alarm, connection::endpoints& into);

private:
  struct lookup {
    connection::endpoints found;
    net_error failed;
    bool is_done = false;
    std::list<asio::steady_timer*> waiting;
  };
  using key = std::pair<std::string, std::uint16_t>;

  std::shared_ptr<lookup> begin(const key& what);

  asio::io_context& io_;
  std::map<key, std::shared_ptr<lookup>> in_flight_;
};

} // namespace superstep
