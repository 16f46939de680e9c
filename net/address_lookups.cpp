// SPDX-License-Identifier: Apache-2.0
// Looks up the addresses of hosts, once for all requests that wait for the same host.
#include "net/address_lookups.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace superstep {

namespace {

/// A place in the list of those who wait, which ends with the wait even if its coroutine is
/// destroyed.
class waiting_place {
public:
  waiting_place(std::list<asio::steady_timer*>& of, asio::steady_timer& alarm)
      : of_{of}, at_{of.insert(of.end(), &alarm)} {}
  waiting_place(const waiting_place&) = delete;
  waiting_place& operator=(const waiting_place&) = delete;
  ~waiting_place() { of_.erase(at_); }

private:
  std::list<asio::steady_timer*>& of_;
  std::list<asio::steady_timer*>::iterator at_;
};

} // namespace

std::shared_ptr<address_lookups::lookup> address_lookups::begin(const key& what) {
  auto started = std::make_shared<lookup>();
  auto resolver = std::make_shared<asio::ip::tcp::resolver>(io_);
  auto& asking = *resolver;
  asking.async_resolve(what.first, std::to_string(what.second),
                       [weak = weak_from_this(), what, started, resolver = std::move(resolver)](
                           net_error failed, const asio::ip::tcp::resolver::results_type& found) {
                         for (const auto& entry : found)
                           started->found.push_back(entry.endpoint());
                         started->failed = failed;
                         started->is_done = true;
                         if (const auto self = weak.lock())
                           self->in_flight_.erase(what);
                         for (auto* alarm : started->waiting)
                           alarm->cancel();
                       });
  return started;
}

asio::awaitable<net_error> address_lookups::find(const std::string& host, std::uint16_t port,
                                                 asio::steady_timer& alarm,
                                                 connection::endpoints& into) {
  auto& known = in_flight_[{host, port}];
  if (!known)
    known = begin({host, port});
  const auto shared = known;
  const auto place = waiting_place{shared->waiting, alarm};
  alarm.expires_at(asio::steady_timer::time_point::max());
  auto cancelled = net_error{};
  co_await alarm.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (!shared->is_done)
    co_return asio::error::operation_aborted;
  into = shared->found;
  co_return shared->failed;
}

} // namespace superstep
