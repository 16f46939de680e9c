// SPDX-License-Identifier: Apache-2.0
// Records and checks in a database whether its rows are encrypted, and with which key.
#include "row_key.hpp"

namespace superstep::detail {

namespace {

/// A fixed text that is stored encrypted. When the file is opened again, the key is correct if the
/// stored bytes decrypt to this text.
constexpr auto proof = std::string_view{"superstep"};
constexpr auto proof_place = row_place{"fact", "key", {}, {}, true};

[[noreturn]] void refuse_key(const database& db, const std::string& why) {
  throw checkpoint_error{make_error_code(checkpoint_errc::wrong_key),
                         "checkpoints in '" + db.name() + "': " + why +
                             "; nothing was written to it"};
}

[[noreturn]] void refuse_plain(const database& db) {
  refuse_key(db,
             "the database is not encrypted, but a key is given: open it without the key (on the "
             "command line: unset the environment variable SUPERSTEP_CHECKPOINT_KEY), or "
             "export its threads without the key and import them into a new database with it");
}

/// Returns whether the database contains a record of its encryption; see record_encryption(). If it
/// does, throws unless the key of this connection matches the record.
bool has_its_key(database& db) {
  auto find =
      db.prepare("SELECT name, value FROM @facts WHERE name IN ('key', 'plain') ORDER BY 1");
  if (!find.step())
    return false;
  if (find.text(0) == "plain" && db.cipher().is_on())
    refuse_plain(db);
  if (find.text(0) == "plain")
    return true;
  if (!db.cipher().is_on())
    refuse_key(
        db, "the database is encrypted, but no key is given: specify the key that it was created "
            "with (on the command line: in the environment variable SUPERSTEP_CHECKPOINT_KEY)");
  if (const auto found = db.cipher().open(find.bytes(1), proof_place); !found || *found != proof)
    refuse_key(
        db, "the database is encrypted with another key: specify the key that it was created with "
            "(on the command line: in the environment variable SUPERSTEP_CHECKPOINT_KEY)");
  return true;
}

/// Records in the database whether it is encrypted, and with which key. The first process that
/// opens the database for writing does this, before it writes a row. So later processes cannot use
/// another key.
void record_encryption(database& db) {
  const auto* rows = "SELECT EXISTS (SELECT 1 FROM @points) OR EXISTS (SELECT 1 FROM @items) OR "
                     "EXISTS (SELECT 1 FROM @outputs) OR EXISTS (SELECT 1 FROM @effects)";
  // Early versions of superstep wrote unencrypted rows without this record.
  if (db.cipher().is_on() && db.query_number(rows) != 0)
    refuse_plain(db);
  const auto sealed = db.cipher().seal(std::string{proof}, proof_place);
  auto add = db.prepare("INSERT INTO @facts (name, value) VALUES (?1, ?2)");
  add.bind_text(1, db.cipher().is_on() ? "key" : "plain");
  add.bind_bytes(2, sealed);
  add.run();
}

} // namespace

void check_key(database& db, bool is_read_only) {
  if (has_its_key(db) || (is_read_only && !db.cipher().is_on()))
    return;
  db.in_transaction(transaction::write, [&] {
    if (!has_its_key(db)) // another process may have recorded it since
      record_encryption(db);
  });
}

} // namespace superstep::detail
