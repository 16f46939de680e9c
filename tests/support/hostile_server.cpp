// SPDX-License-Identifier: Apache-2.0
// A model server that misbehaves, run as a separate process. The model's name selects how. The
// server prints its port and serves until its standard input ends.
//
//     stall        head and half a line, then silence      slow_head     silence
//     half_chunk   a chunk that is cut off                 close_early   half an answer
//     long_line    a line of 10 MB                         endless       a line without an end
//     bad_utf8     bytes that are not UTF-8                wrong_type    a page, labelled as HTML
//     wrong_label  a valid stream, labelled as a page      packed        a valid stream in gzip
//     cut_packed   the same, truncated                     echo_key      a rejection with the key
//     echo_all     an answer with the request's header
#include "support/provider_shapes.hpp"

#include <boost/asio.hpp>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <string>

#include <unistd.h>
#include <zlib.h>

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;

namespace {

struct request {
  std::string head;
  std::string model;
  std::string path;
};

std::size_t length_of(std::string head) {
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr auto field = std::string_view{"content-length: "};
  const auto at = head.find(field);
  return at == head.npos ? 0 : std::stoul(head.substr(at + field.size()));
}

asio::awaitable<request> read_request(tcp::socket& from) {
  auto text = std::string{};
  auto bytes = asio::dynamic_buffer(text);
  const auto head = co_await asio::async_read_until(from, bytes, "\r\n\r\n", asio::use_awaitable);
  const auto whole = head + length_of(text.substr(0, head));
  if (text.size() < whole)
    co_await asio::async_read(from, bytes, asio::transfer_exactly(whole - text.size()),
                              asio::use_awaitable);
  auto out = request{};
  out.head = text.substr(0, head);
  out.model = json::parse(text.substr(head)).at("model").as_string();
  const auto path = text.find(' ') + 1;
  out.path = text.substr(path, text.find(' ', path) - path);
  co_return out;
}

bool is_lines(const request& asked) {
  return asked.path.ends_with("/api/chat");
}

std::string good_stream(const request& asked) {
  using namespace superstep::test;
  const auto said = json::object{{"role", "assistant"}, {"content", "a good answer"}};
  if (is_lines(asked))
    return ollama_shape::stream(said);
  if (asked.path.ends_with("/v1/messages"))
    return anthropic_shape::stream(said);
  if (asked.path.ends_with("/responses"))
    return responses_shape::stream(said);
  return openai_shape::stream(said);
}

std::string packed(const std::string& text) {
  auto z = z_stream{};
  constexpr auto gzip = 16;
  ::deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, gzip + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  auto out = std::string(::deflateBound(&z, text.size()), '\0');
  auto in = text;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  ::deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  return out;
}

std::string head_of(std::string_view type, std::size_t size, std::string_view more = {}) {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + std::string{type} + "\r\n" + std::string{more} +
         "Content-Length: " + std::to_string(size) + "\r\n\r\n";
}

/// Returns the bytes to send, and whether to stay silent after them.
std::pair<std::string, bool> answer_to(const request& asked) {
  const auto type = std::string{is_lines(asked) ? "application/x-ndjson" : "text/event-stream"};
  const auto good = good_stream(asked);
  const auto line = std::string{is_lines(asked) ? "" : "data: "};
  const auto& how = asked.model;
  if (how == "stall")
    return {head_of(type, good.size()) + good.substr(0, good.size() / 2), true};
  if (how == "slow_head")
    return {"", true};
  if (how == "half_chunk")
    return {"HTTP/1.1 200 OK\r\nContent-Type: " + type +
                "\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" + good.substr(0, 50),
            false};
  if (how == "close_early")
    return {head_of(type, good.size()) + good.substr(0, good.size() / 2), false};
  if (how == "long_line") {
    const auto body = line + "{\"x\":\"" + std::string(10'000'000, 'a') + "\"}\n\n" + good;
    return {head_of(type, body.size()) + body, false};
  }
  if (how == "endless") {
    const auto body = line + std::string(14'000'000, 'a');
    return {head_of(type, body.size()) + body, false};
  }
  if (how == "bad_utf8") {
    const auto body = line + "{\"x\":\"\xff\xfe\xc0\x80\"}\n\n";
    return {head_of(type, body.size()) + body, false};
  }
  if (how == "wrong_type") {
    const auto body = std::string{"<html><body>It works!</body></html>"};
    return {head_of("text/html", body.size()) + body, false};
  }
  if (how == "wrong_label")
    return {head_of("text/html", good.size()) + good, false};
  if (how == "packed" || how == "cut_packed") {
    const auto body = packed(good);
    const auto sent = how == "packed" ? body : body.substr(0, body.size() / 2);
    return {head_of(type, sent.size(), "Content-Encoding: gzip\r\n") + sent, false};
  }
  if (how == "echo_key") {
    const auto body = json::serialize(json::value{{"error", {{"message", asked.head}}}});
    return {"HTTP/1.1 401 Unauthorized\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body,
            false};
  }
  auto said = json::object{{"role", "assistant"}, {"content", asked.head}};
  const auto body = superstep::test::openai_shape::whole(said);
  return {head_of("application/json", body.size()) + body, false};
}

asio::awaitable<void> talk(tcp::socket socket) {
  try {
    for (;;) {
      const auto asked = co_await read_request(socket);
      const auto [bytes, is_silent] = answer_to(asked);
      co_await asio::async_write(socket, asio::buffer(bytes), asio::use_awaitable);
      const auto is_cut = asked.model == "half_chunk" || asked.model == "close_early";
      if (is_silent || is_cut) {
        auto byte = char{};
        if (is_silent) // until the client disconnects
          co_await socket.async_read_some(asio::buffer(&byte, 1), asio::use_awaitable);
        co_return;
      }
    }
  } catch (const boost::system::system_error&) {
    // The client has disconnected.
  }
}

asio::awaitable<void> serve(tcp::acceptor& acceptor) {
  for (;;) {
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), talk(std::move(socket)), asio::detached);
  }
}

} // namespace

int main() {
  auto io = asio::io_context{1};
  auto acceptor = tcp::acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  asio::co_spawn(io, serve(acceptor), asio::detached);
  auto input = asio::posix::stream_descriptor{io, ::dup(STDIN_FILENO)};
  auto byte = char{};
  input.async_read_some(asio::buffer(&byte, 1), [&](auto, auto) { io.stop(); });
  std::cout << acceptor.local_endpoint().port() << std::endl;
  io.run();
  return 0;
}
