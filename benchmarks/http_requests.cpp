// SPDX-License-Identifier: Apache-2.0
// The HTTP client without a model: each run of a one-node graph sends one request of about 1 kB.
// The server is another process at `url=`, as for W13.
#include "crowd.hpp"
#include "workloads.hpp"

#include <superstep/net/http_client.hpp>

#include <boost/describe/class.hpp>

#include <string>

namespace superstep::bench {

struct exchange_state {
  std::int64_t answered = 0;
};
BOOST_DESCRIBE_STRUCT(exchange_state, (), (answered))

namespace {

constexpr auto ask = node<exchange_state>{"ask"};

http_request make_request(const std::string& url) {
  auto out = http_request{};
  out.method = "POST";
  out.url = url + "/chat/completions";
  out.headers = {{"Content-Type", "application/json"}};
  out.body = to_text(
      json::object{{"model", "scripted"},
                   {"messages", json::array{json::object{{"role", "user"}, {"content", "hi"}}}},
                   {"metadata", json::object{{"note", std::string(900, 'x')}}}});
  return out;
}

compiled_graph<exchange_state> make_exchange(const http_client& client, const std::string& url) {
  auto g = graph<exchange_state>{};
  g.add(ask,
        [&client,
         request = make_request(url)](exchange_state) -> task<superstep::update<exchange_state>> {
          auto sending = client.send(request);
          const auto answer = co_await sending;
          if (!answer)
            throw std::runtime_error{answer.error().text};
          const auto is_right =
              answer->status == 200 && answer->body.find("choices") != std::string::npos;
          co_return superstep::update<exchange_state>{
              set<&exchange_state::answered>(is_right ? 1 : 0)};
        });
  g.edge(start, ask).edge(ask, end);
  return g.compile({.name = "exchange"});
}

} // namespace

report http_requests(parameters& p) {
  const auto in_flight_max = p.count("conc", 1, {.min = 1, .max = 100'000});
  const auto most = static_cast<std::int64_t>(20 * in_flight_max);
  const auto count = p.count("R", std::max(std::int64_t{500}, most), {.min = 1, .max = 10'000'000});
  const auto url = p.text("url", "http://127.0.0.1:8000/v1");
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto io = io_runtime{};
  auto given = http_client_options{};
  given.connections_per_host_max = in_flight_max;
  given.proxy = "";
  const auto client = http_client::make(io, given);
  if (!client)
    throw usage_error{client.error().text};
  auto e = engine{options};
  const auto graph = make_exchange(*client, url);
  // Opens all connections before the measurement.
  static_cast<void>(crowd<exchange_state>{e, graph, {}, in_flight_max, in_flight_max}.run());

  auto out = report{.unit = "request", .units = static_cast<double>(count)};
  out.time = measure(repetitions, [&] {
    auto results = crowd<exchange_state>{e, graph, {}, count, in_flight_max}.run();
    auto answered = std::int64_t{0};
    for (const auto& r : results)
      answered += r.state.answered;
    expect(answered == static_cast<std::int64_t>(count),
           std::to_string(answered) + " right answers");
    out.checks = {{"answered", answered}};
    return results;
  });
  out.extra["requests_per_s"] = out.units / out.time.seconds;
  out.extra["cpu_us_per_request"] = out.time.cpu_min * 1e6 / out.units;
  return out;
}

} // namespace superstep::bench
