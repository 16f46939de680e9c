// SPDX-License-Identifier: Apache-2.0
// A connection to PostgreSQL by libpq, without named statements or session state, so that it also
// works behind a pooler of transactions.
#include "pg_connection.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <poll.h>

namespace superstep::detail {
namespace {

// Identifiers of types in PostgreSQL's catalogue, which are the same in all versions.
constexpr auto oid_bool = Oid{16};
constexpr auto oid_bytes = Oid{17};
constexpr auto oid_int8 = Oid{20};
constexpr auto oid_int2 = Oid{21};
constexpr auto oid_int4 = Oid{23};
constexpr auto oid_text = Oid{25};
constexpr auto oid_bytes_list = Oid{1001};
constexpr auto oid_int2s = Oid{1005};
constexpr auto oid_int4s = Oid{1007};
constexpr auto oid_texts = Oid{1009};
constexpr auto oid_int8s = Oid{1016};

/// The longest wait before the next check whether it was cancelled.
constexpr auto cancel_poll_ms = std::int64_t{100};

/// Appends integers in network byte order.
template <std::integral... Number>
void append_binary(std::string& out, Number... numbers) {
  auto bytes = std::array<char, (sizeof(Number) + ...)>{};
  auto* at = bytes.data();
  ((boost::endian::native_to_big_inplace(numbers), std::memcpy(at, &numbers, sizeof numbers),
    at += sizeof numbers),
   ...);
  out.append(bytes.data(), bytes.size());
}

/// Appends the beginning of an array with one dimension.
void append_array_head(std::string& out, Oid element, std::size_t size, bool has_nulls = false) {
  const auto dimensions = std::int32_t{size > 0 ? 1 : 0};
  const auto nulls = std::int32_t{has_nulls ? 1 : 0};
  if (size > 0)
    append_binary(out, dimensions, nulls, element, static_cast<std::int32_t>(size),
                  std::int32_t{1}); // the first index
  else
    append_binary(out, dimensions, nulls, element);
}

/// Appends an element of an array.
void append_element(std::string& out, std::string_view bytes) {
  append_binary(out, static_cast<std::int32_t>(bytes.size()));
  out += bytes;
}

/// Whether an SQLSTATE means that the server is not available now, so that the statement may
/// succeed later on another connection: connection errors, shutdown, too many connections,
/// deadlocks, serialization failures, a full disk, a statement_timeout or lock_timeout that an
/// administrator has set, and a standby that was not promoted yet.
bool is_temporary(std::string_view state) {
  return state.starts_with("08") || state.starts_with("57P") || state.starts_with("53") ||
         state == "40001" || state == "40P01" || state == "57014" || state == "55P03" ||
         state == "25006";
}

/// Whether an SQLSTATE means that the server has rolled a statement back because of other ones.
bool is_roll_back(std::string_view state) {
  return state.starts_with("40") || state == "55P03";
}

/// Returns the first line of a text of libpq.
std::string first_line(std::string_view text) {
  return std::string{text.substr(0, text.find('\n'))};
}

/// Whether an SQLSTATE of a failed attempt to connect means that further attempts fail, too: an
/// unknown role or a wrong password, an unknown database, or no permission to connect to it.
bool is_permanent(std::string_view state) {
  return state.starts_with("28") || state == "3D000" || state == "42501";
}

/// Returns the end of an error's text.
std::string with_sqlstate(std::string_view state) {
  return " (SQLSTATE " + std::string{state} + ")";
}

/// The error of an attempt to connect.
struct connect_failure {
  std::string text;
  std::string state; ///< SQLSTATE; empty if the server has not answered
};

/// Separates the SQLSTATE from a text of libpq with PQERRORS_VERBOSE, such as
/// `FATAL:  3D000: database "jobs" does not exist`. libpq has no function that returns the SQLSTATE
/// of an attempt. If a host has several addresses, the text has lines for each of them, and the
/// last answer of a server counts.
connect_failure read_connect_failure(std::string_view text) {
  constexpr auto before = std::string_view{":  "};
  constexpr auto size = std::size_t{5};
  const auto is_code = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  for (auto at = text.rfind(before); at != std::string_view::npos && at > 0;
       at = text.rfind(before, at - 1)) {
    const auto state = text.substr(at + before.size(), size);
    const auto rest = text.substr(std::min(text.size(), at + before.size() + size));
    if (state.size() < size || !std::ranges::all_of(state, is_code) || !rest.starts_with(": "))
      continue;
    const auto line = text.rfind('\n', at) + 1; // npos + 1 is 0
    return {std::string{text.substr(line, at - line)} + ": " + first_line(rest.substr(2)),
            std::string{state}};
  }
  return {first_line(text), {}};
}

} // namespace

template <std::integral Number>
void pg_parameters::add_number(Oid type, Number number) {
  const auto at = bytes_.size();
  append_binary(bytes_, number);
  end(type, at);
}

template <std::integral Number>
void pg_parameters::add_numbers(Oid list, Oid element, std::span<const Number> numbers) {
  const auto at = bytes_.size();
  append_array_head(bytes_, element, numbers.size());
  for (const auto number : numbers)
    append_binary(bytes_, static_cast<std::int32_t>(sizeof(Number)), number);
  end(list, at);
}

void pg_parameters::add(std::string_view text) {
  const auto at = bytes_.size();
  bytes_ += text;
  end(oid_text, at);
}

void pg_parameters::add(std::int64_t number) {
  add_number(oid_int8, number);
}

void pg_parameters::add(std::int32_t number) {
  add_number(oid_int4, number);
}

void pg_parameters::add(bool value) {
  add_number(oid_bool, static_cast<char>(value ? 1 : 0));
}

void pg_parameters::add(std::span<const std::int64_t> numbers) {
  add_numbers(oid_int8s, oid_int8, numbers);
}

void pg_parameters::add(std::span<const std::int32_t> numbers) {
  add_numbers(oid_int4s, oid_int4, numbers);
}

void pg_parameters::add(std::span<const std::int16_t> numbers) {
  add_numbers(oid_int2s, oid_int2, numbers);
}

void pg_parameters::add(std::span<const std::string_view> texts) {
  const auto at = bytes_.size();
  append_array_head(bytes_, oid_text, texts.size());
  for (const auto text : texts)
    append_element(bytes_, text);
  end(oid_texts, at);
}

void pg_parameters::add(std::span<const std::optional<std::string_view>> texts) {
  const auto at = bytes_.size();
  const auto has_nulls = std::ranges::any_of(texts, [](const auto& text) { return !text; });
  append_array_head(bytes_, oid_text, texts.size(), has_nulls);
  for (const auto& text : texts) {
    if (text)
      append_element(bytes_, *text);
    else
      append_binary(bytes_, std::int32_t{-1});
  }
  end(oid_texts, at);
}

void pg_parameters::add_bytes(std::string_view bytes) {
  const auto at = bytes_.size();
  bytes_ += bytes;
  end(oid_bytes, at);
}

void pg_parameters::add_bytes(std::span<const std::string> all) {
  const auto at = bytes_.size();
  append_array_head(bytes_, oid_bytes, all.size());
  for (const auto& each : all)
    append_element(bytes_, each);
  end(oid_bytes_list, at);
}

void pg_parameters::add_null() {
  types_.push_back(0); // the server finds the type in the statement
  places_.push_back({.at = bytes_.size(), .size = 0, .is_null = true});
}

std::string_view pg_rows::text(int row, int column) const {
  return {PQgetvalue(rows_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(rows_.get(), row, column))};
}

std::int64_t pg_rows::changed() const {
  const auto digits = std::string_view{PQcmdTuples(rows_.get())};
  auto out = std::int64_t{0};
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

std::int64_t pg_rows::number(int row, int column) const {
  const auto digits = text(row, column);
  auto out = std::int64_t{0};
  if (PQfformat(rows_.get(), column) != 0) { // 1 to 8 bytes in network byte order
    for (const auto digit : digits)
      out = out << 8U | static_cast<unsigned char>(digit);
    const auto unused = 64U - 8U * static_cast<unsigned>(digits.size());
    return digits.empty() ? 0 : out << unused >> unused;
  }
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

std::vector<std::int64_t> pg_rows::numbers(int row, int column) const {
  auto out = std::vector<std::int64_t>{};
  const auto list = text(row, column); // such as {1,2,3}
  const auto* at = list.data();
  const auto* const end = at + list.size();
  while (at != end) {
    auto number = std::int64_t{0};
    const auto [after, failed] = std::from_chars(at, end, number);
    if (failed == std::errc{})
      out.push_back(number);
    at = failed == std::errc{} ? after : at + 1;
  }
  return out;
}

pg_connection::pg_connection(pg_address address, std::function<bool()> is_cancelled)
    : address_{std::move(address)}, is_cancelled_{std::move(is_cancelled)} {}

/// Closes the connection, and returns the error that reports its loss.
error pg_connection::lost(std::string text) {
  connection_.reset();
  return {errc::io_failed, "the database " + address_.name + ": " + std::move(text)};
}

/// Closes a connection that the server has refused. Returns an error that is not io_failed if
/// further attempts fail, too.
error pg_connection::refused() {
  auto why = read_connect_failure(PQerrorMessage(connection_.get()));
  const auto is_final =
      is_permanent(why.state) || PQconnectionNeedsPassword(connection_.get()) != 0;
  auto out = lost(std::move(why.text));
  if (!is_final)
    return out;
  out.code = errc::invalid_argument;
  if (!why.state.empty())
    out.text += with_sqlstate(why.state);
  return out;
}

error pg_connection::failure(const PGresult* of) {
  const auto* const state = PQresultErrorField(of, PG_DIAG_SQLSTATE);
  const auto* const text = PQresultErrorField(of, PG_DIAG_MESSAGE_PRIMARY);
  if (state == nullptr || text == nullptr || PQstatus(connection_.get()) != CONNECTION_OK ||
      is_temporary(state)) {
    auto out = lost(text != nullptr ? text : first_line(PQerrorMessage(connection_.get())));
    if (state != nullptr && is_roll_back(state)) // the outcome is known
      out.text += with_sqlstate(state);
    return out;
  }
  return {errc::invalid_argument,
          "the database " + address_.name + ": " + text + with_sqlstate(state)};
}

/// Waits until the socket is ready.
result<void> pg_connection::wait(bool for_write, time_point until) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          until - std::chrono::steady_clock::now())
                          .count();
    if (left <= 0)
      return lost("no answer within the timeout");
    if (is_cancelled())
      return lost("cancelled");
    auto polled = pollfd{PQsocket(connection_.get()),
                         static_cast<short>(for_write ? POLLIN | POLLOUT : POLLIN), 0};
    const auto ready = ::poll(&polled, 1, static_cast<int>(std::min(left, cancel_poll_ms)));
    if (ready > 0)
      return {};
    if (ready < 0 && errno != EINTR)
      return lost(std::strerror(errno));
  }
}

result<void> pg_connection::connect() {
  if (connection_)
    return {};
  const auto until = std::chrono::steady_clock::now() + timeout_;
  auto out = result<void>{};
  for (const auto& keywords : connection_attempts(address_)) {
    const auto limit = connect_timeout_of(keywords);
    const auto now = std::chrono::steady_clock::now();
    if (out = connect(keywords, limit.count() > 0 ? std::min(until, now + limit) : until);
        out || out.error().code != make_error_code(errc::io_failed))
      return out;
  }
  return out;
}

result<void> pg_connection::connect(const pg_keywords& keywords, time_point until) {
  auto keys = std::vector<const char*>{};
  auto values = std::vector<const char*>{};
  for (const auto& [key, value] : keywords) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  connection_.reset(PQconnectStartParams(keys.data(), values.data(), 0));
  if (!connection_)
    return error{errc::shortage, "out of memory"};
  if (PQstatus(connection_.get()) == CONNECTION_BAD)
    return lost(first_line(PQerrorMessage(connection_.get())));
  PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE); // for read_connect_failure()
  auto polled = PGRES_POLLING_WRITING;
  while (polled != PGRES_POLLING_OK) {
    if (auto ready = wait(polled == PGRES_POLLING_WRITING, until); !ready)
      return ready;
    polled = PQconnectPoll(connection_.get());
    if (polled == PGRES_POLLING_FAILED)
      return refused();
  }
  PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
  PQsetnonblocking(connection_.get(), 1);
  // Notices are for a person at a terminal.
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  return {};
}

result<void> pg_connection::flush(time_point until) {
  while (true) {
    const auto left = PQflush(connection_.get());
    if (left == 0)
      return {};
    if (left < 0)
      return lost(first_line(PQerrorMessage(connection_.get())));
    if (auto ready = wait(true, until); !ready)
      return ready;
    if (PQconsumeInput(connection_.get()) == 0)
      return lost(first_line(PQerrorMessage(connection_.get())));
  }
}

/// Returns the next result of a statement; null after the last one.
result<PGresult*> pg_connection::next_result(time_point until) {
  while (PQisBusy(connection_.get()) != 0) {
    if (auto ready = wait(false, until); !ready)
      return ready.error();
    if (PQconsumeInput(connection_.get()) == 0)
      return lost(first_line(PQerrorMessage(connection_.get())));
  }
  return PQgetResult(connection_.get());
}

/// Reads all results of a statement. Returns the last one, or the first error.
result<pg_rows> pg_connection::last_result(time_point until) {
  auto out = std::optional<pg_rows>{};
  auto why = std::optional<error>{};
  while (true) {
    auto next = next_result(until);
    if (!next)
      return why ? *why : next.error();
    if (*next == nullptr)
      break;
    const auto status = PQresultStatus(*next);
    auto held = pg_rows{*next};
    const auto is_ok =
        status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_SINGLE_TUPLE;
    if (!is_ok && !why)
      why = failure(*next);
    if (!connection_)
      return *why;
    out.emplace(std::move(held));
  }
  if (why)
    return *why;
  if (!out)
    return lost("the server has closed the connection");
  return *std::move(out);
}

result<void> pg_connection::send(const char* statement, const pg_parameters& parameters,
                                 pg_form form) {
  if (auto connected = connect(); !connected)
    return connected;
  const auto count = parameters.places_.size();
  auto values = std::vector<const char*>(count);
  auto sizes = std::vector<int>(count);
  const auto formats = std::vector<int>(count, 1);
  for (auto i = std::size_t{0}; i < count; ++i) {
    const auto& place = parameters.places_[i];
    values[i] = place.is_null ? nullptr : parameters.bytes_.data() + place.at;
    sizes[i] = static_cast<int>(place.size);
  }
  if (PQsendQueryParams(connection_.get(), statement, static_cast<int>(count),
                        parameters.types_.data(), values.data(), sizes.data(), formats.data(),
                        form == pg_form::binary ? 1 : 0) == 0)
    return lost(first_line(PQerrorMessage(connection_.get())));
  return flush(std::chrono::steady_clock::now() + timeout_);
}

result<pg_rows> pg_connection::run(const char* statement, const pg_parameters& parameters,
                                   pg_form form) {
  if (auto sent = send(statement, parameters, form); !sent)
    return sent.error();
  return last_result(std::chrono::steady_clock::now() + timeout_);
}

result<void> pg_connection::run_script(const char* statements) {
  if (auto connected = connect(); !connected)
    return connected;
  const auto until = std::chrono::steady_clock::now() + timeout_;
  if (PQsendQuery(connection_.get(), statements) == 0)
    return lost(first_line(PQerrorMessage(connection_.get())));
  if (auto flushed = flush(until); !flushed)
    return flushed;
  auto ended = last_result(until);
  return ended ? result<void>{} : ended.error();
}

result<void> pg_connection::create_objects(const std::string& statements) {
  const auto script =
      "begin; select pg_advisory_xact_lock(hashtext('superstep'));" + statements + "; commit";
  auto created = run_script(script.c_str());
  if (!created)
    close(); // the transaction is still open
  return created;
}

result<void> pg_connection::for_each_row(const char* statement, const pg_parameters& parameters,
                                         const std::function<result<void>(const pg_rows&)>& row) {
  if (auto sent = send(statement, parameters, pg_form::text); !sent)
    return sent;
  PQsetSingleRowMode(connection_.get());
  while (true) {
    auto next = next_result(std::chrono::steady_clock::now() + timeout_);
    if (!next)
      return next.error();
    if (*next == nullptr)
      return {};
    const auto rows = pg_rows{*next};
    const auto status = PQresultStatus(*next);
    if (status != PGRES_SINGLE_TUPLE && status != PGRES_TUPLES_OK) {
      auto why = failure(*next);
      connection_.reset();
      return why;
    }
    if (auto taken = rows.size() > 0 ? row(rows) : result<void>{}; !taken) {
      connection_.reset(); // the rows that are left must not be taken for another answer
      return taken;
    }
  }
}

} // namespace superstep::detail
