// SPDX-License-Identifier: Apache-2.0
// Connecting to hosts with several addresses, and idle connections.
#include "loopback_server.hpp"
#include "net/connection.hpp"
#include "net/connection_pool.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

using namespace superstep;
using namespace std::chrono_literals;
using test::loopback_server;

namespace {

using tcp = asio::ip::tcp;

/// A port that ignores connection attempts, because its queue is full.
class silent_port {
public:
  silent_port() {
    acceptor_.open(tcp::v4());
    acceptor_.bind({asio::ip::address_v4::loopback(), 0});
    acceptor_.listen(0);
    for (auto i = 0; i < 8; ++i) {
      auto& filler = fillers_.emplace_back(io_, tcp::v4());
      filler.native_non_blocking(true);
      auto where = endpoint();
      // Asio's connect() would wait for the answer
      static_cast<void>(
          ::connect(filler.native_handle(), where.data(), static_cast<socklen_t>(where.size())));
    }
  }
  [[nodiscard]] tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

private:
  asio::io_context io_;
  tcp::acceptor acceptor_{io_};
  std::vector<tcp::socket> fillers_;
};

/// Connects and returns the error. Closes the connection at the deadline, as an exchange does.
net_error connect(const connection::endpoints& where, std::chrono::milliseconds timeout) {
  auto io = asio::io_context{};
  auto one = connection{io};
  auto timer = asio::steady_timer{io, timeout};
  timer.async_wait([&](net_error cancelled) {
    if (!cancelled)
      one.close();
  });
  auto out = std::optional<net_error>{};
  asio::co_spawn(io, one.connect(where, timer.expiry()),
                 [&](const std::exception_ptr&, net_error failed) {
                   out = failed;
                   timer.cancel();
                 });
  io.run();
  return out.value();
}

} // namespace

BOOST_AUTO_TEST_CASE(connect_skips_addresses_that_do_not_answer) {
  const auto silent = silent_port{};
  auto server = loopback_server{[](auto&, int) {}};
  const auto answering = tcp::endpoint{asio::ip::address_v4::loopback(), server.port()};
  BOOST_TEST(!connect({silent.endpoint(), silent.endpoint(), answering}, 600ms));
}

BOOST_AUTO_TEST_CASE(connect_fails_if_no_address_answers) {
  const auto silent = silent_port{};
  BOOST_TEST(!!connect({silent.endpoint(), silent.endpoint()}, 100ms));
}

BOOST_AUTO_TEST_CASE(connect_skips_addresses_that_refuse) {
  auto server = loopback_server{[](auto&, int) {}};
  const auto refusing = tcp::endpoint{asio::ip::address_v4::loopback(), 1};
  const auto answering = tcp::endpoint{asio::ip::address_v4::loopback(), server.port()};
  BOOST_TEST(!connect({refusing, answering}, 5s));
}

BOOST_AUTO_TEST_CASE(put_idle_closes_expired_connections) {
  auto ended = std::promise<int>{};
  auto server = loopback_server{[&](auto& socket, int number) {
    if (loopback_server::read_head(socket).empty() && number == 0)
      ended.set_value(number);
  }};
  const auto address = tcp::endpoint{asio::ip::address_v4::loopback(), server.port()};
  auto io = asio::io_context{};
  const auto connected = [&] {
    auto one = std::make_unique<connection>(io);
    asio::co_spawn(io, one->connect({address}, asio::steady_timer::time_point::max()),
                   [](const std::exception_ptr&, net_error failed) { BOOST_TEST(!failed); });
    io.restart();
    io.run();
    return one;
  };
  auto host = host_connections{2};
  auto first = connected();
  auto second = connected();
  auto* last = second.get();
  host.put_idle(std::move(first), 1h);
  std::this_thread::sleep_for(1ms);
  host.put_idle(std::move(second), 0ms);
  const auto closed = ended.get_future();
  BOOST_TEST((closed.wait_for(5s) == std::future_status::ready));
  BOOST_TEST(host.take_idle(1h).get() == last);
}
