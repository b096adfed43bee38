/** Loads what an operation needs, in one round trip. */
import type { InboxEntry } from '../../core/machine-record.ts'
import type { HistoryEntry } from '../../core/record.ts'
import type { Command, Redis, Reply } from './connection.ts'
import type { Keys } from './keys.ts'
import type { Need } from './needs.ts'
import { heavyFields, lightFields, type Field, type Fields } from './row.ts'
import { cellName, type Scored, type WorkingSet } from './working-set.ts'

/** Finds the page of a selection by filter: that takes more than one round trip. */
export type Select = (need: Need & { readonly kind: 'selected' }, into: WorkingSet) => Promise<void>

export async function load(
  redis: Redis,
  keys: Keys,
  needs: readonly Need[],
  into: WorkingSet,
  select: Select,
): Promise<void> {
  const unique = [...new Map(needs.map((need) => [nameOf(need), need])).values()]
  const commands = unique.flatMap((need) => commandOf(keys, need) ?? [])
  const replies = commands.length === 0 ? [] : await redis.pipeline(commands)
  let next = 0
  for (const need of unique) {
    if (need.kind === 'selected') await select(need, into)
    else take(need, replies[next++] as Reply, into)
  }
}

const nameOf = (need: Need): unknown => (need.kind === 'selected' ? need.selection : JSON.stringify(need))

function commandOf(keys: Keys, need: Need): [Command] | null {
  switch (need.kind) {
    case 'row':
      return [['HMGET', keys.job(need.id), ...lightFields]]
    case 'heavy':
      return [['HMGET', keys.job(need.id), ...heavyFields]]
    case 'inbox':
      return [['LRANGE', keys.inbox(need.id), '0', '-1']]
    case 'history':
      return [['LRANGE', keys.history(need.id), '0', '-1']]
    case 'children':
      return [['ZRANGE', keys.children(need.id), '0', '-1']]
    case 'cell':
      return [['HGET', keys.cells(need.cells), need.field]]
    case 'timers':
      return [['ZRANGE', need.of === 'due' ? keys.due : keys.leases, '0', String(need.limit), 'WITHSCORES']]
    case 'counts':
      return [['HGETALL', keys.counts]]
    case 'ended':
      return [['ZRANGE', keys.ended(need.state), '0', String(need.limit - 1), 'WITHSCORES']]
    case 'selected':
      return null
  }
}

function take(need: Exclude<Need, { readonly kind: 'selected' }>, reply: Reply, into: WorkingSet): void {
  switch (need.kind) {
    case 'row': {
      const fields = fieldsFrom(lightFields, reply)
      into.rows.set(need.id, fields.rev === undefined ? null : { fields, heavy: 'none' })
      return
    }
    case 'heavy': {
      const row = into.rows.get(need.id)
      if (row) into.rows.set(need.id, { fields: { ...row.fields, ...fieldsFrom(heavyFields, reply) }, heavy: 'all' })
      return
    }
    case 'inbox':
      into.inboxes.set(need.id, parsedAll<InboxEntry>(reply))
      return
    case 'history':
      into.histories.set(need.id, parsedAll<HistoryEntry>(reply))
      return
    case 'children':
      into.children.set(need.id, texts(reply))
      return
    case 'cell':
      into.cells.set(cellName(need.cells, need.field), typeof reply === 'string' ? reply : null)
      return
    case 'timers':
      into.timers.set(need.of, { limit: need.limit, found: scored(reply) })
      return
    case 'counts':
      into.counts = countsFrom(reply)
      return
    case 'ended':
      into.ended.set(need.state, { limit: need.limit, found: scored(reply) })
  }
}

export const texts = (reply: Reply | undefined): string[] => (Array.isArray(reply) ? reply.map(String) : [])

export const parsedAll = <T>(reply: Reply | undefined): T[] => texts(reply).map((text) => JSON.parse(text) as T)

/** The fields that are there, of the values of an HMGET. */
export function fieldsFrom(names: readonly Field[], reply: Reply | undefined): Fields {
  const fields: Fields = {}
  if (!Array.isArray(reply)) return fields
  names.forEach((name, i) => {
    const value = reply[i]
    if (typeof value === 'string') fields[name] = value
  })
  return fields
}

/** Names and values in turn, as HGETALL and scripts answer. */
export function pairs(reply: Reply | undefined): [string, string][] {
  const flat = texts(reply)
  return flat.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : []))
}

export const countsFrom = (reply: Reply | undefined): Map<string, number> =>
  new Map(pairs(reply).map(([name, count]) => [name, Number(count)]))

export const scored = (reply: Reply | undefined): Scored =>
  pairs(reply).map(([member, score]) => [member, Number(score)])
