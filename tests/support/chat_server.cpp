// SPDX-License-Identifier: Apache-2.0
// A model server on loopback for tests, run as a separate process. The path of a request selects
// the provider API: /chat/completions, /responses, /v1/messages or /api/chat.
//
//     chat_server --input in.jsonl --recorded turns.jsonl [--latency-ms N] [--port N]
//                 [--cert PEM --key PEM] [faults]
//     chat_server --scripted …: answers by the rule of the benchmarks, two rounds of two calls
//     chat_server --fixed …: one call and one text, prepared once; requests are not parsed
//     chat_server --log FILE …: writes a line for the begin and the answer of each request
//
// The server prints its port and serves until it is killed or its standard input ends. Then it
// prints its statistics, which GET /stats also returns. A request is answered from the row with the
// same first user message, by the turn whose number is the count of assistant messages in the
// request.
#include "support/chat_faults.hpp"
#include "support/hostile_answers.hpp"
#include "support/provider_shapes.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/json.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/prctl.h>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using superstep::test::fault;
using tcp = asio::ip::tcp;
using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

namespace {

struct server_options {
  std::string recorded;
  std::string input;
  unsigned latency_ms = 0;
  unsigned short port = 0;
  std::int64_t capacity = 0; ///< more concurrent requests are rejected with 429; 0 = no limit
  unsigned refusal_ms = 0;   ///< time until a 429 is sent
  std::int64_t retry_after_ms = -1; ///< Retry-After of every 429; -1: between 50 ms and a second
  unsigned outage_every_ms = 0; ///< interval between outages, in which every request is rejected
  unsigned outage_ms = 0;       ///< duration of an outage
  bool is_scripted = false;
  bool is_fixed = false;
  std::string log;  ///< file for the begins and answers of requests; empty: none
  std::string cert; ///< PEM files; empty disables TLS
  std::string key;
  superstep::test::fault_rates faults;
};

struct statistics {
  std::int64_t requests = 0;
  std::int64_t answered = 0;
  std::int64_t in_flight = 0;
  std::int64_t in_flight_max = 0;
  std::int64_t connections = 0;
  std::array<std::int64_t, superstep::test::fault_count> faults{};
  std::int64_t over_capacity = 0;
  std::int64_t early = 0;      ///< sent again before the time that their 429 named
  std::int64_t outages = 0;    ///< outages in which a request was rejected
  std::int64_t in_outages = 0; ///< requests during outages
};

/// Returns the answer of the benchmarks' scripted model with T = 2 and C = 2.
json::object scripted_answer(const json::object& request) {
  constexpr auto rounds = 2;
  constexpr auto calls = 2;
  auto users = 0;
  auto answers = 0; // since the last user message
  auto results = 0;
  for (const auto& m : request.at("messages").as_array()) {
    const auto& role = m.at("role").as_string();
    users += role == "user" ? 1 : 0;
    answers = role == "user" ? 0 : answers + (role == "assistant" ? 1 : 0);
    results += role == "tool" ? 1 : 0;
  }
  if (answers >= rounds)
    return {{"role", "assistant"}, {"content", fmt::format("done {} {}", users, results)}};
  auto list = json::array{};
  for (auto j = 0; j < calls; ++j) {
    const auto query = fmt::format(R"({{"query": "q{}-{}-{}"}})", users, answers, j);
    list.push_back({{"id", fmt::format("call_{}_{}_{}", users, answers, j)},
                    {"type", "function"},
                    {"function", {{"name", "echo"}, {"arguments", query}}}});
  }
  return {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", std::move(list)}};
}

/// The recorded answers, by the text of the first user message.
class recording {
public:
  void load(const server_options& options) {
    auto questions = std::unordered_map<std::string, std::string>{};
    for_each_row(options.input, [&](const json::object& row) {
      for (const auto& m : row.at("messages").as_array())
        if (m.at("role").as_string() == "user") {
          questions[key_of(row)] = m.at("content").as_string();
          break;
        }
    });
    for_each_row(options.recorded, [&](const json::object& row) {
      if (const auto question = questions.find(key_of(row)); question != questions.end())
        turns_[question->second] = row.at("turns").as_array();
    });
  }
  [[nodiscard]] const json::object* find(const json::object& request) const {
    auto question = std::string{};
    auto turn = std::size_t{0};
    auto is_answer = false; // an answer in the Responses format consists of several items
    const auto* input = request.if_contains("input");
    for (const auto& item : (input ? *input : request.at("messages")).as_array()) {
      const auto& m = item.as_object();
      const auto role = m.contains("role") ? m.at("role").as_string() : json::string{};
      if (role == "user" && question.empty())
        question = m.at("content").as_string();
      const auto was_answer = std::exchange(
          is_answer, role == "assistant" ||
                         (m.contains("type") && m.at("type").as_string() == "function_call"));
      if (is_answer && !was_answer)
        ++turn;
    }
    const auto found = turns_.find(question);
    return found == turns_.end() || turn >= found->second.size() ? nullptr
                                                                 : &found->second[turn].as_object();
  }

private:
  template <class Use>
  static void for_each_row(const std::string& path, Use use) {
    auto in = std::ifstream{path};
    if (!in)
      throw std::runtime_error{"cannot read " + path};
    for (auto line = std::string{}; std::getline(in, line);)
      if (!line.empty())
        use(json::parse(line).as_object());
  }
  static std::string key_of(const json::object& row) {
    const auto& key = row.contains("custom_id") ? row.at("custom_id") : row.at("id");
    return key.is_string() ? std::string{key.as_string()} : json::serialize(key);
  }

  std::unordered_map<std::string, json::array> turns_;
};

class server {
public:
  server(asio::io_context& io, const server_options& options)
      : io_{io}, options_{options}, faults_{options.faults},
        acceptor_{io, tcp::endpoint{asio::ip::address_v4::loopback(), options.port}} {
    if (!options.is_scripted && !options.is_fixed)
      recording_.load(options);
    if (!options.log.empty())
      log_.open(options.log);
    if (!options.cert.empty()) {
      tls_.use_certificate_chain_file(options.cert);
      tls_.use_private_key_file(options.key, asio::ssl::context::pem);
    }
  }

  [[nodiscard]] unsigned short port() const { return acceptor_.local_endpoint().port(); }

  asio::awaitable<void> serve() {
    for (;;) {
      auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
      ++seen_.connections;
      socket.set_option(tcp::no_delay{true});
      // On loopback both ends share the system's memory for TCP. Large answers waiting for their
      // reader would exhaust it at 4 MB each, and then every connection would lose segments.
      socket.set_option(tcp::socket::send_buffer_size{128 * 1024});
      auto plain = beast::tcp_stream{std::move(socket)};
      if (options_.cert.empty())
        asio::co_spawn(io_, talk(std::move(plain)), asio::detached);
      else
        asio::co_spawn(io_, talk_in_secret(std::move(plain)), asio::detached);
    }
  }

  [[nodiscard]] std::string stats() const {
    auto out = json::object{{"requests", seen_.requests},
                            {"answered", seen_.answered},
                            {"in_flight_max", seen_.in_flight_max},
                            {"connections", seen_.connections},
                            {"over_capacity", seen_.over_capacity},
                            {"early", seen_.early},
                            {"outages", seen_.outages},
                            {"in_outages", seen_.in_outages}};
    for (auto i = std::size_t{1}; i < seen_.faults.size(); ++i)
      out[superstep::test::fault_names[i].count] = seen_.faults[i];
    return json::serialize(out);
  }

private:
  using request_type = http::request<http::string_body>;
  using response_type = http::response<http::string_body>;

  asio::awaitable<void> talk_in_secret(beast::tcp_stream plain) {
    auto stream = beast::ssl_stream<beast::tcp_stream>{std::move(plain), tls_};
    auto failed = beast::error_code{};
    co_await stream.async_handshake(asio::ssl::stream_base::server,
                                    asio::redirect_error(asio::use_awaitable, failed));
    if (!failed)
      co_await talk(std::move(stream));
  }

  template <class Stream>
  asio::awaitable<void> talk(Stream stream) {
    auto buffer = beast::flat_buffer{};
    for (;;) {
      auto request = request_type{};
      auto failed = beast::error_code{};
      if constexpr (std::is_same_v<Stream, beast::tcp_stream>) // TLS may have read ahead
        if (buffer.size() == 0)
          co_await stream.socket().async_wait(tcp::socket::wait_read,
                                              asio::redirect_error(asio::use_awaitable, failed));
      const auto arrived = steady::now();
      co_await http::async_read(stream, buffer, request,
                                asio::redirect_error(asio::use_awaitable, failed));
      if (failed)
        co_return;
      auto goes_on = false;
      if (request.target() == "/stats")
        goes_on = co_await write(stream, to_text(make_response(request, 200, stats()))) &&
                  request.keep_alive();
      else
        goes_on = co_await answer(stream, request, arrived);
      if (!goes_on)
        co_return;
    }
  }

  template <class Stream>
  asio::awaitable<bool> answer(Stream& stream, const request_type& request,
                               steady::time_point arrived) {
    ++seen_.requests;
    seen_.in_flight_max = std::max(seen_.in_flight_max, ++seen_.in_flight);
    look_for_early_request(request.body());
    log("begin", request);
    if (const auto over = refused_until(arrived); over != steady::time_point{})
      co_return co_await refuse_at_once(stream, request, over);
    ++accepted_;
    const auto due = arrived + milliseconds{options_.latency_ms};
    const auto what = faults_.draw(request.body());
    const auto detail = faults_.detail();
    ++seen_.faults[static_cast<std::size_t>(what)];
    // Serialized before the delay, so that an answer is sent exactly when it is due.
    auto response = response_type{};
    if (needs_answer(what))
      response = complete(request);
    auto text = to_text(response);
    if (options_.latency_ms > 0) {
      auto timer = asio::steady_timer{io_, due};
      co_await timer.async_wait(asio::use_awaitable);
    }
    --seen_.in_flight;
    --accepted_;
    if (what == fault::dropped)
      co_return false;
    if (what >= fault::second_answer)
      co_return co_await misbehave(stream, what, detail, response);
    if (what == fault::too_many_requests)
      response = refuse(request, detail);
    else if (what == fault::server_error)
      response =
          make_response(request, 500, R"({"error":{"message":"injected","type":"server_error"}})");
    if (response.result_int() != 200)
      text = to_text(response);
    else if (what == fault::half_sent)
      text.resize(text.size() / 2);
    else {
      ++seen_.answered;
      log("answer", request);
    }
    co_return co_await write(stream, std::move(text)) && response.keep_alive() &&
        what != fault::half_sent;
  }

  /// Writes what happens to a request, and the text of its last user message. The lines are in the
  /// order of the events.
  void log(std::string_view event, const request_type& request) {
    if (options_.log.empty())
      return;
    auto text = std::string{};
    const auto body = json::parse(request.body());
    for (const auto& m : body.at("messages").as_array())
      if (m.at("role").as_string() == "user")
        text = m.at("content").as_string();
    log_ << event << ' ' << text << std::endl;
  }

  static bool needs_answer(fault what) {
    return what == fault::none || what == fault::half_sent || what == fault::second_answer ||
           what == fault::large || what == fault::slow;
  }

  /// Sends a response with the fault `what`. Returns whether the connection stays open.
  template <class Stream>
  asio::awaitable<bool> misbehave(Stream& stream, fault what, double detail,
                                  const response_type& answer) {
    switch (what) {
    case fault::second_answer: {
      static const auto unasked =
          superstep::test::openai_shape::whole({{"role", "assistant"}, {"content", "unasked"}});
      co_return co_await write(stream, to_text(answer) + with_head(unasked));
    }
    case fault::large: {
      const auto padding = hostile_.padding();
      const auto rest = "\"," + answer.body().substr(1);
      const auto begin = std::string{R"({"padding":")"};
      const auto length = begin.size() + padding.size() + rest.size();
      co_return co_await write(stream, head(length) + begin, padding, rest);
    }
    case fault::many_calls:
      co_return co_await write(stream, head(hostile_.many_calls().size()), hostile_.many_calls());
    case fault::not_a_number:
      co_return co_await write(stream, with_head(hostile_.not_a_number(detail)));
    case fault::lone_surrogate:
      co_return co_await write(stream, with_head(hostile_.lone_surrogate(detail)));
    case fault::garbage:
      co_await write(stream, std::string{hostile_.garbage(detail)});
      co_return false;
    case fault::slow:
      co_return co_await drip(stream, to_text(answer));
    default:
      co_await wait_for_client(stream);
      co_return false;
    }
  }

  template <class Stream>
  asio::awaitable<bool> drip(Stream& stream, std::string text) {
    constexpr auto pieces = std::size_t{20};
    const auto step = text.size() / pieces + 1;
    for (auto begin = std::size_t{0}; begin < text.size(); begin += step) {
      auto timer = asio::steady_timer{io_, std::chrono::milliseconds{50}};
      co_await timer.async_wait(asio::use_awaitable);
      if (!co_await write(stream, text.substr(begin, step)))
        co_return false;
    }
    co_return true;
  }

  /// Waits for the client to disconnect; clients that wait for an answer send nothing.
  template <class Stream>
  static asio::awaitable<void> wait_for_client(Stream& stream) {
    auto failed = beast::error_code{};
    co_await beast::get_lowest_layer(stream).socket().async_wait(
        tcp::socket::wait_read, asio::redirect_error(asio::use_awaitable, failed));
  }

  /// Returns when a rejected request may be sent again, or zero if it is accepted.
  steady::time_point refused_until(steady::time_point now) {
    if (options_.outage_ms > 0) {
      const auto every = milliseconds{options_.outage_every_ms};
      const auto number = (now - begun_) / every;
      const auto over = begun_ + number * every + milliseconds{options_.outage_ms};
      if (number > 0 && now < over) {
        seen_.outages += std::exchange(last_outage_, number) != number ? 1 : 0;
        ++seen_.in_outages;
        return over;
      }
    }
    if (options_.capacity == 0 || accepted_ < options_.capacity)
      return {};
    ++seen_.over_capacity;
    return now + milliseconds{std::max(options_.retry_after_ms, std::int64_t{1})};
  }

  template <class Stream>
  asio::awaitable<bool> refuse_at_once(Stream& stream, const request_type& request,
                                       steady::time_point over) {
    if (options_.refusal_ms > 0) {
      auto timer = asio::steady_timer{io_, milliseconds{options_.refusal_ms}};
      co_await timer.async_wait(asio::use_awaitable);
    }
    --seen_.in_flight;
    auto out = make_refusal(request);
    const auto left = std::chrono::ceil<milliseconds>(over - steady::now());
    out.set("retry-after-ms", std::to_string(std::max(left.count(), std::int64_t{0})));
    co_return co_await write(stream, to_text(out)) && out.keep_alive();
  }

  /// Counts a request that is repeated before the time that its 429 named.
  void look_for_early_request(const std::string& body) {
    const auto told = pauses_.find(std::hash<std::string>{}(body));
    if (told == pauses_.end())
      return;
    seen_.early += steady::now() < told->second ? 1 : 0;
    pauses_.erase(told);
  }

  static response_type make_refusal(const request_type& request) {
    return make_response(request, 429,
                         R"({"error":{"message":"slow down","code":"rate_limit_exceeded"}})");
  }

  response_type refuse(const request_type& request, double detail) {
    auto out = make_refusal(request);
    const auto now = steady::now();
    auto over = now + milliseconds{50};
    if (options_.retry_after_ms >= 0) {
      over = now + milliseconds{options_.retry_after_ms};
      out.set("retry-after-ms", std::to_string(options_.retry_after_ms));
    } else if (detail < 0.02) {
      const auto date = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now());
      over = now + (date - std::chrono::system_clock::now());
      out.set("Retry-After", fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                                         fmt::gmtime(std::chrono::system_clock::to_time_t(date))));
    } else if (detail < 0.05) {
      over = now + std::chrono::seconds{1};
      out.set("Retry-After", "1");
    } else {
      out.set("retry-after-ms", "50");
    }
    pauses_[std::hash<std::string>{}(request.body())] = over;
    return out;
  }

  response_type complete(const request_type& request) {
    if (options_.is_fixed)
      return make_response(request, 200, fixed_.find(request.body()));
    auto failed = boost::system::error_code{};
    const auto body = json::parse(request.body(), failed);
    auto scripted = json::object{};
    if (!failed && options_.is_scripted)
      scripted = scripted_answer(body.as_object());
    const auto* said = failed                 ? nullptr
                       : options_.is_scripted ? &scripted
                                              : recording_.find(body.as_object());
    if (said == nullptr)
      return make_response(request, 404, R"({"error":{"message":"no such row or turn"}})");
    const auto* stream = body.as_object().if_contains("stream");
    const auto is_stream = stream != nullptr && stream->is_bool() && stream->get_bool();
    auto out = make_response(request, 200, in_shape(request.target(), *said, is_stream));
    if (is_stream) {
      const auto is_lines = request.target().ends_with("/api/chat");
      out.set(http::field::content_type, is_lines ? "application/x-ndjson" : "text/event-stream");
      out.chunked(true);
    }
    return out;
  }

  static std::string in_shape(std::string_view path, const json::object& said, bool is_stream) {
    using namespace superstep::test;
    if (path.ends_with("/v1/messages"))
      return is_stream ? anthropic_shape::stream(said) : anthropic_shape::whole(said);
    if (path.ends_with("/responses"))
      return is_stream ? responses_shape::stream(said) : responses_shape::whole(said);
    if (path.ends_with("/api/chat"))
      return ollama_shape::stream(said);
    return is_stream ? openai_shape::stream(said) : openai_shape::whole(said);
  }

  static response_type make_response(const request_type& request, unsigned status,
                                     std::string body) {
    auto out = response_type{http::int_to_status(status), request.version()};
    out.set(http::field::content_type, "application/json");
    out.keep_alive(request.keep_alive());
    out.body() = std::move(body);
    out.prepare_payload();
    return out;
  }

  static std::string to_text(const response_type& response) {
    auto out = std::ostringstream{};
    out << response;
    return out.str();
  }

  static std::string head(std::size_t length) {
    return fmt::format(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", length);
  }
  static std::string with_head(std::string_view body) {
    return head(body.size()) + std::string{body};
  }

  /// Writes the three parts. `middle` must outlive the operation.
  template <class Stream>
  static asio::awaitable<bool> write(Stream& stream, std::string text, std::string_view middle = {},
                                     std::string rest = {}) {
    auto failed = beast::error_code{};
    const auto all = std::array<asio::const_buffer, 3>{asio::buffer(text), asio::buffer(middle),
                                                       asio::buffer(rest)};
    co_await asio::async_write(stream, all, asio::redirect_error(asio::use_awaitable, failed));
    co_return !failed;
  }

  asio::io_context& io_;
  const server_options& options_;
  superstep::test::fault_source faults_;
  tcp::acceptor acceptor_;
  asio::ssl::context tls_{asio::ssl::context::tls_server};
  recording recording_;
  std::ofstream log_;
  superstep::test::fixed_answers fixed_;
  superstep::test::hostile_answers hostile_;
  statistics seen_;
  std::unordered_map<std::size_t, steady::time_point>
      pauses_; // request → when it may be sent again
  steady::time_point begun_ = steady::now();
  std::int64_t accepted_ = 0;
  std::int64_t last_outage_ = 0;
};

/// Ends the server when its standard input ends, so that it does not outlive its test.
asio::awaitable<void> wait_for_end_of_input(asio::io_context& io) {
  auto input = asio::posix::stream_descriptor{io, ::dup(STDIN_FILENO)};
  auto byte = char{};
  auto failed = boost::system::error_code{};
  while (!failed)
    co_await input.async_read_some(asio::buffer(&byte, 1),
                                   asio::redirect_error(asio::use_awaitable, failed));
  io.stop();
}

} // namespace

int main(int argc, char** argv) {
  auto options = server_options{};
  auto is_daemon = false;
  auto app = CLI::App{"Model server for tests"};
  app.add_option("--recorded", options.recorded, "assistant turns, JSON lines");
  app.add_option("--input", options.input, "the rows' messages, JSON lines");
  app.add_flag("--scripted", options.is_scripted, "answer by the rule of the benchmarks");
  app.add_flag("--fixed", options.is_fixed, "one call of calculator, then a text with the row");
  app.add_option("--latency-ms", options.latency_ms, "time of every answer");
  app.add_option("--port", options.port, "0 = any that is free");
  app.add_option("--capacity", options.capacity, "requests at once; more are refused");
  app.add_option("--refusal-ms", options.refusal_ms, "time of a refusal");
  app.add_option("--retry-after-ms", options.retry_after_ms, "of every 429");
  app.add_option("--outage-every-ms", options.outage_every_ms, "from one outage to the next");
  app.add_option("--outage-ms", options.outage_ms, "length of an outage, in which all is refused");
  app.add_option("--log", options.log, "file for the begins and answers of requests");
  app.add_option("--cert", options.cert, "certificate chain, PEM");
  app.add_option("--key", options.key, "its key, PEM");
  for (auto i = std::size_t{1}; i < superstep::test::fault_count; ++i)
    app.add_option("--fault-" + std::string{superstep::test::fault_names[i].option},
                   options.faults.percent[i], "percent of requests");
  app.add_option("--seed", options.faults.seed, "of the faults");
  app.add_flag("--daemon", is_daemon, "do not end with standard input");
  CLI11_PARSE(app, argc, argv);
  ::prctl(PR_SET_TIMERSLACK, 1UL); // otherwise the kernel may be 50 us late with every answer
  try {
    auto io = asio::io_context{1};
    auto one = server{io, options};
    asio::co_spawn(io, one.serve(), asio::detached);
    if (!is_daemon)
      asio::co_spawn(io, wait_for_end_of_input(io), asio::detached);
    std::cout << one.port() << std::endl;
    io.run();
    std::cout << one.stats() << std::endl;
  } catch (const std::exception& e) {
    std::cerr << "chat_server: " << e.what() << '\n';
    return 1;
  }
  return 0;
}
