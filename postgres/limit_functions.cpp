// SPDX-License-Identifier: Apache-2.0
// The tables and the function with which processes share a limit per minute.
//
// Each limit is a token bucket in the database, whose content is granted to processes. A process
// may use a grant for one second, and the request may take another second to the server, so what
// was granted in 62 seconds can reach the server in one minute. The bucket therefore holds at most
// `v_burst` and is filled with (limit - v_burst) / 62 per second.
//
// The grants of a process are bounded by a credit, which grows with its share of the rate. The
// shares are max-min fair: a process that wants less than an equal share gets what it wants, and
// the others divide the rest.
//
// Some of what is granted is not used: processes end, answers are lost, and wants are estimates.
// While the bucket is more than half full, a process may therefore owe the share of one second.
// Half of a debt is remitted in four seconds, so that no process takes all that the others leave.
#include "limit_functions.hpp"

#include <string>

namespace superstep::detail {

namespace {

constexpr auto tables_sql = R"sql(
create schema if not exists superstep;
create table if not exists superstep.limits (
  key text primary key,
  at timestamptz not null,
  level float8[] not null) with (fillfactor = 60);
create table if not exists superstep.limit_members (
  key text not null,
  member text not null,
  seen timestamptz not null,
  quota bigint[] not null,
  want bigint[] not null,
  need bigint[] not null,
  credit float8[] not null,
  primary key (key, member)) with (fillfactor = 60);
)sql";

constexpr auto functions_sql = R"sql(
create or replace function superstep.grant_limits(
  p_key text, p_member text, p_window_ms bigint, p_quota bigint[], p_want bigint[],
  p_need bigint[], p_back bigint[])
returns bigint[]
language plpgsql security definer set search_path = superstep, pg_temp as $$
declare
  v limits;
  v_old limit_members;
  v_now timestamptz;
  v_second float8 := p_window_ms / 60000.0;
  v_since float8;
  v_own float8;
  v_quota float8;
  v_burst float8;
  v_rate float8;
  v_level float8;
  v_share float8;
  v_credit float8;
  v_free float8;
  v_grant float8;
  v_out bigint[] := '{0,0}';
begin
  -- After a crash, the server starts with an empty bucket, so grants need not wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  insert into limits (key, at, level) values (p_key, clock_timestamp(), '{0,0}')
    on conflict do nothing;
  select * into v from limits l where l.key = p_key for update;
  v_now := clock_timestamp();
  if pg_postmaster_start_time() > v.at then
    v.at := v_now;
    v.level := '{0,0}';
  end if;
  v_since := extract(epoch from v_now - v.at);
  select * into v_old from limit_members m where m.key = p_key and m.member = p_member;
  -- A new process starts with the credit of half a second.
  v_own := case when found then least(extract(epoch from v_now - v_old.seen), v_second)
           else v_second / 2 end;
  delete from limit_members m
    where m.key = p_key and
          (m.member = p_member or m.seen < v_now - 3 * v_second * interval '1 s');
  insert into limit_members (key, member, seen, quota, want, need, credit)
    values (p_key, p_member, v_now, p_quota, p_want, p_need, '{0,0}');
  for d in 1 .. 2 loop
    select min(m.quota[d]), greatest(min(m.quota[d]) / 120.0, max(m.need[d]))
      into v_quota, v_burst
      from limit_members m where m.key = p_key and m.quota[d] > 0;
    continue when v_quota is null;
    v_rate := (v_quota - v_burst) / (62 * v_second);
    v_level := least(v_burst, v.level[d] + v_rate * v_since + p_back[d]);
    select max((v_rate - s.before) / s.others) filter (where s.want > (v_rate - s.before) / s.others)
      into v_share
      from (select m.want[d] as want,
                   count(*) over () - row_number() over w + 1 as others,
                   coalesce(sum(m.want[d]) over (w rows between unbounded preceding
                                                        and 1 preceding), 0) as before
            from limit_members m where m.key = p_key
            window w as (order by m.want[d], m.member)) s;
    v_share := least(coalesce(v_share, p_want[d]), p_want[d]);
    v_credit := coalesce(v_old.credit[d], 0);
    if v_credit < 0 then
      v_credit := v_credit * power(0.5::float8, v_own / (4 * v_second));
    end if;
    v_credit := least(v_credit + v_share * v_own, greatest(v_share * v_second, p_need[d]));
    -- Others that wait and have more credit come first, whoever asks first.
    select v_level - coalesce(sum(m.credit[d]), 0) into v_free
      from limit_members m
      where m.key = p_key and m.member <> p_member and m.need[d] > 0
            and m.credit[d] > greatest(v_credit, 0);
    v_grant := floor(least(greatest(v_credit, least(v_free - v_burst / 2,
                                                    v_credit + v_share * v_second)),
                           v_free) + 1e-9);
    if p_quota[d] > 0 and p_want[d] > 0 and v_grant >= p_need[d] then
      v_out[d] := v_grant;
      v_level := v_level - v_grant;
      v_credit := v_credit - v_grant;
    end if;
    v.level[d] := v_level;
    update limit_members m set credit[d] = v_credit where m.key = p_key and m.member = p_member;
  end loop;
  update limits l set at = v_now, level = v.level where l.key = p_key;
  if p_want = '{0,0}' then
    delete from limit_members m where m.key = p_key and m.member = p_member;
  end if;
  return v_out;
end $$;

revoke all on function superstep.grant_limits from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'superstep_worker') then
    grant usage on schema superstep to superstep_worker;
    grant execute on function superstep.grant_limits to superstep_worker;
  end if;
end $$;
)sql";

} // namespace

result<void> prepare_limits(pg_connection& connection) {
  const auto rows = connection.run("select exists (select from pg_proc p join pg_namespace n on "
                                   "n.oid = p.pronamespace where n.nspname = 'superstep' and "
                                   "p.proname = 'grant_limits')");
  if (!rows)
    return rows.error();
  if (rows->text(0, 0) == "t")
    return {};
  return connection.create_objects(std::string{tables_sql} + functions_sql);
}

} // namespace superstep::detail
