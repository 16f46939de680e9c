// SPDX-License-Identifier: Apache-2.0
// A chat-completions server on loopback for tests, in a process of its own.
//
//     chat_server --input in.jsonl --recorded turns.jsonl [--latency-ms N] [--port N] [faults]
//
// It prints its port and serves until it is killed or its standard input ends; then it prints what
// it has seen, which GET /stats tells as well. A request is answered with the turn whose number is
// the count of the request's assistant messages, of the row whose first user message it has.
#include "support/chat_faults.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

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
  /// A request that was on its way when the 429 was answered cannot know of it.
  unsigned grace_ms = 25;
  superstep::test::fault_rates faults;
};

struct statistics {
  std::int64_t requests = 0;
  std::int64_t answered = 0;
  std::int64_t in_flight = 0;
  std::int64_t in_flight_max = 0;
  std::int64_t connections = 0;
  std::int64_t faults[5] = {};
  std::int64_t early = 0; ///< before a Retry-After was over, after the grace
  std::int64_t early_in_grace = 0;
  double after_told_ms_max = 0; ///< how long after a 429 the worst of both came
};

/// Times between which a key was told to send nothing.
struct pause {
  steady::time_point told;
  steady::time_point over;
};

/// The answers, by the text of the first user message.
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
    for (const auto& m : request.at("messages").as_array()) {
      const auto& role = m.at("role").as_string();
      if (role == "user" && question.empty())
        question = m.at("content").as_string();
      if (role == "assistant")
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
    recording_.load(options);
  }

  [[nodiscard]] unsigned short port() const { return acceptor_.local_endpoint().port(); }

  asio::awaitable<void> serve() {
    for (;;) {
      auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
      ++seen_.connections;
      asio::co_spawn(io_, talk(beast::tcp_stream{std::move(socket)}), asio::detached);
    }
  }

  [[nodiscard]] std::string stats() const {
    const auto out = json::value{{"requests", seen_.requests},
                                 {"answered", seen_.answered},
                                 {"in_flight_max", seen_.in_flight_max},
                                 {"connections", seen_.connections},
                                 {"too_many_requests", seen_.faults[1]},
                                 {"server_errors", seen_.faults[2]},
                                 {"dropped", seen_.faults[3]},
                                 {"half_sent", seen_.faults[4]},
                                 {"early", seen_.early},
                                 {"early_in_grace", seen_.early_in_grace},
                                 {"after_told_ms_max", seen_.after_told_ms_max}};
    return json::serialize(out);
  }

private:
  using request_type = http::request<http::string_body>;
  using response_type = http::response<http::string_body>;

  asio::awaitable<void> talk(beast::tcp_stream stream) {
    auto buffer = beast::flat_buffer{};
    stream.socket().set_option(tcp::no_delay{true});
    for (;;) {
      auto request = request_type{};
      auto failed = beast::error_code{};
      co_await http::async_read(stream, buffer, request,
                                asio::redirect_error(asio::use_awaitable, failed));
      if (failed)
        co_return;
      auto goes_on = false;
      if (request.target() == "/stats")
        goes_on = co_await write(stream, make_response(request, 200, stats()));
      else
        goes_on = co_await answer(stream, request);
      if (!goes_on)
        co_return;
    }
  }

  asio::awaitable<bool> answer(beast::tcp_stream& stream, const request_type& request) {
    ++seen_.requests;
    seen_.in_flight_max = std::max(seen_.in_flight_max, ++seen_.in_flight);
    const auto key = std::string{request[http::field::authorization]};
    look_for_early_request(key);
    const auto what = faults_.draw(request.body());
    const auto detail = faults_.detail();
    ++seen_.faults[static_cast<std::size_t>(what)];
    if (options_.latency_ms > 0) {
      auto timer = asio::steady_timer{io_, milliseconds{options_.latency_ms}};
      co_await timer.async_wait(asio::use_awaitable);
    }
    --seen_.in_flight;
    auto response = response_type{};
    if (what == fault::dropped)
      co_return false;
    if (what == fault::too_many_requests)
      response = refuse(request, key, detail);
    else if (what == fault::server_error)
      response =
          make_response(request, 500, R"({"error":{"message":"injected","type":"server_error"}})");
    else
      response = complete(request);
    if (what == fault::half_sent) {
      co_await write_half(stream, response);
      co_return false;
    }
    if (response.result_int() == 200)
      ++seen_.answered;
    co_return co_await write(stream, std::move(response));
  }

  /// Every 429 counts for itself: one that prolongs a pause does not excuse what came too early for
  /// the one before.
  void look_for_early_request(const std::string& key) {
    const auto now = steady::now();
    auto& told = pauses_[key];
    std::erase_if(told, [now](const pause& p) { return p.over <= now; });
    if (told.empty())
      return;
    const auto first = std::ranges::min(told, {}, &pause::told).told;
    ++(now < first + milliseconds{options_.grace_ms} ? seen_.early_in_grace : seen_.early);
    const auto after = std::chrono::duration<double, std::milli>{now - first}.count();
    seen_.after_told_ms_max = std::max(seen_.after_told_ms_max, after);
  }

  response_type refuse(const request_type& request, const std::string& key, double detail) {
    auto out = make_response(request, 429,
                             R"({"error":{"message":"slow down","code":"rate_limit_exceeded"}})");
    const auto now = steady::now();
    auto over = now + milliseconds{50};
    if (detail < 0.02) {
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
    pauses_[key].push_back({now, over});
    return out;
  }

  response_type complete(const request_type& request) {
    auto failed = boost::system::error_code{};
    const auto body = json::parse(request.body(), failed);
    const auto* said = failed ? nullptr : recording_.find(body.as_object());
    if (said == nullptr)
      return make_response(request, 404, R"({"error":{"message":"no such row or turn"}})");
    const auto* stream = body.as_object().if_contains("stream");
    if (stream != nullptr && stream->is_bool() && stream->get_bool()) {
      auto out = make_response(request, 200, as_events(*said));
      out.set(http::field::content_type, "text/event-stream");
      out.chunked(true);
      return out;
    }
    const auto reason = said->contains("tool_calls") ? "tool_calls" : "stop";
    const auto whole =
        json::value{{"id", "chatcmpl-1"},
                    {"object", "chat.completion"},
                    {"model", "recorded"},
                    {"choices", {{{"index", 0}, {"message", *said}, {"finish_reason", reason}}}},
                    {"usage", usage()}};
    return make_response(request, 200, json::serialize(whole));
  }

  static json::value usage() {
    return {{"prompt_tokens", 10}, {"completion_tokens", 5}, {"total_tokens", 15}};
  }

  /// The message in small pieces: texts and arguments come seven bytes at a time (never within a
  /// character), each call's name before its arguments, usage in a chunk without choices.
  static std::string as_events(const json::object& said) {
    auto out = std::string{": hello\r\n\r\n"};
    const auto emit = [&](json::value delta, json::value reason) {
      const auto chunk = json::value{
          {"object", "chat.completion.chunk"},
          {"model", "recorded"},
          {"choices",
           {{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(reason)}}}}};
      out += "data: " + json::serialize(chunk) + "\n\n";
    };
    emit({{"role", "assistant"}, {"content", ""}}, nullptr);
    if (said.at("content").is_string())
      for (const auto& piece : pieces(std::string{said.at("content").as_string()}))
        emit({{"content", piece}}, nullptr);
    const auto* calls = said.if_contains("tool_calls");
    if (calls != nullptr)
      for (auto i = std::size_t{0}; i < calls->as_array().size(); ++i) {
        const auto& call = calls->as_array()[i].as_object();
        const auto& function = call.at("function");
        const auto first =
            json::object{{"index", i},
                         {"id", call.at("id")},
                         {"type", "function"},
                         {"function", {{"name", function.at("name")}, {"arguments", ""}}}};
        emit({{"tool_calls", json::array{first}}}, nullptr);
        for (const auto& piece : pieces(std::string{function.at("arguments").as_string()})) {
          const auto next = json::object{{"index", i}, {"function", {{"arguments", piece}}}};
          emit({{"tool_calls", json::array{next}}}, nullptr);
        }
      }
    emit(json::object{}, calls != nullptr ? "tool_calls" : "stop");
    const auto last = json::value{
        {"object", "chat.completion.chunk"}, {"choices", json::array{}}, {"usage", usage()}};
    return out + "data: " + json::serialize(last) + "\n\ndata: [DONE]\n\n";
  }

  static std::vector<std::string> pieces(const std::string& text) {
    auto out = std::vector<std::string>{};
    for (auto begin = std::size_t{0}; begin < text.size();) {
      auto end = std::min(begin + 7, text.size());
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
        ++end;
      out.push_back(text.substr(begin, end - begin));
      begin = end;
    }
    return out;
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

  static asio::awaitable<bool> write(beast::tcp_stream& stream, response_type response) {
    auto failed = beast::error_code{};
    co_await http::async_write(stream, response, asio::redirect_error(asio::use_awaitable, failed));
    co_return !failed && response.keep_alive();
  }

  static asio::awaitable<void> write_half(beast::tcp_stream& stream,
                                          const response_type& response) {
    auto text = std::ostringstream{};
    text << response;
    auto half = text.str();
    half.resize(half.size() / 2);
    auto failed = beast::error_code{};
    co_await asio::async_write(stream, asio::buffer(half),
                               asio::redirect_error(asio::use_awaitable, failed));
  }

  asio::io_context& io_;
  const server_options& options_;
  superstep::test::fault_source faults_;
  tcp::acceptor acceptor_;
  recording recording_;
  statistics seen_;
  std::map<std::string, std::vector<pause>> pauses_; // by key; those that are not over yet
};

/// The server goes away with the test that started it, however that ends.
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
  auto app = CLI::App{"Chat-completions server for tests"};
  app.add_option("--recorded", options.recorded, "assistant turns, JSON lines")->required();
  app.add_option("--input", options.input, "the rows' messages, JSON lines")->required();
  app.add_option("--latency-ms", options.latency_ms, "time of every answer");
  app.add_option("--port", options.port, "0 = any that is free");
  app.add_option("--grace-ms", options.grace_ms, "requests so soon after a 429 are not early");
  app.add_option("--fault-429", options.faults.too_many_requests, "percent of requests");
  app.add_option("--fault-500", options.faults.server_error, "percent of requests");
  app.add_option("--fault-drop", options.faults.dropped, "percent of requests");
  app.add_option("--fault-half", options.faults.half_sent, "percent of requests");
  app.add_option("--seed", options.faults.seed, "of the faults");
  app.add_flag("--daemon", is_daemon, "do not end with standard input");
  CLI11_PARSE(app, argc, argv);
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
