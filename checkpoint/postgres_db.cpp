// SPDX-License-Identifier: Apache-2.0
// Statements and transactions of PostgreSQL behind the interface that all databases share.
#include "postgres_db.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <cctype>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace superstep::detail {

namespace {

using std::chrono::milliseconds;

checkpoint_error transaction_failed(std::string text) {
  return {make_error_code(checkpoint_errc::failed), std::move(text)};
}

/// The text of a statement for PostgreSQL. Its parameters have no gaps, because the server needs
/// the type of each.
struct translated {
  std::string text;
  std::vector<int> places; ///< for each parameter of `text`, its number in the given statement
};

translated translate(std::string_view sql) {
  auto out = translated{};
  for (auto i = std::size_t{0}; i < sql.size(); ++i) {
    if (sql[i] == '@') {
      out.text.append(postgres_schema).append(1, '.');
    } else if (sql[i] == '?') {
      auto number = 0;
      while (i + 1 < sql.size() && sql[i + 1] >= '0' && sql[i + 1] <= '9')
        number = number * 10 + (sql[++i] - '0');
      auto found = std::ranges::find(out.places, number);
      if (found == out.places.end())
        found = out.places.insert(out.places.end(), number);
      out.text += '$' + std::to_string(found - out.places.begin() + 1);
    } else {
      out.text += sql[i];
    }
  }
  return out;
}

class postgres_statement final : public sql_statement {
public:
  postgres_statement(postgres_database& on, std::string_view sql)
      : on_{on}, made_{translate(sql)}, values_(made_.places.size()) {}

  void bind(int place, std::int64_t n) override { set(place, n); }
  void bind_text(int place, std::string_view text) override { set(place, text); }
  void bind_bytes(int place, std::string_view bytes) override { set(place, as_bytes{bytes}); }
  void bind_null(int place) override { set(place, std::monostate{}); }

  bool step() override {
    if (!rows_) {
      rows_.emplace(on_.run(made_.text.c_str(), parameters()));
      row_ = -1;
    }
    return ++row_ < rows_->size();
  }
  void reset() noexcept override { rows_.reset(); }
  [[nodiscard]] std::int64_t number(int column) const override {
    return rows_->number(row_, column);
  }
  [[nodiscard]] bool is_null(int column) const override { return rows_->is_null(row_, column); }
  [[nodiscard]] std::string_view text(int column) const override {
    return rows_->text(row_, column);
  }
  [[nodiscard]] std::string_view bytes(int column) const override {
    return rows_->text(row_, column);
  }

private:
  struct as_bytes {
    std::string_view bytes;
  };
  using value_type = std::variant<std::monostate, std::int64_t, std::string_view, as_bytes>;

  void set(int place, value_type value) {
    const auto found = std::ranges::find(made_.places, place);
    if (found != made_.places.end())
      values_[static_cast<std::size_t>(found - made_.places.begin())] = value;
  }

  [[nodiscard]] pg_parameters parameters() const {
    auto out = pg_parameters{};
    for (const auto& value : values_) {
      if (const auto* number = std::get_if<std::int64_t>(&value))
        out.add(*number);
      else if (const auto* text = std::get_if<std::string_view>(&value))
        out.add(*text);
      else if (const auto* bytes = std::get_if<as_bytes>(&value))
        out.add_bytes(bytes->bytes);
      else
        out.add_null();
    }
    return out;
  }

  postgres_database& on_;
  const translated made_;
  std::vector<value_type> values_;
  std::optional<pg_rows> rows_;
  int row_ = -1;
};

} // namespace

bool reconnect_clock::wait() {
  constexpr auto pause_max = milliseconds{500};
  if (connection_.is_cancelled() || std::chrono::steady_clock::now() + pause_ >= until_)
    return false;
  std::this_thread::sleep_for(pause_);
  pause_ = std::min(pause_ * 2, pause_max);
  return true;
}

checkpoint_error postgres_failed(const error& why) {
  return transaction_failed(
      why.text +
      (why.code == make_error_code(errc::io_failed)
           ? " (the server cannot be reached: check the address and the server, then run "
             "again to resume; what was saved before is safe)"
           : " (this transaction was not saved; what was saved before is safe)"));
}

pg_address checked_postgres_address(const std::string& url, bool accepts_unverified) {
  constexpr auto use = address_use{"address of the database", "accepts_unverified_server (C++)"};
  auto checked = result<pg_address>{error{}};
  try {
    checked = check_address(url, accepts_unverified, use);
  } catch (const std::runtime_error& e) { // the client library is missing
    checked = error{errc::shortage, e.what()};
  }
  if (!checked)
    throw transaction_failed(checked.error().text);
  return *std::move(checked);
}

postgres_database::postgres_database(pg_address address, row_cipher cipher, milliseconds reconnect,
                                     std::function<bool()> is_cancelled)
    : database{address.name, std::move(cipher)},
      connection_{std::move(address), std::move(is_cancelled)}, reconnect_{reconnect} {}

pg_rows postgres_database::run(const char* statement, const pg_parameters& parameters) {
  if (transaction_ && !connection_.is_open())
    throw transaction_failed("the database " + name() +
                             ": the connection was lost in a transaction");
  auto left = reconnect_clock{connection_, reconnect_};
  while (true) {
    auto rows = connection_.run(statement, parameters, pg_form::binary);
    if (rows) {
      changes_ = rows->changed();
      return *std::move(rows);
    }
    const auto was_lost = rows.error().code == make_error_code(errc::io_failed);
    if (!was_lost || transaction_ || !left.wait())
      throw postgres_failed(rows.error());
  }
}

void postgres_database::exec(const char* sql) {
  if (auto done = connection_.run_script(translate(sql).text.c_str()); !done)
    throw postgres_failed(done.error());
}

statement postgres_database::prepare(std::string_view sql) {
  return statement{std::make_unique<postgres_statement>(*this, sql)};
}

/// The rows of the chain alone, found from row to row, because each of them may be large.
std::string postgres_database::chain_sql(std::string_view columns) const {
  return "WITH RECURSIVE chain AS (SELECT p.* FROM @points p WHERE p.thread = ?1 AND p.id = "
         "(SELECT max(id) FROM @points WHERE thread = ?1 AND id <= ?2) UNION ALL SELECT p.* FROM "
         "chain c JOIN @points p ON p.thread = ?1 AND p.id = c.base AND p.id < c.id AND c.base <> "
         "?3) SELECT " +
         std::string{columns} + " FROM chain ORDER BY id DESC";
}

/// Transactions that write exclude each other by a lock. The sink's calls of save() do not take it;
/// see postgres_sink::run(). Each statement must see what was committed while the transaction
/// waited for the lock, whatever the default isolation level of the role is. A lock_timeout of the
/// role does not apply, because these waits are usual.
void postgres_database::begin(transaction kind) {
  SUPERSTEP_ASSERT(!transaction_);
  auto left = reconnect_clock{connection_, reconnect_};
  while (true) {
    auto begun =
        connection_.run_script("begin isolation level read committed; set local lock_timeout = 0");
    if (begun)
      break;
    const auto was_lost = begun.error().code == make_error_code(errc::io_failed);
    if (!was_lost || !left.wait())
      throw postgres_failed(begun.error());
  }
  transaction_ = 0; // from here on, a lost connection ends the transaction
  if (kind == transaction::write) {
    try {
      const auto rows =
          run("select txid_current(), pg_advisory_xact_lock(hashtext('superstep_threads'))", {});
      transaction_ = rows.number(0, 0);
    } catch (...) {
      roll_back();
      throw;
    }
  }
}

void postgres_database::commit() {
  const auto number = std::exchange(transaction_, std::nullopt).value_or(0);
  auto done = connection_.run_script("commit");
  if (done || number == 0)
    return;
  if (done.error().code != make_error_code(errc::io_failed))
    throw postgres_failed(done.error());
  // The answer was lost, but not necessarily the transaction.
  auto left = reconnect_clock{connection_, reconnect_};
  auto asked = pg_parameters{};
  asked.add(number);
  while (true) {
    const auto rows = connection_.run("select txid_status($1)", asked);
    if (rows && rows->text(0, 0) == "committed")
      return;
    if (rows && rows->text(0, 0) != "in progress")
      throw transaction_failed(done.error().text + " (nothing was changed: run again)");
    if (!left.wait())
      throw transaction_failed(
          done.error().text +
          " (it is not known whether the change was made: look, then run again)");
  }
}

void postgres_database::roll_back() noexcept {
  transaction_.reset();
  if (connection_.is_open() && !connection_.run_script("rollback"))
    connection_.close();
}

} // namespace superstep::detail
